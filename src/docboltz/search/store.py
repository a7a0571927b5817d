"""A store, opened: search in it, and fetch what to show. n documents, F features, K words.

A folder of `store.json` and a build with the files that `search.writer` names.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from docboltz.bundles import Fingerprint, Opened
from docboltz.corpus.document import Document
from docboltz.errors import InvalidModelFile, InvalidParameter, require, require_count
from docboltz.files import StrPath
from docboltz.search.codes import Codes
from docboltz.search.documents import StoredDocuments
from docboltz.search.filters import ANY, Filter, StoredFilters, require_dates, require_known
from docboltz.search.interface import (
    WEIGHTS,
    By,
    checked_mean,
    checked_number,
    checked_rows,
    forget_milvus,
)
from docboltz.search.nearest import Best, Queries, nearest, nearest_by_codes, without_own
from docboltz.search.vectors import Floats, checked_vectors, unit_vectors
from docboltz.search.words import Rows, WordIndex
from docboltz.search.writer import FEATURES, STORE

EXACT_DOCUMENTS = 1_000_000
"""Up to so many documents a query is compared with all, a fifth of a second of work; in larger
collections with the bits of all, and with the features of the best of them."""

CHECKED_BYTES = 1 << 20
"""Files up to that size are read and compared with their SHA-256 when a store is opened: some ten
milliseconds at most, for all of them. Of larger ones the structure is checked."""


class SearchStore:
    """A collection to search. Made by `open`; may be shared by threads.

    >>> import tempfile
    >>> from docboltz.search.writer import Block, build_store
    >>> counts = csr_array([[1, 0], [1, 2]])
    >>> documents = [Document("a", "A goal.", ("sport",)), Document("b", "Rain.")]
    >>> blocks = [Block([[3, 4], [0, 1]], counts, documents)]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     build_store(folder, 2, 2, blocks, model="doctest")
    ...     store = SearchStore.open(folder)
    ...     best = store.search([[0, 5]], counts[[1]], k=2, by="features")
    ...     hits = store.documents(best.rows[0])
    >>> for hit, cosine in zip(hits, best.features[0]):
    ...     print(f"{cosine:.1f} {hit.id} {hit.text}")
    1.0 b Rain.
    0.8 a A goal.
    """

    def __init__(self, opened: Opened) -> None:
        """Map the files of a checked manifest."""
        self.path, self.opened = opened.folder, opened
        with STORE.trusting(self.path):
            content = opened.content
            self.model = str(content["model"])
            """Fingerprint of the model the features come from."""
            sizes: list[int] = [content[name] for name in ("n_documents", "n_features", "n_words")]
            if not all(type(size) is int and size >= 1 for size in sizes):
                raise ValueError(f"{sizes} are no sizes")
            self.n_documents, self.n_features, self.n_words = sizes
            shape = (self.n_documents, self.n_features)
            if opened.files[FEATURES].bytes != 4 * shape[0] * shape[1]:
                raise STORE.damaged(self.path, f"{FEATURES} is not of {shape[0]:,} documents")
            self.next_number = checked_number(content["next_number"])
            self.mean = checked_mean(content["mean"], shape[1])
            """What was subtracted from documents, and is from queries: (F,)."""
            self.features: Floats = np.memmap(
                opened.file(FEATURES), dtype="<f4", mode="r", shape=shape
            )
            """Unit vectors of the documents, centred if there is a mean, memory-mapped: (n, F)."""
            folder = opened.folder / opened.build
            self.words = WordIndex.load(folder, self.n_documents, self.n_words)
            self.codes = Codes(folder, self.n_documents, self.n_features)
            """Their bits."""
            self.stored = StoredDocuments(folder, self.n_documents)
            self.filters = StoredFilters(folder, self.n_documents)
        self.wordless: Rows = np.flatnonzero(self.words.n_words() == 0)
        """Rows of documents without a word of the vocabulary: never a hit."""

    @classmethod
    def open(cls, path: StrPath, *, model: str | None = None) -> SearchStore:
        """Open the store in a folder; with `model`, only if that model's fingerprint made it.

        Checked are store.json, sizes, that what points into a file points to places in it, and all
        of the small files; `verify` reads everything.
        """
        for attempt in range(3):
            opened = STORE.open(path)
            if model is not None and opened.content.get("model") != model:
                raise STORE.unusable(path, "was made with another model than this one")
            try:
                STORE.verify(opened, CHECKED_BYTES)
                return cls(opened)
            except (OSError, InvalidModelFile) as error:
                if attempt < 2 and STORE.open(path).build != opened.build:
                    continue  # replaced since its manifest was read
                if isinstance(error, InvalidModelFile):
                    raise
                raise STORE.unusable(path, f"cannot be read ({error.strerror})") from error
        raise AssertionError

    def __len__(self) -> int:
        return self.n_documents

    def __repr__(self) -> str:
        how = "exact" if self.is_exact else "by bits, then exact"
        return f"SearchStore({len(self):,} documents, {how}, in {str(self.path)!r})"

    @property
    def is_exact(self) -> bool:
        """Whether every document is compared, or in a large collection the bits of every one."""
        return self.n_documents <= EXACT_DOCUMENTS

    @property
    def n_wordless(self) -> int:
        """Number of documents without a word of the vocabulary."""
        return len(self.wordless)

    def copy_to(self, folder: StrPath) -> None:
        """Put a copy into another folder, or back into its own if it was replaced there.

        The copy is made of what is mapped, whose files may have no names any more, and is checked.
        """
        if STORE.exists(folder) and STORE.open(folder).build == self.opened.build:
            return
        with STORE.saving(folder) as build:
            (build.path / FEATURES).write_bytes(self.features.data)
            for part in (self.codes, self.words, self.stored, self.filters):
                part.save(build.path)
            for name, recorded in self.opened.files.items():
                if Fingerprint.of(build.path / name) != recorded:
                    raise STORE.damaged(self.path, f"{name} was changed after it was saved")
            build.publish(self.opened.content)
        forget_milvus(folder)

    def verify(self) -> None:
        """Read all files and compare their SHA-256 with store.json."""
        STORE.verify(self.opened)

    def search(
        self,
        features: ArrayLike,
        counts: csr_array,
        k: int,
        *,
        by: By = "both",
        exclude_rows: ArrayLike = (),
        wanted: Filter = ANY,
    ) -> Best:
        """The k best documents for each query: rows and both cosines, (Q, k), best first.

        Queries are features as the model gives them, (Q, F), and word counts, (Q, K). Equal scores
        come in the order of the rows. Rows in `exclude_rows`, documents that are not `wanted` and
        those without a known word are left out, and k is cut to the number of the others. By words
        alone, a place no document takes has the row -1. A query's answer has the same bits in any
        batch and on any number of threads.
        """
        require_count(k, "SearchStore.search", "k")
        vectors = checked_vectors(features, self.n_features, "SearchStore.search", "features")
        shape = (len(vectors), self.n_words)
        expected = f"sparse counts of shape {shape}"
        require(counts.shape == shape, "SearchStore.search", "counts", expected, counts.shape)
        excluded = self._checked_rows(exclude_rows, "search", "exclude_rows")
        queries = Queries(unit_vectors(vectors, self.mean), self.words.vectors(counts))
        return self._nearest(queries, k, excluded, by, wanted)

    def similar(self, rows: ArrayLike, k: int, *, by: By = "both", wanted: Filter = ANY) -> Best:
        """As `search`, for documents of the collection; none is among its own hits."""
        require_count(k, "SearchStore.similar", "k")
        own = self._checked_rows(rows, "similar", "rows")
        queries = Queries(np.array(self.features[own]), self.words_of(own))
        found = self._nearest(queries, k + 1, own[:0], by, wanted)
        return without_own(found, own, k)

    def words_of(self, rows: ArrayLike) -> csr_array:
        """tf-idf weights of documents of the collection: (len(rows), K)."""
        own = self._checked_rows(rows, "words_of", "rows")
        with STORE.trusting(self.path):
            return self.words.of_documents(own)

    def documents(self, rows: ArrayLike) -> list[Document]:
        """Id, labels, date and text of each of the rows, in their order."""
        own = self._checked_rows(rows, "documents", "rows")
        with STORE.trusting(self.path):
            return self.stored.take(own)

    def labels_and_dates(self) -> tuple[list[tuple[str, ...]], list[str]]:
        """Labels and date of every document, in the order of the rows; reads past the texts."""
        return self._labels_and_dates

    @cached_property
    def _labels_and_dates(self) -> tuple[list[tuple[str, ...]], list[str]]:
        with STORE.trusting(self.path):
            return self.stored.labels_and_dates()

    def row_of(self, id: str) -> int:
        """The row of the document with this id."""
        with STORE.trusting(self.path):
            row = self.stored.row_of(id)
        if row is None:
            some = ", ".join(repr(hit.id) for hit in self.documents(range(min(3, len(self)))))
            raise InvalidParameter(
                f"No document has the id {id!r}. The collection holds {self.n_documents:,}, such "
                f"as {some}."
            )
        return row

    def rows_of(self, ids: Collection[str]) -> Rows:
        """Rows of the documents that have one of these ids, in order."""
        with STORE.trusting(self.path):
            return self.stored.rows_of(ids)

    def _nearest(self, queries: Queries, k: int, excluded: Rows, by: By, wanted: Filter) -> Best:
        require(by in WEIGHTS, "SearchStore", "by", " or ".join(map(repr, WEIGHTS)), by)
        left_out, weights = np.union1d(excluded, self.wordless), WEIGHTS[by]
        if wanted:
            with STORE.trusting(self.path):
                known = self.filters.known_labels
                left_out = np.union1d(left_out, self.filters.rows_without(wanted))
            require_known(wanted.labels, known)
            require_dates(wanted, self.filters.dated)
        try:
            with STORE.trusting(self.path):
                X = np.asarray(self.features)
                if self.is_exact or not weights.features:
                    return nearest(X, self.words, queries, k, left_out, weights)
                return nearest_by_codes(X, self.codes, self.words, queries, k, left_out, weights)
        except FloatingPointError as error:
            raise STORE.damaged(self.path, str(error)) from error

    def _checked_rows(self, rows: ArrayLike, method: str, name: str) -> Rows:
        return checked_rows(rows, self.n_documents, method, name)
