"""Which labels documents carry: n documents, L labels, a 0/1 matrix (n, L), dense or sparse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn.preprocessing import MultiLabelBinarizer

from docboltz.corpus.corpus import check_structure
from docboltz.corpus.split import Split
from docboltz.errors import InvalidCorpus, require


def label_names(values: Any, n_documents: int, owner: str, name: str) -> NDArray[Any]:
    """`values` as an array with a label for each document, or an error."""
    labels = np.asarray(values)
    require(labels.shape == (n_documents,), owner, name, f"of shape ({n_documents},)", labels.shape)
    return labels


def label_matrix(values: Any, n_documents: int, owner: str, name: str) -> csr_array:
    """`values` as sparse truth values with a row for each document, or an error."""
    given = values if issparse(values) else np.asarray(values)
    shaped = given.ndim == 2 and given.shape[0] == n_documents and given.dtype.kind in "biuf"
    expected = f"numbers of shape ({n_documents}, n_labels), a document a row"
    require(shaped, owner, name, expected, f"{given.dtype} of shape {given.shape}")
    check_structure(given, owner)
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


@dataclass(frozen=True, eq=False)
class Labels:
    """The labels of a split: names, one a document, or else 0/1 matrices with a column a label."""

    rows: NDArray[np.int64]
    """Training documents that have labels (n,)."""
    train: Any
    """Their labels: names (n,), or a matrix (n, L) whose columns are in alphabetical order."""
    test_rows: NDArray[np.int64]
    test: Any

    @property
    def multilabel(self) -> bool:
        """Whether labels are matrices: some document has several."""
        return bool(issparse(self.train))


@lru_cache(maxsize=2)  # every measure of every model asks for those of the same split
def labels_of(split: Split) -> Labels:
    """The labels of a split's documents; InvalidCorpus where nothing can be measured by them.

    Documents without labels are left out, as nothing can be said about them.
    """
    names, test_names = (set(part.label_names) for part in (split.train, split.test))
    problem = ""
    if not names and not test_names:
        problem = "The documents have no labels."
    elif not names or not test_names:
        problem = "Documents with labels are in one part only."
    elif len(names) < 2:
        problem = f"There is one label only, {next(iter(names))!r}."
    elif not names & test_names:
        problem = "No label of a test document is on a training document."
    if problem:
        raise InvalidCorpus(problem)
    rows, carried = _labelled(split.train.labels)
    test_rows, test_carried = _labelled(split.test.labels)
    if all(len(own) == 1 for own in (*carried, *test_carried)):
        values: list[Any] = [np.array([*chain(*part)], np.str_) for part in (carried, test_carried)]
    else:
        columns = MultiLabelBinarizer(classes=sorted(names | test_names), sparse_output=True)
        values = [csr_array(columns.fit_transform(part)) for part in (carried, test_carried)]
    return Labels(rows, values[0], test_rows, values[1])


def _labelled(labels: Sequence[Sequence[str]]) -> tuple[NDArray[np.int64], list[set[str]]]:
    """Rows of the documents that have labels, and those, each once."""
    rows = [row for row, own in enumerate(labels) if own]
    return np.array(rows, np.int64), [set(labels[row]) for row in rows]
