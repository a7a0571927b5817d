"""A stream of documents → the store that is searched.

The stream is read once: counts stay in memory, and texts wait in a temporary file until their
features are known.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from docboltz.corpus.counting import count
from docboltz.corpus.counts import Corpus
from docboltz.corpus.document import Document
from docboltz.corpus.readers import Documents, as_documents
from docboltz.errors import InvalidParameter
from docboltz.files import require_apart
from docboltz.progress import progress_bar, remark
from docboltz.search.writer import Block, build_store
from docboltz.storage import fingerprint

if TYPE_CHECKING:
    from docboltz.text_model import TextModel

KEPT_CHARACTERS = 2000
"""Of each text, to show and to mark words in: all of a short one."""
BLOCK_DOCUMENTS = 16_384


class Texts:
    """The beginnings of texts, in a temporary file, in the order the texts came."""

    def __enter__(self) -> Texts:
        self._file: IO[str] = tempfile.TemporaryFile("w+", encoding="utf-8")
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, document: Document) -> None:
        """Keep a text's beginning, on one line."""
        # A few times the length is enough for the start of even a widely spaced text.
        start = " ".join(document.text[: 3 * KEPT_CHARACTERS].split())
        self._file.write(json.dumps(start[:KEPT_CHARACTERS]) + "\n")

    def __iter__(self) -> Iterator[str]:
        self._file.seek(0)
        return (json.loads(line) for line in self._file)


def count_documents(
    documents: Documents,
    on_document: Callable[[Document], None] | None,
    *,
    verbose: bool,
    **how: Any,
) -> Corpus:
    """Count words with a progress bar, and say what was read, before longer work begins.

    See `docboltz.corpus.counting.count`.
    """
    with progress_bar("Reading", "documents", shown=verbose) as update:
        corpus = count(
            documents, on_document=on_document, progress=lambda done: update(done, None), **how
        )
    if verbose:
        for line in documents.report.summary():
            remark(line)
    if verbose and corpus.n_empty:
        have = "document has" if corpus.n_empty == 1 else "documents have"
        remark(f"{corpus.n_empty:,} {have} no word of the vocabulary")
    return corpus


def index_documents(model: TextModel, documents: Any, folder: Path, *, verbose: bool) -> Corpus:
    """Make `documents` the collection in `folder` that the model searches."""
    stream = as_documents(documents, "TextModel.index", model.reading)
    require_apart(folder, stream.paths)
    with Texts() as texts:
        corpus = count_documents(
            stream, texts.add, verbose=verbose, analysis=model.analysis, vocabulary=model.vocabulary
        )
        write_store(model, corpus, texts, folder, verbose=verbose)
    return corpus


def look_for_topics(model: TextModel, *, verbose: bool) -> None:
    """Find the topics of the collection, with a progress bar."""
    with progress_bar("Finding topics", "numbers tried", shown=verbose) as update:
        model.find_topics(replace=True, progress=update)


def write_store(
    model: TextModel, corpus: Corpus, texts: Iterable[str], folder: Path, *, verbose: bool
) -> None:
    """Write features, words, ids, labels, dates and texts; centring features sharpens cosines."""

    def check() -> None:
        """A model that was replaced meanwhile must not be searched by features of another."""
        if model.path is not None and fingerprint(model.path) != model.fingerprint:
            raise InvalidParameter(
                f"The model in {model.path} was replaced while its documents were indexed.",
                hint="Index them again.",
            )

    def blocks() -> Iterator[Block]:
        documents = map(Document, corpus.ids, texts, corpus.labels, corpus.dates)
        for begin in range(0, len(corpus), BLOCK_DOCUMENTS):
            end = min(begin + BLOCK_DOCUMENTS, len(corpus))
            counts = corpus.counts[begin:end]
            features = model.search_features(counts)
            yield Block(features, counts, list(islice(documents, end - begin)))
            update(end, len(corpus))

    F, K, own, mean = model.n_units, len(model.vocabulary), model.fingerprint, model.activity
    with progress_bar("Indexing", "documents", shown=verbose) as update:
        build_store(folder, F, K, blocks(), model=own, mean=mean, check=check)
