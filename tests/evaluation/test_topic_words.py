"""Which words a feature stands for, and how good they are; by hand, with `describe_topics` too."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csc_array, csr_array, csr_matrix

from docboltz.corpus.counts import Corpus
from docboltz.corpus.vocabulary import Vocabulary
from docboltz.errors import InvalidParameter
from docboltz.evaluation import topic_words as module
from docboltz.evaluation.topic_words import topic_coherence, topic_diversity, topic_words
from docboltz.fitting import describe_topics


def data(seed, n=50, n_words=8, n_features=3):
    """Documents with words, and features between 0 and 1."""
    rng = np.random.default_rng(seed)
    counts = rng.poisson(1.0, size=(n, n_words))
    counts[:, 0] += 1
    return rng.random((n, n_features)), csr_array(counts)


def test_each_feature_has_the_words_of_its_documents():
    counts = csr_array([[4, 1, 0, 1], [5, 0, 0, 1], [0, 1, 6, 1], [0, 0, 3, 1]])
    features = np.array([[1, 0], [1, 0], [0, 1], [0, 1]])
    assert topic_words(features, counts, 1).tolist() == [[0], [2]]


def test_describes_topics_as_the_model_does():
    features, counts = data(0)
    words = tuple("abcdefgh")
    ids = tuple(map(str, range(50)))
    model = SimpleNamespace(components_=np.zeros((3, 8)), transform=lambda counts, *_: features)
    described = describe_topics(model, Corpus(counts, ids, ((),) * 50, Vocabulary(words)))
    for topic, best in zip(described, topic_words(features, counts, 8), strict=True):
        assert topic.words == tuple(words[k] for k in best[: len(topic.words)])


def test_sparse_features_and_blocks_change_nothing(monkeypatch):
    features, counts = data(1)
    features[features < 0.6] = 0
    whole = topic_words(features, counts, 5)
    assert np.array_equal(whole, topic_words(csr_array(features), counts, 5))
    monkeypatch.setattr(module, "BLOCK_DOCUMENTS", 7)
    assert np.array_equal(whole, topic_words(features, counts, 5))


def test_documents_without_words_change_nothing():
    features, counts = data(2)
    padded = csr_array(np.vstack([np.zeros((1, 8), int), counts.toarray()]))
    with_more = np.vstack([np.ones((1, 3)), features])
    assert np.array_equal(topic_words(features, counts, 8), topic_words(with_more, padded, 8))


def test_features_beyond_1_are_scaled():
    features, counts = data(3)
    features /= features.max(0)
    assert np.array_equal(topic_words(features, counts, 8), topic_words(features * 7, counts, 8))


def test_what_is_no_feature():
    features, counts = data(4)
    for wrong in (-features, np.where(features > 0.9, np.nan, features)):
        with pytest.raises(InvalidParameter, match="0 or more"):
            topic_words(wrong, counts, 3)
    with pytest.raises(InvalidParameter, match=r"\(50, n_features\)"):
        topic_words(features[1:], counts, 3)
    with pytest.raises(InvalidParameter, match="from 1 to 8"):
        topic_words(features, counts, 9)


# ---- coherence and diversity ----

# Word 0 in documents 0, 1, 2; word 1 in 0 and 1; word 2 in 3; word 3 in all; word 4 in none.
COUNTS = csr_array([[2, 1, 0, 1, 0], [1, 5, 0, 1, 0], [1, 0, 0, 2, 0], [0, 0, 1, 1, 0]])


def test_pairs_by_hand():
    # p_0 = 3/4, p_1 = 1/2, p_01 = 1/2.
    both = np.log((1 / 2) / (3 / 4 * 1 / 2)) / -np.log(1 / 2)
    found = topic_coherence([[0, 1], [1, 0], [0, 2], [0, 3], [0, 4]], COUNTS)
    # Never together: -1. A word that is everywhere says nothing: 0. One that is nowhere: -1.
    assert found == pytest.approx([both, both, -1, 0, -1])


def test_a_topic_is_the_mean_of_its_pairs():
    pairs = topic_coherence([[0, 1], [0, 2], [1, 2]], COUNTS)
    assert topic_coherence([[0, 1, 2]], COUNTS) == pytest.approx([pairs.mean()])


def test_words_that_are_always_together():
    counts = csr_array([[1, 1, 0, 0], [1, 1, 0, 0], [1, 1, 1, 2], [1, 1, 0, 0]])
    assert topic_coherence([[0, 1], [2, 3]], counts) == pytest.approx([1, 1])


def test_independent_words_have_none():
    counts = csr_array([[1, 1], [1, 0], [0, 1], [0, 0]])
    assert topic_coherence([[0, 1]], counts) == pytest.approx([0])


def test_agrees_with_a_slow_computation():
    rng = np.random.default_rng(0)
    counts = rng.poisson(0.4, size=(200, 12))
    words = np.array([rng.permutation(12)[:5] for _ in range(6)])
    slow = []
    for topic in words:
        npmi = []
        for i in range(5):
            for j in range(i):
                one, other = counts[:, topic[i]] > 0, counts[:, topic[j]] > 0
                p = np.mean(one & other)
                npmi.append(np.log(p / (one.mean() * other.mean())) / -np.log(p))
        slow.append(np.mean(npmi))
    for sparse in (csr_array, csr_matrix, csc_array):
        assert topic_coherence(words, sparse(counts)) == pytest.approx(slow)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([[0]], "at least two words"),
        ([[0, 5]], "from 0 to 4"),
        ([[-1, 0]], "from 0 to 4"),
        ([[1, 1]], "different within a topic"),
        ([0, 1], r"\(n_topics, k\)"),
        ([[0.0, 1.0]], "column numbers"),
    ],
)
def test_what_is_no_topic(words, message):
    with pytest.raises(InvalidParameter, match=message):
        topic_coherence(words, COUNTS)
    with pytest.raises(InvalidParameter, match="a sparse matrix"):
        topic_coherence([[0, 1]], COUNTS.toarray())


def test_diversity_by_hand():
    assert topic_diversity([[0, 1, 2], [3, 4, 5]]) == 1
    assert topic_diversity([[0, 1, 2], [2, 1, 0]]) == 0.5
    assert topic_diversity(np.zeros((4, 1), int)) == 0.25
