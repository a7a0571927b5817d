"""How many topics a collection has: as many as its neighbourhoods have communities, surely found.

Documents are joined to their nearest neighbours. Topics are good where neighbours share one more
often than by chance (Newman's modularity). It rises as topics come apart that are apart, and falls
when neighbourhoods are cut; over a wide range it hardly changes, and there fewer are better: twice
as many have to be worth it. And so are those that are found again from another start: where five
groups lie apart, six are cut out of them in a different way each time.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from docboltz.topics.grouping import start
from docboltz.topics.mixture import Floats

NEIGHBOURS = 10
WORTH = 0.03
"""What twice as many topics must add to modularity."""
FOUND_AGAIN = 0.1
"""What topics that every start finds are worth beside modularity."""
FEW, CLEARER, SURE = 10, 0.015, 0.9
"""With a hundred documents for each, fewer topics than this have to be better by that much, and
found by nearly every start (ARI): people can read as many, and broader ones come with the tree."""
SAMPLE = 4000
"""Documents to choose by."""
STARTS, LIKELY, STEPS = 12, 8, 8
"""Mixtures of each size that are tried; how many of them count, the most likely ones, since some
get stuck (of five clear groups, one in six); their steps, see `grouping`."""
SIZES = (2, 3, 4, 5, 6, 8, 10, 12, 15, 18, 22, 27, 33, 40, 50, 60)
"""Numbers of topics that are tried, a fifth apart.

All these were chosen on training documents of six collections, 4 to 20 labels each."""


def choose_number(
    vectors: Floats,
    presence: csr_array,
    *,
    seed: int = 0,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> int:
    """The number of topics that are best for their number; 1 for a handful of documents.

    `vectors` and `presence` as `find_topics` takes them.
    """
    rows = np.flatnonzero(np.diff(presence.indptr) > 0)
    rng = np.random.default_rng(seed)
    if len(rows) > SAMPLE:
        rows = np.sort(rng.choice(rows, SAMPLE, replace=False))
    sizes = [size for size in SIZES if size <= len(rows) / 5]
    if len(rows) <= NEIGHBOURS or not sizes:
        return 1
    some, words = np.asarray(vectors[rows], np.float32), presence[rows]
    near = nearest_neighbours(some, NEIGHBOURS)
    many = len(rows) >= 100 * FEW
    found: list[float] = []
    for size in sizes:
        seeds = rng.integers(2**31, size=STARTS)
        tried = [start(some, words, size, int(s), STEPS) for s in seeds]
        tried.sort(key=lambda pair: -pair[1])
        groups = [best.scores(some, words).argmax(axis=1) for best, _ in tried[:LIKELY]]
        again = agreement(groups)
        value = np.mean([modularity(each, near) for each in groups]) + FOUND_AGAIN * again
        value -= WORTH * np.log2(size)
        few = many and size < FEW
        found.append(-np.inf if few and again < SURE else value - CLEARER * few)
        progress(len(found), len(sizes))
        if not few and max(found[-3:]) < max(found) - WORTH:
            break  # it does not rise again
    return sizes[int(np.argmax(found))]


def agreement(groupings: list[NDArray[np.int64]]) -> float:
    """How much several groupings of the same documents are the same: mean ARI of their pairs."""
    from docboltz.evaluation.groups import stability  # with scikit-learn

    return float(np.mean([stability(one, other) for one, other in combinations(groupings, 2)]))


def nearest_neighbours(vectors: Floats, k: int) -> NDArray[np.int64]:
    """The k nearest others of each vector, in no order: (n, k)."""
    n = len(vectors)
    near = np.empty((n, k), np.int64)
    for begin in range(0, n, 1024):
        cosines = vectors[begin : begin + 1024] @ vectors.T
        rows = np.arange(len(cosines))
        cosines[rows, begin + rows] = -np.inf
        near[begin : begin + 1024] = np.argpartition(-cosines, k, axis=1)[:, :k]
    return near


def modularity(groups: NDArray[np.int64], near: NDArray[np.int64]) -> float:
    """Share of links inside groups, less what it would be were links drawn at random.

    `near` (n, k) has the documents that each is linked to.

    >>> near = np.array([[1], [0], [3], [2]])
    >>> modularity(np.array([0, 0, 1, 1]), near), modularity(np.array([0, 1, 0, 1]), near)
    (0.5, -0.5)
    """
    n, k = near.shape
    other = groups[near]
    inside = np.bincount(groups, (other == groups[:, None]).sum(axis=1)) / (n * k)
    ends = k * np.bincount(groups) + np.bincount(other.reshape(-1), minlength=groups.max() + 1)
    return float(inside.sum() - ((ends / (2 * n * k)) ** 2).sum())
