"""Features, words and documents → a store, block by block. F features, K words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, vstack

from docboltz.bundles import Bundle
from docboltz.errors import InvalidCorpus, require, require_count
from docboltz.files import StrPath
from docboltz.search.documents import DOCUMENTS, RECORDS, DocumentWriter, StoredDocument, is_text
from docboltz.search.vectors import checked_vectors, unit_vectors
from docboltz.search.words import FILES as WORD_FILES
from docboltz.search.words import WordIndex

FEATURES = "features.f32"
"""(n, F) little-endian float32, a unit vector a document; mapped."""

STORE = Bundle(
    noun="search index",
    format="docboltz-search",
    version=3,
    manifest="store.json",
    files=(FEATURES, DOCUMENTS, RECORDS, *WORD_FILES),
    remedy="Build it again with {TextModel.index}.",
    settings=("TextModel.index",),
)


class StoreWriter:
    """Builds a store block by block; the old one stays in use until the `with` block has succeeded.

    Memory holds one block of features, all word counts, and all ids, to find one that comes twice.
    One process may build in a folder at a time.
    """

    def __init__(
        self,
        path: StrPath,
        *,
        n_features: int,
        n_words: int,
        model: str,
        mean: ArrayLike | None = None,
        check: Callable[[], None] | None = None,
    ) -> None:
        """`model` is the fingerprint of the model the features come from.

        `mean`, of shape (F,), is subtracted from documents and queries before they are normalised.
        `check` is called when all is written, and may still refuse.
        """
        for name, size in (("n_features", n_features), ("n_words", n_words)):
            require_count(size, "StoreWriter", name)
        self.path, self.model = path, model
        self.n_features, self.n_words = int(n_features), int(n_words)
        self.mean = None
        if mean is not None:
            as_row = np.asarray(mean)[None]
            self.mean = checked_vectors(as_row, self.n_features, "StoreWriter", "mean")[0]
        self.n_documents = 0
        self._check = check
        self._counts: list[csr_array] = []
        self._ids: set[str] = set()
        self._half_written = False

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._build = stack.enter_context(STORE.saving(self.path))
            self._features = stack.enter_context(open(self._build.path / FEATURES, "xb"))
            self._documents = DocumentWriter(self._build.path)
            stack.callback(self._documents.close)
            self._at_exit = stack.pop_all()
        return self

    def append(
        self,
        features: ArrayLike,
        counts: csr_array,
        ids: Sequence[str],
        labels: Sequence[Sequence[str]],
        texts: Sequence[str],
    ) -> None:
        """Add a block of documents. A block that is refused leaves nothing behind."""
        owner = "StoreWriter.append"
        vectors = checked_vectors(features, self.n_features, owner, "features")
        got = (len(vectors), counts.shape[0], len(ids), len(labels), len(texts))
        as_many = "as many as counts, ids, labels and texts"
        require(len(set(got)) == 1, owner, "features", as_many, got)
        wide = counts.shape[1] == self.n_words
        require(wide, owner, "counts", f"counts of {self.n_words} words", counts.shape)
        documents, new_ids = [], set[str]()
        for id_, each, text in zip(ids, labels, texts, strict=True):
            require(is_text(id_), owner, "ids", "a list of strings in Unicode", id_)
            listed = not isinstance(each, str) and all(map(is_text, each))
            require(listed, owner, "labels", f"a list of strings for document {id_!r}", each)
            require(is_text(text), owner, "texts", "a list of strings in Unicode", text)
            if id_ in self._ids or id_ in new_ids:
                raise InvalidCorpus(
                    f"Two documents have the id {id_!r}.",
                    hint="Hits are told apart by their ids: make them unique, or name another "
                    "column with {id}.",
                    settings=("id",),
                )
            new_ids.add(id_)
            documents.append(StoredDocument(id_, tuple(each), text))
        self._half_written = True
        self._features.write(unit_vectors(vectors, self.mean).astype("<f4", copy=False).data)
        self._documents.append(documents)
        self._half_written = False
        self._counts.append(counts)
        self._ids |= new_ids
        self.n_documents += len(documents)

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if kind is None:
            with self._at_exit:
                self._finish()
        elif isinstance(error, OSError):
            self._at_exit.__exit__(kind, error, trace)  # which makes it a message
        else:
            with suppress(Exception):  # a full disk, once more; what happened first is the news
                self._at_exit.close()

    def _finish(self) -> None:
        if not self.n_documents:
            raise InvalidCorpus(
                f"There is no document to index, so nothing was written to {self.path}.",
                hint="Check that the corpus named is the one you meant.",
            )
        if self._half_written:
            raise InvalidCorpus(
                f"A block of documents was not wholly written to {self.path}.", hint="Start again."
            )
        self._documents.close()
        self._features.close()
        counts = csr_array(vstack(self._counts, format="csr"))
        self._counts.clear()  # weighing them takes room
        WordIndex.of(counts).save(self._build.path)
        content = {
            "n_documents": self.n_documents,
            "n_features": self.n_features,
            "n_words": self.n_words,
            "model": self.model,
            "mean": None if self.mean is None else self.mean.tolist(),
        }
        self._build.publish(content, check=self._check)
