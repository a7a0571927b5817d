"""Topics of models: groups by hand, and one ranking of words for all."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from docboltz.corpus.split import Split
from docboltz.evaluation.groups import compare_groups
from docboltz.evaluation.topic_words import topic_coherence, topic_words, word_intrusion
from docboltz.experiments.topics import group_documents, measure_topics, usual_number
from tests.corpus.splits import corpus_of, sentences, split_of, tiny_split

WORDLESS = csr_array((4, 2))
"""Counts, for those that do not look at words."""


def test_our_topics_are_those_of_the_package():
    """Of features that say nothing, and words that say everything."""
    counts = csr_array(np.repeat([[3, 1, 0, 0], [0, 0, 1, 2]], 20, axis=0))
    features = np.random.default_rng(0).random((40, 5))
    found = group_documents(features, counts, 2, "topics", 0)
    assert {*found[:20]} != {*found[20:]}
    assert len({*found[:20]}) == len({*found[20:]}) == 1


def test_own_topics_are_the_largest_features():
    shares = np.array([[0.2, 0.8], [0.6, 0.4], [0.0, 0.0]])
    assert group_documents(shares, WORDLESS, 2, "own", 0).tolist() == [1, 0, -1]


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_directions_make_groups_and_lengths_do_not(kind):
    features = np.array([[1, 0], [90, 1], [0, 2], [1, 80]], float)
    found = group_documents(kind(features), WORDLESS, 2, "uncentred", 0)
    assert found[0] == found[1] != found[2] == found[3]


def test_the_mean_may_be_taken_off():
    """What all documents have in common would make one direction of them."""
    away = np.array([1000.0, 0.0])
    features = away + np.array([[0, 1.0], [0, 3], [0, -1], [0, -3]])
    found = group_documents(features, WORDLESS, 2, "centred", 0)
    assert found[0] == found[1] != found[2] == found[3]


def test_no_more_groups_than_documents():
    assert sorted(group_documents(np.eye(3), WORDLESS, 20, "uncentred", 0)) == [0, 1, 2]


def test_topics_are_measured_from_the_groups_alone():
    split = tiny_split()
    labels = np.array([int(label) for (label,) in split.train.labels])
    groups = np.where(np.arange(60) < 6, 9, labels)  # numbers may have gaps
    found = measure_topics(groups, split)
    order = sorted({*groups.tolist()}, key=lambda g: (-np.sum(groups == g), g))
    assert found.sizes == tuple(np.sum(groups == g) for g in order)
    one_hot = np.array([groups == g for g in order]).T.astype(float)
    ranked = topic_words(one_hot, split.train.counts, 15)  # half of the vocabulary
    words = ranked[:, :10]
    assert found.words == tuple(tuple(map(str, row)) for row in words.tolist())
    assert found.coherence == topic_coherence(words, split.train.counts).mean()
    assert found.npmi == topic_coherence(words, split.train.counts, smoothing=0).mean()
    assert found.intrusion == word_intrusion(ranked, split.test.counts, k=5).mean()
    assert found.agreement == compare_groups(groups, labels)


def test_what_belongs_nowhere_has_no_words_and_is_wrong():
    split = tiny_split()
    groups = np.array([int(label) for (label,) in split.train.labels])
    groups[groups == 2] = -1
    found = measure_topics(groups, split)
    assert found.sizes == (20, 20)
    assert {int(word) // 10 for word in found.words[0]} == {0}
    assert found.agreement.accuracy == 40 / 60
    assert measure_topics(np.full(60, -1), split) is None


def test_one_topic_has_no_intruder():
    assert measure_topics(np.zeros(60, int), tiny_split()).intrusion is None


def test_documents_of_several_labels_are_not_compared():
    split = tiny_split(several_labels=True)
    groups = np.array([int(labels[0]) for labels in split.train.labels])
    assert measure_topics(groups, split).agreement.n_documents == 30
    both = split_of(sentences(labels=2))
    assert measure_topics(np.arange(len(both.train)) % 3, both).agreement is None


def test_one_word_makes_no_topic():
    one = corpus_of([[1], [2]], [["a"], ["b"]])
    assert measure_topics(np.array([0, 1]), Split(one, one)) is None


@pytest.mark.parametrize(("labels", "n"), [(0, 20), (1, 20), (2, 2), (7, 7), (60, 50)])
def test_as_many_topics_as_labels(labels, n):
    names = [[str(row % labels)] if labels else [] for row in range(60)]
    part = corpus_of(np.ones((60, 3), int), names)
    assert usual_number(Split(part, part)) == n


def test_no_more_topics_than_documents():
    part = corpus_of(np.ones((5, 3), int), [[]] * 5)
    assert usual_number(Split(part, part)) == 5
