"""Which words a feature stands for, and how good they are; by hand, with `describe_units` too."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csc_array, csr_array, csr_matrix

from docboltz.corpus.corpus import Corpus, Vocabulary
from docboltz.errors import InvalidParameter
from docboltz.evaluation import topic_words as module
from docboltz.evaluation.topic_words import (
    SMOOTHING,
    topic_coherence,
    topic_diversity,
    topic_words,
    word_intrusion,
)
from docboltz.fitting import describe_units


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


def test_describes_units_as_the_model_does():
    features, counts = data(0)
    words = tuple("abcdefgh")
    ids = tuple(map(str, range(50)))
    model = SimpleNamespace(components_=np.zeros((3, 8)), transform=lambda counts, *_: features)
    described = describe_units(model, Corpus(counts, ids, ((),) * 50, Vocabulary(words)))
    for unit, best in zip(described, topic_words(features, counts, 8), strict=True):
        assert unit.words == tuple(words[k] for k in best[: len(unit.words)])


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
    found = topic_coherence([[0, 1], [1, 0], [0, 2], [0, 3], [0, 4]], COUNTS, smoothing=0)
    # Never together: -1. A word that is everywhere says nothing: 0. One that is nowhere: -1.
    assert found == pytest.approx([both, both, -1, 0, -1])


def test_a_topic_is_the_mean_of_its_pairs():
    pairs = topic_coherence([[0, 1], [0, 2], [1, 2]], COUNTS)
    assert topic_coherence([[0, 1, 2]], COUNTS) == pytest.approx([pairs.mean()])


def test_words_that_are_always_together():
    counts = csr_array([[1, 1, 0, 0], [1, 1, 0, 0], [1, 1, 1, 2], [1, 1, 0, 0]])
    assert topic_coherence([[0, 1], [2, 3]], counts, smoothing=0) == pytest.approx([1, 1])


@pytest.mark.parametrize("smoothing", [0, 0.5, 100])
def test_words_that_meet_as_often_as_by_chance_have_none(smoothing):
    counts = csr_array([[1, 1], [1, 0], [0, 1], [0, 0]])
    assert topic_coherence([[0, 1]], counts, smoothing=smoothing) == pytest.approx([0])


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
        assert topic_coherence(words, sparse(counts), smoothing=0) == pytest.approx(slow)


@pytest.mark.parametrize("s", [0.1, SMOOTHING, 3.0])
def test_smoothed_pairs_by_hand(s):
    found = topic_coherence([[0, 1], [0, 2], [0, 3], [0, 4]], COUNTS, smoothing=s)
    # e_01 = 4 · 3/4 · 1/2 = 3/2 and they meet twice; e_02 = 3/4 and they never meet.
    meet = (2 + s) / (3 / 2 + s)
    apart = s / (3 / 4 + s)
    expected = [
        np.log(meet) / -np.log(3 / 8 * meet),
        np.log(apart) / -np.log(3 / 16 * apart),
        0,  # a word that is everywhere meets every word as often as by chance
        0,  # and of a word that is nowhere nothing is known
    ]
    assert found == pytest.approx(expected)


def test_short_texts_are_not_punished():
    """Rare words that never meet have about 0; frequent ones that never meet do not."""
    n = 2000
    counts = np.zeros((n, 4), int)
    counts[:10, 0] = counts[10:20, 1] = 1  # .05 meetings expected
    counts[:1000, 2] = counts[1000:, 3] = 1  # 500 expected
    rare, frequent = topic_coherence([[0, 1], [2, 3]], csr_array(counts))
    assert -0.01 < rare < 0
    # log(s / (500 + s)) / -log(s / (500 + s) / 4)
    assert frequent == pytest.approx(np.log(0.5 / 500.5) / -np.log(0.5 / 500.5 / 4))
    assert frequent < -0.8
    assert topic_coherence([[0, 1], [2, 3]], csr_array(counts), smoothing=0).tolist() == [-1, -1]


def test_smoothing_goes_from_the_plain_npmi_to_nothing():
    rng = np.random.default_rng(0)
    counts = csr_array(rng.poisson(0.4, size=(200, 6)))
    words = [[0, 1, 2], [3, 4, 5]]
    plain = topic_coherence(words, counts, smoothing=0)
    assert topic_coherence(words, counts, smoothing=1e-9) == pytest.approx(plain)
    assert topic_coherence(words, counts, smoothing=1e9) == pytest.approx([0, 0], abs=1e-6)


def test_words_that_are_in_every_document_have_the_limit_of_words_always_together():
    n, s = 1000, 2.0
    counts = np.ones((n, 4), int)
    counts[0, :2] = 0  # together in all documents but one
    nearly, everywhere = topic_coherence([[0, 1], [2, 3]], csr_array(counts), smoothing=s)
    assert everywhere == n / (n + 2 * s)
    # One document of 1,000 less: of the order of 1/n from the limit.
    assert nearly == pytest.approx(everywhere, abs=1e-3)


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
    with pytest.raises(InvalidParameter, match=message):
        word_intrusion(words, COUNTS, k=2)


@pytest.mark.parametrize("smoothing", [-1, np.nan, "much"])
def test_what_is_no_smoothing(smoothing):
    for measure in (topic_coherence, lambda *a, **how: word_intrusion(*a, k=2, **how)):
        with pytest.raises(InvalidParameter, match="'smoothing' parameter"):
            measure([[0, 1], [2, 3]], COUNTS, smoothing=smoothing)


def test_diversity_by_hand():
    assert topic_diversity([[0, 1, 2], [3, 4, 5]]) == 1
    assert topic_diversity([[0, 1, 2], [2, 1, 0]]) == 0.5
    assert topic_diversity(np.zeros((4, 1), int)) == 0.25


# ---- word intrusion ----

# Words 0, 1, 2 in the first half of the documents, 3, 4, 5 in the second, 6 in none, 7 in all.
HALVES = csr_array(np.repeat([[1, 1, 1, 0, 0, 0, 0, 1], [0, 0, 0, 1, 1, 1, 0, 1]], 4, axis=0))


def test_words_of_another_topic_stand_out():
    assert word_intrusion([[0, 1, 2], [3, 4, 5]], HALVES, k=3).tolist() == [1, 1]


def test_topics_that_mix_hide_their_intruders():
    # 0, 1 | 3 and the intruder 4, 5 or 2: with 4 or 5, 0 and 1 are as far from 3 and 4 as these
    # from them, so that each of four is picked with equal chance; with 2, 3 is picked.
    assert word_intrusion([[0, 1, 3], [4, 5, 2]], HALVES, k=3) == pytest.approx([1 / 6, 1 / 6])


def test_a_judge_who_knows_no_word_guesses():
    nothing = csr_array(HALVES.shape, dtype=int)
    assert word_intrusion([[0, 1, 2], [3, 4, 5]], nothing, k=3) == pytest.approx([1 / 4, 1 / 4])


def test_intruders_are_of_the_first_k_words_and_unlikely_here():
    # Of the second topic's first two, 3 is further down in the first topic: 4 alone intrudes.
    # Of the first topic's, 0 and 1 intrude into the second.
    found = word_intrusion([[0, 1, 3], [3, 4, 5]], HALVES, k=2)
    assert found.tolist() == [1, 1]
    same = word_intrusion([[0, 1, 3, 4], [3, 4, 0, 1]], HALVES, k=2)  # no word is left to intrude
    assert same == pytest.approx([1 / 3, 1 / 3])


def test_intrusion_agrees_with_a_slow_computation():
    rng = np.random.default_rng(3)
    counts = csr_array(rng.poisson(0.5, size=(60, 12)))
    words = np.array([rng.permutation(12)[:5] for _ in range(4)])
    k, slow = 3, []
    for t, topic in enumerate(words):
        others = {w for u in range(4) if u != t for w in words[u, :k].tolist()} - {*topic.tolist()}
        hits = []
        for intruder in others:
            shown = [*topic[:k].tolist(), intruder]
            scores = [
                sum(topic_coherence([[a, b]], counts)[0] for b in shown if b != a) for a in shown
            ]
            hits.append(scores[-1] == min(scores))
        slow.append(np.mean(hits))
    assert 0 < np.mean(slow) < 1
    assert word_intrusion(words, counts, k=k) == pytest.approx(slow)


def test_what_cannot_be_intruded():
    with pytest.raises(InvalidParameter, match="at least two topics"):
        word_intrusion([[0, 1, 2]], HALVES, k=2)
    for k in (1, 4, 2.0):
        with pytest.raises(InvalidParameter, match="from 2 to 3 words"):
            word_intrusion([[0, 1, 2], [3, 4, 5]], HALVES, k=k)
