from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from docboltz.errors import InvalidParameter
from docboltz.search.vectors import checked_vectors, unit_vectors


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([[1.0, 2.0, 3.0]], r"shape \(n, 2\).*float64 of shape \(1, 3\)"),
        ([1.0, 2.0], r"shape \(n, 2\).*of shape \(2,\)"),
        ([["x", "y"]], "numbers of shape"),
        ([[1, np.nan]], "finite in float32. Got 'nan at row 0, column 1'"),
        ([[0, 1], [np.inf, 1]], "finite in float32. Got 'inf at row 1, column 0'"),
        ([[3e200, 1]], r"finite in float32. Got '3e\+200 at row 0, column 0'"),
    ],
)
def test_what_is_no_vector_is_refused(values: Any, message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        checked_vectors(values, 2, "test", "values")


@pytest.mark.parametrize("values", [[[1, 0]], [[True, False]], np.ones((3, 2), np.float16)])
def test_all_kinds_of_numbers_become_float32(values: Any) -> None:
    vectors = checked_vectors(values, 2, "test", "values")
    assert vectors.dtype == np.float32
    np.testing.assert_array_equal(vectors, values)


def test_zero_vectors_stay_zero_when_centred() -> None:
    vectors = np.array([[0, 0], [3, 1], [1, 1]], np.float32)
    unit = unit_vectors(vectors, np.array([1, 1], np.float32))
    np.testing.assert_array_equal(unit, [[0, 0], [1, 0], [0, 0]])


def test_lengths_at_the_ends_of_float32() -> None:
    vectors = np.array([[3e-44, 4e-44], [3e-30, 4e-30], [3e38, -3e38]], np.float32)
    norm = np.linalg.norm(unit_vectors(vectors, None).astype(np.float64), axis=1)
    np.testing.assert_allclose(norm, 1, atol=1e-7)
