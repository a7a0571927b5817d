"""The k nearest documents, of documents by the thousand. n documents, Q queries, F features.

As in a search the nearest are those of the highest cosine. `search.vectors` decides ties in float64
for a few queries; a map needs the neighbours of every document, and float32 will do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from docboltz.search.vectors import Floats, unit_vectors

Rows = NDArray[np.int64]
SCORES_AT_ONCE = 1 << 23
"""32 MB of float32 cosines."""
BLOCK_DOCUMENTS = 4096
CELL_DOCUMENTS, CELLS = 250, 64
"""Documents of a cell, about, and cells in which neighbours are looked for: 97 % are found there
(docs/lab/map.md)."""


class Neighbours(NamedTuple):
    """The nearest of each query, nearest first: (Q, k) each."""

    rows: Rows
    distances: Floats
    """Between unit vectors: √(2 − 2 cosine)."""


def neighbours_within(
    X: Floats, k: int, *, seed: int, done: Callable[[int], None] = lambda n: None
) -> Neighbours:
    """The k nearest others of each of n documents; `done` is told of how many they are known.

    All of them, exactly, if documents are few; else nearly all, looked for in cells: comparing
    200,000 documents with each other would take four times as long.
    """
    n = len(X)
    found = Neighbours(np.empty((n, k), np.int64), np.empty((n, k), np.float32))
    if n <= 2 * CELLS * CELL_DOCUMENTS:
        for begin in range(0, n, BLOCK_DOCUMENTS):
            rows = np.arange(begin, min(begin + BLOCK_DOCUMENTS, n))
            found.rows[rows], found.distances[rows] = nearest(X[rows], X, k, rows[:, None])
            done(int(rows[-1]) + 1)
        return found
    middles, cell = make_cells(X, n // CELL_DOCUMENTS, np.random.default_rng(seed))
    order = np.argsort(cell, kind="stable")
    members = np.split(order, np.searchsorted(cell[order], np.arange(1, len(middles))))
    sizes, closeness = np.array([len(own) for own in members]), middles @ middles.T
    np.fill_diagonal(closeness, np.inf)  # its own cell is nearest, whatever its middle
    n_done = 0
    for own, close in zip(members, closeness, strict=True):
        cells = np.argsort(-close, kind="stable")
        enough = 1 + int(np.searchsorted(np.cumsum(sizes[cells]), k + 1))
        others = np.sort(np.concatenate([members[c] for c in cells[: max(enough, CELLS)]]))
        places, distances = nearest(X[own], X[others], k, np.searchsorted(others, own)[:, None])
        found.rows[own], found.distances[own] = others[places], distances
        n_done += len(own)
        done(n_done)
    return found


def make_cells(X: Floats, number: int, random: np.random.Generator) -> tuple[Floats, Rows]:
    """Cells of documents that are near each other: their middles, and the cell of each document.

    By a few steps of k-means on a sample, which is all that is needed here.
    """
    sample = X[random.choice(len(X), min(len(X), 32 * number), replace=False)]
    middles = sample[:number]
    for _ in range(5):
        cell = _nearest_middle(sample, middles)
        sums = np.zeros_like(middles)
        np.add.at(sums, cell, sample)
        middles = unit_vectors(sums, None)
    return middles, _nearest_middle(X, middles)


def _nearest_middle(X: Floats, middles: Floats) -> Rows:
    starts = range(0, len(X), BLOCK_DOCUMENTS)
    return np.concatenate([(X[b : b + BLOCK_DOCUMENTS] @ middles.T).argmax(1) for b in starts])


def nearest(queries: Floats, X: Floats, k: int, excluded: NDArray[np.integer]) -> Neighbours:
    """The k rows of X, unit vectors of shape (n, F), nearest to each query, unit vectors as well.

    Rows in `excluded` are left out, all of them for each query if its shape is (m,), one each if
    it is (Q, 1). k may be at most the number of the others.
    """
    n, Q = len(X), len(queries)
    found = Neighbours(np.empty((Q, k), np.int64), np.empty((Q, k), np.float32))
    step = max(1, SCORES_AT_ONCE // n)
    for begin in range(0, Q, step):
        part = slice(begin, begin + step)
        cosines = queries[part] @ X.T
        out = excluded[part] if excluded.ndim == 2 else excluded[None]
        np.put_along_axis(cosines, np.broadcast_to(out, (len(cosines), out.shape[1])), -np.inf, 1)
        found.rows[part], best = _highest(cosines, k)
        found.distances[part] = np.sqrt(np.maximum(2 - 2 * best, 0))
    return found


def _highest(values: Floats, k: int) -> tuple[Rows, Floats]:
    """Columns and values of the k highest of each row, highest first, equal ones in order.

    At least k values of a row reach the k-th highest of the maxima of groups of them, and few more
    do. Looking for those takes a tenth of the time of `argpartition`.
    """
    Q, n = values.shape
    size = min(max(n // (16 * k), 1), 64)
    n_groups = n // size
    maxima = values[:, : size * n_groups].reshape(Q, size, n_groups).max(1)
    reached = np.partition(maxima, n_groups - k, axis=1)[:, n_groups - k]
    place = np.flatnonzero(values >= reached[:, None])
    row, column = np.divmod(place, n)
    high = values.reshape(-1)[place]
    order = np.lexsort((column, -high, row))
    first = np.searchsorted(row, np.arange(Q))
    taken = order[first[:, None] + np.arange(k)]
    return column[taken], high[taken]
