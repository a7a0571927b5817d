"""Is this a matrix of word counts? If not, say where it goes wrong and what to do about it."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from docboltz.corpus.stored import as_float32
from docboltz.errors import FractionalCountsWarning, InvalidCounts, warn_user

MOST = 2**24
"""Float32 holds every whole number up to here."""


def check_counts(X: Any, owner: str) -> sparse.csr_array:
    """Return X, a finite 2-d array or sparse matrix, as CSR float32 counts in column order.

    `owner` names the caller in messages, as in "OverReplicatedSoftmax.transform".
    """
    if getattr(X, "dtype", None) == np.float16:
        X = X.astype(np.float32)  # SciPy has no half precision
    counts = sparse.csr_array(X)
    if not counts.has_sorted_indices:
        counts = counts.sorted_indices()
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
    if values.dtype.kind != "u":
        _refuse(counts, values < 0, owner, "word counts of 0 or more", "Negative values in data")
    most = f"word counts of at most {MOST:,}"
    _refuse(counts, values > MOST, owner, most, "Too large values in data")
    return as_float32(counts)


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
