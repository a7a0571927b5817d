"""Exact search against brute force in float64; bits against their definition."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from docboltz.corpus.document import Document
from docboltz.search import store as module
from docboltz.search import vectors
from docboltz.search.store import Question
from docboltz.search.vectors import codes_of, likely, products, unit_vectors
from tests.search.stores import Place, documents, questions


def units(x: object) -> np.ndarray:
    """Unit vectors in float64."""
    given = np.asarray(x, np.float64)
    norm = np.linalg.norm(given, axis=1, keepdims=True)
    return np.divide(given, norm, out=np.zeros_like(given), where=norm > 0)


def searched(folder: Path, X: np.ndarray, queries: np.ndarray, k: int) -> tuple:
    """The best documents by features, of documents without a word."""
    store = Place(folder).store([Document(f"{i}", "") for i in range(len(X))], X)
    asked = [Question(vector) for vector in unit_vectors(queries, None)]
    best = store.search(asked, k, "features")
    return best.rows, best.features


few = st.sampled_from([0.0, 0.0, 1.0, -1.0, 0.5, 0.1, 3.0, 1e-3])


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    arrays(np.float32, st.tuples(st.integers(1, 40), st.just(3)), elements=few),
    arrays(np.float32, st.tuples(st.integers(1, 5), st.just(3)), elements=few),
    st.integers(1, 12),
)
def test_it_agrees_with_brute_force(
    tmp_path: Path, X: np.ndarray, queries: np.ndarray, k: int
) -> None:
    """With many equal documents, and some that nothing is known of."""
    rows, scores = searched(tmp_path, X, queries, k)
    truth = units(queries) @ units(X).T
    for own, found, expected in zip(rows, scores, truth, strict=True):
        taken = own >= 0
        best = -np.sort(-expected)[: len(own)]
        np.testing.assert_allclose(found, best.clip(0), atol=1e-6)
        np.testing.assert_allclose(found[taken], expected[own[taken]], atol=1e-6)
        steps = np.diff(found[taken])
        assert ((steps < 0) | (steps == 0) & (np.diff(own[taken]) > 0)).all()


def test_the_best_of_many_are_found_wherever_they_are(tmp_path: Path) -> None:
    """Each document is there three times. Products of so many take other paths in BLAS."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 24)).astype(np.float32)
    order = np.tile(np.arange(2000), 3)
    queries = rng.normal(size=(40, 24)).astype(np.float32)
    rows, scores = searched(tmp_path, X[order], queries, 5)
    best = np.argsort(-(units(queries) @ units(X).T), axis=1)[:, :2]
    np.testing.assert_array_equal(rows[:, :3], best[:, :1] + [0, 2000, 4000])
    np.testing.assert_array_equal(rows[:, 3:], best[:, 1:] + [0, 2000])
    assert (scores[:, 0] == scores[:, 2]).all()


def test_scores_closer_than_float32_are_told_apart(tmp_path: Path) -> None:
    """Documents that differ by the rounding of float32, which a product in it cannot order."""
    rng = np.random.default_rng(0)
    unit = unit_vectors(rng.random((1, 64), np.float32), None) * np.ones((4000, 1), np.float32)
    unit *= 1 + 2.0**-23 * rng.integers(-2, 3, unit.shape).astype(np.float32)
    queries = unit_vectors(rng.random((3, 64), np.float32), None)
    _, scores = searched(tmp_path, unit, queries, 5)
    kept = unit_vectors(unit, None).astype(np.float64)
    truth = queries.astype(np.float64) @ kept.T
    np.testing.assert_allclose(scores, -np.sort(-truth)[:, :5], rtol=0, atol=1e-14)


@pytest.mark.parametrize("n", [1, 16, 17, 40])
@pytest.mark.parametrize("numbers", [1, 100, 1 << 18])
def test_products(monkeypatch: pytest.MonkeyPatch, n: int, numbers: int) -> None:
    monkeypatch.setattr(vectors, "NUMBERS_AT_ONCE", numbers)
    rng = np.random.default_rng(0)
    queries, X = (rng.normal(size=(m, 8)).astype(np.float32) for m in (n, 50))
    np.testing.assert_allclose(products(queries, X), queries @ X.T, atol=1e-5)


@pytest.mark.parametrize("by", ["both", "words", "features"])
def test_bits_find_the_documents_that_all_would_find(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    monkeypatch.setattr(vectors, "CODES_AT_ONCE", 64)
    store, asked = Place(tmp_path).store(documents(300)), questions(5)
    exact = store.search(asked, 10, by)  # type: ignore[arg-type]
    monkeypatch.setattr(module, "EXACT_DOCUMENTS", 0)
    store = Place(tmp_path).open()
    assert not store.is_exact
    for mine, theirs in zip(store.search(asked, 10, by), exact, strict=True):  # type: ignore[arg-type]
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("n_features", [1, 8, 63, 64, 65, 300])
def test_codes_are_a_bit_for_each_feature(n_features: int) -> None:
    X = np.random.default_rng(0).normal(size=(50, n_features)).astype(np.float32)
    codes = codes_of(X)
    assert codes.shape == (50, -(-n_features // 64))
    differing = np.bitwise_count(codes ^ codes[7]).sum(1)
    np.testing.assert_array_equal(differing, ((X > 0) != (X[7] > 0)).sum(1))


@pytest.mark.parametrize("n", [1, 5, 50, 99])
@pytest.mark.parametrize("at_once", [7, 1000])
def test_the_likely_ones_are_the_best_by_bits(
    monkeypatch: pytest.MonkeyPatch, n: int, at_once: int
) -> None:
    monkeypatch.setattr(vectors, "CODES_AT_ONCE", at_once)
    rng = np.random.default_rng(1)
    X = rng.normal(size=(90, 24)).astype(np.float32)
    X[40:60] = X[7]  # equal ones: the first are taken
    words = rng.integers(0, 3, 90).astype(np.float32)
    words[[0, 33, 89]] = -np.inf
    signs = np.where(X > 0, 1, -1)
    score = np.round((0.7 * (signs @ signs[7]) / 24 + words).astype(np.float64), 5)
    order = np.argsort(-score, kind="stable")[: min(n, 87)]
    found = likely(codes_of(X), X[7], n, 0.7, words)
    np.testing.assert_allclose(np.sort(score[found]), np.sort(score[order]), atol=1e-5)
    assert (np.diff(found) > 0).all()


def test_unit_vectors() -> None:
    given = np.array([[0, 0], [3, 1], [1, 1]], np.float32)
    centred = unit_vectors(given, np.array([1, 1], np.float32))
    np.testing.assert_array_equal(centred, [[0, 0], [1, 0], [0, 0]])
    extreme = np.array([[3e-44, 4e-44], [3e-30, 4e-30], [3e38, -3e38]], np.float32)
    norm = np.linalg.norm(unit_vectors(extreme, None).astype(np.float64), axis=1)
    np.testing.assert_allclose(norm, 1, atol=1e-7)
