"""Groups of n documents, against their labels or against other groups of the same documents.

A group is a number for each document; -1 says that a document belongs nowhere. Which number a
group has means nothing: only which documents are together does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from scipy.sparse import issparse
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix

from docboltz.errors import require
from docboltz.evaluation.labels import label_matrix, label_names

NOWHERE = -1
"""The group of documents that belong to none."""


@dataclass(frozen=True)
class GroupAgreement:
    """How well groups agree with labels: 1 in all three where they are the same but for names."""

    accuracy: float
    """Share of documents in the group that is matched with their label, a label a group at most."""
    nmi: float
    """Normalised mutual information, 2 I / (H(groups) + H(labels)), from 0 to 1. Groups by
    chance have some of it, the more the more of them there are."""
    ari: float
    """Adjusted Rand index: 0 on average for groups by chance, however many they are."""
    n_documents: int
    """How many documents that is of: those with exactly one label."""


def compare_groups(groups: ArrayLike, labels: Any) -> GroupAgreement:
    """Compare the groups of n documents (n,) with their labels.

    `labels` are names (n,), one a document, or a 0/1 matrix (n, L). Of a matrix only the documents
    with exactly one label count, as a document is in one group only. Documents that belong nowhere
    (-1) are a group of their own for NMI and ARI, and are wrong for the accuracy.

    >>> compare_groups([0, 0, 1, 1], ["b", "b", "a", "a"])
    GroupAgreement(accuracy=1.0, nmi=1.0, ari=1.0, n_documents=4)
    """
    found = _group_numbers(groups, "compare_groups", "groups")
    found, names = _with_one_label(found, labels, "compare_groups")
    matched = match_groups(found, names)
    # A document in a group that is matched with nothing, or nowhere, is wrong.
    right = sum(int((names[found == group] == label).sum()) for group, label in matched.items())
    return GroupAgreement(
        right / len(found),
        float(normalized_mutual_info_score(names, found)),
        float(adjusted_rand_score(names, found)),
        len(found),
    )


def match_groups(groups: ArrayLike, labels: Any) -> dict[int, Any]:
    """The label of each group in the one-to-one matching with the most documents in common.

    With more groups than labels some groups have none, as have those that share no document with
    theirs, and -1. `labels` as for `compare_groups`.

    >>> match_groups([0, 0, 1, 1, 2, -1], ["sea", "sea", "food", "sea", "food", "food"])
    {0: 'sea', 1: 'food'}
    """
    found = _group_numbers(groups, "match_groups", "groups")
    found, names = _with_one_label(found, labels, "match_groups")
    somewhere = found != NOWHERE
    kinds, labels_there = np.unique(found[somewhere]), np.unique(names[somewhere])
    if not len(kinds):
        return {}
    together = contingency_matrix(found[somewhere], names[somewhere])  # (groups, labels), in order
    pairs = zip(*linear_sum_assignment(together, maximize=True), strict=True)
    return {int(kinds[g]): labels_there[name].item() for g, name in pairs if together[g, name]}


def stability(one: ArrayLike, other: ArrayLike) -> float:
    """How alike two groupings of the same documents are: their adjusted Rand index, 1 at most.

    Of two seeds, or of two models that have learnt from a half of the documents each and then group
    the same documents. -1 is a group like any other.

    >>> stability([0, 0, 1, 1], [5, 5, 3, 3])
    1.0
    """
    first = _group_numbers(one, "stability", "one")
    second = _group_numbers(other, "stability", "other")
    same = first.shape == second.shape
    require(same, "stability", "other", f"of shape {first.shape}, as 'one' is", second.shape)
    return float(adjusted_rand_score(first, second))


def _group_numbers(values: ArrayLike, owner: str, name: str) -> NDArray[np.int64]:
    groups = np.asarray(values)
    row = groups.ndim == 1 and groups.size > 0 and groups.dtype.kind in "iu"
    require(row, owner, name, "whole numbers of shape (n_documents,)", groups)
    least = groups.min()
    require(bool(least >= NOWHERE), owner, name, "0 or more, or -1 for nowhere", least)
    return groups.astype(np.int64)


def _with_one_label(
    groups: NDArray[np.int64], labels: Any, owner: str
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """The documents with exactly one label: their groups and their labels."""
    if not issparse(labels) and np.ndim(labels) != 2:
        return groups, label_names(labels, len(groups), owner, "labels")
    matrix = label_matrix(labels, len(groups), owner, "labels")
    rows = has_one_label(matrix)
    some = bool(rows.any())
    require(some, owner, "labels", "of a document with exactly one label at least", matrix.shape)
    return groups[rows], matrix[rows].indices.astype(np.int64)


def has_one_label(matrix: Any) -> NDArray[np.bool_]:
    """Which documents of a 0/1 matrix (n, L) have exactly one label: (n,)."""
    return np.asarray(matrix.sum(axis=1) == 1).reshape(-1)
