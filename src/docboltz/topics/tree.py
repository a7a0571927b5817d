"""Topics join into broader ones: the two that lose least by it first, level by level."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

FEWER = 3
"""A broader level has a third of the topics below it."""
FEWEST = 3
"""Topics of the broadest level: fewer say nothing."""


def widths(n_topics: int) -> list[int]:
    """How many topics each level has, the broadest first.

    >>> widths(20), widths(50), widths(4)
    ([7, 20], [6, 17, 50], [4])
    """
    found = [n_topics]
    while round(found[0] / FEWER) >= FEWEST:
        found.insert(0, round(found[0] / FEWER))
    return found


def join(sizes: Floats, means: Floats, n_groups: int) -> NDArray[np.int64]:
    """The broader topic of each: (T,). `sizes` (T,) of topics and `means` (T, F) of their vectors.

    Ward's rule: of all pairs those are joined that add least to the spread of documents around the
    mean of their topic. Groups are numbered in the order of their first topics.

    >>> join(np.ones(3), np.array([[0.0], [5.0], [1.0]]), 2)
    array([0, 1, 0])
    """
    n, mean = sizes.astype(np.float64), means.astype(np.float64)
    group = np.arange(len(n))
    left = list(range(len(n)))
    while len(left) > n_groups:
        m, w = mean[left], n[left]
        apart = ((m[:, None] - m[None]) ** 2).sum(axis=2) * (w[:, None] * w / (w[:, None] + w))
        apart[np.tril_indices(len(left))] = np.inf
        i, j = (left[k] for k in np.unravel_index(apart.argmin(), apart.shape))
        mean[i] = (n[i] * mean[i] + n[j] * mean[j]) / (n[i] + n[j])
        n[i] += n[j]
        group[group == j] = i
        left.remove(j)
    return np.unique(group, return_inverse=True)[1]
