"""Features and documents → a store, block by block. F features."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from docboltz.errors import InvalidCorpus, require
from docboltz.search.builds import new_build, publish, writing_to
from docboltz.search.documents import DocumentWriter, Hit, is_text
from docboltz.search.manifest import DOCUMENTS, FEATURES, Fingerprint, Manifest
from docboltz.search.vectors import checked_vectors, is_whole, unit_vectors


class StoreWriter:
    """Builds a store block by block; the old one stays in use until the `with` block has succeeded.

    Memory holds one block and all ids, to find one that comes twice. One process may build in a
    folder at a time.
    """

    def __init__(
        self, path: str | Path, *, n_features: int, model: str, mean: ArrayLike | None = None
    ) -> None:
        """`model` is the fingerprint of the model the features come from.

        `mean`, of shape (F,), is subtracted from documents and queries before they are normalised.
        """
        whole = is_whole(n_features) and n_features >= 1
        require(whole, "StoreWriter", "n_features", "a whole number of at least 1", n_features)
        self.path, self.n_features, self.model = Path(path), int(n_features), model
        self.mean = None
        if mean is not None:
            as_row = np.asarray(mean)[None]
            self.mean = checked_vectors(as_row, self.n_features, "StoreWriter", "mean")[0]
        self.n_documents = 0
        self._ids: set[str] = set()
        self._half_written = False

    def __enter__(self) -> Self:
        with writing_to(self.path), ExitStack() as stack:
            self._build = stack.enter_context(new_build(self.path))
            self._features = stack.enter_context(open(self._build / FEATURES, "xb"))
            self._documents = DocumentWriter(self._build / DOCUMENTS)
            stack.callback(self._documents.abandon)
            self._at_exit = stack.pop_all()
        return self

    def append(
        self,
        features: ArrayLike,
        ids: Sequence[str],
        labels: Sequence[Sequence[str]],
        snippets: Sequence[str],
    ) -> None:
        """Add a block of documents. A block that is refused leaves nothing behind."""
        owner = "StoreWriter.append"
        vectors = checked_vectors(features, self.n_features, owner, "features")
        got = (len(vectors), len(ids), len(labels), len(snippets))
        require(len(set(got)) == 1, owner, "features", "as many as ids, labels and snippets", got)
        hits, new_ids = [], set[str]()
        for id_, each, snippet in zip(ids, labels, snippets, strict=True):
            require(is_text(id_), owner, "ids", "a list of strings in Unicode", id_)
            listed = not isinstance(each, str) and all(map(is_text, each))
            require(listed, owner, "labels", f"a list of strings for document {id_!r}", each)
            require(is_text(snippet), owner, "snippets", "a list of strings in Unicode", snippet)
            if id_ in self._ids or id_ in new_ids:
                raise InvalidCorpus(
                    f"Two documents have the id {id_!r}. Hits are told apart by their ids: make "
                    "them unique, or name another column for them."
                )
            new_ids.add(id_)
            hits.append(Hit(id_, tuple(each), snippet))
        self._half_written = True
        with writing_to(self.path):
            self._features.write(unit_vectors(vectors, self.mean).astype("<f4", copy=False).data)
            self._documents.append(hits)
        self._half_written = False
        self._ids |= new_ids
        self.n_documents += len(hits)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            with writing_to(self.path), self._at_exit:
                self._finish()
        else:
            with suppress(OSError):  # a full disk, once more; what happened first is the news
                self._at_exit.close()

    def _finish(self) -> None:
        if not self.n_documents:
            raise InvalidCorpus(
                f"There is no document to index, so nothing was written to {self.path}. "
                "Check that the corpus named is the one you meant."
            )
        if self._half_written:
            raise InvalidCorpus(
                f"A block of documents was not wholly written to {self.path}. Start again."
            )
        self._documents.close()
        self._features.close()
        manifest = Manifest(
            n_documents=self.n_documents,
            n_features=self.n_features,
            model=self.model,
            mean=None if self.mean is None else self.mean.tolist(),
            build=self._build.name,
            files={name: Fingerprint.of(self._build / name) for name in (FEATURES, DOCUMENTS)},
        )
        publish(self._build, manifest)
