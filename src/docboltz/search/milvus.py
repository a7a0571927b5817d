"""A collection to search in Milvus: a file of Milvus Lite, or a cluster. n documents, K words.

Each document is an entity: what is shown of it, its unit vector, and a sparse vector of its words.
Dimensions of that below K are the model's words; K + t is term t of the word index, with what BM25
makes of its count beside the mean length of the first documents. Milvus finds candidates by both
vectors. Their scores are computed here, in float64, as those of a store in files are.

The folder of the model holds a manifest that names the collection, its terms, how many documents
have each, and keys: row i is the entity of the i-th key. So a change shows when its manifest does.
Copies of the folder name the same collection; once one of them has changed it, the others have to
be indexed anew.
"""

from __future__ import annotations

import json
import logging
import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, hstack

from docboltz.corpus.analysis import TextAnalysis
from docboltz.corpus.disk import mapped
from docboltz.corpus.document import Document
from docboltz.errors import DocboltzError, InvalidModelFile, InvalidParameter, NoAnswer, require
from docboltz.search.documents import same_id, seconds_of
from docboltz.search.query import Filter, Phrase, is_text
from docboltz.search.score import By, Matches
from docboltz.search.sqlite import remembered
from docboltz.search.store import (
    CANDIDATES,
    CHECKED_BYTES,
    KEPT_PHRASES,
    KEYS,
    STORE,
    About,
    Block,
    Found,
    Question,
    Store,
    none_wanted,
    of_model,
    require_documents,
)
from docboltz.search.vectors import Floats, Rows, Scores, cosines, unit_vectors
from docboltz.search.words import DF, K1, TERMS, B, Terms, WordWriter, idf_of
from docboltz.storage import Build, Bundle, Opened, StrPath, typed

SCHEME = "milvus+"
MILVUS = Bundle(
    noun="search index in Milvus",
    format="docboltz-milvus",
    version=4,
    manifest="milvus.json",
    files=(TERMS, KEYS, DF),
    remedy="Build it again with {TextModel.index}, and name its store.",
)
LONGEST = 65_535
"""Bytes of a string in Milvus. A text is kept in pieces of a quarter as many letters."""
MOST = 16_384
"""Hits of one search in Milvus."""
AT_ONCE = 1000
"""Entities of one call."""
BEST_BY_WORDS = 16
"""Hits of which one is the best by words. Those that a change has dropped may come before it."""
ONCE = 2**32 - 2
"""Dimension, in every document, with what BM25 makes of a word that it has once."""
_spelt = json.JSONEncoder(ensure_ascii=False).encode
"""Strings as Milvus' expressions have them."""


def manifest_folder(store_folder: Path) -> Path:
    """Where the manifest is."""
    return store_folder / "milvus"


def names_milvus(store_folder: Path) -> bool:
    """Tell whether a folder names a collection in Milvus."""
    return MILVUS.exists(manifest_folder(store_folder))


def address_of(store: str) -> str:
    """What comes after "milvus+": a cluster's address, or a file of Milvus Lite, in full."""
    address = store.removeprefix(SCHEME)
    require(
        "://" in address or address.endswith(".db"),
        "TextModel",
        "store",
        "a file that ends in .db, or a cluster's address: milvus+http://host:19530",
        store,
    )
    return address if "://" in address else str(Path(address).absolute())


@cache
def connect(address: str) -> Any:
    """A client of Milvus, one for each address."""
    try:
        from pymilvus import MilvusClient
    except ImportError as error:
        raise InvalidParameter(
            f"A store in Milvus needs the package {error.name}.",
            hint="pip install 'docboltz[milvus]'",
        ) from error
    for name in ("pymilvus", "grpc._server"):  # what they log is raised as well
        logging.getLogger(name).setLevel(logging.CRITICAL)
    with _calling(address):
        return MilvusClient(address, token=os.environ.get("MILVUS_TOKEN", ""))


@contextmanager
def _calling(address: str) -> Iterator[None]:
    """Say in one line what Milvus complains about."""
    from pymilvus.exceptions import MilvusException

    try:
        yield
    except MilvusException as error:
        raise NoAnswer(f"Milvus at {address} fails: {error.message}") from error


@dataclass(frozen=True)
class Named(About):
    """What a manifest says of a collection, and where that is."""

    address: str = ""
    collection: str = ""

    def call(self, method: str, **given: Any) -> Any:
        """Call a method of the client that takes a collection's name."""
        client = connect(self.address)
        with _calling(self.address):
            return getattr(client, method)(self.collection, **given)

    def create(self) -> None:
        """Make it, without documents."""
        from pymilvus import CollectionSchema, DataType, FieldSchema, MilvusClient

        fields = [
            FieldSchema("key", DataType.INT64, is_primary=True),
            FieldSchema("id", DataType.VARCHAR, max_length=LONGEST),
            FieldSchema("about", DataType.JSON),
            FieldSchema("seconds", DataType.INT64, nullable=True),
            FieldSchema(
                "text",
                DataType.ARRAY,
                element_type=DataType.VARCHAR,
                max_capacity=1024,
                max_length=LONGEST,
            ),
            FieldSchema("features", DataType.FLOAT_VECTOR, dim=self.n_features),
            FieldSchema("words", DataType.SPARSE_FLOAT_VECTOR),
        ]
        index, kind = (
            MilvusClient.prepare_index_params(),
            "AUTOINDEX" if "://" in self.address else "FLAT",
        )
        index.add_index("features", index_type=kind, metric_type="IP")
        index.add_index("words", index_type="SPARSE_INVERTED_INDEX", metric_type="IP")
        self.call(
            "create_collection",
            schema=CollectionSchema(fields),
            index_params=index,
            consistency_level="Strong",
        )

    def drop(self) -> None:
        """Drop all of it. Nobody needs it any more, wherever it is, and it may be gone."""
        with suppress(DocboltzError):
            self.call("drop_collection")


class MilvusStore(Store):
    """A collection in Milvus. Made by `open`; may be shared by threads."""

    kind = MILVUS
    about: Named

    def __init__(self, opened: Opened) -> None:
        """Map the files of a checked manifest."""
        self.opened, self._rows_with = opened, remembered(self._find_phrase, KEPT_PHRASES)
        with MILVUS.trusting(opened.folder):
            self.about = typed(Named, opened.content, MILVUS.manifest)
            self._take_keys(mapped(opened.file(KEYS), "<i8"))
            self.terms = Terms(opened.folder / opened.build)
        self.is_exact = "://" not in self.about.address
        if not self.about.call("has_collection"):
            there = f"{self.about.collection!r} at {self.about.address}"
            raise MILVUS.unusable(opened.folder, f"names {there}, which is not there")
        self.about.call("load_collection")  # which another process may have let go

    @classmethod
    def open(cls, folder: Path, *, model: str | None = None) -> MilvusStore:
        """Open the collection that a folder names; with `model`, only if that model made it."""
        place = manifest_folder(folder)
        return MILVUS.load(place, lambda found: cls(of_model(MILVUS, found, model)), CHECKED_BYTES)

    @property
    def features(self) -> Floats:
        """Unit vectors of all documents, fetched: (n, F)."""
        found = self._entities(range(len(self)), "features")
        return np.array([entity["features"] for entity in found], np.float32)

    def presence(self, rows: Rows | None = None) -> csr_array:
        """1 for each of the model's words that documents have: (len(rows), K)."""
        K, asked = self.about.n_words, range(len(self)) if rows is None else rows
        found = enumerate(self._entities(asked, "words"))
        places = np.array([(i, d) for i, e in found for d in e["words"] if d < K], np.int32)
        ones = np.ones(len(places), np.float32)
        return csr_array((ones, tuple(places.reshape(-1, 2).T)), (len(asked), K))

    def documents(self, rows: ArrayLike) -> list[Document]:
        """The documents of some rows, in their order."""
        found = self._entities(np.asarray(rows, np.int64), "id", "text", "about")
        return [
            Document(
                id=entity["id"],
                text="".join(entity["text"]),
                **{**entity["about"], "labels": tuple(entity["about"]["labels"])},
            )
            for entity in found
        ]

    def labels_and_dates(self) -> tuple[list[tuple[str, ...]], list[str]]:
        """Labels and date of every document, in the order of the rows."""
        found = [entity["about"] for entity in self._entities(range(len(self)), "about")]
        return [tuple(about["labels"]) for about in found], [about["date"] for about in found]

    def rows_of(self, ids: Collection[str]) -> Rows:
        """Rows of the documents that have one of these ids, in order."""
        asked = list(filter(is_text, ids))
        parts = (asked[begin : begin + AT_ONCE] for begin in range(0, len(asked), AT_ONCE))
        found = [e["key"] for part in parts for e in self._query(f"id in {_spelt(part)}")]
        return np.sort(self._rows(np.array(found, np.int64))[0])

    def copy_to(self, folder: StrPath) -> None:
        """Let another folder name the same collection."""
        data = {name: mapped(self.opened.file(name), "u1") for name in MILVUS.files}
        MILVUS.copy(self.opened, manifest_folder(Path(folder)), data)
        STORE.remove(folder)

    def word_parts(self, question: Question, rows: Rows, by: By) -> tuple[Sequence[str], Scores]:
        """Words of a question, and what each adds to the scores of documents: (rows, words)."""
        with MILVUS.trusting(self.opened.folder):
            matches, places, _ = self._matches(question, rows)
            return matches.forms, matches.parts(places, question.weights(by))

    def _query(self, expression: str, *fields: str, **given: Any) -> list[dict[str, Any]]:
        """Keys and fields of the entities that an expression is true of."""
        fetched = ["key", *fields]
        return list(self.about.call("query", filter=expression, output_fields=fetched, **given))

    def _entities(self, rows: Rows | range, *fields: str) -> Iterator[dict[str, Any]]:
        """What is kept of these rows, in their order."""
        for begin in range(0, len(rows), AT_ONCE):
            keys = self.keys[rows[begin : begin + AT_ONCE]].tolist()
            found = {entity["key"]: entity for entity in self._query(f"key in {keys}", *fields)}
            if not found.keys() >= set(keys):
                raise InvalidModelFile(
                    "Documents were deleted from the collection in Milvus since it was opened.",
                    hint="Open the model again. A copy of a model has to be indexed anew with "
                    "{TextModel.index}.",
                    settings=("TextModel.index",),
                )
            yield from (found[key] for key in keys)

    def _look(self, field: str, data: Any, n: int, expression: str) -> Rows:
        """Rows of the n best by a vector."""
        how = {"anns_field": field, "data": [data], "limit": n, "filter": expression}
        found = self.about.call("search", **how)[0] if len(data) else []
        return self._rows(np.array([entity["key"] for entity in found], np.int64))[0]

    def _found(self, questions: Sequence[Question], k: int, by: By) -> Iterator[Found]:
        n = min(max(CANDIDATES, 4 * k), MOST)
        for question in questions:
            wanted, weights = self._wanted(question), question.weights(by)
            bare = dict.fromkeys([ONCE for each in question.phrases if not each.terms], 1.0)
            found = [self._look("words", self._terms(question) | bare, n, wanted)]
            if weights.features and question.vector.any():
                found.append(self._look("features", question.vector, n, wanted))
            rows = np.unique(np.concatenate(found))
            matches, places, vectors = self._matches(question, rows)
            features = weights.features * cosines(vectors, question.vector, places)
            yield rows, features, matches.parts(places, weights).sum(axis=1)

    def _terms(self, question: Question) -> dict[int, float]:
        """The terms of a question as a sparse vector, whose products with documents are BM25."""
        return {
            self.about.n_words + number: question.terms[term]
            * idf_of(len(self), self.terms.df[number])
            for term, (number, _) in self.terms.find(question.terms).items()
        }

    def _matches(self, question: Question, rows: Rows) -> tuple[Matches, Rows, Floats]:
        """The words of a question in some rows, and in those that may be the best by words.

        With them come the places of the rows, and the unit vectors of all places.
        """
        K, n, known = self.about.n_words, len(self), self.terms.find(question.terms)
        bare = {each.text: self._rows_with(each) for each in question.phrases if not each.terms}
        asked = [
            (form, K + t, self.terms.df[t], question.terms[term])
            for term, (t, form) in known.items()
        ]
        asked += [(text, ONCE, len(own), 1) for text, own in bare.items()]
        best = self._look("words", self._terms(question), BEST_BY_WORDS, "")
        pool = np.unique(np.concatenate([rows, best, *bare.values()]))
        found, matches = list(self._entities(pool, "features", "words")), Matches(len(pool))
        for form, dimension, df, times in asked:
            has = np.isin(pool, bare[form]) if dimension == ONCE else True
            values = has * np.array([entity["words"].get(dimension, 0.0) for entity in found])
            places, idf = np.flatnonzero(values), idf_of(n, int(df))
            matches.add(form, places, idf, times * idf * values[places])
        vectors = np.array([entity["features"] for entity in found], np.float32)
        return matches, np.searchsorted(pool, rows), vectors.reshape(-1, self.about.n_features)

    def _wanted(self, question: Question) -> str:
        """What Milvus must find true of a hit."""
        true = [f"key < {self.about.end}", *_conditions(question.wanted)]
        if question.wanted and not self._query(" and ".join(true), limit=1):
            some = self._entities(range(min(len(self), AT_ONCE)), "about")
            labels = dict.fromkeys(label for entity in some for label in entity["about"]["labels"])
            raise none_wanted(question.wanted, list(labels)[:5])
        true += [f"key in {self._keys(self._rows_with(phrase))}" for phrase in question.phrases]
        without = [np.array([question.other_than]), *map(self._rows_with, question.without)]
        return " and ".join([*true, f"key not in {self._keys(np.concatenate(without))}"])

    def _keys(self, rows: Rows) -> list[int]:
        """Keys of rows, and −1, which is none: a list in an expression must not be empty."""
        return [-1, *self.keys[rows[rows >= 0]].tolist()]

    def _find_phrase(self, phrase: Phrase) -> Rows:
        """Rows of the documents that have a phrase, in order; those of very many that have most."""
        numbers = [number for number, _ in self.terms.find(phrase.terms).values()]
        if len(numbers) < len(set(phrase.terms)):
            return np.empty(0, np.int64)
        rows, needed = np.arange(len(self)), {self.about.n_words + number for number in numbers}
        if numbers:
            rarest = self.about.n_words + min(numbers, key=self.terms.df.item)
            rows = np.sort(self._look("words", {rarest: 1.0}, MOST, ""))
        literal = phrase.literal or not numbers
        has = [
            e["words"].keys() >= needed
            and (not literal or phrase.is_in("\n".join([e["about"]["title"], "".join(e["text"])])))
            for e in self._entities(rows, "words", "about", "text")
        ]
        return np.array(rows[np.array(has, bool)])


def _conditions(wanted: Filter) -> list[str]:
    """What Milvus must find true of a document that a filter lets through."""
    labels = [f'json_contains_any(about["labels"], {_spelt(wanted.labels)})']
    begin, end = np.clip(wanted.span, -(2**62), 2**62).tolist()
    dates = [f"seconds >= {begin} and seconds < {end}"] if wanted.since or wanted.until else []
    columns = [f'about["columns"][{_spelt(a)}] == {_spelt(b)}' for a, b in wanted.columns]
    return [*(labels if wanted.labels else []), *dates, *columns]


def write_milvus(
    folder: Path,
    store: str | None,
    blocks: Iterable[Block],
    analysis: TextAnalysis,
    about: About,
    *,
    append: bool = False,
    drop: Collection[str] = (),
    guard: AbstractContextManager[None] | None = None,
) -> int:
    """Write documents to Milvus, and to `folder` where they are; give how many were replaced.

    As `write_store`. `store` is "milvus+" and an address, and counts without `append`: documents
    are written to a new collection then, and the one that the folder named before is dropped in the
    end. With `append` the collection is changed in its place. Until the manifest is replaced
    readers see nothing of what is added, and from then on nothing of what is dropped.
    """
    with MILVUS.saving(manifest_folder(folder)) as build:
        old, dropped, before = None, np.empty(0, np.int64), _named(folder)
        if append:
            old = MilvusStore.open(folder, model=about.model)
            old.verify()  # what is damaged would get new checksums
            named, dropped = old.about, old.rows_of(drop)
        else:
            address, collection = address_of(store or ""), build.path.name.replace("-", "_")
            named = Named(**vars(about), address=address, collection=f"docboltz_{collection}")
        try:
            if old is None:
                named.create()
            published = _write(build, blocks, analysis, named, old, dropped)
            require_documents(published, named.address, deleted=append)
            build.publish(asdict(published), guard=guard)
        finally:  # an interrupt may come right after the manifest was replaced
            now = _named(folder)
            for each in (before, named):
                if each is not None and (now is None or each.collection != now.collection):
                    each.drop()
        if append:
            _delete_others(MilvusStore.open(folder))
    STORE.remove(folder)
    return len(dropped)


def forget_milvus(folder: Path) -> None:
    """Drop the collection that a folder names, and let it name none."""
    before = _named(folder)
    MILVUS.remove(manifest_folder(folder))
    if before is not None:
        before.drop()


def _named(folder: Path) -> Named | None:
    """The collection that a folder names, if its manifest can be read."""
    with suppress(ValueError):
        found: Named = typed(Named, MILVUS.open(manifest_folder(folder)).content, "")
        return found
    return None


def _delete_others(store: MilvusStore) -> None:
    """Delete entities of no document: what this change, or one that was interrupted, has left."""
    low = 0
    for begin in range(0, len(store), AT_ONCE):
        own = store.keys[begin : begin + AT_ONCE].tolist()
        if own[-1] - low >= len(own):
            between = f"key >= {low} and key <= {own[-1]} and key not in {own}"
            store.about.call("delete", filter=between)
        low = own[-1] + 1
    store.about.call("delete", filter=f"key >= {low}")


def _write(
    build: Build,
    blocks: Iterable[Block],
    analysis: TextAnalysis,
    named: Named,
    old: MilvusStore | None,
    dropped: Rows,
) -> Named:
    """Write documents behind those of `old` that are not dropped, and the files of the build."""
    keys, ids = np.empty(0, np.int64), set[str]()
    writer = WordWriter(build.path, analysis, None if old is None else old.terms)
    if old is not None:
        writer.count([document.searched for document in old.documents(dropped)], -1)
        keys = np.delete(old.keys, dropped)
    named = replace(named, n_documents=len(keys))
    for block in blocks:
        new = [document.id for document in block.documents]
        there = [] if old is None else old.documents(np.setdiff1d(old.rows_of(new), dropped))
        for id, times in Counter([*new, *ids.intersection(new), *(d.id for d in there)]).items():
            if times > 1:
                raise same_id(id)
        ids.update(new)
        counts = writer.count([document.searched for document in block.documents])
        mean_length = named.mean_length or max(float(counts.sum(axis=1).mean()), 1.0)
        named = replace(named, mean_length=mean_length)
        entities = _entities(block, counts, named)
        for begin in range(0, len(entities), AT_ONCE):
            named.call("upsert", data=entities[begin : begin + AT_ONCE])
        keys = np.append(keys, [entity["key"] for entity in entities])
        named = named.with_documents(block.documents)
    writer.finish()
    (build.path / KEYS).write_bytes(keys.astype("<i8").data)
    return named


def _entities(block: Block, counts: csr_array, named: Named) -> list[dict[str, Any]]:
    """What is kept of documents, by how often they have each term."""
    norm = K1 * (1 - B + B * counts.sum(axis=1) / named.mean_length)
    bm25, once = counts.astype(np.float64), ((K1 + 1) / (1 + norm)).tolist()
    bm25.data *= (K1 + 1) / (bm25.data + norm.repeat(np.diff(bm25.indptr)))
    words = hstack([csr_array(block.counts) > 0, bm25], "csr", np.float64)
    dimensions, values, ends = (a.tolist() for a in (words.indices, words.data, words.indptr))
    vectors, size, found = unit_vectors(block.features, named.center), LONGEST // 4, []
    for i, document in enumerate(block.documents):
        own, shown = slice(ends[i], ends[i + 1]), asdict(document)
        text = shown.pop("text")
        found.append({
            "key": named.end + i,
            "id": shown.pop("id"),
            "about": shown,
            "seconds": seconds_of(document.date),
            "text": [text[at : at + size] for at in range(0, len(text), size)],
            "features": vectors[i],
            "words": {**dict(zip(dimensions[own], values[own], strict=True)), ONCE: once[i]},
        })  # fmt: skip
    return found
