"""Neighbours by the thousand: those that comparing everything in float64 finds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from docboltz.layout import neighbours
from docboltz.layout.neighbours import nearest, neighbours_within
from docboltz.search.vectors import unit_vectors


def vectors(n, F=12, seed=0):
    return unit_vectors(np.random.default_rng(seed).normal(size=(n, F)).astype(np.float32), None)


def ranked(queries, X):
    """All rows of X, nearest first, and their distances, in float64."""
    cosines = queries.astype(np.float64) @ X.T.astype(np.float64)
    order = np.argsort(-cosines, axis=1, kind="stable")
    return order, np.sqrt(np.maximum(2 - 2 * np.take_along_axis(cosines, order, 1), 0))


@given(st.integers(1, 400), st.integers(1, 40), st.integers(0, 5))
def test_the_nearest_are_those_of_highest_cosine(n, k, seed):
    X, queries = vectors(n, seed=seed), vectors(7, seed=99)
    k = min(k, n)
    found, (order, distances) = nearest(queries, X, k, np.arange(0)), ranked(queries, X)
    assert np.array_equal(found.rows, order[:, :k])
    np.testing.assert_allclose(found.distances, distances[:, :k], atol=1e-3)


def test_blocks_change_nothing(monkeypatch):
    X, queries = vectors(3000), vectors(50, seed=1)
    whole = nearest(queries, X, 9, np.arange(0))
    monkeypatch.setattr(neighbours, "SCORES_AT_ONCE", 7 * 3000)
    assert np.array_equal(nearest(queries, X, 9, np.arange(0)).rows, whole.rows)


def test_excluded_rows_are_no_neighbours():
    X = vectors(50)
    out = np.array([3, 7, 20])
    assert not np.isin(nearest(X, X, 47, out).rows, out).any()
    own = np.arange(50)[:, None]
    found = nearest(X, X, 49, own)
    assert not (found.rows == own).any()
    assert (np.sort(found.rows, axis=1) == [np.delete(np.arange(50), i) for i in range(50)]).all()


def test_equal_vectors_are_found_in_the_order_of_the_rows():
    X = np.repeat(vectors(1), 300, axis=0)
    found = nearest(X[:2], X, 5, np.arange(0))
    assert found.rows.tolist() == [[0, 1, 2, 3, 4]] * 2
    assert (found.distances < 1e-3).all()


def test_all_neighbours_of_few_documents_are_found():
    X = vectors(500)
    told = []
    found = neighbours_within(X, 10, seed=0, done=told.append)
    assert np.array_equal(found.rows, ranked(X, X)[0][:, 1:11])
    assert told[-1] == 500


@pytest.fixture
def small_cells(monkeypatch):
    """Collections of 400 documents are large."""
    monkeypatch.setattr(neighbours, "CELL_DOCUMENTS", 20)
    monkeypatch.setattr(neighbours, "CELLS", 10)


@pytest.mark.usefixtures("small_cells")
def test_most_neighbours_of_many_documents_are_found():
    X = vectors(2000, F=4)
    told = []
    found = neighbours_within(X, 10, seed=0, done=told.append)
    exact = ranked(X, X)[0][:, 1:11]
    shares = [len(set(a) & set(b)) / 10 for a, b in zip(found.rows, exact, strict=True)]
    # A tenth of the documents is looked at: 10 % by chance; 97 % were found when it was written.
    assert np.mean(shares) > 0.9
    assert not (found.rows == np.arange(2000)[:, None]).any()
    assert (np.diff(found.distances, axis=1) >= 0).all()
    assert told == sorted(told)
    assert told[-1] == 2000
    assert np.array_equal(neighbours_within(X, 10, seed=0).rows, found.rows)


@pytest.mark.usefixtures("small_cells")
def test_cells_too_small_for_their_neighbours_borrow_from_others():
    """Documents in a few directions only: most cells have nobody."""
    X = np.repeat(vectors(3), 200, axis=0) + 1e-3 * vectors(600, seed=3)
    found = neighbours_within(unit_vectors(X, None), 250, seed=0)
    assert (np.diff(np.sort(found.rows, axis=1), axis=1) > 0).all(), "each once"
