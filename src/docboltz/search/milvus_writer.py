"""Documents → a store in Milvus: written anew, added to, taken out of.

A collection that is written anew gets a new name, and the manifest names it when all of it is
there; the old one is dropped then. Changes are made in the collection itself: documents are added,
the manifest is replaced, documents are deleted. A collection is changed and dropped by the folder
that made it: others that name it, copies of the model, get one of their own when they are changed.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from docboltz.bundles import Build
from docboltz.errors import InvalidModelFile
from docboltz.search.codes import codes_of
from docboltz.search.documents import next_number
from docboltz.search.filters import NO_DATE, seconds_of
from docboltz.search.keys import Keys
from docboltz.search.milvus import AT_ONCE, MilvusStore, counts_of, sparse_rows
from docboltz.search.milvus_place import (
    MILVUS,
    address_of,
    calling,
    connect,
    is_lite,
    is_owner,
    manifest_folder,
    owner_name,
)
from docboltz.search.vectors import Floats, unit_vectors
from docboltz.search.words import Rows
from docboltz.search.writer import (
    STORE,
    Block,
    checked_block,
    checked_center,
    nothing_left,
    nothing_to_index,
)

FIELDS: tuple[str, ...] = ("id", "labels", "date", "dated", "seconds", "text", "features", "words")
FIELDS += ("length", "n_words")
LONGEST = 65_535
"""Bytes of a string in Milvus."""
MOST_LABELS = 1024
Integers = NDArray[np.int64]


def build_milvus_store(
    folder: Path,
    store: str,
    n_features: int,
    n_words: int,
    blocks: Iterable[Block],
    *,
    model: str,
    mean: ArrayLike | None = None,
    guard: AbstractContextManager[None] | None = None,
) -> None:
    """Write a store to Milvus, and to `folder` where it is; as `docboltz.search.build_store`."""
    address, center = address_of(store), checked_center(mean, n_features)
    with (
        MILVUS.saving(manifest_folder(folder)) as build,
        _new_collection(folder, address, n_features) as name,
    ):
        writer = _Writer(address, name, n_features, n_words)
        writer.add(blocks, center)
        if not writer.end:
            raise nothing_to_index(address)
        content = {
            "address": address,
            "model": model,
            "n_features": n_features,
            "n_words": n_words,
            "mean": None if center is None else center.tolist(),
        }
        build.publish({**content, **_alone(folder, writer)}, guard=guard)
    STORE.remove(folder)


def update_milvus_store(
    folder: Path,
    *,
    model: str,
    drop: Collection[str],
    blocks: Iterable[Block] = (),
    guard: AbstractContextManager[None] | None = None,
) -> int:
    """Leave out documents of these ids, add those of the blocks; give how many were left out."""
    with MILVUS.saving(manifest_folder(folder)) as build:
        store = MilvusStore.open(folder, model=model)
        dropped = store.rows_of(drop)
        it = iter(blocks)
        first = next(it, None)
        if first is None and len(dropped) == len(store):
            raise nothing_left()
        new = () if first is None else chain([first], it)
        change = _change if store.is_owned else _change_copy
        change(store, dropped, new, build, guard)
    return len(dropped)


def _change(
    store: MilvusStore,
    dropped: Rows,
    blocks: Iterable[Block],
    build: Build,
    guard: AbstractContextManager[None] | None,
) -> None:
    """Change a collection in its place.

    Until the manifest is replaced nobody sees what is added, and from then on nobody what is
    dropped, whether it is there or not: a crash leaves all as it was, or as it should be.
    """
    _delete(store, f"key >= {store.keys.end}")  # what a crash has left of documents to add
    _delete_keys(store, store.leaving)  # … and to drop
    writer = _Writer(store.address, store.collection, store.n_features, store.n_words)
    writer.end, writer.next_number = store.keys.end, store.next_number
    writer.df = store.df - _document_frequencies(store, dropped)
    writer.add(blocks, store.mean)
    leaving = store.keys.of_rows(dropped)
    keys = store.keys.changed(leaving, writer.end - store.keys.end)
    owner = owner_name(store.path)  # another than before, if the folder was moved
    content = {**store.opened.content, "owner": owner, **_described(writer, keys)}
    build.publish({**content, "leaving": leaving.tolist()}, guard=guard)
    if len(leaving):
        _delete_keys(store, leaving)
        build.publish(content)


def _change_copy(
    store: MilvusStore,
    dropped: Rows,
    blocks: Iterable[Block],
    build: Build,
    guard: AbstractContextManager[None] | None,
) -> None:
    """Change what a folder has of another's collection: it gets one of its own.

    What the owner has deleted is not there to be copied, and is left out.
    """
    with _new_collection(store.path, store.address, store.n_features) as name:
        writer = _Writer(store.address, name, store.n_features, store.n_words)
        writer.next_number = store.next_number
        writer.copy(store, np.delete(np.arange(len(store)), dropped))
        writer.add(blocks, store.mean)
        if not writer.end:
            raise nothing_left()
        build.publish({**store.opened.content, **_alone(store.path, writer)}, guard=guard)


def forget_milvus_store(folder: Path) -> None:
    """Remove the collection that a folder owns, and that it names one."""
    before = _known(folder)
    MILVUS.remove(manifest_folder(folder))
    _drop(folder, before)


def _described(writer: _Writer, keys: Keys) -> dict[str, Any]:
    """What a manifest says of the documents."""
    about = {"collection": writer.name, "next_number": writer.next_number}
    rows = {"n_documents": keys.n, "gone": keys.gone, "leaving": []}
    return {**about, **rows, "df": writer.df.tolist()}


def _alone(folder: Path, writer: _Writer) -> dict[str, Any]:
    """The same, of a new collection."""
    return {"owner": owner_name(folder), **_described(writer, Keys.of(writer.end, []))}


class _Writer:
    """Adds documents behind those that are there."""

    def __init__(self, address: str, name: str, F: int, K: int) -> None:
        self.name = name
        self._client, self._address, self._sizes = connect(address), address, (F, K)
        self.end = self.next_number = 0
        """The next key, and the number behind all that are ids."""
        self.df: Integers = np.zeros(K, np.int64)

    def add(self, blocks: Iterable[Block], mean: Floats | None) -> None:
        """Write blocks."""
        for block in blocks:
            vectors = unit_vectors(checked_block(block, *self._sizes), mean)
            counts = csr_array(block.counts, dtype=np.float64, copy=True)
            counts.sum_duplicates()
            counts.eliminate_zeros()
            self._write(self._entities(vectors, counts, block))
            self.df += np.bincount(counts.indices, minlength=len(self.df))
            self.next_number = next_number((d.id for d in block.documents), self.next_number)

    def copy(self, store: MilvusStore, rows: Rows) -> None:
        """Write documents of another collection, those that are left there, as they are."""
        fields = FIELDS if is_lite(self._address) else (*FIELDS, "bits")
        for begin in range(0, len(rows), AT_ONCE):
            found = store.entities_left(rows[begin : begin + AT_ONCE], fields)
            self._write({name: entity[name] for name in fields} for entity in found)
            counts = counts_of(found, len(self.df))
            self.df += np.bincount(counts.indices, minlength=len(self.df))

    def _write(self, entities: Iterator[dict[str, Any]]) -> None:
        while some := list(islice(entities, AT_ONCE)):
            with calling(self._address):
                keyed = [{**entity, "key": self.end + i} for i, entity in enumerate(some)]
                self._client.upsert(self.name, keyed)
            self.end += len(some)

    def _entities(
        self, vectors: Floats, counts: csr_array, block: Block
    ) -> Iterator[dict[str, Any]]:
        tf = counts.copy()
        tf.data = 1 + np.log(tf.data)
        lengths = np.sqrt(np.asarray(tf.multiply(tf).sum(axis=1)).ravel())
        tf.data /= np.repeat(lengths, np.diff(tf.indptr))
        seconds = seconds_of(document.date for document in block.documents)
        codes, words = codes_of(vectors), sparse_rows(tf)
        for i, document in enumerate(block.documents):
            entity = {
                "id": document.id,
                "labels": list(document.labels),
                "date": document.date,
                "dated": bool(seconds[i] != NO_DATE),
                "seconds": int(seconds[i]) if seconds[i] != NO_DATE else 0,
                "text": document.text,
                "features": vectors[i],
                # Sparse vectors must not be empty: without words, one that nobody asks for.
                "words": words[i] or {self._sizes[1]: 1.0},
                "length": float(lengths[i]),
                "n_words": len(words[i]),
            }
            if not is_lite(self._address):
                entity["bits"] = codes[i].tobytes()
            yield entity


def _create(client: Any, address: str, name: str, n_features: int) -> None:
    from pymilvus import DataType

    schema = client.create_schema(auto_id=False)
    indices = client.prepare_index_params()
    schema.add_field("key", DataType.INT64, is_primary=True)
    for text in ("id", "date", "text"):
        schema.add_field(text, DataType.VARCHAR, max_length=LONGEST)
    schema.add_field(
        "labels",
        DataType.ARRAY,
        element_type=DataType.VARCHAR,
        max_capacity=MOST_LABELS,
        max_length=LONGEST,
    )
    schema.add_field("dated", DataType.BOOL)
    schema.add_field("seconds", DataType.INT64)
    schema.add_field("length", DataType.DOUBLE)
    schema.add_field("n_words", DataType.INT64)
    schema.add_field("features", DataType.FLOAT_VECTOR, dim=n_features)
    indices.add_index("features", index_type="FLAT", metric_type="IP")
    schema.add_field("words", DataType.SPARSE_FLOAT_VECTOR)
    indices.add_index("words", index_type="SPARSE_INVERTED_INDEX", metric_type="IP")
    if not is_lite(address):
        bits = 8 * codes_of(np.zeros((1, n_features), np.float32)).nbytes
        schema.add_field("bits", DataType.BINARY_VECTOR, dim=bits)
        indices.add_index("bits", index_type="BIN_FLAT", metric_type="HAMMING")
    client.create_collection(name, schema=schema, consistency_level="Strong")
    client.create_index(name, indices, sync=False)  # of nothing yet: there is nothing to wait for
    client.load_collection(name)


def _delete(store: MilvusStore, expression: str) -> None:
    with calling(store.address):
        store.client.delete(store.collection, filter=expression)


def _delete_keys(store: MilvusStore, keys: Rows) -> None:
    for begin in range(0, len(keys), AT_ONCE):
        _delete(store, f"key in {keys[begin : begin + AT_ONCE].tolist()}")


def _document_frequencies(store: MilvusStore, rows: Rows) -> Integers:
    """How many of these rows have each word: (K,)."""
    df: Integers = np.zeros(store.n_words, np.int64)
    for begin in range(0, len(rows), AT_ONCE):
        _, counts = store.vectors(rows[begin : begin + AT_ONCE])
        df += np.bincount(counts.indices, minlength=store.n_words)
    return df


@contextmanager
def _new_collection(folder: Path, address: str, n_features: int) -> Iterator[str]:
    """The name of a new collection. In the end that is dropped, unless the manifest names it; if it
    does, the one that it named before is, provided it was this folder's own.

    What is named is read from disk: an interrupt may come right after the manifest was replaced.
    """
    client, before, name = connect(address), _known(folder), f"docboltz_{secrets.token_hex(8)}"
    try:
        with calling(address):
            _create(client, address, name, n_features)
        yield name
    finally:
        now = _known(folder)
        if now is not None and now.get("collection") == name:
            _drop(folder, before)
        else:
            with suppress(Exception):  # it may not be there yet
                client.drop_collection(name)


def _drop(folder: Path, content: dict[str, Any] | None) -> None:
    """Drop the collection that a manifest names, if it is this folder's own."""
    if content is not None and is_owner(folder, content):
        with suppress(Exception):  # nobody needs it any more, wherever it is
            connect(content["address"]).drop_collection(content["collection"])


def _known(folder: Path) -> dict[str, Any] | None:
    """What the manifest says, if it can be read."""
    with suppress(InvalidModelFile):
        return MILVUS.open(manifest_folder(folder)).content
    return None
