"""Features, words and documents → a store, block by block. F features, K words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, vstack

from docboltz.bundles import Bundle
from docboltz.corpus.checks import check_structure
from docboltz.corpus.document import Document
from docboltz.errors import InvalidCorpus, require, require_count
from docboltz.files import StrPath
from docboltz.search.documents import DOCUMENTS, RECORDS, DocumentWriter, is_text
from docboltz.search.vectors import Floats, checked_vectors, unit_vectors
from docboltz.search.words import FILES as WORD_FILES
from docboltz.search.words import WordIndex

FEATURES = "features.f32"
"""(n, F) little-endian float32, a unit vector a document; mapped."""

STORE = Bundle(
    noun="search index",
    format="docboltz-search",
    version=4,
    manifest="store.json",
    files=(FEATURES, DOCUMENTS, RECORDS, *WORD_FILES),
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


def build_store(
    path: StrPath,
    n_features: int,
    n_words: int,
    blocks: Iterable[Block],
    *,
    model: str,
    mean: ArrayLike | None = None,
    check: Callable[[], None] | None = None,
) -> None:
    """Write a store to the folder `path`; an old one stays in use until all blocks are written.

    `model` is the fingerprint of the model the features come from. `mean`, of shape (F,), is
    subtracted from documents and queries before they are normalised. `check` is called when all is
    written, and may still refuse. Memory holds one block of features, all word counts, and all ids,
    to find one that comes twice. One process may build in a folder at a time.
    """
    for name, size in (("n_features", n_features), ("n_words", n_words)):
        require_count(size, "build_store", name)
    F, K, center = int(n_features), int(n_words), None
    if mean is not None:
        center = checked_vectors(np.asarray(mean)[None], F, "build_store", "mean")[0]
    parts: list[csr_array] = []
    ids: set[str] = set()
    with STORE.saving(path) as build:
        folder = build.path
        with open(folder / FEATURES, "xb") as features, DocumentWriter(folder) as documents:
            for block in blocks:
                vectors = _checked(block, F, K, ids)
                features.write(unit_vectors(vectors, center).astype("<f4", copy=False).data)
                documents.append(block.documents)
                parts.append(block.counts)
        if not ids:
            raise InvalidCorpus(
                f"There is no document to index, so nothing was written to {path}.",
                hint="Check that the corpus named is the one you meant.",
            )
        counts = csr_array(vstack(parts, format="csr"))
        parts.clear()  # weighing them takes room
        WordIndex.of(counts).save(folder)
        shift = None if center is None else center.tolist()
        sizes = {"n_documents": len(ids), "n_features": F, "n_words": K}
        build.publish({**sizes, "model": model, "mean": shift}, check=check)


def _checked(block: Block, n_features: int, n_words: int, ids: set[str]) -> Floats:
    """The features of a block that can be stored; its ids, which must be new, join `ids`."""
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
        if id in ids:
            raise InvalidCorpus(
                f"Two documents have the id {id!r}.",
                hint="Hits are told apart by their ids: make them unique, or name another column "
                "with {id}.",
                settings=("id",),
            )
        ids.add(id)
    return vectors
