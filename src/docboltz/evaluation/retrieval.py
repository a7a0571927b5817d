"""Retrieval (section 4.4): rank a database by cosine for every query; same label is relevant.

n documents in the database, Q queries, F features, L labels. A task is a query and a label it
carries; there are P of them. All tasks of a query share its ranking. One block of cosines, its
ranking and one block of relevances, BLOCK_ENTRIES each, are held at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor

from docboltz.device import choose_device
from docboltz.errors import is_whole, require
from docboltz.evaluation.cosines import Cosines
from docboltz.evaluation.labels import label_matrix, label_names, require_same_labels

# At 794,414 documents this is ten queries at a time.
BLOCK_ENTRIES = 2**23

RECALL_POINTS = (0.0002, 0.001, 0.004, 0.016, 0.064, 0.256, 1.0)
"""Where precision is read off: the ticks of the logarithmic recall axis, 0.02 % to 100 %, that work
on the Replicated Softmax plots its curves over, about a factor of four apart."""

DEFAULT_KS = (1, 5, 10, 20)

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Retrieval:
    """Measures of P tasks, each a ranking with the documents that are relevant in it.

    Where documents have one label each, every query is a task, and means are over queries. Those
    without a relevant document have no average precision and no recall: they are left out of those
    means, and count as 0 in P@k. Where documents have several labels, those that no document of the
    database carries make no task, nor do those of no query, and means are over the queries of a
    label first, then over the labels.
    """

    average_precision: Floats
    """Mean over the relevant documents of the precision down to each (P,); NaN if there is none."""
    precision_at: dict[int, Floats]
    """Share of relevant documents among the first k, or among all if there are fewer: k → (P,)."""
    precision_at_recall: Floats
    """Precision down to the first rank at which a recall is reached, not interpolated: (P, points).

    One column for each of RECALL_POINTS; NaN if there is no relevant document."""
    query: Indices
    """The task's row of the queries, in ascending order: (P,)."""
    label: Indices
    """The task's label, a column of the matrix or the number of the name in the alphabet: (P,)."""
    n_queries: int
    """Number of queries, those without a task included."""
    multilabel: bool

    @property
    def mean_average_precision(self) -> float:
        """MAP: the mean of the average precision."""
        return float(self._mean(self.average_precision))

    @property
    def mean_precision_at_recall(self) -> Floats:
        """The precision–recall curve: mean precision at each of RECALL_POINTS."""
        return self._mean(self.precision_at_recall)

    @property
    def mean_precision_at_10(self) -> float:
        """P@10."""
        return self.mean_precision_at(10)

    def mean_precision_at(self, k: int) -> float:
        """P@k, for a k that was measured."""
        measured = tuple(self.precision_at)
        require(k in measured, "mean_precision_at", "k", f"one of the ks measured, {measured}", k)
        return float(self._mean(self.precision_at[k]))

    @property
    def query_average_precision(self) -> Floats:
        """Average precision of each query (Q,), the mean over its tasks; NaN if it has none."""
        n_tasks = np.bincount(self.query, minlength=self.n_queries)
        total = np.bincount(self.query, self.average_precision, minlength=self.n_queries)
        none = np.full(self.n_queries, np.nan)
        return np.asarray(np.divide(total, n_tasks, where=n_tasks > 0, out=none))

    def _mean(self, measure: Floats) -> Floats:
        if not self.multilabel:
            return np.asarray(np.nanmean(measure, axis=0))
        _, task, n_tasks = np.unique(self.label, return_inverse=True, return_counts=True)
        columns = measure.reshape(len(measure), -1).T
        of_label = np.stack([np.bincount(task, column) / n_tasks for column in columns], axis=1)
        return np.asarray(of_label.mean(0).reshape(measure.shape[1:]))


def evaluate_retrieval(
    database: Any,
    database_labels: Any,
    queries: Any,
    query_labels: Any,
    *,
    center: bool = False,
    ks: Sequence[int] = DEFAULT_KS,
    device: str = "cpu",
) -> Retrieval:
    """Rank all of `database` (n, F) for each of `queries` by cosine, best first, ties by row order.

    Features are arrays or sparse matrices; sparse ones are never made dense, and are multiplied on
    the CPU. Labels are names (n,) and (Q,), or for several labels a document 0/1 matrices (n, L)
    and (Q, L), dense or sparse: the ranking is then measured for each label of the query. `center`
    subtracts the database's mean features first, which helps where units are often on. `ks` are
    the ranks to measure precision down to. `device` is where the ranking runs: 'cpu', 'cuda' or
    'auto'.

    >>> features, one = [[1, 0], [1, 1], [0, 1]], [[1, 0]]
    >>> found = evaluate_retrieval(features, ["x", "y", "x"], one, ["x"])
    >>> found.average_precision.round(2), found.precision_at[1], found.mean_precision_at_recall[-1:]
    (array([0.83]), array([1.]), array([0.66666667]))
    >>> found = evaluate_retrieval(features, [[1, 0], [0, 1], [1, 0]], one, [[1, 1]])
    >>> found.label, found.average_precision.round(2)
    (array([0, 1]), array([0.83, 0.5 ]))
    """
    owner = "evaluate_retrieval"
    place = choose_device(device, owner)
    ranks = all(is_whole(k) and k > 0 for k in ks)
    require(ranks, owner, "ks", "ranks, whole numbers from 1 on", ks)
    cosines = Cosines(database, queries, center=center, device=place, owner=owner)
    n, n_queries = cosines.n_documents, cosines.n_queries
    multilabel = np.ndim(database_labels) == 2
    read: Callable[..., Any] = label_matrix if multilabel else label_names
    known = read(database_labels, n, owner, "database_labels")
    wanted = read(query_labels, n_queries, owner, "query_labels")
    if multilabel:
        require_same_labels(known, wanted, owner, "query_labels")
        query, label = (found.astype(np.int64) for found in wanted.nonzero())
        findable = known.sum(0)[label] > 0
        tasks, carriers = (query[findable], label[findable]), known.T.tocsr()
        shared = findable.any()
    else:
        names, label = np.unique(np.concatenate([known, wanted]), return_inverse=True)
        carriers = csr_array((np.ones(n, bool), (label[:n], np.arange(n))), shape=(len(names), n))
        tasks = np.arange(n_queries), label[n:]
        shared = np.isin(wanted, known).any()
    expected = "labels the database has"
    require(bool(shared), owner, "query_labels", expected, "none that a document has")
    measures = _measure(_relevances(cosines, carriers, *tasks), ks)
    return Retrieval(*measures, *tasks, n_queries, multilabel)


def _relevances(
    cosines: Cosines, carriers: csr_array, query: Indices, label: Indices
) -> Iterator[Tensor]:
    """Which documents are relevant, best first: blocks of (tasks, n) truth values, task by task.

    `carriers` (L, n) tells the documents of each label. Tasks come in the order of their queries.
    """
    size = max(1, BLOCK_ENTRIES // cosines.n_documents)
    for begin in range(0, cosines.n_queries, size):
        order = cosines.block(begin, begin + size).argsort(dim=1, descending=True, stable=True)
        first, last = np.searchsorted(query, [begin, begin + size])
        for task in range(first, last, size):
            tasks = slice(task, min(task + size, last))
            carried = torch.as_tensor(carriers[label[tasks]].toarray(), device=order.device)
            row = torch.as_tensor(query[tasks] - begin, device=order.device)
            yield carried.gather(1, order[row])  # (tasks of the block, n)


def _measure(
    relevances: Iterable[Tensor], ks: Sequence[int]
) -> tuple[Floats, dict[int, Floats], Floats]:
    """Average precision, precision at ranks and precision at recalls of every row of the blocks.

    All of it is in the ranks of the relevant documents, mostly far fewer than n.
    """
    average, at_recall = [], []
    at_rank: dict[int, list[Tensor]] = {int(k): [] for k in ks}
    for relevant in relevances:
        n_relevant = relevant.sum(1)  # (tasks,)
        first = n_relevant.cumsum(0) - n_relevant  # where a task's begin among all of the block
        task, rank = relevant.nonzero(as_tuple=True)  # task by task, best first; rank from 0
        how_many = torch.arange(1, len(task) + 1, device=task.device) - first[task]
        precision = how_many.double() / (rank + 1)
        total = torch.zeros(len(relevant), dtype=torch.float64, device=task.device)
        average.append(total.index_add_(0, task, precision) / n_relevant)
        at_recall.append(_at_recall(precision, first, n_relevant))
        for k, found in at_rank.items():
            found.append(relevant[:, :k].double().mean(1))
    together = {k: torch.cat(found).cpu().numpy() for k, found in at_rank.items()}
    return torch.cat(average).cpu().numpy(), together, torch.cat(at_recall).cpu().numpy()


def _at_recall(precision: Tensor, first: Tensor, n_relevant: Tensor) -> Tensor:
    """Precision at the first rank whose recall is at least each of RECALL_POINTS: (tasks, points).

    That is the rank of relevant document number ⌈r R⌉ of the R there are. In float64 it is never
    rounded to another number, for any of the points and R up to five million.
    """
    recall = torch.tensor(RECALL_POINTS, dtype=torch.float64, device=precision.device)
    number = (n_relevant[:, None] * recall).ceil().long()  # (tasks, points)
    found = torch.full(number.shape, torch.nan, dtype=torch.float64, device=precision.device)
    some = n_relevant > 0
    found[some] = precision[(first[:, None] + number - 1)[some]]
    return found
