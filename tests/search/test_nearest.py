"""Exact search against brute force in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from docboltz.search import nearest as module
from docboltz.search.nearest import nearest
from docboltz.search.vectors import unit_vectors

many_examples = settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def search(
    X: Any, queries: Any, k: int, excluded: Any = (), mean: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    units = [unit_vectors(np.asarray(x, np.float32), mean) for x in (X, queries)]
    return nearest(*units, k, np.asarray(excluded, np.int64))


def cosines(queries: Any, X: Any, mean: Any = None) -> np.ndarray:
    """Cosines in float64 straight from the definition: (Q, n)."""

    def unit(x: Any) -> np.ndarray:
        x = np.asarray(x, np.float64)
        if mean is not None:
            x = np.where(x.any(1, keepdims=True), x - mean, 0)
        norm = np.linalg.norm(x, axis=1, keepdims=True)
        return np.divide(x, norm, out=np.zeros_like(x), where=norm > 0)

    return unit(queries) @ unit(X).T


@st.composite
def collections(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Documents and queries, with many equal entries, so that ties and zeros are common."""
    n, q, F = draw(st.integers(1, 40)), draw(st.integers(1, 5)), draw(st.integers(1, 6))
    few = st.sampled_from([0.0, 0.0, 1.0, -1.0, 0.5, 0.1, 3.0, 1e-3])
    entries = draw(st.sampled_from([few, st.floats(-8, 8, width=32, allow_subnormal=False)]))
    return draw(arrays(np.float32, (n, F), elements=entries)), draw(
        arrays(np.float32, (q, F), elements=entries)
    )


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Constants so small that a few documents are many blocks."""
    monkeypatch.setattr(module, "QUERIES_AT_ONCE", 2)
    monkeypatch.setattr(module, "SCORES_AT_ONCE", 10)
    monkeypatch.setattr(module, "ROWS_AT_ONCE", 3)


@many_examples
@given(collections(), st.integers(1, 12), st.booleans(), st.sets(st.integers(0, 39), max_size=6))
def test_it_agrees_with_brute_force(
    small_steps: None,
    collection: tuple[np.ndarray, np.ndarray],
    k: int,
    center: bool,
    out: set[int],
) -> None:
    X, queries = collection
    excluded = [row for row in sorted(out) if row < len(X)]
    # Rounded to 1/64, or a vector minus the mean could be nothing but rounding error.
    mean = (np.round(X.mean(0) * 64) / 64).astype(np.float32) if center else None
    rows, scores = search(X, queries, k, excluded, mean)
    truth = cosines(queries, X, mean)
    k = min(k, len(X) - len(excluded))
    assert rows.shape == scores.shape == (len(queries), k)
    assert not np.isin(rows, excluded).any()
    # float32 vectors of length 1 are off by 2^−24 an entry, which moves a cosine by less than 1e−6.
    np.testing.assert_allclose(scores, np.take_along_axis(truth, rows, 1), atol=1e-6)
    truth[:, excluded] = -2
    best = -np.sort(-truth, axis=1)[:, :k]
    np.testing.assert_allclose(scores, best, atol=1e-6)
    assert all(len(set(each)) == k for each in rows)
    assert (np.abs(scores) <= 1).all()
    # Best first, ties in the order of the rows.
    falling = np.diff(scores) < 0
    assert (falling | (np.diff(scores) == 0) & (np.diff(rows) > 0)).all()


@many_examples
@given(collections(), st.integers(1, 12))
def test_a_batch_gives_the_bits_of_one_by_one(
    collection: tuple[np.ndarray, np.ndarray], k: int
) -> None:
    X, queries = collection
    rows, scores = search(X, queries, k)
    for i, query in enumerate(queries):
        one_rows, one_scores = search(X, query[None], k)
        np.testing.assert_array_equal(one_rows[0], rows[i])
        np.testing.assert_array_equal(one_scores[0], scores[i])


def test_a_large_batch_gives_the_bits_of_one_by_one() -> None:
    """Big enough for the product to take other paths in BLAS, with each document three times."""
    rng = np.random.default_rng(1)
    X = np.tile(rng.normal(size=(2000, 32)).astype(np.float32), (3, 1))
    queries = rng.normal(size=(300, 32))
    rows, scores = search(X, queries, 10)
    for i in range(0, 300, 7):
        one_rows, one_scores = search(X, queries[i : i + 1], 10)
        np.testing.assert_array_equal(one_rows[0], rows[i])
        np.testing.assert_array_equal(one_scores[0], scores[i])
    # Triplets are exact ties: copies follow each other in the order of the rows.
    np.testing.assert_array_equal(rows[:, 1:9].reshape(300, -1)[:, :2], rows[:, :1] + [2000, 4000])


@pytest.mark.parametrize("order", ["random", "best last"])
def test_blocks_change_nothing(
    vectors: np.ndarray, request: pytest.FixtureRequest, order: str
) -> None:
    if order == "best last":
        vectors = vectors[np.argsort(cosines(vectors[:1], vectors)[0])]
    whole = search(vectors, vectors, 9)
    request.getfixturevalue("small_steps")
    parts = search(vectors, vectors, 9)
    np.testing.assert_array_equal(whole[0], parts[0])
    np.testing.assert_array_equal(whole[1], parts[1])


@pytest.mark.usefixtures("small_steps")
def test_ties_come_in_the_order_of_the_rows() -> None:
    X = np.tile([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0]], (30, 1))  # all in one direction
    rows, scores = search(X, [[3, 1, 2], [-3, -1, -2]], 11)
    np.testing.assert_array_equal(rows, [np.arange(11)] * 2)
    np.testing.assert_array_equal(scores, scores[:, :1] * np.ones(11))


def test_zero_vectors_have_cosine_zero() -> None:
    X = [[0, 0], [1, 0], [-1, 0], [0, 0]]
    rows, scores = search(X, [[1, 0], [0, 0]], 4)
    np.testing.assert_array_equal(rows, [[1, 0, 3, 2], [0, 1, 2, 3]])
    np.testing.assert_array_equal(scores, [[1, 0, 0, -1], [0, 0, 0, 0]])
    rows, _ = search(X, [[0, 0]], 2, excluded=[0, 2])
    np.testing.assert_array_equal(rows, [[1, 3]])


def test_excluded_rows_never_come_back(vectors: np.ndarray) -> None:
    everything, _ = search(vectors, vectors[:3], 50)
    out = [3, 7, 49]
    rows, _ = search(vectors, vectors[:3], 50, out)
    for left, full in zip(rows, everything, strict=True):
        np.testing.assert_array_equal(left, full[~np.isin(full, out)])
    assert search(vectors, vectors[:3], 5, np.arange(50))[0].shape == (3, 0)


@pytest.mark.parametrize("value", [np.nan, 7.0])
@pytest.mark.parametrize("row", [0, 17, 49])
@pytest.mark.parametrize("k", [1, 3, 50])
@pytest.mark.usefixtures("small_steps")
def test_rows_that_are_no_unit_vectors_are_found(
    vectors: np.ndarray, value: float, row: int, k: int
) -> None:
    unit = unit_vectors(vectors, None)
    unit[row] = value
    with pytest.raises(FloatingPointError):
        nearest(unit, unit_vectors(np.ones((3, 8), np.float32), None), k, np.empty(0, np.int64))
