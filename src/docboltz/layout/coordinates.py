"""Unit vectors → places on a plane, such that near documents stay near. n documents, F features.

By t-SNE (van der Maaten & Hinton 2008) with repulsion interpolated on a grid (Linderman et al.
2019), as the package openTSNE has it. Why this method: docs/lab/map.md, by benchmarks/map.py.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import count
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from docboltz.errors import InvalidParameter
from docboltz.layout.neighbours import Neighbours, neighbours_within
from docboltz.search.vectors import Floats

PERPLEXITY = 15
"""Neighbours that count; three times as many are looked up."""
EARLY, LATE = 250, 500
"""Iterations: with neighbours pulled together first, and without."""
EXAGGERATION = 12.0
"""How much stronger they are pulled first."""
CELL = 2.0
"""Width of the grid's cells. Those of 1 keep 1 % more neighbours in two to three times the time."""
GRID_FROM = 1000
"""Documents from which on a grid is faster than a tree."""
FEW = 10
"""So few documents have no neighbourhoods, and are placed by their principal components."""
STEP = 25
"""Iterations after which progress is told."""
SEARCHING = 40
"""Percent of the work that finding neighbours counts for."""
BLOCK_DOCUMENTS = 4096
INSTALL = 'pip install "docboltz[explore]"'

Progress = Callable[[int, int], None]


def lay_out(X: Floats, *, seed: int, progress: Progress) -> Floats:
    """A place for each of n unit vectors, no two alike: (n, 2). The same seed gives the same bits.

    Those of the same processor and number of threads, that is.
    """
    start, n = principal_components(X), len(X)
    if n < FEW:
        return start.astype(np.float32)
    import_opentsne()  # or say that it is missing before the work
    found = neighbours_within(
        X,
        min(3 * PERPLEXITY, n - 1),
        seed=seed,
        done=lambda rows: progress(SEARCHING * rows // n, 100),
    )
    rest, iterations = 100 - SEARCHING, EARLY + LATE
    return descend(
        found, start, seed=seed, done=lambda i: progress(SEARCHING + rest * i // iterations, 100)
    )


def descend(
    found: Neighbours, start: NDArray[np.float64], *, seed: int, done: Callable[[int], None]
) -> Floats:
    """Let neighbours attract and all repel each other, from a start, until they hardly move."""
    openTSNE = import_opentsne()
    how = {"n_jobs": n_cores(), "random_state": seed}
    distances = found.distances.astype(np.float64)
    index = openTSNE.nearest_neighbors.PrecomputedNeighbors(found.rows, distances)
    perplexity = min(PERPLEXITY, found.rows.shape[1] / 3)
    affinities = openTSNE.affinity.PerplexityBasedNN(knn_index=index, perplexity=perplexity, **how)
    steps = count(STEP, STEP)
    random = np.random.default_rng(seed)
    begin = start / (start[:, 0].std() or 1.0) + random.normal(scale=0.01, size=start.shape)
    embedding = openTSNE.TSNEEmbedding(
        1e-4 * begin,  # so small that forces decide, and the start says which side is where
        affinities,
        negative_gradient_method="bh" if len(start) < GRID_FROM else "fft",
        ints_in_interval=CELL,
        callbacks=lambda *_: done(next(steps)),
        callbacks_every_iters=STEP,
        **how,
    )
    embedding.optimize(EARLY, exaggeration=EXAGGERATION, momentum=0.8, inplace=True)
    embedding.optimize(LATE, momentum=0.8, inplace=True)
    return np.array(embedding, np.float32)


def principal_components(X: Floats) -> NDArray[np.float64]:
    """Coordinates along the two directions in which vectors differ most: (n, 2)."""
    mean = X.mean(0, dtype=np.float64)
    spread = np.zeros((X.shape[1], X.shape[1]))
    for block in _blocks(X):
        centred = block - mean
        spread += centred.T @ centred
    directions = np.linalg.eigh(spread)[1][:, ::-1][:, :2]  # the widest are last
    largest = np.abs(directions).argmax(0)  # whose sign is fixed: either would do
    directions *= np.sign(directions[largest, range(directions.shape[1])])
    places = np.concatenate([(block - mean) @ directions for block in _blocks(X)])
    return np.pad(places, ((0, 0), (0, 2 - places.shape[1])))


def interpolate(neighbours: Neighbours, positions: Floats) -> Floats:
    """Where new documents lie among their nearest neighbours, whose places are known: (Q, 2).

    The point whose weighted distances to those places sum to the least, weights being inverse
    squared distances of features: a new document that equals a known one lies where that lies, and
    a few neighbours on another island do not pull it into the sea between.
    """
    places = positions[neighbours.rows].astype(np.float64)  # (Q, k, 2)
    weights = 1 / np.maximum(neighbours.distances.astype(np.float64) ** 2, 1e-9)
    pull = weights
    for _ in range(20):  # Weiszfeld's; the first gives the mean
        point = (pull[..., None] * places).sum(1, keepdims=True) / pull.sum(1)[:, None, None]
        pull = weights / np.maximum(np.linalg.norm(places - point, axis=2), 1e-6)
    return np.array(point[:, 0], np.float32)


def n_cores() -> int:
    """Cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def import_opentsne() -> ModuleType:
    """The package openTSNE, which takes half a second, or how to get it."""
    try:
        return import_module("openTSNE")
    except ImportError as error:
        raise InvalidParameter(
            "A map of documents needs the package openTSNE.", hint=f"Install it: {INSTALL}"
        ) from error


def _blocks(X: Floats) -> Iterator[NDArray[np.float64]]:
    """In float64, some at a time."""
    for begin in range(0, len(X), BLOCK_DOCUMENTS):
        yield X[begin : begin + BLOCK_DOCUMENTS].astype(np.float64)
