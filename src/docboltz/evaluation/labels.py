"""Which labels documents carry: n documents, L labels, a 0/1 matrix (n, L), dense or sparse."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from docboltz.errors import require


def label_matrix(values: Any, n_documents: int, owner: str, name: str) -> csr_array:
    """`values` as sparse truth values with a row for each document, or an error."""
    given = values if issparse(values) else np.asarray(values)
    shaped = given.ndim == 2 and given.shape[0] == n_documents and given.dtype.kind in "biuf"
    expected = f"numbers of shape ({n_documents}, n_labels), a document a row"
    require(shaped, owner, name, expected, f"{given.dtype} of shape {given.shape}")
    labels = csr_array(given, copy=True)
    labels.sum_duplicates()
    labels.eliminate_zeros()
    wrong = np.flatnonzero(labels.data != 1)
    if len(wrong):
        row = np.searchsorted(labels.indptr, wrong[0], side="right") - 1
        got = f"{labels.data[wrong[0]]} at row {row}, column {labels.indices[wrong[0]]}"
        require(False, owner, name, "1 where a document carries a label and 0 elsewhere", got)
    return labels.astype(bool)


def require_same_labels(one: csr_array, other: csr_array, owner: str, name: str) -> None:
    """Require that the columns of both matrices may stand for the same labels."""
    expected = f"of {one.shape[1]} columns, a label a column, as for the other documents"
    require(one.shape[1] == other.shape[1], owner, name, expected, other.shape)
