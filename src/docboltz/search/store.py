"""A store, opened: search in it, and fetch what to show. n documents, F features, Q queries."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from docboltz.errors import InvalidParameter, require
from docboltz.search.documents import Documents, Hit
from docboltz.search.manifest import DOCUMENTS, FEATURES, Fingerprint, Manifest, unusable
from docboltz.search.nearest import Cosines, Rows, nearest
from docboltz.search.vectors import Floats, checked_vectors, is_whole, unit_vectors


class SearchStore:
    """A collection to search. Made by `open`; may be shared by threads.

    >>> import tempfile
    >>> from docboltz.search.writer import StoreWriter
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with StoreWriter(folder, n_features=2, model="doctest") as writer:
    ...         writer.append([[3, 4], [0, 1]], ["a", "b"], [["sport"], []], ["A goal.", "Rain."])
    ...     store = SearchStore.open(folder)
    ...     rows, scores = store.search([[0, 5]], k=2)
    ...     hits = store.documents(rows[0])
    >>> for hit, score in zip(hits, scores[0]):
    ...     print(f"{score:.1f} {hit.id} {hit.snippet}")
    1.0 b Rain.
    0.8 a A goal.
    """

    def __init__(self, path: Path, manifest: Manifest) -> None:
        """Map the files `manifest` names; FileNotFoundError if one is not there."""
        self.path, self.model = path, manifest.model
        self.n_documents, self.n_features = manifest.n_documents, manifest.n_features
        self.mean = None if manifest.mean is None else np.array(manifest.mean, np.float32)
        """What was subtracted from documents, and is from queries, before normalising: (F,)."""
        self._files = {path / manifest.build / name: of for name, of in manifest.files.items()}
        for file, recorded in self._files.items():
            size = os.stat(file).st_size
            if size != recorded.bytes:
                what = f"{file.name} has {size} bytes instead of {recorded.bytes}"
                raise unusable(path, f"is damaged: {what}")
        shape = (self.n_documents, self.n_features)
        self.features: Floats = np.memmap(
            path / manifest.build / FEATURES, dtype="<f4", mode="r", shape=shape
        )
        """Unit vectors of the documents, centred if there is a mean, memory-mapped: (n, F)."""
        self._documents = Documents(path, path / manifest.build / DOCUMENTS)

    @classmethod
    def open(cls, path: str | Path, *, model: str | None = None) -> SearchStore:
        """Open the store in a folder; with `model`, only if that model's fingerprint made it.

        Sizes and the checksum of store.json are checked, which takes milliseconds whatever the size
        of the collection; `verify` reads everything.
        """
        path = Path(path)
        for _ in range(3):
            manifest = Manifest.load(path)
            if model is not None and manifest.model != model:
                raise unusable(path, "was made with another model than this one")
            try:
                return cls(path, manifest)
            except FileNotFoundError as error:
                # Perhaps rebuilt since store.json was read: what it names now will be there.
                missing = error.filename
            except OSError as error:
                raise unusable(path, f"cannot be read ({error.strerror})") from error
        raise unusable(path, f"is damaged: {missing} is missing")

    def __len__(self) -> int:
        return self.n_documents

    def verify(self) -> None:
        """Read both data files and compare their SHA-256 with store.json."""
        for file, recorded in self._files.items():
            try:
                same = Fingerprint.of(file) == recorded
            except OSError as error:
                raise unusable(self.path, f"is damaged: {file.name} cannot be read") from error
            if not same:
                raise unusable(self.path, f"was altered: the checksum of {file.name} differs")

    def search(
        self, queries: ArrayLike, k: int, *, exclude_rows: ArrayLike = ()
    ) -> tuple[Rows, Cosines]:
        """Rows of the k documents nearest to each query, and their cosines: (Q, k), best first.

        Queries are features as the model gives them, (Q, F). Equal cosines come in the order of the
        rows; a vector of zeros has cosine 0 with everything. Rows in `exclude_rows` are left out,
        and k is cut to the number of documents there are. A query's answer has the same bits in any
        batch and on any number of threads.
        """
        vectors = checked_vectors(queries, self.n_features, "SearchStore.search", "queries")
        excluded = np.unique(self._checked_rows(exclude_rows, "search", "exclude_rows"))
        return self._nearest(unit_vectors(vectors, self.mean), _checked_k(k), excluded)

    def similar(self, rows: ArrayLike, k: int) -> tuple[Rows, Cosines]:
        """As `search`, for documents of the collection; none is among its own hits."""
        own = self._checked_rows(rows, "similar", "rows")
        found, cosines = self._nearest(self.features[own], _checked_k(k) + 1, own[:0])
        others = found != own[:, None]
        others[others.all(1), -1] = False  # more than k equal to it came before it
        shape = (len(own), found.shape[1] - 1)
        return found[others].reshape(shape), cosines[others].reshape(shape)

    def documents(self, rows: ArrayLike) -> list[Hit]:
        """Id, labels and snippet of each of the rows, in their order."""
        return self._documents.take(self._checked_rows(rows, "documents", "rows"))

    def row_of(self, id: str) -> int:
        """The row of the document with this id."""
        row = self._documents.row_of(id)
        if row is None:
            some = ", ".join(repr(hit.id) for hit in self.documents(range(min(3, len(self)))))
            raise InvalidParameter(
                f"No document has the id {id!r} in the search index in {self.path}. "
                f"It holds {self.n_documents:,}, such as {some}."
            )
        return row

    def _nearest(self, unit: Floats, k: int, excluded: Rows) -> tuple[Rows, Cosines]:
        try:
            return nearest(np.asarray(self.features), unit, k, excluded)
        except FloatingPointError as error:
            raise unusable(self.path, f"is damaged: {error}") from error

    def _checked_rows(self, rows: ArrayLike, method: str, name: str) -> Rows:
        array = np.asarray(rows)
        whole = array.ndim == 1 and (array.dtype.kind in "iu" or not array.size)
        fits = whole and bool(((array >= 0) & (array < self.n_documents)).all())
        expected = f"a list of rows from 0 to {self.n_documents - 1}"
        require(fits, f"SearchStore.{method}", name, expected, rows)
        return array.astype(np.int64)


def _checked_k(k: int) -> int:
    require(is_whole(k) and k >= 1, "SearchStore", "k", "a whole number of at least 1", k)
    return int(k)
