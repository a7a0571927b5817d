"""Feature vectors: what is accepted, and how they become unit vectors. n vectors, F features."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from docboltz.errors import require

Floats = NDArray[np.float32]


def checked_vectors(values: ArrayLike, n_features: int, owner: str, name: str) -> Floats:
    """`values` as float32 of shape (n, F), or an error that names the entry that is not finite."""
    array = np.asarray(values)
    shaped = array.ndim == 2 and array.shape[1] == n_features and array.dtype.kind in "fiub"
    expected = f"numbers of shape (n, {n_features}), a vector a row"
    require(shaped, owner, name, expected, f"{array.dtype} of shape {array.shape}")
    with np.errstate(over="ignore"):
        vectors = array.astype(np.float32, copy=False)
    if not np.isfinite(vectors).all():
        row, column = np.argwhere(~np.isfinite(vectors))[0]
        got = f"{array[row, column]} at row {row}, column {column}"
        require(False, owner, name, "finite in float32", got)
    return vectors


def unit_vectors(vectors: Floats, mean: Floats | None) -> Floats:
    """x ↦ (x − mean) / |x − mean|, in float64 up to the last rounding; 0 ↦ 0.

    A vector of zeros stands for a document nothing is known of. It stays 0 with a mean as well, so
    that its cosine with everything is 0.
    """
    x = vectors.astype(np.float64)
    if mean is not None:
        x = np.where(x.any(1, keepdims=True), x - mean, 0)
    norm = np.linalg.norm(x, axis=1, keepdims=True)
    unit = np.zeros(x.shape, np.float32)
    np.divide(x, norm, out=unit, where=norm > 0, casting="same_kind")
    return unit
