"""The map of the collection. Neither torch nor scikit-learn where it is known.

It is made when it is first asked for, saved beside the collection, and follows it: documents that
are indexed later are placed among those that are there.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from docboltz.corpus.corpus import check_structure
from docboltz.layout.coordinates import Progress
from docboltz.layout.document_map import MAP, DocumentMap
from docboltz.search.vectors import Floats, unit_vectors
from docboltz.topic_verbs import TopicVerbs

FOLDER = "map"
"""Of the map in that of the model."""


class MapVerbs(TopicVerbs):
    """A model whose collection has a map."""

    _map: DocumentMap | None = None

    def map(self, progress: Progress | None = None) -> DocumentMap:
        """Where the documents of the collection lie on a plane; near each other if they are alike.

        Computed on first use, seconds for ten thousand documents, and saved with the model.
        `progress` is called with steps done and steps in all. If documents were indexed since,
        those that are known stay where they are and new ones are placed among them, unless they
        are many.
        """
        store, known = self.store, self._saved_map()
        if known is not None and known.store == store.opened.build:
            self._map = known
            return known
        made = None if known is None else known.on(store)
        if made is None:
            made = DocumentMap.make(store, seed=0, progress=progress or (lambda *_: None))
        self._keep_map(made)
        return made

    def place(self, texts: Any) -> Floats:
        """Where texts lie on the map, (n, 2): among the documents most like them.

        One that equals a document lies where that does; one without a known word nowhere: NaN.
        """
        return self.place_counts(self._count(texts, "place").counts)

    def place_counts(self, counts: Any) -> Floats:
        """Where counted documents lie on the map: (n, 2)."""
        check_structure(counts, "TextModel.place_counts")
        found, store = self.map(), self.store
        places = np.full((counts.shape[0], 2), np.nan, np.float32)
        some = np.flatnonzero(np.diff(counts.indptr))
        vectors = unit_vectors(self._features(counts[some]), store.about.center)
        places[some] = found.place(vectors, store)
        return places

    @property
    def has_map(self) -> bool:
        """Whether the map of the collection is known, and need not be computed."""
        if not self._has_store():
            return False
        build, folder = self.store.opened.build, self._map_folder
        if self._map is not None and self._map.store == build:
            return True
        if folder is None or not MAP.exists(folder):
            return False
        content = MAP.open(folder).content
        return (content.get("model"), content.get("store")) == (self.fingerprint, build)

    # ---- kept ----

    @property
    def _map_folder(self) -> Path | None:
        return None if self.path is None else MAP.inside(self.path, FOLDER)

    def _saved_map(self) -> DocumentMap | None:
        """The map in memory or in the model's folder, perhaps of documents as they were before."""
        folder, known = self._map_folder, self._map
        current = known is not None and known.store == self.store.opened.build
        if current or folder is None or not MAP.exists(folder):
            return known
        return DocumentMap.load(folder, self.fingerprint)

    def _keep_map(self, made: DocumentMap) -> None:
        """Save a map, then take it: what cannot be saved changes nothing."""
        folder = self._map_folder
        if folder is not None:
            made.save(folder, self.fingerprint)
        self._map = made
