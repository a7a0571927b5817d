"""How a measure depends on document length (the paper's Fig. 5): all models do well on long ones.

A measure of Q documents (the average precision of a query, whether it was classified correctly) in
order of their lengths, shortest first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from docboltz.errors import is_whole, require

N_BINS = 30

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ByLength:
    """A measure of Q documents by length; arrays ready to plot."""

    length: Integers
    """Number of words of each document, ascending; documents of one length in row order: (Q,)."""
    value: Floats
    """The measure of each: (Q,)."""
    smoothed: Floats
    """Mean of the values within half a window to either side: (Q,).

    At the ends the window is cut off, not filled up: the first and the last point average about
    half as many documents as the others, of one side only."""
    window: int
    """Number of documents in a whole window, odd."""
    decile_boundaries: Floats
    """Lengths below which a tenth, two tenths, … nine tenths of the documents lie: (9,)."""
    histogram: Integers
    """Number of documents in each bin: (bins,)."""
    bin_edges: Integers
    """First length of each bin, and one more than the last of all: (bins + 1,).

    Each bin is longer than the one before by about the same factor, but a word at least."""
    n_left_out: int
    """Documents without a value (NaN), such as queries without a relevant document."""

    def quantile_means(self, n_groups: int) -> Floats:
        """Mean value of groups by length, of equal size or one document more: (n_groups,)."""
        n = len(self.value)
        some_each = is_whole(n_groups) and 1 <= n_groups <= n
        require(some_each, "quantile_means", "n_groups", f"from 1 to {n}", n_groups)
        return np.array([group.mean() for group in np.array_split(self.value, n_groups)])


def by_length(values: ArrayLike, lengths: ArrayLike, *, window: int | None = None) -> ByLength:
    """Order a measure (Q,) of documents by their lengths (Q,), and smooth it.

    `window` is the number of documents to average over, by default a tenth of them; an even one
    grows by one, to be centred on a document. Documents whose value is NaN are left out.

    >>> shortest_first = by_length([0.4, 0.2, 0.9], [7, 3, 12], window=3)
    >>> shortest_first.value, shortest_first.smoothed
    (array([0.2, 0.4, 0.9]), array([0.3 , 0.5 , 0.65]))
    """
    value, length = np.asarray(values, np.float64), np.asarray(lengths)
    require(value.ndim == 1, "by_length", "values", "of one dimension", value.shape)
    fits = length.shape == value.shape
    require(fits, "by_length", "lengths", f"of shape {value.shape}", length.shape)
    has_value = ~np.isnan(value)
    require(bool(has_value.any()), "by_length", "values", "a number for some document", "none")
    value, length = value[has_value], length[has_value].astype(np.int64)
    require(bool(length.min() >= 0), "by_length", "lengths", "numbers of words", length.min())
    order = np.argsort(length, kind="stable")
    value, length = value[order], length[order]
    whole = max(1, len(value) // 10) if window is None else window
    require(is_whole(whole) and whole > 0, "by_length", "window", "a number of documents", window)
    half, edges = whole // 2, _bin_edges(length)
    smoothed, deciles = _moving_mean(value, half), np.quantile(length, np.arange(1, 10) / 10)
    bins, n_left_out = np.histogram(length, edges)[0], int(np.count_nonzero(~has_value))
    return ByLength(length, value, smoothed, 2 * half + 1, deciles, bins, edges, n_left_out)


def _moving_mean(value: Floats, half: int) -> Floats:
    """Mean of what there is of the values from `half` before to `half` after each."""
    place = np.arange(len(value))
    begin, end = np.maximum(place - half, 0), np.minimum(place + half + 1, len(value))
    total = np.concatenate([[0], np.cumsum(value)])
    return np.asarray((total[end] - total[begin]) / (end - begin))


def _bin_edges(length: Integers) -> Integers:
    """Whole numbers about a factor apart; a bin of its own for documents without words."""
    rising = np.geomspace(max(length[0], 1), length[-1] + 1, N_BINS + 1)
    edges = np.unique(np.rint(rising).astype(np.int64))
    return np.concatenate([[0], edges]) if length[0] == 0 else edges
