"""Which labels documents carry: n documents, L labels, a 0/1 matrix (n, L), dense or sparse."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
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


def of_documents(
    *parts: Sequence[Sequence[str]],
) -> list[tuple[NDArray[np.int64], NDArray[np.str_] | csr_array]]:
    """Turn the labels of documents, part by part, into a form to evaluate with.

    For each part, the rows of its documents that have labels, and these labels: names (rows,) if
    all documents of all parts have at most one, else a 0/1 matrix (rows, L) whose columns are the
    labels of all parts in alphabetical order. Documents without labels are left out, as nothing
    can be said about them.

    >>> [(rows, names)] = of_documents([("sport",), (), ("art",)])
    >>> rows, names.tolist()
    (array([0, 2]), ['sport', 'art'])
    """
    kept = [np.array([i for i, own in enumerate(part) if own], np.int64) for part in parts]
    for number, rows in enumerate(kept):
        require(len(rows) > 0, "of_documents", f"parts[{number}]", "documents with labels", "none")
    carried = [[set(part[int(i)]) for i in rows] for part, rows in zip(parts, kept, strict=True)]
    if all(len(own) == 1 for part in carried for own in part):
        names = [np.array([next(iter(own)) for own in part], dtype=np.str_) for part in carried]
        return list(zip(kept, names, strict=True))
    columns = sorted({label for part in carried for own in part for label in own})
    column = {label: number for number, label in enumerate(columns)}
    matrices = []
    for part in carried:
        row = np.repeat(np.arange(len(part)), [len(own) for own in part])
        of_row = [column[label] for own in part for label in own]
        carries = csr_array((np.ones(len(row), np.int8), (row, of_row)), (len(part), len(columns)))
        matrices.append(carries)
    return list(zip(kept, matrices, strict=True))
