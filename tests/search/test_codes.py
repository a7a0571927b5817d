from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from docboltz.search import codes as module
from docboltz.search.codes import Codes, CodeWriter, codes_of

NOBODY = np.empty(0, np.int64)


def coded(path: Path, X: np.ndarray, block: int = 7) -> Codes:
    with CodeWriter(path) as writer:
        for begin in range(0, len(X), block):
            writer.append(X[begin : begin + block])
        writer.finish()
    return Codes(path, *X.shape)


@pytest.mark.parametrize("n_features", [1, 8, 63, 64, 65, 128, 255, 256, 300])
def test_distances_are_numbers_of_differing_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n_features: int
) -> None:
    monkeypatch.setattr(module, "ROWS_AT_ONCE", 16)
    X = np.random.default_rng(0).normal(size=(50, n_features)).astype(np.float32)
    X[3] = -X[2]  # nothing in common
    codes = coded(tmp_path, X)
    for i in (0, 2, 49):
        found = np.concatenate([distances for _, distances in codes.distances(codes_of(X)[i])])
        np.testing.assert_array_equal(found, ((X > 0) != (X[i] > 0)).sum(1))


@pytest.mark.parametrize("n", [1, 5, 50, 99])
@pytest.mark.parametrize("with_others", [False, True])
def test_the_likely_ones_are_the_best_by_estimate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n: int, with_others: bool
) -> None:
    monkeypatch.setattr(module, "ROWS_AT_ONCE", 16)
    rng = np.random.default_rng(1)
    X = rng.normal(size=(90, 24)).astype(np.float32)
    X[40:60] = X[7]  # equal ones: the first are taken
    others = rng.random(90).astype(np.float32) if with_others else None
    excluded = np.array([0, 33, 89])
    signs = np.where(X > 0, 1, -1).astype(np.float64)
    score = (0.7 * (signs @ signs[7]) / 24).astype(np.float32)
    if others is not None:
        score += others
    score[excluded] = -np.inf
    order = np.argsort(-score, kind="stable")[: min(n, 87)]
    found = coded(tmp_path, X).likely(codes_of(X)[7], n, 0.7, others, excluded)
    np.testing.assert_array_equal(found, np.sort(order))


def test_a_file_of_other_documents_is_refused(tmp_path: Path) -> None:
    coded(tmp_path, np.ones((9, 3), np.float32))
    with pytest.raises(ValueError, match="not of 8 documents"):
        Codes(tmp_path, 8, 3)
