"""The map of a collection: made, placed into, saved and read again. n documents, F features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from docboltz.layout.coordinates import Progress, interpolate, lay_out
from docboltz.layout.neighbours import Neighbours, nearest
from docboltz.search.store import STORE, Store
from docboltz.search.vectors import Floats
from docboltz.storage import PARAMETERS, Bundle, StrPath, load_model, save_model

MAP = Bundle(
    noun="map",
    format="docboltz-map",
    version=1,
    manifest="map.json",
    files=(PARAMETERS,),
    remedy="Remove the folder, and it will be made again.",
    patience=60.0,
)
Keys = NDArray[np.uint64]
PLACED_BY = 10
"""Neighbours that say where a new document lies."""
MOST_PLACED = 0.2
"""Share of documents that may be new; with more of them the map is made anew."""
BLOCK_DOCUMENTS = 4096


@dataclass(frozen=True, eq=False)
class DocumentMap:
    """Where the documents of a collection lie: neighbours in search are neighbours here.

    Documents of the same features lie in the same place.
    """

    positions: Floats
    """A row for each of the collection's, (n, 2); NaN for documents without a known word."""
    keys: Keys
    """What tells documents from others by their features, (n,); 0 for those that were not laid out
    with all others but placed among them later, and for those without a known word."""
    store: str
    """Build of the collection."""

    @classmethod
    def make(cls, store: Store, *, seed: int, progress: Progress) -> DocumentMap:
        """Lay out a collection."""
        keys, positions = keys_of(store), _nowhere(len(store))
        some = np.flatnonzero(keys)
        _, first, same = np.unique(keys[some], return_index=True, return_inverse=True)
        if len(some):
            # In the order of the rows, which says nothing, rather than in that of the keys.
            rows, place = np.unique(first, return_inverse=True)
            laid = lay_out(np.asarray(store.features[some[rows]]), seed=seed, progress=progress)
            positions[some] = laid[place[same]]
        return cls(positions, keys, store.opened.build)

    def on(self, store: Store) -> DocumentMap | None:
        """The same map of another collection: known documents stay, new ones are placed among them.

        None if too many are new.
        """
        keys, positions = keys_of(store), _nowhere(len(store))
        order = np.argsort(self.keys, kind="stable")
        at = order[np.searchsorted(self.keys, keys, sorter=order).clip(max=len(order) - 1)]
        known = (keys != 0) & (self.keys[at] == keys)
        new = np.flatnonzero((keys != 0) & ~known)
        if len(new) > MOST_PLACED * np.count_nonzero(keys):
            return None
        positions[known] = self.positions[at[known]]
        placed = DocumentMap(positions, np.where(known, keys, 0), store.opened.build)
        positions[new] = placed.place(np.asarray(store.features[new]), store)
        return placed

    def place(self, vectors: Floats, store: Store) -> Floats:
        """Where new documents lie, by their unit vectors: (Q, 2)."""
        placed = _nowhere(len(vectors))
        out = np.flatnonzero(np.isnan(self.positions[:, 0]))
        k = min(PLACED_BY, len(store) - len(out))
        X = np.asarray(store.features)
        for begin in range(0, len(vectors) if k else 0, BLOCK_DOCUMENTS):
            block = vectors[begin : begin + BLOCK_DOCUMENTS]
            rows = nearest(block, X, k, out).rows
            # By differences: a cosine near 1 cannot tell the same document from one like it.
            found = Neighbours(rows, np.linalg.norm(X[rows] - block[:, None], axis=2))
            placed[begin : begin + len(block)] = interpolate(found, self.positions)
        return placed

    # ---- saved ----

    def save(self, folder: StrPath, model: str) -> None:
        """Write to a folder of its own; `model` says what model's features it shows."""
        arrays: dict[str, Any] = {"positions": self.positions, "keys": self.keys}
        save_model(folder, arrays, {"model": model, "store": self.store}, MAP)

    @classmethod
    def load(cls, folder: StrPath, model: str) -> DocumentMap | None:
        """Read what `save` wrote; None if it is of another model."""
        arrays, content = load_model(folder, MAP)
        if content.get("model") != model:
            return None
        with MAP.trusting(folder):
            positions, keys = arrays["positions"], arrays["keys"]
            n = len(keys)
            if (positions.shape, keys.shape) != ((n, 2), (n,)) or not n:
                raise ValueError(f"positions of shape {positions.shape} for {n} documents")
            if positions.dtype != np.float32 or keys.dtype != np.uint64:
                raise ValueError(f"positions are {positions.dtype}")
            known = np.asarray(np.isfinite(positions).all(axis=1))
            if not (known[keys != 0].all() and np.isnan(positions[~known]).all()):
                raise ValueError("positions are numbers, or NaN for documents without words")
            return cls(positions, keys, str(content["store"]))


def keys_of(store: Store) -> Keys:
    """What tells documents from others by their features: (n,). 0 for those without a known word.

    Of features in steps of a thousandth: the last bits of the same document's features depend on
    the documents beside it.
    """
    keys = np.empty(len(store), np.uint64)
    factors = np.random.default_rng(0).integers(
        1 << 63, size=store.about.n_features, dtype=np.uint64
    )
    for begin in range(0, len(store), BLOCK_DOCUMENTS):
        block = store.features[begin : begin + BLOCK_DOCUMENTS]
        if not (np.abs(block) < 1.001).all():
            raise STORE.unusable(
                store.opened.folder, "is damaged: its features are not unit vectors"
            )
        whole = np.rint(1000 * block).astype(np.int64).astype(np.uint64)
        own = (whole * (2 * factors + np.uint64(1))).sum(1)
        keys[begin : begin + len(block)] = np.where(block.any(1), np.maximum(own, 1), 0)
    return keys


def _nowhere(n: int) -> Floats:
    return np.full((n, 2), np.nan, np.float32)
