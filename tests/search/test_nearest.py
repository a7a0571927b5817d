"""Exact search against brute force in float64."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array

from docboltz.search import nearest as module
from docboltz.search.interface import WEIGHTS
from docboltz.search.nearest import Best, Queries, nearest
from docboltz.search.vectors import unit_vectors
from docboltz.search.words import WordIndex
from tests.search.stores import random_counts

WAYS = list(WEIGHTS)
many_examples = settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


class Collection(NamedTuple):
    """Documents and queries: features and counts of each."""

    X: np.ndarray
    counts: np.ndarray
    queries: np.ndarray
    asked: np.ndarray


def search(
    collection: Collection, k: int, by: str = "both", excluded: Any = (), mean: Any = None
) -> Best:
    X, counts, queries, asked = collection
    words = WordIndex.of(csr_array(counts))
    units = [unit_vectors(np.asarray(x, np.float32), mean) for x in (X, queries)]
    questions = Queries(units[1], words.vectors(csr_array(asked)))
    return nearest(units[0], words, questions, k, np.asarray(excluded, np.int64), WEIGHTS[by])


def cosines(a: Any, b: Any) -> np.ndarray:
    """Cosines in float64 straight from the definition: (Q, n)."""

    def unit(x: Any) -> np.ndarray:
        norm = np.linalg.norm(x, axis=1, keepdims=True)
        return np.divide(x, norm, out=np.zeros_like(x), where=norm > 0)

    return unit(a) @ unit(b).T


def brute_force(collection: Collection, mean: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """Cosines of features and of words, all in dense float64: (Q, n) each."""

    def centred(x: Any) -> np.ndarray:
        x = np.asarray(x, np.float64)
        return x if mean is None else np.where(x.any(1, keepdims=True), x - mean, 0)

    X, counts, queries, asked = collection
    idf = 1 + np.log((1 + len(counts)) / (1 + (counts > 0).sum(0)))
    tf_idf = [np.where(x > 0, 1 + np.log(np.maximum(x, 1)), 0) * idf for x in (asked, counts)]
    return cosines(centred(queries), centred(X)), cosines(*tf_idf)


def assert_same(one: Best, other: Best) -> None:
    for mine, yours in zip(one, other, strict=True):
        np.testing.assert_array_equal(mine, yours)


@st.composite
def collections(draw: st.DrawFn) -> Collection:
    """Many equal entries, so that ties, zero vectors and documents without words are common."""
    n, q, F, K = (draw(st.integers(1, most)) for most in (40, 5, 6, 5))
    few = st.sampled_from([0.0, 0.0, 1.0, -1.0, 0.5, 0.1, 3.0, 1e-3])
    entries = draw(st.sampled_from([few, st.floats(-8, 8, width=32, allow_subnormal=False)]))
    counted = draw(st.sampled_from([st.sampled_from([0, 0, 0, 1, 2]), st.integers(0, 300)]))
    X, queries = (draw(arrays(np.float32, (m, F), elements=entries)) for m in (n, q))
    counts, asked = (draw(arrays(np.int64, (m, K), elements=counted)) for m in (n, q))
    return Collection(X, counts, queries, asked)


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Constants so small that a few documents are many blocks."""
    monkeypatch.setattr(module, "QUERIES_AT_ONCE", 2)
    monkeypatch.setattr(module, "SCORES_AT_ONCE", 10)
    monkeypatch.setattr(module, "ROWS_AT_ONCE", 3)


@pytest.fixture(scope="module")
def large() -> Collection:
    """Big enough for products to take other paths in BLAS, with each document three times."""
    rng = np.random.default_rng(1)
    X = np.tile(rng.normal(size=(2000, 32)).astype(np.float32), (3, 1))
    counts = np.tile(random_counts(2000).toarray(), (3, 1))
    return Collection(X, counts, rng.normal(size=(300, 32)), random_counts(300, seed=1).toarray())


def one_query(collection: Collection, i: int) -> Collection:
    queries, asked = collection.queries[[i]], collection.asked[[i]]
    return collection._replace(queries=queries, asked=asked)


@many_examples
@given(
    collections(),
    st.integers(1, 12),
    st.sampled_from(WAYS),
    st.booleans(),
    st.sets(st.integers(0, 39), max_size=6),
)
def test_it_agrees_with_brute_force(
    small_steps: None, collection: Collection, k: int, by: str, center: bool, out: set[int]
) -> None:
    X = collection.X
    excluded = [row for row in sorted(out) if row < len(X)]
    # Rounded to 1/64, or a vector minus the mean could be nothing but rounding error.
    mean = (np.round(X.mean(0) * 64) / 64).astype(np.float32) if center else None
    found = search(collection, k, by, excluded, mean)
    features, words = brute_force(collection, mean)
    weights = WEIGHTS[by]
    truth = weights.features * features + weights.words * words
    truth[:, excluded] = -np.inf
    if by == "words":
        truth[words == 0] = -np.inf
    k = min(k, len(X) - len(excluded))
    scores = found.scores(weights)
    assert all(part.shape == (len(collection.queries), k) for part in (*found, scores))
    for i, (rows, best) in enumerate(zip(found.rows, -np.sort(-truth)[:, :k], strict=True)):
        taken = rows >= 0
        # Places are taken from the front, by as many documents as can be hits.
        assert taken.tolist() == (best > -np.inf).tolist()
        rows = rows[taken]
        assert len(set(rows)) == len(rows)
        # float32 vectors of length 1 are off by 2^−24 an entry, which moves a cosine by less than
        # 1e−6.
        np.testing.assert_allclose(scores[i, taken], best[taken], atol=1e-6)
        np.testing.assert_allclose(scores[i, taken], truth[i, rows], atol=1e-6)
        if weights.features:
            np.testing.assert_allclose(found.features[i, taken], features[i, rows], atol=1e-6)
        if weights.words:
            np.testing.assert_allclose(found.words[i, taken], words[i, rows], atol=1e-6)
        # Best first, ties in the order of the rows.
        steps = np.diff(scores[i, taken])
        assert ((steps < 0) | (steps == 0) & (np.diff(rows) > 0)).all()
    assert (np.abs(found.features) <= 1).all()
    assert (np.abs(found.words) <= 1).all()


@many_examples
@given(collections(), st.integers(1, 12), st.sampled_from(WAYS))
def test_a_batch_gives_the_bits_of_one_by_one(collection: Collection, k: int, by: str) -> None:
    whole = search(collection, k, by)
    for i in range(len(collection.queries)):
        assert_same(search(one_query(collection, i), k, by), Best(*(p[[i]] for p in whole)))


@pytest.mark.parametrize("by", WAYS)
def test_a_large_batch_gives_the_bits_of_one_by_one(large: Collection, by: str) -> None:
    whole = search(large, 10, by)
    for i in range(0, 300, 7):
        assert_same(search(one_query(large, i), 10, by), Best(*(p[[i]] for p in whole)))
    if by != "words":  # where documents with one and the same word tie with more than their copies
        # Triplets are exact ties: copies follow each other in the order of the rows.
        np.testing.assert_array_equal(whole.rows[:, 1:3], whole.rows[:, :1] + [2000, 4000])


@pytest.mark.parametrize("by", WAYS)
@pytest.mark.parametrize("order", ["random", "best last"])
def test_blocks_change_nothing(
    vectors: np.ndarray, counts: csr_array, request: pytest.FixtureRequest, order: str, by: str
) -> None:
    collection = Collection(vectors, counts.toarray(), vectors, counts.toarray())
    if order == "best last":
        features, words = brute_force(collection)
        last = np.argsort(WEIGHTS[by].features * features[0] + WEIGHTS[by].words * words[0])
        collection = collection._replace(X=vectors[last], counts=collection.counts[last])
    whole = search(collection, 9, by)
    request.getfixturevalue("small_steps")
    assert_same(search(collection, 9, by), whole)


@pytest.mark.parametrize("by", WAYS)
def test_the_best_of_many_are_found_wherever_they_are(large: Collection, by: str) -> None:
    """So many documents that the k-th best is not looked for among all of them."""
    rng = np.random.default_rng(2)
    for _ in range(20):
        shuffled = rng.permutation(6000)
        moved = large._replace(X=large.X[shuffled], counts=large.counts[shuffled])
        found = search(one_query(moved, 0), 3, by)
        features, words = brute_force(one_query(moved, 0))
        truth = WEIGHTS[by].features * features + WEIGHTS[by].words * words
        best = -np.sort(-truth)[:, :3]
        np.testing.assert_allclose(found.scores(WEIGHTS[by]), best, atol=1e-6)


@pytest.mark.parametrize("by", WAYS)
@pytest.mark.usefixtures("small_steps")
def test_ties_come_in_the_order_of_the_rows(by: str) -> None:
    X = np.tile([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0]], (30, 1))  # all in one direction
    counts, asked = np.tile([[1, 3, 0]], (60, 1)), np.array([[0, 2, 5], [1, 1, 0]])
    found = search(Collection(X, counts, np.array([[3, 1, 2], [-3, -1, -2]]), asked), 11, by)
    np.testing.assert_array_equal(found.rows, [np.arange(11)] * 2)
    for part in (found.features, found.words):
        np.testing.assert_array_equal(part, part[:, :1] * np.ones(11))


def test_equal_documents_tie_whatever_the_order_of_their_words() -> None:
    """A sum of the same products in another order may differ in its last bit."""
    rng = np.random.default_rng(0)
    n, K = 40, 3000  # so many words that float64 has to round their products' sum
    own = rng.integers(1, 60, K).astype(np.float64)
    orders = np.array([rng.permutation(K) for _ in range(n)])
    shuffled = csr_array((own[orders].ravel(), orders.ravel(), np.arange(n + 1) * K), shape=(n, K))
    words = WordIndex.of(shuffled)
    asked = words.vectors(csr_array(rng.integers(1, 60, (1, K))))
    nothing = np.zeros((n, 1), np.float32)
    found = nearest(
        nothing, words, Queries(nothing[:1], asked), n, np.empty(0, np.int64), WEIGHTS["both"]
    )
    np.testing.assert_array_equal(found.rows[0], np.arange(n))


@pytest.mark.parametrize("by", WAYS)
def test_scores_closer_than_float32_are_told_apart(by: str) -> None:
    """Documents that differ by the rounding of float32, which a product in it cannot order."""
    rng = np.random.default_rng(0)
    n, F, K = 4000, 64, 30
    unit = unit_vectors(rng.random((1, F), np.float32) * np.ones((n, 1), np.float32), None)
    unit *= 1 + 2.0**-23 * rng.integers(-2, 3, (n, F)).astype(np.float32)
    words = WordIndex.of(csr_array(10**7 + rng.integers(0, 99, (n, K))))
    queries = Queries(
        unit_vectors(rng.random((3, F), np.float32), None),
        words.vectors(csr_array(rng.integers(1, 99, (3, K)))),
    )
    found = nearest(unit, words, queries, 5, np.empty(0, np.int64), WEIGHTS[by])
    documents = words.of_documents(np.arange(n)).toarray().astype(np.float64)
    truth = WEIGHTS[by].features * (queries.features.astype(np.float64) @ unit.T.astype(np.float64))
    truth += WEIGHTS[by].words * (queries.words.toarray().astype(np.float64) @ documents.T)
    best = -np.sort(-truth)[:, :5]
    np.testing.assert_allclose(found.scores(WEIGHTS[by]), best, rtol=0, atol=1e-14)


def test_zero_vectors_have_cosine_zero() -> None:
    X, queries = np.array([[0, 0], [1, 0], [-1, 0], [0, 0]]), np.array([[1, 0], [0, 0]])
    alike = Collection(X, np.ones((4, 1)), queries, np.ones((2, 1)))
    found = search(alike, 4, "features")
    np.testing.assert_array_equal(found.rows, [[1, 0, 3, 2], [0, 1, 2, 3]])
    np.testing.assert_array_equal(found.features, [[1, 0, 0, -1], [0, 0, 0, 0]])
    np.testing.assert_array_equal(search(alike, 4, "both").rows, found.rows)
    np.testing.assert_array_equal(search(alike, 2, "features", [0, 2]).rows, [[1, 3], [1, 3]])


def test_words_alone_find_no_document_that_shares_none() -> None:
    counts, asked = np.array([[0, 2], [1, 0], [0, 0], [3, 1]]), np.array([[1, 0], [0, 0]])
    found = search(Collection(np.ones((4, 1)), counts, np.ones((2, 1)), asked), 3, "words")
    np.testing.assert_array_equal(found.rows, [[1, 3, -1], [-1, -1, -1]])
    assert found.words[0, 0] == 1
    np.testing.assert_array_equal(found.words[:, 2], 0)


@pytest.mark.parametrize("by", WAYS)
def test_excluded_rows_never_come_back(vectors: np.ndarray, counts: csr_array, by: str) -> None:
    collection = Collection(vectors, counts.toarray(), vectors[:3], counts[:3].toarray())
    everything, out = search(collection, 50, by), [3, 7, 49]
    found = search(collection, 50, by, out)
    for left, full in zip(found.rows, everything.rows, strict=True):
        expected = full[~np.isin(full, out) & (full >= 0)]
        np.testing.assert_array_equal(left[left >= 0], expected)
    assert search(collection, 5, by, np.arange(50)).rows.shape == (3, 0)


@pytest.mark.parametrize("by", ["features", "both"])
@pytest.mark.parametrize("value", [np.nan, 7.0])
@pytest.mark.parametrize("row", [0, 17, 49])
@pytest.mark.parametrize("k", [1, 3, 50])
@pytest.mark.usefixtures("small_steps")
def test_rows_that_are_no_unit_vectors_are_found(
    vectors: np.ndarray, counts: csr_array, value: float, row: int, k: int, by: str
) -> None:
    unit, words = unit_vectors(vectors, None), WordIndex.of(counts)
    unit[row] = value
    queries = Queries(unit_vectors(np.ones((3, 8), np.float32), None), words.vectors(counts[:3]))
    with pytest.raises(FloatingPointError, match="features"):
        nearest(unit, words, queries, k, np.empty(0, np.int64), WEIGHTS[by])
