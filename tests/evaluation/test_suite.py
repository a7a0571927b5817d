"""All measures at once are the single measures."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from docboltz.corpus.counts import Corpus
from docboltz.corpus.vocabulary import Vocabulary
from docboltz.errors import InvalidParameter
from docboltz.evaluation.by_length import by_length
from docboltz.evaluation.classification import (
    FIXED_C,
    evaluate_classification,
    evaluate_multilabel_classification,
)
from docboltz.evaluation.retrieval import evaluate_multilabel_retrieval, evaluate_retrieval
from docboltz.evaluation.suite import LabelledSplit, evaluate_features


def counted(seed, n, n_words=12):
    """Documents of three kinds, each with four words of its own."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 3, n)
    rate = 0.5 + 2 * (np.arange(n_words) // 4 == kind[:, None])
    return csr_array(rng.poisson(rate)), kind


def split_of(kind_of_labels):
    (train, kind), (test, test_kind) = counted(0, 60), counted(1, 25)
    if kind_of_labels == "names":
        return LabelledSplit(
            train, np.array(list("abc"))[kind], test, ["abc"[k] for k in test_kind]
        )
    carried = csr_array(np.eye(4, dtype=int)[:3] | [[0, 0, 0, 1], [0, 0, 0, 0], [0, 0, 0, 1]])
    return LabelledSplit(train, carried[kind], test, carried[test_kind])


@pytest.mark.parametrize("sparse", [False, True])
def test_one_label_each(sparse, device):
    split = split_of("names")
    assert not split.multilabel
    parts = (split.train, split.test) if sparse else (split.train.toarray(), split.test.toarray())
    scores = evaluate_features(*parts, split, C=FIXED_C, device=device)
    arguments = parts[0], split.train_labels, parts[1], split.test_labels
    found = evaluate_retrieval(*arguments, device=device)
    classified = evaluate_classification(*arguments, C=FIXED_C)
    assert scores.mean_average_precision == pytest.approx(found.mean_average_precision)
    assert scores.precision_at_10 == pytest.approx(found.mean_precision_at_10)
    assert scores.precision_at_recall == pytest.approx(found.mean_precision_at_recall)
    assert scores.classification_score == classified.accuracy
    lengths = split.test.toarray().sum(1)
    ranked = by_length(found.average_precision, lengths)
    assert scores.retrieval_by_length.value == pytest.approx(ranked.value)
    right = by_length(classified.correct, lengths)
    assert np.array_equal(scores.classification_by_length.value, right.value)


def test_many_labels(device):
    split = split_of("matrices")
    assert split.multilabel
    parts = split.train.toarray(), split.test.toarray()
    scores = evaluate_features(*parts, split, C=FIXED_C, device=device)
    arguments = parts[0], split.train_labels, parts[1], split.test_labels
    found = evaluate_multilabel_retrieval(*arguments, device=device)
    classified = evaluate_multilabel_classification(*arguments, C=FIXED_C)
    assert scores.mean_average_precision == pytest.approx(found.mean_average_precision)
    assert scores.precision_at_10 == pytest.approx(found.mean_precision_at_10)
    # Two devices may rank a pair of neighbours differently.
    mean = classified.mean_average_precision
    assert scores.classification_score == pytest.approx(mean, abs=1e-2)
    ranked = by_length(found.query_average_precision, split.test.toarray().sum(1))
    assert scores.retrieval_by_length.value == pytest.approx(ranked.value)
    assert scores.classification_by_length is None


def test_without_c_one_is_chosen():
    split = split_of("names")
    scores = evaluate_features(split.train, split.test, split)
    chosen = evaluate_classification(split.train, split.train_labels, split.test, split.test_labels)
    assert scores.classification.C == chosen.C != FIXED_C


def corpus_of(counts, labels):
    ids = tuple(map(str, range(len(labels))))
    return Corpus(csr_array(counts), ids, tuple(labels), Vocabulary(["u", "v"]))


def test_a_split_of_corpora_leaves_out_documents_without_labels():
    train = corpus_of([[1, 0], [0, 2], [3, 0]], [("b",), (), ("a",)])
    test = corpus_of([[0, 1], [1, 1]], [("a",), ()])
    split = LabelledSplit.of(train, test)
    assert split.train.toarray().tolist() == [[1, 0], [3, 0]]
    assert split.train_labels.tolist() == ["b", "a"]
    assert split.test.toarray().tolist() == [[0, 1]]
    assert split.test_labels.tolist() == ["a"]
    assert split.n_unlabelled == (1, 1)


def test_several_labels_in_either_corpus_make_matrices():
    train = corpus_of([[1, 0], [0, 2]], [("b",), ("a",)])
    split = LabelledSplit.of(train, corpus_of([[0, 1]], [("a", "b")]))
    assert split.multilabel
    assert split.train_labels.toarray().tolist() == [[False, True], [True, False]]
    assert split.test_labels.toarray().tolist() == [[True, True]]


def test_what_does_not_fit_together():
    counts = csr_array([[1, 0], [0, 1]])
    names, matrix = ["a", "b"], csr_array([[1, 0], [0, 1]])
    with pytest.raises(InvalidParameter, match=r"'test'.*of 2 columns"):
        LabelledSplit(counts, names, counts[:, :1], names)
    with pytest.raises(InvalidParameter, match="of the kind of train_labels"):
        LabelledSplit(counts, names, counts, matrix)
    with pytest.raises(InvalidParameter, match=r"'train_labels'.*\(2,\)"):
        LabelledSplit(counts, ["a"], counts, names)
    with pytest.raises(InvalidParameter, match=r"'test_labels'.*\(2, n_labels\)"):
        LabelledSplit(counts, matrix, counts, matrix[:1])
    with pytest.raises(InvalidParameter, match="of 2 columns, a label a column"):
        LabelledSplit(counts, matrix, counts, matrix[:, :1])
