"""Is this a matrix, and one of word counts? If not, say where it goes wrong and what to do.

Every matrix that comes from outside passes here, and here alone, before compiled code sees it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from docboltz.corpus.stored import as_float32
from docboltz.errors import FractionalCountsWarning, InvalidCounts, warn_user

MOST = 2**24
"""Float32 holds every whole number up to here."""


COMPRESSED = ("csr", "csc", "bsr")


def check_structure(X: Any, owner: str) -> None:
    """Refuse a sparse matrix whose parts do not fit together.

    SciPy believes them, and its compiled code, like torch's, reads and writes wherever they lead.
    Anything else than a sparse matrix passes, and nothing is changed.
    """
    if not sparse.issparse(X):
        return
    fault = None
    try:
        if X.format in COMPRESSED:
            fault = _fault_of_compressed(X)
        elif X.format == "coo":
            fault = _fault_of_coordinates(X)
        elif X.format == "dia":
            offsets, data = X.offsets, X.data
            if data.ndim != 2 or offsets.shape != data.shape[:1] or offsets.dtype.kind != "i":
                fault = "has other offsets than diagonals"
        else:  # made of Python's lists and dicts, which SciPy reads with care
            fault = _fault_of_compressed(X.tocsr())
    except (AttributeError, TypeError, ValueError, IndexError, OverflowError) as error:
        fault = f"cannot be read ({error})"
    if fault is not None:
        raise InvalidCounts(
            f"{owner} got a sparse matrix of shape {X.shape} that {fault}.",
            hint="Build it anew, as in scipy.sparse.csr_array((data, (rows, columns)), shape).",
        )


def _fault_of_compressed(X: Any) -> str | None:
    indptr, indices, data = X.indptr, X.indices, X.data
    lines, width = X.shape if X.format == "csr" else X.shape[::-1]
    if X.format == "bsr":
        (lines, width), (R, C) = X.shape, X.blocksize
        if R < 1 or C < 1 or lines % R or width % C or data.shape[1:] != (R, C):
            return "is not cut into its blocks"
        lines, width = lines // R, width // C
    elif data.ndim != 1:
        return "has data that is not one-dimensional"
    if not (_are_indices(indptr) and _are_indices(indices)):
        return "has indices that are not whole numbers of 32 or 64 bits"
    if len(indptr) != lines + 1 or indptr[0] != 0 or (indptr[1:] < indptr[:-1]).any():
        return "has a broken indptr"
    if len(indices) != len(data) or indptr[-1] > len(data):
        return "has an indptr that leads beyond its data, or indices without data"
    return _fault_of_indices(indices, width)


def _fault_of_coordinates(X: Any) -> str | None:
    if len(X.coords) != X.ndim or any(each.shape != X.data.shape for each in X.coords):
        return "has other coordinates than data"
    for each, size in zip(X.coords, X.shape, strict=True):
        if not _are_indices(each):
            return "has coordinates that are not whole numbers"
        if (fault := _fault_of_indices(each, size)) is not None:
            return fault
    return None


def _are_indices(array: Any) -> bool:
    return bool(array.ndim == 1 and array.dtype in (np.int32, np.int64))


def _fault_of_indices(indices: Any, size: int) -> str | None:
    if len(indices) and not (indices.min() >= 0 and indices.max() < size):
        return f"has indices outside 0 to {size - 1}"
    return None


def check_counts(X: Any, owner: str) -> sparse.csr_array:
    """Return X, a finite 2-d array or sparse matrix, as CSR float32 counts in column order.

    X itself stays as it is.

    `owner` names the caller in messages, as in "OverReplicatedSoftmax.transform".
    """
    dtype = X.dtype if hasattr(X, "dtype") else np.asarray(X).dtype
    kind = dtype.kind
    if kind not in "buif":
        raise InvalidCounts(
            f"{owner} expects raw word counts and got values of type {dtype}.",
            hint="Pass whole numbers, for example from CountVectorizer.",
        )
    check_structure(X, owner)
    if (kind, dtype.itemsize) == ("f", 2) or not dtype.isnative:
        X = X.astype(np.float64)  # SciPy has neither half precision nor other machines' numbers
    counts = sparse.csr_array(X)
    if not counts.has_canonical_format or counts.indptr[-1] != len(counts.data):
        counts = counts.copy()  # which is ours to put in order
        counts.sum_duplicates()
        counts.prune()
    values = counts.data
    if values.dtype.kind == "f":
        _refuse(counts, ~np.isfinite(values), owner, "finite word counts", "contains NaN or inf")
        if (np.rint(values) != values).any():
            example = values[np.rint(values) != values][0]
            warn_user(
                f"{owner} got counts that are not whole numbers, such as {example:g}. If these are "
                "tf-idf weights, pass the raw counts: the model's lengths and likelihoods mean "
                "nothing otherwise.",
                FractionalCountsWarning,
            )
    # Extremes first: to look for the place costs more, and there is one only if something is wrong.
    if values.dtype.kind not in "ub" and values.min(initial=0) < 0:
        _refuse(counts, values < 0, owner, "word counts of 0 or more", "Negative values in data")
    largest = float(values.max(initial=0))
    if largest > MOST:
        most = f"word counts of at most {MOST:,}"
        _refuse(counts, values > MOST, owner, most, "Too large values in data")
    if largest * np.diff(counts.indptr).max(initial=0) > MOST:
        longest = row_sums(counts).max()
        if longest > MOST:
            raise InvalidCounts(
                f"{owner} got a document of {longest:,.0f} words; the longest may have {MOST:,}.",
                hint="Cut it into several.",
            )
    return as_float32(counts)


BLOCK_ROWS = 1 << 18


def row_sums(counts: sparse.csr_array) -> NDArray[Any]:
    """The sum of each row, some rows at a time: SciPy copies what it adds up."""
    rows = range(0, counts.shape[0], BLOCK_ROWS)
    sums = [counts[begin : begin + BLOCK_ROWS].sum(axis=1) for begin in rows]
    return np.concatenate([np.asarray(part).reshape(-1) for part in sums] or [np.zeros(0)])


def _refuse(counts: sparse.csr_array, bad: Any, owner: str, expected: str, finding: str) -> None:
    """Raise InvalidCounts for the first bad entry, if there is one."""
    if not bad.any():
        return
    entry = int(np.argmax(bad))
    row = int(np.searchsorted(counts.indptr, entry, side="right")) - 1
    raise InvalidCounts(
        f"{finding} passed to {owner}, which expects {expected} of shape "
        f"(n_documents, {counts.shape[1]}); got {counts.data[entry]} at row {row}, column "
        f"{counts.indices[entry]}.",
        hint="Pass the raw counts, for example from CountVectorizer.",
    )
