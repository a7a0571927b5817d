"""Topics that are known are found, by features and words together."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from docboltz.topics import grouping
from docboltz.topics.grouping import find_topics
from docboltz.topics.number import agreement, choose_number, modularity, nearest_neighbours

from .worlds import world


def test_known_topics_are_found_largest_first():
    vectors, presence, topic = world()
    keep = np.sort(np.r_[np.flatnonzero(topic > 0), np.flatnonzero(topic == 0)[:20]])
    found = find_topics(vectors[keep], presence[keep], 4).assign(vectors[keep], presence[keep])
    assert adjusted_rand_score(found.topic, topic[keep]) > 0.98
    assert np.bincount(found.topic)[-1] == 20, "the smallest is the last"


def test_words_tell_topics_apart_that_features_do_not():
    vectors, presence, topic = world()
    alike = np.where(topic == 3, 2, topic)  # topics 2 and 3 share a direction
    rng = np.random.default_rng(1)
    vectors = vectors[[rng.choice(np.flatnonzero(topic == t)) for t in alike]]
    by_features = grouping.k_means(vectors, 4, 0)
    found = find_topics(vectors, presence, 4).assign(vectors, presence).topic
    assert adjusted_rand_score(found, topic) > 0.95 > adjusted_rand_score(by_features, topic)


def test_the_same_seed_gives_the_same_topics_and_rows_may_come_in_any_order():
    vectors, presence, _ = world(mixed=0.3)
    one, two = (find_topics(vectors, presence, 4, seed=3) for _ in range(2))
    assert np.array_equal(one.words, two.words)
    order = np.random.default_rng(0).permutation(len(vectors))
    other = find_topics(vectors[order], presence[order], 4, seed=3)
    assert (
        adjusted_rand_score(
            one.assign(vectors, presence).topic[order],
            other.assign(vectors[order], presence[order]).topic,
        )
        > 0.9
    )


def test_most_documents_follow_a_sample(monkeypatch):
    monkeypatch.setattr(grouping, "SAMPLE", 80)
    vectors, presence, topic = world()
    found = find_topics(vectors, presence, 4).assign(vectors, presence)
    assert adjusted_rand_score(found.topic, topic) > 0.95


@pytest.mark.parametrize("n", [1, 3, 10])
def test_more_topics_than_documents_are_not_looked_for(n):
    vectors, presence, _ = world()
    some = find_topics(vectors[:3], presence[:3], n)
    assert some.n_topics == min(n, 3)


def test_documents_without_words_are_not_learnt_from():
    vectors, presence, _ = world()
    empty = presence.copy()
    empty.data[: empty.indptr[40]] = 0
    empty.eliminate_zeros()
    whole = find_topics(vectors, empty, 4)
    rest = find_topics(vectors[40:], empty[40:], 4)
    np.testing.assert_allclose(whole.words, rest.words, atol=1e-4)


def test_modularity_is_newman_s():
    """Against the sum over all pairs: A_ij / 2m − k_i k_j / (2m)² for pairs in one group."""
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(30, 5)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    near, groups = nearest_neighbours(vectors, 4), rng.integers(3, size=30)
    A = np.zeros((30, 30))
    np.add.at(A, (np.repeat(np.arange(30), 4), near.reshape(-1)), 1)
    A += A.T
    degree, m2 = A.sum(0), A.sum()
    same = groups[:, None] == groups
    expected = ((A / m2 - np.outer(degree, degree) / m2**2) * same).sum()
    assert modularity(groups, near) == pytest.approx(expected)


def test_nearest_neighbours_are_those_of_all_cosines():
    vectors = np.random.default_rng(0).normal(size=(40, 6)).astype(np.float32)
    cosines = vectors @ vectors.T
    np.fill_diagonal(cosines, -np.inf)
    expected = np.sort(np.argsort(-cosines, axis=1)[:, :3], axis=1)
    assert np.array_equal(np.sort(nearest_neighbours(vectors, 3), axis=1), expected)


def test_the_number_of_clear_topics_is_found():
    for T in (3, 6):
        vectors, presence, _ = world(T=T, K=10 * T, mixed=0.1)
        assert choose_number(vectors, presence) == T


def test_few_topics_of_many_documents_are_found_where_they_are_clear():
    vectors, presence, _ = world(n_per_topic=200, T=5, K=50, mixed=0.1)
    assert choose_number(vectors, presence) == 5


def test_few_topics_that_not_every_start_finds_are_not_taken(monkeypatch):
    vectors, presence, _ = world(n_per_topic=200, T=5, K=50, mixed=0.1)
    monkeypatch.setattr("docboltz.topics.number.agreement", lambda groupings: 0.8)
    assert choose_number(vectors, presence) >= 10


def test_groupings_agree_whatever_their_topics_are_called():
    one, turned, other = (np.array(groups) for groups in ([0, 0, 1, 1], [1, 1, 0, 0], [0, 1, 0, 1]))
    assert agreement([one, turned]) == 1
    # The adjusted Rand index of two crossed halves is −.5.
    assert agreement([one, turned, other]) == pytest.approx((1 - 0.5 - 0.5) / 3)


def test_a_handful_of_documents_is_one_topic():
    vectors, presence, _ = world()
    assert choose_number(vectors[:8], presence[:8]) == 1
