"""All measures at once are the single measures."""

import numpy as np
import pytest
from scipy.sparse import csr_array, vstack

from docboltz.corpus.split import Split
from docboltz.evaluation.by_length import by_length
from docboltz.evaluation.classification import (
    FIXED_C,
    evaluate_classification,
)
from docboltz.evaluation.labels import labels_of
from docboltz.evaluation.retrieval import evaluate_retrieval
from docboltz.evaluation.suite import evaluate_features
from tests.corpus.splits import corpus_of


def counted(seed, n, n_words=12):
    """Documents of three kinds, each with four words of its own."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 3, n)
    rate = 0.5 + 2 * (np.arange(n_words) // 4 == kind[:, None])
    return csr_array(rng.poisson(rate)), kind


def split_of(carried):
    """`carried` gives the labels of each kind."""
    parts = []
    for counts, kind in (counted(0, 60), counted(1, 25)):
        parts.append(corpus_of(counts, [carried[k] for k in kind]))
    return Split(*parts)


NAMES = split_of([("a",), ("b",), ("c",)])
MATRICES = split_of([("a", "d"), ("b",), ("c", "d")])


@pytest.mark.parametrize("sparse", [False, True])
def test_one_label_each(sparse, device):
    parts = NAMES.train.counts, NAMES.test.counts
    if not sparse:
        parts = tuple(part.toarray() for part in parts)
    scores = evaluate_features(*parts, NAMES, C=FIXED_C, device=device)
    labels = labels_of(NAMES)
    arguments = parts[0], labels.train, parts[1], labels.test
    found = evaluate_retrieval(*arguments, device=device)
    classified = evaluate_classification(*arguments, C=FIXED_C)
    alone = scores.retrieval
    assert alone.mean_average_precision == pytest.approx(found.mean_average_precision)
    assert alone.mean_precision_at_10 == pytest.approx(found.mean_precision_at_10)
    assert alone.mean_precision_at_recall == pytest.approx(found.mean_precision_at_recall)
    assert scores.classification.score == classified.score
    lengths = NAMES.test.counts.toarray().sum(1)
    ranked = by_length(found.average_precision, lengths)
    assert scores.retrieval_by_length.value == pytest.approx(ranked.value)
    right = by_length(classified.correct, lengths)
    assert np.array_equal(scores.classification_by_length.value, right.value)


def test_many_labels(device):
    parts = MATRICES.train.counts.toarray(), MATRICES.test.counts.toarray()
    scores = evaluate_features(*parts, MATRICES, C=FIXED_C, device=device)
    labels = labels_of(MATRICES)
    assert labels.multilabel
    arguments = parts[0], labels.train, parts[1], labels.test
    found = evaluate_retrieval(*arguments, device=device)
    classified = evaluate_classification(*arguments, C=FIXED_C)
    alone = scores.retrieval
    assert alone.mean_average_precision == pytest.approx(found.mean_average_precision)
    assert alone.mean_precision_at_10 == pytest.approx(found.mean_precision_at_10)
    # Two devices may rank a pair of neighbours differently.
    mean = classified.score
    assert scores.classification.score == pytest.approx(mean, abs=1e-2)
    ranked = by_length(found.query_average_precision, parts[1].sum(1))
    assert scores.retrieval_by_length.value == pytest.approx(ranked.value)
    assert scores.classification_by_length is None


def test_documents_without_labels_change_nothing():
    """Neither among those that are ranked nor among the queries."""
    parts = []
    for part in (NAMES.train, NAMES.test):
        more = corpus_of(np.full((5, 12), 3), [()] * 5)
        counts = vstack([more.counts, part.counts]).tocsr()
        parts.append(corpus_of(counts, [*more.labels, *part.labels]))
    split = Split(*parts)
    with_more, without = (
        evaluate_features(s.train.counts, s.test.counts, s, C=1.0) for s in (split, NAMES)
    )
    assert np.array_equal(
        with_more.retrieval.average_precision, without.retrieval.average_precision
    )
    assert with_more.classification.score == without.classification.score
    assert np.array_equal(with_more.retrieval_by_length.length, without.retrieval_by_length.length)


def test_without_c_one_is_chosen():
    features = NAMES.train.counts, NAMES.test.counts
    labels = labels_of(NAMES)
    scores = evaluate_features(*features, NAMES)
    chosen = evaluate_classification(features[0], labels.train, features[1], labels.test)
    assert scores.classification.C == chosen.C != FIXED_C
