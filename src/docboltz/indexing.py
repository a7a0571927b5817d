"""A stream of documents → the store that is searched.

The stream is read once: counts stay in memory, or on disk if they are many, and documents wait in
a temporary file until their features are known.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self

from docboltz.corpus.analysis import TextAnalysis
from docboltz.corpus.corpus import Corpus, Vocabulary
from docboltz.corpus.counting import count
from docboltz.corpus.document import Document
from docboltz.corpus.parts import remove_parts
from docboltz.corpus.readers import Documents, as_documents
from docboltz.errors import InvalidParameter, require
from docboltz.progress import progress_bar, remark
from docboltz.search.documents import END_OF_NUMBERS
from docboltz.search.milvus import (
    MILVUS,
    SCHEME,
    address_of,
    connect,
    forget_milvus,
    manifest_folder,
    names_milvus,
    write_milvus,
)
from docboltz.search.store import EXACT_DOCUMENTS, STORE, About, Block, open_store, write_store
from docboltz.storage import MODEL, digest, fingerprint, folder_above, require_apart

if TYPE_CHECKING:
    from docboltz.text_model import TextModel

BLOCK_DOCUMENTS = 16_384
DOCUMENTS_OF_A_LINE = 100
COUNTS = ".counts"
"""What the folder is called where counts wait, after that of the model."""
FILES = "files"
"""Names the store of files in the model's folder, the one that needs nothing else."""


class WaitingDocuments:
    """Documents in a temporary file, in the order they came, until their features are known."""

    def __init__(self, model_folder: Path | None = None) -> None:
        """The file is beside the model's folder, if it has one: others may be in memory."""
        self._model_folder = model_folder
        self.bytes = 0

    def __enter__(self) -> Self:
        place = None if self._model_folder is None else folder_above(self._model_folder)
        self._file: IO[bytes] = tempfile.TemporaryFile(dir=place)
        self._some: list[tuple[Any, ...]] = []
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, document: Document) -> None:
        """Keep a document."""
        d = document
        self._some.append((d.id, d.text, d.labels, d.date, d.title, dict(d.columns)))
        if len(self._some) == DOCUMENTS_OF_A_LINE:
            self._write()

    def _write(self) -> None:
        self.bytes += self._file.write(json.dumps(self._some).encode() + b"\n")
        self._some = []

    def __iter__(self) -> Iterator[Document]:
        self._write()
        self._file.seek(0)
        for line in self._file:
            for id, text, labels, date, title, columns in json.loads(line):
                yield Document(id, text, tuple(labels), date, title, columns)


def count_documents(
    documents: Documents,
    on_document: Callable[[Document], None] | None,
    *,
    verbose: bool,
    folder: Path | None = None,
    **how: Any,
) -> Corpus:
    """Count words with a progress bar, and say what was read, before longer work begins.

    See `docboltz.corpus.counting.count`. Many counts wait in `folder`; an interrupted count of the
    same files goes on there.
    """
    with progress_bar("Reading", "documents", shown=verbose) as update:
        corpus = count(
            documents,
            on_document=on_document,
            progress=lambda done: update(done, None),
            folder=folder,
            run=_run(documents, **how),
            **how,
        )
    if verbose:
        for line in documents.report.summary():
            remark(line)
    if verbose and corpus.on_disk:
        where = "a temporary folder" if folder is None else str(folder)
        remark(f"There are many counts: they are kept on disk, in {where}, until all is done")
    if verbose and corpus.n_empty:
        have = "document has" if corpus.n_empty == 1 else "documents have"
        remark(f"{corpus.n_empty:,} {have} no word of the vocabulary")
    return corpus


def _run(
    documents: Documents,
    *,
    analysis: TextAnalysis,
    vocabulary: Vocabulary | None = None,
    **limits: Any,
) -> str:
    """What tells one count from others, as far as parts of it go; "" where nobody can tell."""
    from docboltz import __version__

    files = documents.identity()
    words = None if vocabulary is None else list(vocabulary)
    return "" if files is None else digest([files, analysis.to_dict(), words, __version__])


@contextmanager
def counts_folder(model_folder: Path | None) -> Iterator[Path | None]:
    """Where many counts wait on disk: beside the model's folder, or if it has none, anywhere.

    What is there is removed in the end, but not after Ctrl-C or an error: the same call goes on
    with it.
    """
    if model_folder is None:
        yield None
        return
    folder = beside(model_folder, COUNTS)
    yield folder
    remove_parts(folder)


def beside(folder: Path, suffix: str) -> Path:
    """The folder of that name and suffix; "." has a name only when resolved."""
    named = folder if folder.name not in ("", "..") else folder.resolve()
    return named.parent / f"{named.name}{suffix}"


def index_documents(
    model: TextModel,
    documents: Any,
    folder: Path,
    *,
    append: bool,
    store: str | None,
    verbose: bool,
) -> Corpus:
    """Make `documents` the collection in `folder` that the model searches, or add them to it."""
    stream = as_documents(documents, "TextModel.index", model.reading)
    require_apart(folder, stream.paths)
    if store is not None:
        require_store(store)
    how = {"analysis": model.analysis, "vocabulary": model.vocabulary}
    with WaitingDocuments(model.path) as waiting, counts_folder(model.path) as counts:
        corpus = count_documents(stream, waiting.add, verbose=verbose, folder=counts, **how)
        # Held from here on: nobody else may number documents on from the same number.
        with hold_store(folder) if append else nullcontext():
            named = iter(waiting)
            if append and stream.report.numbered == stream.report.documents:
                there = open_store(folder, model=model.fingerprint)
                numbers = _next_numbers(len(corpus), there.about.next_number)
                corpus = replace(corpus, ids=numbers)
                named = (replace(d, id=id) for d, id in zip(waiting, numbers, strict=True))
                if verbose:
                    remark(f"They have no ids, and are numbered from {corpus.ids[0]}")
            write_documents(
                model, corpus, named, folder, append=append, store=store, verbose=verbose
            )
    return corpus


def _next_numbers(n: int, first: int) -> tuple[str, ...]:
    """Ids for n documents that have none."""
    if first + n > END_OF_NUMBERS:
        raise InvalidParameter(
            f"The documents have no ids, and no numbers are left behind {first - 1}, which is one.",
            hint="Name the column of their ids: {TextModel.read(id=…)}.",
            settings=("TextModel.read(id=…)",),
        )
    return tuple(map(str, range(first, first + n)))


def delete_documents(model: TextModel, ids: Iterable[str], folder: Path) -> int:
    """Take documents out of the collection in `folder`; give how many."""
    named = isinstance(ids, Iterable) and not isinstance(ids, str)
    require(named, "TextModel.delete", "ids", "a list of ids", ids)
    gone = {str(id) for id in ids}
    store = open_store(folder, model=model.fingerprint)
    there = {document.id for document in store.documents(store.rows_of(gone))}
    for id in sorted(gone - there)[:1]:
        store.row_of(id)  # an error that names it
    return _write(model, folder, (), append=True, drop=gone)


def look_for_topics(model: TextModel, *, verbose: bool) -> None:
    """Find the topics of the collection, with a progress bar."""
    with progress_bar("Finding topics", "numbers tried", shown=verbose) as update:
        model.find_topics(replace=True, progress=update)


def hold_store(folder: Path) -> AbstractContextManager[None]:
    """Keep others from changing the store of a folder; the caller may change it."""
    if names_milvus(folder):
        return MILVUS.locked(manifest_folder(folder))
    return STORE.locked(folder)


@contextmanager
def unreplaced(model: TextModel) -> Iterator[None]:
    """Hold a saved model as it is: nobody may search it by features of another."""
    if model.path is None:
        yield
        return
    with MODEL.locked(model.path):
        if fingerprint(model.path) != model.fingerprint:
            raise InvalidParameter(
                f"The model in {model.path} was replaced while its documents were indexed.",
                hint="Index them again.",
            )
        yield


def write_documents(
    model: TextModel,
    corpus: Corpus,
    documents: Iterator[Document],
    folder: Path,
    *,
    append: bool = False,
    store: str | None = None,
    verbose: bool,
) -> None:
    """Write counted documents with their features to the store; centring these sharpens cosines.

    With `append`, behind the documents that are in the folder; those of the same ids are replaced.
    """

    def blocks() -> Iterator[Block]:
        for begin in range(0, len(corpus), BLOCK_DOCUMENTS):
            end = min(begin + BLOCK_DOCUMENTS, len(corpus))
            counts = corpus.counts[begin:end]
            features = model.search_features(counts)
            yield Block(features, counts, list(islice(documents, end - begin)))
            update(end, len(corpus))

    with progress_bar("Indexing", "documents", shown=verbose) as update:
        replaced = _write(
            model, folder, blocks(), store, append=append, drop=corpus.ids if append else ()
        )
    if verbose and replaced:
        had = "document has replaced one" if replaced == 1 else "documents have replaced those"
        remark(f"{replaced:,} {had} of the same id")
    if verbose and not (opened := open_store(folder)).is_exact:
        remark(
            f"{len(opened):,} documents, more than {EXACT_DOCUMENTS:,}: searched by the bits of "
            "their features first"
        )


def require_store(store: str) -> None:
    """Refuse, before the work, a store that is none."""
    if store != FILES:
        known = store.startswith(SCHEME)
        expected = f"'{FILES}', '{SCHEME}name.db' or '{SCHEME}http://host:19530'"
        require(known, "TextModel", "store", expected, store)
        connect(address_of(store))


def _write(
    model: TextModel,
    folder: Path,
    blocks: Iterable[Block],
    store: str | None = None,
    *,
    append: bool = False,
    drop: Collection[str] = (),
) -> int:
    """Write to the store that is named, or to that which the folder names."""
    activity = tuple(model.activity.tolist())
    about = About(model.fingerprint, model.n_units, len(model.vocabulary), activity)
    how: Any = {"append": append, "drop": drop, "guard": unreplaced(model)}
    if store is None and names_milvus(folder):
        store = f"{SCHEME}{MILVUS.open(manifest_folder(folder)).content.get('address')}"
    if store not in (None, FILES):
        return write_milvus(folder, store, blocks, model.analysis, about, **how)
    replaced = write_store(folder, blocks, model.analysis, about, **how)
    forget_milvus(folder)
    return replaced
