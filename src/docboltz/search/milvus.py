"""A store in Milvus: a file of Milvus Lite, or a cluster. F features, K words, n documents.

A collection of Milvus has an entity a document: its key (see `docboltz.search.keys`), id, labels,
date, text, its unit vector, and 1 + log count of its words as a sparse vector of length 1 beside
its length, from which counts come back. What Milvus finds by features and by words are candidates;
their scores are computed here in float64, as in the store of files. The folder of the model holds a
manifest: address, which keys are documents, and how many of these have each word. Whoever has read
it finds those documents: not what was added since, and all but what was deleted since.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, vstack

from docboltz.bundles import Opened
from docboltz.corpus.document import Document
from docboltz.errors import InvalidModelFile, InvalidParameter, require, require_count
from docboltz.files import StrPath
from docboltz.search.codes import codes_of
from docboltz.search.documents import is_text
from docboltz.search.filters import ANY, Filter, require_dates, require_known
from docboltz.search.interface import WEIGHTS, By, checked_mean, checked_number, checked_rows
from docboltz.search.keys import Keys
from docboltz.search.milvus_place import (
    MILVUS,
    calling,
    connect,
    is_lite,
    is_owner,
    manifest_folder,
)
from docboltz.search.nearest import Best, Queries, Weights, exact_cosines, without_own
from docboltz.search.vectors import Floats, checked_vectors, unit_vectors
from docboltz.search.words import Rows, WordIndex, idf_of
from docboltz.search.writer import STORE
from docboltz.settings import strings

CANDIDATES = 300
"""Documents that are looked for by features and by words each, whose exact scores decide."""
AT_ONCE = 1000
"""Entities that are read or written at once."""
MOST = 16_384
"""Entities that Milvus gives for a question."""
LISTED = 500
"""Keys that every question may list to leave them out: a list of 100,000 takes Milvus seconds."""
TRIES = 5
"""How often a search begins anew because what it has found is deleted meanwhile."""


class _Deleted(InvalidParameter):
    """Documents that were there a moment ago, or when the store was opened."""


class MilvusStore:
    """A collection in Milvus. Made by `open`; see `docboltz.search.interface.Store`."""

    def __init__(self, folder: Path, opened: Opened) -> None:
        self.path, self.opened = folder, opened
        self.is_owned = is_owner(folder, opened.content)
        """Whether the collection is this folder's, not that of the folder this is a copy of."""
        with MILVUS.trusting(folder):
            content = opened.content
            self.address, self.collection = strings([content["address"], content["collection"]])
            self.model = str(content["model"])
            self.n_features, self.n_words = int(content["n_features"]), int(content["n_words"])
            self.mean = checked_mean(content["mean"], self.n_features)
            self.keys = Keys.of(int(content["n_documents"]), content["gone"])
            self.next_number = checked_number(content["next_number"])
            self.df: NDArray[np.int64] = np.array(content["df"], np.int64)
            """How many documents have each word: (K,)."""
            if self.df.shape != (self.n_words,):
                raise ValueError("its sizes do not fit")
            self._idf = idf_of(self.keys.n, self.df)
            self.leaving: Rows = np.array(content["leaving"], np.int64)
            """Keys of documents that were deleted last, and may be there all the same."""
        self.client = connect(self.address)
        with calling(self.address):
            if not self.client.has_collection(self.collection):
                raise MILVUS.unusable(folder, f"is gone from {self.address}")
            self.client.load_collection(self.collection)  # another process may have let it go

    @classmethod
    def open(cls, folder: StrPath, *, model: str | None = None) -> MilvusStore:
        """Open the store that a folder names; with `model`, only if that made it."""
        place = manifest_folder(Path(folder))
        while True:
            opened = MILVUS.open(place)
            if model is not None and opened.content.get("model") != model:
                raise MILVUS.unusable(folder, "was made with another model than this one")
            try:
                return cls(Path(folder), opened)
            except InvalidModelFile:
                if MILVUS.open(place).build == opened.build:  # else replaced, and dropped, since
                    raise

    def __len__(self) -> int:
        return self.keys.n

    def __repr__(self) -> str:
        return f"MilvusStore({len(self):,} documents, in {self.collection!r} at {self.address!r})"

    @property
    def is_exact(self) -> bool:
        """Whether documents are compared by features, or first by their bits, if they are many."""
        return not self._by_bits

    def copy_to(self, folder: StrPath) -> None:
        """Let another folder name the same collection, which stays this folder's."""
        with MILVUS.saving(manifest_folder(Path(folder))) as build:
            build.publish(self.opened.content)
        STORE.remove(folder)

    # ---- questions ----

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
        """The k best documents for each query: rows and both cosines, (Q, k), best first."""
        require_count(k, "SearchStore.search", "k")
        vectors = checked_vectors(features, self.n_features, "SearchStore.search", "features")
        shape = (len(vectors), self.n_words)
        expected = f"sparse counts of shape {shape}"
        require(counts.shape == shape, "SearchStore.search", "counts", expected, counts.shape)
        excluded = self._checked_rows(exclude_rows, "search", "exclude_rows")
        words = WordIndex.weighing(self._idf).vectors(counts)
        return self._nearest(
            Queries(unit_vectors(vectors, self.mean), words), k, excluded, by, wanted
        )

    def similar(self, rows: ArrayLike, k: int, *, by: By = "both", wanted: Filter = ANY) -> Best:
        """As `search`, for documents of the collection; none is among its own hits."""
        require_count(k, "SearchStore.similar", "k")
        own = self._checked_rows(rows, "similar", "rows")
        vectors, counts = self.vectors(own)
        queries = Queries(vectors, WordIndex.weighing(self._idf).vectors(counts))
        return without_own(self._nearest(queries, k + 1, own[:0], by, wanted), own, k)

    def words_of(self, rows: ArrayLike) -> csr_array:
        """tf-idf weights of documents of the collection: (len(rows), K)."""
        own = self._checked_rows(rows, "words_of", "rows")
        return WordIndex.weighing(self._idf).vectors(self.vectors(own)[1])

    def documents(self, rows: ArrayLike) -> list[Document]:
        """Id, labels, date and text of each of the rows, in their order."""
        own = self._checked_rows(rows, "documents", "rows")
        found = self.entities(own, ("id", "labels", "date", "text"))
        return [Document(e["id"], e["text"], tuple(e["labels"]), e["date"]) for e in found]

    def labels_and_dates(self) -> tuple[list[tuple[str, ...]], list[str]]:
        """Labels and date of every document, in the order of the rows."""
        found = self.entities(np.arange(len(self)), ("labels", "date"))
        return [tuple(e["labels"]) for e in found], [e["date"] for e in found]

    def row_of(self, id: str) -> int:
        """The row of the document with this id."""
        found = self.rows_of([id] if is_text(id) else [])
        if not len(found):
            left = self.entities_left(np.arange(min(3, len(self))), ["id"])
            some = ", ".join(repr(entity["id"]) for entity in left)
            raise InvalidParameter(
                f"No document has the id {id!r}. The collection holds {len(self):,}, such as "
                f"{some}."
            )
        return int(found[0])

    def rows_of(self, ids: Collection[str]) -> Rows:
        """Rows of the documents that have one of these ids, in order."""
        asked, keys = list(ids), []
        for begin in range(0, len(asked), AT_ONCE):
            expression = f"id in {_spelled(asked[begin : begin + AT_ONCE])}"
            keys += [entity["key"] for entity in self._query(expression, ["key"])]
        return self.keys.to_rows(np.sort(self._there(keys)))

    # ---- all of it, in memory: for topics, the map and explanations ----

    @property
    def features(self) -> Floats:
        """Unit vectors of all documents, fetched: (n, F)."""
        return self._everything[0]

    @property
    def words(self) -> WordIndex:
        """The words of all documents, fetched."""
        return self._everything[1]

    @cached_property
    def _everything(self) -> tuple[Floats, WordIndex]:
        vectors, counts = self.vectors(np.arange(len(self)))
        return vectors, WordIndex.of(counts)

    @cached_property
    def wordless(self) -> Rows:
        """Rows of documents without a known word: never a hit."""
        return np.flatnonzero(self.words.n_words() == 0)

    @property
    def n_wordless(self) -> int:
        """Number of documents without a known word."""
        return self.count("n_words == 0")

    # ---- Milvus ----

    def count(self, expression: str = "") -> int:
        """Number of documents, or of those of which an expression is true.

        While many are being deleted, those that are still in Milvus count.
        """
        (found,) = self._query(expression, ["count(*)"])
        return int(found["count(*)"])

    def entities(self, rows: Rows, fields: Iterable[str]) -> list[dict[str, Any]]:
        """What is kept of these rows, in their order."""
        keys = self.keys.of_rows(rows)
        found = {entity["key"]: entity for entity in self.entities_left(rows, fields)}
        if not found.keys() >= set(keys.tolist()):
            raise self._deleted()
        return [found[key] for key in keys.tolist()]

    def entities_left(self, rows: Rows, fields: Iterable[str]) -> list[dict[str, Any]]:
        """What is kept of those rows that nobody has deleted meanwhile, each once, by key."""
        found: list[dict[str, Any]] = []
        names, keys = ["key", *fields], np.unique(self.keys.of_rows(rows)).tolist()
        for begin in range(0, len(keys), AT_ONCE):
            found += self._query(f"key in {keys[begin : begin + AT_ONCE]}", names)
        return sorted(found, key=lambda entity: int(entity["key"]))

    def _deleted(self) -> _Deleted:
        where = f"{self.collection!r} at {self.address}"
        if self.is_owned:
            problem = f"Documents were deleted from {where} while it was read."
            return _Deleted(problem, hint="Open the model again.")
        return _Deleted(
            f"Documents that this copy of a model names were deleted from {where} by its owner.",
            hint="Append documents, or index them anew, with {TextModel.index}: the copy gets a "
            "collection of its own.",
            settings=("TextModel.index",),
        )

    def _query(self, expression: str, fields: list[str]) -> list[dict[str, Any]]:
        present = self._present(expression, listed=len(self.leaving) <= LISTED)
        with calling(self.address):
            found = self.client.query(self.collection, filter=present, output_fields=fields)
        return list(found)

    def _present(self, expression: str, *, listed: bool) -> str:
        """What is true of documents of which the expression is; of others too that are being
        deleted, unless these are listed.
        """
        parts = [expression] if expression else []
        parts.append(f"key < {self.keys.end}")
        if listed and len(self.leaving):
            parts.append(f"key not in {self.leaving.tolist()}")
        return " and ".join(parts)

    def _there(self, keys: list[int]) -> Rows:
        """Those of the keys that are not gone."""
        found, ends = np.array(keys, np.int64), np.append(0, self.keys.ends)
        return found[found >= ends[np.searchsorted(self.keys.begins, found, "right")]]

    def vectors(self, rows: Rows) -> tuple[Floats, csr_array]:
        """Unit vectors and counts of rows: (len(rows), F) and (len(rows), K)."""
        vectors = np.zeros((len(rows), self.n_features), np.float32)
        parts = [csr_array((0, self.n_words))]
        for begin in range(0, len(rows), AT_ONCE):
            found = self.entities(rows[begin : begin + AT_ONCE], ("features", "words", "length"))
            vectors[begin : begin + len(found)] = [entity["features"] for entity in found]
            parts.append(counts_of(found, self.n_words))
        return vectors, csr_array(vstack(parts, format="csr"))

    def _nearest(self, queries: Queries, k: int, excluded: Rows, by: By, wanted: Filter) -> Best:
        require(by in WEIGHTS, "SearchStore", "by", " or ".join(map(repr, WEIGHTS)), by)
        weights, expression = WEIGHTS[by], self._expression(excluded, wanted)
        for _ in range(TRIES - 1):
            with suppress(_Deleted):
                return self._nearest_now(queries, k, weights, expression)
        return self._nearest_now(queries, k, weights, expression)

    def _nearest_now(self, queries: Queries, k: int, weights: Weights, expression: str) -> Best:
        Q, k = len(queries.features), min(k, len(self), self.count(expression))
        best = Best(np.full((Q, k), -1, np.int64), np.zeros((Q, k)), np.zeros((Q, k)))
        if not (Q and k):
            return best
        found = self._candidates(queries, k, weights, expression)
        every = np.unique(np.concatenate(found))
        vectors, counts = self.vectors(every)
        words = replace(WordIndex.of(counts), idf=self._idf)
        for i, rows in enumerate(found):
            places = np.searchsorted(every, rows)
            features, shared = exact_cosines(vectors, words, queries, i, places, weights)
            scores = weights.features * features + weights.words * shared
            order = np.argsort(-scores, kind="stable")
            if not weights.features:
                order = order[shared[order] > 0]
            order = order[:k]
            for whole, part in zip(best, (rows, features, shared), strict=True):
                whole[i, : len(order)] = part[order]
        return best

    def _candidates(
        self, queries: Queries, k: int, weights: Weights, expression: str
    ) -> list[Rows]:
        """Rows that may be among the best of each query, in order."""
        found: list[list[int]] = [[] for _ in queries.features]
        n = min(max(CANDIDATES, 4 * k), MOST)

        def look(field: str, data: list[Any], numbers: list[int]) -> None:
            left = dict(zip(numbers, data, strict=True))
            for limit, listed in self._attempts(n):
                with calling(self.address):
                    hits = self.client.search(
                        self.collection,
                        list(left.values()),
                        anns_field=field,
                        limit=limit,
                        filter=self._present(expression, listed=listed),
                    )
                for i, own in zip(list(left), hits, strict=True):
                    there = self._there([hit["key"] for hit in own])
                    if len(there) >= n or len(own) < limit or listed:
                        found[i] += there[:n].tolist()
                        del left[i]
                if not left:
                    return

        if weights.features:
            numbers = list(range(len(found)))
            if self._by_bits:
                look("bits", [code.tobytes() for code in codes_of(queries.features)], numbers)
            else:
                look("features", list(queries.features), numbers)
        if weights.words:
            weighted = queries.words.copy()  # once more: documents have no idf in them
            weighted.data = weighted.data * self._idf[weighted.indices].astype(np.float32)
            asked = sparse_rows(weighted)
            numbers = [i for i, own in enumerate(asked) if own]
            if numbers:
                look("words", [asked[i] for i in numbers], numbers)
        return [self.keys.to_rows(np.unique(np.array(keys, np.int64))) for keys in found]

    def _attempts(self, n: int) -> Iterator[tuple[int, bool]]:
        """How many hits to ask for, and whether to list what is being deleted, until n are found.

        The list is slow if it is long: then more hits come first, of which enough may be there.
        """
        limit = n
        while len(self.leaving) > LISTED and limit < MOST:
            limit = min(4 * limit, MOST)
            yield limit, False
        yield n, True

    @cached_property
    def _by_bits(self) -> bool:
        from docboltz.search.store import EXACT_DOCUMENTS

        return not is_lite(self.address) and len(self) > EXACT_DOCUMENTS

    def _expression(self, excluded: Rows, wanted: Filter) -> str:
        """What Milvus must find true of a hit."""
        parts = ["n_words > 0"]
        if len(excluded):
            parts.append(f"key not in {self.keys.of_rows(excluded).tolist()}")
        if wanted.labels:
            parts.append(label := f"array_contains_any(labels, {_spelled(wanted.labels)})")
            if not self.count(label):
                some = self.entities_left(np.arange(min(len(self), AT_ONCE)), ["labels"])
                require_known(wanted.labels, dict.fromkeys(x for e in some for x in e["labels"]))
        if wanted.since or wanted.until:
            require_dates(wanted, self.count("dated == true") > 0)
            begin, end = np.clip(wanted.span, -(2**62), 2**62).tolist()
            parts.append(f"dated == true and seconds >= {begin} and seconds < {end}")
        return " and ".join(parts)

    def _checked_rows(self, rows: ArrayLike, method: str, name: str) -> Rows:
        return checked_rows(rows, len(self), method, name)


def _spelled(strings: Iterable[str]) -> str:
    """Strings as Milvus' expressions have them."""
    return json.dumps(list(strings), ensure_ascii=False)


def sparse_rows(weights: csr_array) -> list[dict[int, float]]:
    """Rows of a matrix as Milvus has sparse vectors."""
    starts, columns, data = (x.tolist() for x in (weights.indptr, weights.indices, weights.data))
    return [dict(zip(columns[a:b], data[a:b], strict=True)) for a, b in pairwise(starts)]


def counts_of(entities: list[dict[str, Any]], K: int) -> csr_array:
    """Counts from 1 + log count of words, of length 1 and beside its length."""
    rows = [sorted((k, w) for k, w in entity["words"].items() if k < K) for entity in entities]
    lengths = np.array([len(row) for row in rows], np.int64)
    columns = np.array([k for row in rows for k, _ in row], np.int64)
    values = np.array([w for row in rows for _, w in row], np.float64)
    values *= np.repeat([entity["length"] for entity in entities], lengths)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    return csr_array((np.rint(np.exp(values - 1)), columns, starts), shape=(len(rows), K))
