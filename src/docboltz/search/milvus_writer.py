"""Documents → a store in Milvus: written anew, added to, taken out of.

A collection that is written anew gets a new name, and the manifest names it when all of it is
there; the old one is dropped then. Changes are made in the collection itself, documents first and
the manifest last: after a crash in between, words are counted again at the next change.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterable, Iterator
from contextlib import AbstractContextManager, suppress
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from docboltz.errors import InvalidCorpus, InvalidParameter
from docboltz.search.codes import codes_of
from docboltz.search.filters import NO_DATE, seconds_of
from docboltz.search.milvus import (
    AT_ONCE,
    MILVUS,
    MilvusStore,
    address_of,
    calling,
    connect,
    is_lite,
    manifest_folder,
    sparse_rows,
)
from docboltz.search.vectors import Floats, checked_vectors, unit_vectors
from docboltz.search.words import Rows
from docboltz.search.writer import STORE, Block, checked_block

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
    address, name = address_of(store), f"docboltz_{secrets.token_hex(8)}"
    client = connect(address)
    center = None
    if mean is not None:
        center = checked_vectors(np.asarray(mean)[None], n_features, "build_store", "mean")[0]
    before = _known(folder)
    with MILVUS.saving(manifest_folder(folder)) as build:
        try:
            with calling(address):
                _create(client, address, name, n_features)
            writer = _Writer(client, address, name, n_features, n_words)
            for block in blocks:
                writer.add(block, center)
            if not writer.n:
                raise InvalidCorpus(
                    f"There is no document to index, so nothing was written to {address}.",
                    hint="Check that the corpus named is the one you meant.",
                )
            content = {
                "address": address,
                "collection": name,
                "model": model,
                "n_documents": writer.n,
                "n_features": n_features,
                "n_words": n_words,
                "mean": None if center is None else center.tolist(),
                "df": writer.df.tolist(),
            }
            build.publish(content, guard=guard)
        except BaseException:
            client.drop_collection(name)
            raise
    STORE.remove(folder)
    if before is not None:
        with suppress(Exception):  # nobody needs it any more, wherever it is
            connect(before["address"]).drop_collection(before["collection"])


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
        content, n = store.opened.content, len(store)
        dropped = store.rows_of(drop)
        it = iter(blocks)
        first = next(it, None)
        if first is None and len(dropped) == n:
            raise InvalidParameter(
                "No document would be left to search.",
                hint="Give others with {TextModel.index} instead.",
                settings=("TextModel.index",),
            )
        df = np.array(content["df"], np.int64)
        if n != content["n_documents"]:  # somebody was stopped on the way here
            df = _document_frequencies(store, np.arange(n))
        df -= _document_frequencies(store, dropped)
        _take_out(store, dropped, n)
        writer = _Writer(
            store.client, store.address, store.collection, store.n_features, store.n_words
        )
        writer.n, writer.df = n - len(dropped), df
        for block in () if first is None else chain([first], it):
            writer.add(block, store.mean)
        changed = {"n_documents": writer.n, "df": writer.df.tolist()}
        build.publish({**content, **changed}, guard=guard)
    return len(dropped)


def forget_milvus_store(folder: Path) -> None:
    """Remove the collection that a folder names, and that it does."""
    before = _known(folder)
    if before is not None:
        MILVUS.remove(manifest_folder(folder))
        with suppress(Exception):
            connect(before["address"]).drop_collection(before["collection"])


class _Writer:
    """Adds documents behind those that are there."""

    def __init__(self, client: Any, address: str, name: str, F: int, K: int) -> None:
        self._client, self._address, self._name, self._sizes = client, address, name, (F, K)
        self.n = 0
        self.df: Integers = np.zeros(K, np.int64)

    def add(self, block: Block, mean: Floats | None) -> None:
        """Write a block."""
        vectors = unit_vectors(checked_block(block, *self._sizes), mean)
        counts = csr_array(block.counts, dtype=np.float64, copy=True)
        counts.sum_duplicates()
        counts.eliminate_zeros()
        entities = self._entities(vectors, counts, block)
        while part := list(islice(entities, AT_ONCE)):
            with calling(self._address):
                self._client.upsert(self._name, part)
        self.df += np.bincount(counts.indices, minlength=len(self.df))
        self.n += len(vectors)

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
                "row": self.n + i,
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
    schema.add_field("row", DataType.INT64, is_primary=True)
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


def _take_out(store: MilvusStore, rows: Rows, n: int) -> None:
    """Delete rows, and move the last ones to their places, so that rows stay without gaps."""
    left = n - len(rows)
    last = np.setdiff1d(np.arange(left, n), rows)
    places = rows[rows < left]
    fields = ["id", "labels", "date", "dated", "seconds", "text", "features", "words", "length"]
    fields += ["n_words"] if is_lite(store.address) else ["n_words", "bits"]
    for begin in range(0, len(last), AT_ONCE):
        moved = store.entities(last[begin : begin + AT_ONCE], fields)
        targets = places[begin : begin + AT_ONCE].tolist()
        entities = [
            {name: entity[name] for name in fields} | {"row": place}
            for entity, place in zip(moved, targets, strict=True)
        ]
        with calling(store.address):
            store.client.upsert(store.collection, entities)
    if len(rows):
        with calling(store.address):
            store.client.delete(store.collection, filter=f"row >= {left}")


def _document_frequencies(store: MilvusStore, rows: Rows) -> Integers:
    """How many of these rows have each word: (K,)."""
    df: Integers = np.zeros(store.n_words, np.int64)
    for begin in range(0, len(rows), AT_ONCE):
        _, counts = store.vectors(rows[begin : begin + AT_ONCE])
        df += np.bincount(counts.indices, minlength=store.n_words)
    return df


def _known(folder: Path) -> dict[str, Any] | None:
    place = manifest_folder(folder)
    return MILVUS.open(place).content if MILVUS.exists(place) else None
