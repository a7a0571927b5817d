"""Retrieval (section 4.4): rank a database by cosine for every query; same label is relevant.

Q queries of a block, n documents in the database, F features. One block of Q × n similarities is
held at a time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from docboltz.errors import require

BLOCK_ENTRIES = 2**23


@dataclass(frozen=True)
class Retrieval:
    """Measures of one ranking per query."""

    average_precision: NDArray[np.float64]
    """Mean over a query's relevant documents of the precision down to each; NaN if it has none."""
    precision_at_10: NDArray[np.float64]
    """Share of relevant documents among the first ten."""

    @property
    def mean_average_precision(self) -> float:
        """MAP over the queries that have a relevant document."""
        return float(np.nanmean(self.average_precision))

    @property
    def mean_precision_at_10(self) -> float:
        """P@10, averaged over all queries."""
        return float(self.precision_at_10.mean())


def evaluate_retrieval(
    database: ArrayLike,
    database_labels: ArrayLike,
    queries: ArrayLike,
    query_labels: ArrayLike,
    *,
    center: bool = False,
) -> Retrieval:
    """Rank all of `database` (n, F) for each of `queries` by cosine, best first, ties by row order.

    `center` subtracts the database's mean features first, which helps where topics are often on.
    """
    known, database_label = np.unique(np.asarray(database_labels), return_inverse=True)
    query_labels = np.asarray(query_labels)
    index = np.searchsorted(known, query_labels).clip(max=len(known) - 1)
    query_label = np.where(known[index] == query_labels, index, -1)
    documents = torch.as_tensor(np.asarray(database, np.float32))
    asked = torch.as_tensor(np.asarray(queries, np.float32))
    same = documents.shape[1:] == asked.shape[1:]
    require(same, "evaluate_retrieval", "queries", f"(any, {documents.shape[1]})", asked.shape)
    if center:
        mean = documents.mean(0)
        documents, asked = documents - mean, asked - mean
    documents, asked = _unit(documents), _unit(asked)
    labels, wanted = torch.as_tensor(database_label), torch.as_tensor(query_label)
    rank = torch.arange(1, len(documents) + 1, dtype=torch.float64)
    average, at_10 = [], []
    size = max(1, BLOCK_ENTRIES // len(documents))
    for begin in range(0, len(asked), size):
        similarity = asked[begin : begin + size] @ documents.T  # (Q, n)
        order = similarity.argsort(dim=1, descending=True, stable=True)
        relevant = (labels[order] == wanted[begin : begin + size, None]).double()
        hits = relevant.cumsum(1)
        average.append((hits / rank * relevant).sum(1) / relevant.sum(1))
        at_10.append(relevant[:, :10].mean(1))
    return Retrieval(torch.cat(average).numpy(), torch.cat(at_10).numpy())


def _unit(features: Tensor) -> Tensor:
    """Rows of length 1; a row of zeros stays one, and its cosine with everything is 0."""
    return torch.nn.functional.normalize(features, dim=1)
