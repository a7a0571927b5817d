"""Retrieval (section 4.4): rank a database by cosine for every query; same label is relevant.

n documents in the database, Q queries, F features, L labels. A task is a query and a label it
carries; there are P of them. All tasks of a query share its ranking. One block of cosines and one
block of relevances, BLOCK_ENTRIES each, are held at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from torch import Tensor

from docboltz.device import choose_device
from docboltz.errors import require
from docboltz.evaluation.labels import label_matrix, require_same_labels

BLOCK_ENTRIES = 2**23

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Retrieval:
    """Measures of one ranking per query."""

    average_precision: Floats
    """Mean over a query's relevant documents of the precision down to each; NaN if it has none."""
    precision_at_10: Floats
    """Share of relevant documents among the first ten."""

    @property
    def mean_average_precision(self) -> float:
        """MAP over the queries that have a relevant document."""
        return float(np.nanmean(self.average_precision))

    @property
    def mean_precision_at_10(self) -> float:
        """P@10, averaged over all queries."""
        return float(self.precision_at_10.mean())


@dataclass(frozen=True)
class MultilabelRetrieval:
    """Measures of every task, that is, of every query and label it carries: (P,) each.

    Labels that no document of the database carries make no task; nor do those of no query.
    """

    query: Indices
    """The task's row of the queries, in ascending order."""
    label: Indices
    """The task's column of the labels."""
    average_precision: Floats
    """Mean over the documents with the label of the precision down to each."""
    precision_at_10: Floats
    """Share of documents with the label among the first ten."""

    @property
    def mean_average_precision(self) -> float:
        """MAP: average precision, averaged over a label's queries, then over the labels."""
        return self._mean_over_labels(self.average_precision)

    @property
    def mean_precision_at_10(self) -> float:
        """P@10, averaged over a label's queries, then over the labels."""
        return self._mean_over_labels(self.precision_at_10)

    def _mean_over_labels(self, measure: Floats) -> float:
        _, task, n_queries = np.unique(self.label, return_inverse=True, return_counts=True)
        return float(np.mean(np.bincount(task, measure) / n_queries))


def evaluate_retrieval(
    database: ArrayLike,
    database_labels: ArrayLike,
    queries: ArrayLike,
    query_labels: ArrayLike,
    *,
    center: bool = False,
    device: str = "cpu",
) -> Retrieval:
    """Rank all of `database` (n, F) for each of `queries` by cosine, best first, ties by row order.

    `center` subtracts the database's mean features first, which helps where topics are often on.
    `device` is where the ranking runs: 'cpu', 'cuda' or 'auto'.
    """
    owner = "evaluate_retrieval"
    documents, asked = _unit_vectors(database, queries, center, device, owner)
    n, known, wanted = len(documents), np.asarray(database_labels), np.asarray(query_labels)
    require(known.shape == (n,), owner, "database_labels", f"of shape ({n},)", known.shape)
    one_each = wanted.shape == (len(asked),)
    require(one_each, owner, "query_labels", f"of shape ({len(asked)},)", wanted.shape)
    names, label = np.unique(np.concatenate([known, wanted]), return_inverse=True)
    carriers = csr_array((np.ones(n, bool), (label[:n], np.arange(n))), shape=(len(names), n))
    tasks = np.arange(len(asked)), label[n:]
    return Retrieval(*_measure(_relevances(documents, asked, carriers, *tasks)))


def evaluate_multilabel_retrieval(
    database: ArrayLike,
    database_labels: Any,
    queries: ArrayLike,
    query_labels: Any,
    *,
    center: bool = False,
    device: str = "cpu",
) -> MultilabelRetrieval:
    """Rank as `evaluate_retrieval` does, and measure the ranking for each label of the query.

    Labels are 0/1 matrices (n, L) and (Q, L), dense or sparse.

    >>> found = evaluate_multilabel_retrieval(
    ...     [[1, 0], [1, 1], [0, 1]], [[1, 0], [0, 1], [1, 0]], [[1, 0]], [[1, 1]]
    ... )
    >>> found.label, found.average_precision.round(2)
    (array([0, 1]), array([0.83, 0.5 ]))
    """
    owner = "evaluate_multilabel_retrieval"
    documents, asked = _unit_vectors(database, queries, center, device, owner)
    known = label_matrix(database_labels, len(documents), owner, "database_labels")
    wanted = label_matrix(query_labels, len(asked), owner, "query_labels")
    require_same_labels(known, wanted, owner, "query_labels")
    query, label = wanted.nonzero()
    findable = known.sum(0)[label] > 0
    tasks = query[findable].astype(np.int64), label[findable].astype(np.int64)
    shared = bool(findable.any())
    require(shared, owner, "query_labels", "labels the database has", "none that a document has")
    measures = _measure(_relevances(documents, asked, known.T.tocsr(), *tasks))
    return MultilabelRetrieval(*tasks, *measures)


def _unit_vectors(
    database: ArrayLike, queries: ArrayLike, center: bool, device: str, owner: str
) -> tuple[Tensor, Tensor]:
    """Both as unit vectors on the device. Zeros stay zeros, of cosine 0 with everything."""
    place = choose_device(device, owner)
    documents = torch.as_tensor(np.asarray(database, np.float32), device=place)
    asked = torch.as_tensor(np.asarray(queries, np.float32), device=place)
    same = documents.shape[1:] == asked.shape[1:]
    require(same, owner, "queries", f"(any, {documents.shape[1]})", asked.shape)
    if center:
        mean = documents.mean(0)
        documents, asked = documents - mean, asked - mean
    unit = torch.nn.functional.normalize
    return unit(documents, dim=1), unit(asked, dim=1)


def _relevances(
    documents: Tensor, asked: Tensor, carriers: csr_array, query: Indices, label: Indices
) -> Iterator[Tensor]:
    """Which documents are relevant, best first: blocks of (tasks, n) truth values, task by task.

    `carriers` (L, n) tells the documents of each label. Tasks come in the order of their queries.
    """
    size = max(1, BLOCK_ENTRIES // len(documents))
    for begin in range(0, len(asked), size):
        cosine = asked[begin : begin + size] @ documents.T  # (queries of the block, n)
        order = cosine.argsort(dim=1, descending=True, stable=True)
        first, last = np.searchsorted(query, [begin, begin + size])
        for task in range(first, last, size):
            tasks = slice(task, min(task + size, last))
            carried = torch.as_tensor(carriers[label[tasks]].toarray(), device=order.device)
            row = torch.as_tensor(query[tasks] - begin, device=order.device)
            yield carried.gather(1, order[row])  # (tasks of the block, n)


def _measure(relevances: Iterable[Tensor]) -> tuple[Floats, Floats]:
    """Average precision and precision at 10 of every row of the blocks."""
    average, at_10 = [], []
    for block in relevances:
        relevant = block.double()
        rank = torch.arange(1, block.shape[1] + 1, device=block.device)
        precision = relevant.cumsum(1) / rank
        average.append((precision * relevant).sum(1) / relevant.sum(1))
        at_10.append(relevant[:, :10].mean(1))
    return torch.cat(average).cpu().numpy(), torch.cat(at_10).cpu().numpy()
