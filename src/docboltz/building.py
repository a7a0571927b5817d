"""From a stream of documents to a folder with a model and a search store.

The stream is read once: counts stay in memory, and of each text only a snippet is kept, on disk.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import IO, TYPE_CHECKING

from docboltz.corpus.counting import count
from docboltz.corpus.counts import Corpus
from docboltz.corpus.document import Document
from docboltz.corpus.text import TextAnalysis
from docboltz.corpus.vocabulary import Vocabulary
from docboltz.errors import (
    DocboltzError,
    EmptyDocumentsWarning,
    InvalidCorpus,
    InvalidParameter,
    TrainingDiverged,
)
from docboltz.progress import progress_bar
from docboltz.search.writer import StoreWriter
from docboltz.storage import MODEL, fingerprint

if TYPE_CHECKING:
    from docboltz.estimator.base import TopicModel
    from docboltz.text_model import TextModel

SNIPPET_CHARACTERS = 200
BLOCK_DOCUMENTS = 16_384


@dataclass(frozen=True)
class Built:
    """A finished model and how its making went."""

    text_model: TextModel
    folder: Path
    """Where the model is."""
    n_documents: int
    n_empty: int
    """Documents without a word of the vocabulary: nothing was learnt from them."""
    interrupted: bool
    """Training was stopped by Ctrl-C; the model holds what was learnt until then."""


def build_model(
    documents: Iterable[Document],
    model: TopicModel,
    out: Path,
    *,
    analysis: TextAnalysis,
    min_df: int | float,
    max_df: int | float,
    max_words: int,
    shown: bool,
) -> Built:
    """Count, train, save, index; replace a model in `out`.

    Ctrl-C while training keeps the model as far as it got, beside one that was there before.
    Training that diverges leaves its last good state there, and raises.
    """
    from docboltz.text_model import TextModel  # here: whoever only opens a store needs no torch

    MODEL.require_writable(out)  # before minutes of training, not after
    stream = iter(documents)
    first = list(islice(stream, 2))
    if len(first) == 1:
        raise InvalidCorpus(
            "One document is not enough to learn topics from. If the file holds several, "
            "say how to read it with --format."
        )
    with _Snippets() as snippets:
        corpus = _count(
            chain(first, stream),
            snippets,
            analysis,
            shown=shown,
            min_df=min_df,
            max_df=max_df,
            max_words=max_words,
        )
        _require_space(out, len(corpus), len(corpus.vocabulary), model.n_components)
        interrupted, diverged, checkpoint = False, None, None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", EmptyDocumentsWarning)  # Built says how many
                checkpoint = model.fit_keeping_checkpoint(corpus.counts)
        except KeyboardInterrupt:
            if not hasattr(model, "components_"):
                raise
            interrupted = True
        except TrainingDiverged as error:
            if not hasattr(model, "components_"):
                raise
            diverged = error
        if (interrupted or diverged) and MODEL.exists(out):
            out = interrupted_folder(out)
        text_model = TextModel.of(model, corpus)
        text_model.save(out)
        if checkpoint is not None:
            checkpoint.remove()  # not before the model is on disk
        if diverged is not None:
            raise TrainingDiverged(f"{diverged} It is saved in {out}.")
        try:
            _write_store(text_model, corpus, snippets, out, shown=shown)
        except (DocboltzError, KeyboardInterrupt) as error:
            cause = f"{error} The" if str(error) else "the"
            raise type(error)(
                f"{cause} model in {out} is complete, but its documents cannot be searched yet: "
                f"'docboltz index {out} CORPUS' makes them so."
            ) from error
    return Built(text_model, out, len(corpus), corpus.n_empty, interrupted)


def _require_space(out: Path, n_documents: int, n_words: int, n_topics: int) -> None:
    """Say before training, not after, that the disk is too full for what training will make."""
    folder = next(f for f in (out, *out.absolute().parents) if f.exists())
    disk = shutil.disk_usage(folder)
    # Weights and features in float32, and roughly what ids and snippets take.
    # A checkpoint holds up to seven times the weights, twice while it is replaced.
    weights, features = 4 * n_topics * n_words, 4 * n_topics * n_documents
    needed = 15 * weights + features + 2 * SNIPPET_CHARACTERS * n_documents
    if disk.total and disk.free < needed:  # what is no disk, like /proc, has no room at all
        raise InvalidParameter(
            f"Cannot save a model to {out}: it takes about {needed / 1e6:,.0f} MB and the disk has "
            f"{disk.free / 1e6:,.0f} MB left. Free some space or name a folder on another disk."
        )


def index_documents(
    text_model: TextModel, documents: Iterable[Document], folder: Path, *, shown: bool
) -> Corpus:
    """Make `documents` the collection that searches with the model in `folder` look through."""
    with _Snippets() as snippets:
        corpus = _count(
            documents, snippets, text_model.analysis, shown=shown, vocabulary=text_model.vocabulary
        )
        _write_store(text_model, corpus, snippets, folder, shown=shown)
    return corpus


def checkpoint_folder(model_folder: Path) -> Path:
    """Where training for a model keeps its state until it is done."""
    return _beside(model_folder, ".checkpoint")


def interrupted_folder(model_folder: Path) -> Path:
    """Where a model goes whose training was stopped, beside one that is there already."""
    return _beside(model_folder, "-interrupted")


def _beside(folder: Path, suffix: str) -> Path:
    """The folder of that name and suffix; "." has a name only when resolved."""
    named = folder if folder.name not in ("", "..") else folder.resolve()
    return named.parent / f"{named.name}{suffix}"


def store_folder(model_folder: Path) -> Path:
    """Where a model keeps its search store."""
    return model_folder / "search"


class _Snippets:
    """The beginnings of texts, in a temporary file, in the order the texts came."""

    def __enter__(self) -> _Snippets:
        self._file: IO[str] = tempfile.TemporaryFile("w+", encoding="utf-8")
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, document: Document) -> None:
        """Keep a text's beginning, on one line."""
        # A few times the length is enough for the start of even a widely spaced text.
        start = " ".join(document.text[: 5 * SNIPPET_CHARACTERS].split())
        self._file.write(json.dumps(start[:SNIPPET_CHARACTERS]) + "\n")

    def __iter__(self) -> Iterator[str]:
        self._file.seek(0)
        return (json.loads(line) for line in self._file)


def _count(
    documents: Iterable[Document],
    snippets: _Snippets,
    analysis: TextAnalysis,
    *,
    shown: bool,
    vocabulary: Vocabulary | None = None,
    min_df: int | float = 1,
    max_df: int | float = 1.0,
    max_words: int | None = None,
) -> Corpus:
    with progress_bar("Reading", "documents", shown=shown) as update:
        return count(
            documents,
            analysis,
            vocabulary=vocabulary,
            min_df=min_df,
            max_df=max_df,
            max_words=max_words,
            on_document=snippets.add,
            progress=lambda done: update(done, None),
        )


def _write_store(
    text_model: TextModel, corpus: Corpus, snippets: _Snippets, folder: Path, *, shown: bool
) -> None:
    """Write features, ids, labels and snippets; features are centred, which sharpens cosines."""
    lines = iter(snippets)
    with (
        progress_bar("Indexing", "documents", shown=shown) as update,
        StoreWriter(
            store_folder(folder),
            n_features=len(text_model.activity),
            model=fingerprint(folder),
            mean=text_model.activity,
        ) as store,
    ):
        for begin in range(0, len(corpus), BLOCK_DOCUMENTS):
            end = min(begin + BLOCK_DOCUMENTS, len(corpus))
            block = corpus.counts[begin:end]
            store.append(
                text_model.search_features(block),
                corpus.ids[begin:end],
                corpus.labels[begin:end],
                list(islice(lines, end - begin)),
            )
            update(end, len(corpus))
