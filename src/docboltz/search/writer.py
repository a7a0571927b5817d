"""Features, words and documents → a store, block by block. F features, K words."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from docboltz.bundles import Bundle
from docboltz.corpus.checks import check_structure
from docboltz.corpus.document import Document
from docboltz.errors import InvalidCorpus, InvalidParameter, require, require_count
from docboltz.files import StrPath
from docboltz.search.codes import CODES, CodeWriter
from docboltz.search.documents import (
    DOCUMENTS,
    RECORDS,
    DocumentWriter,
    StoredDocuments,
    is_text,
    next_number,
)
from docboltz.search.filters import FILES as FILTER_FILES
from docboltz.search.filters import FilterWriter, StoredFilters
from docboltz.search.vectors import Floats, checked_vectors, unit_vectors
from docboltz.search.words import FILES as WORD_FILES
from docboltz.search.words import Rows, WordWriter

FEATURES = "features.f32"
"""(n, F) little-endian float32, a unit vector a document; mapped."""

STORE = Bundle(
    noun="search index",
    format="docboltz-search",
    version=6,
    manifest="store.json",
    files=(FEATURES, CODES, DOCUMENTS, RECORDS, *WORD_FILES.values(), *FILTER_FILES),
    remedy="Build it again with {TextModel.index}.",
    settings=("TextModel.index",),
)


class Block(NamedTuple):
    """Some documents of a collection: B of them."""

    features: ArrayLike
    """As the model gives them: (B, F)."""
    counts: csr_array
    """Of words: (B, K)."""
    documents: Sequence[Document]


class StoreWriter(ExitStack):
    """Writes the files of a store to a folder, block by block: a context that closes them."""

    def __init__(self, folder: Path, n_features: int, n_words: int) -> None:
        super().__init__()
        self._folder, self._sizes, self._n = folder, (n_features, n_words), 0
        self.next_number = 0
        """Behind all numbers that are ids."""
        self._features = self.enter_context((folder / FEATURES).open("xb"))
        self._codes = self.enter_context(CodeWriter(folder))
        self._words = self.enter_context(WordWriter(folder, n_words))
        self._documents = self.enter_context(DocumentWriter(folder))
        self._filters = self.enter_context(FilterWriter(folder))

    def append(self, block: Block, mean: Floats | None) -> None:
        """Add documents at the end."""
        vectors = checked_block(block, *self._sizes)
        self._add(unit_vectors(vectors, mean), block.counts)
        self._documents.append(block.documents)
        self.next_number = next_number((d.id for d in block.documents), self.next_number)
        self._filters.append(block.documents)

    def copy(
        self,
        vectors: Floats,
        counts: csr_array,
        documents: StoredDocuments,
        filters: StoredFilters,
        rows: Rows,
    ) -> None:
        """Add documents of another store at the end: unit vectors and counts of its rows."""
        self._add(vectors, counts)
        self._documents.copy(documents, rows)
        self._filters.copy(filters, rows)

    def finish(self) -> int:
        """Write what can be known at the end only; give the number of documents."""
        if not self._n:
            return 0
        for part in (self._codes, self._words, self._filters):
            part.finish()
        self.close()
        if (id := StoredDocuments(self._folder, self._n).repeated()) is not None:
            raise InvalidCorpus(
                f"Two documents have the id {id!r}.",
                hint="Hits are told apart by their ids: make them unique, or name another column "
                "with {id}.",
                settings=("id",),
            )
        return self._n

    def _add(self, vectors: Floats, counts: csr_array) -> None:
        self._features.write(vectors.astype("<f4", copy=False).data)
        self._codes.append(vectors)
        try:
            self._words.append(counts)
        except ValueError:
            require(False, "build_store", "counts", "whole numbers of words", counts)
        self._n += len(vectors)


def build_store(
    path: StrPath,
    n_features: int,
    n_words: int,
    blocks: Iterable[Block],
    *,
    model: str,
    mean: ArrayLike | None = None,
    guard: AbstractContextManager[None] | None = None,
) -> None:
    """Write a store to the folder `path`; an old one stays in use until all blocks are written.

    `model` is the fingerprint of the model the features come from. `mean`, of shape (F,), is
    subtracted from documents and queries before they are normalised. `guard` is held while the new
    store takes its place, and may still refuse. Memory holds one block, some 150 MB to sort words,
    and 24 bytes a document to find an id that comes twice. One process may build in a folder at a
    time.
    """
    for name, size in (("n_features", n_features), ("n_words", n_words)):
        require_count(size, "build_store", name)
    F, K = int(n_features), int(n_words)
    center = checked_center(mean, F)
    with STORE.saving(path) as build, StoreWriter(build.path, F, K) as writer:
        for block in blocks:
            writer.append(block, center)
        n = writer.finish()
        if not n:
            raise nothing_to_index(path)
        shift = None if center is None else center.tolist()
        sizes = {"n_documents": n, "n_features": F, "n_words": K}
        about = {"model": model, "mean": shift, "next_number": writer.next_number}
        build.publish({**sizes, **about}, guard=guard)


def checked_center(mean: ArrayLike | None, n_features: int) -> Floats | None:
    """What to subtract from features, if anything: (F,)."""
    if mean is None:
        return None
    center: Floats = checked_vectors(np.asarray(mean)[None], n_features, "build_store", "mean")[0]
    return center


def nothing_to_index(where: StrPath) -> InvalidCorpus:
    """An error for a collection without documents."""
    return InvalidCorpus(
        f"There is no document to index, so nothing was written to {os.fspath(where)}.",
        hint="Check that the corpus named is the one you meant.",
    )


def nothing_left() -> InvalidParameter:
    """An error for deleting everything."""
    return InvalidParameter(
        "No document would be left to search.",
        hint="Give others with {TextModel.index} instead.",
        settings=("TextModel.index",),
    )


def checked_block(block: Block, n_features: int, n_words: int) -> Floats:
    """The features of a block that can be stored."""
    owner = "build_store"
    vectors = checked_vectors(block.features, n_features, owner, "features")
    check_structure(block.counts, owner)
    got = (len(vectors), block.counts.shape[0], len(block.documents))
    require(len(set(got)) == 1, owner, "features", "as many as counts and documents", got)
    wide = block.counts.shape[1] == n_words
    require(wide, owner, "counts", f"counts of {n_words} words", block.counts.shape)
    for document in block.documents:
        id, labels = document.id, document.labels
        require(is_text(id), owner, "ids", "strings in Unicode", id)
        listed = isinstance(labels, tuple) and all(map(is_text, labels))
        require(listed, owner, "labels", f"a tuple of strings for document {id!r}", labels)
        require(is_text(document.date), owner, "dates", "strings in Unicode", document.date)
        require(is_text(document.text), owner, "texts", "strings in Unicode", document.text)
    return vectors
