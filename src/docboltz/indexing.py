"""A stream of documents → the store that is searched.

The stream is read once: counts and documents stay in memory, or on disk if they are many, until
features are known.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docboltz.corpus.analysis import TextAnalysis
from docboltz.corpus.corpus import Corpus, Vocabulary
from docboltz.corpus.counting import (
    JOINED,
    WHOLE_DOCUMENTS,
    Parts,
    check_limits,
    remove_parts,
    stamp_of,
)
from docboltz.corpus.document import Document
from docboltz.corpus.reading import Documents, as_documents
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
from docboltz.storage import MODEL, fingerprint, locked, remove_empty, require_apart

if TYPE_CHECKING:
    import pyarrow as pa

    from docboltz.text_model import TextModel

BLOCK_DOCUMENTS = 16_384
COUNTS = ".counts"
"""What the folder is called where counts wait, after that of the model."""
PATIENCE = 5.0
"""Seconds to wait for another process that counts for the same model."""
FILES = "files"
"""Names the store of files in the model's folder, the one that needs nothing else."""


@contextmanager
def counting_beside(
    folder: Path | None,
    documents: Documents,
    analysis: TextAnalysis,
    vocabulary: Vocabulary | None = None,
    patience: float = PATIENCE,
) -> Iterator[Parts]:
    """Where documents are counted: in memory and, if they are many, in the folder `folder.counts`.

    What is there is removed in the end, but not after Ctrl-C or an error: the same call goes on
    with it.
    """
    place = None if folder is None else beside(folder, COUNTS)
    with ExitStack() as held:
        with suppress(OSError):  # without permission, a temporary folder serves
            if place is not None:
                place.mkdir(parents=True, exist_ok=True)
        if place is not None and not os.access(place, os.W_OK):
            place = None
        if place is not None:
            held.enter_context(locked(place, "counts", patience))
            held.callback(remove_empty, place)
            remove_parts(place, JOINED)  # of a call that was interrupted after its count
        parts = Parts(vocabulary, place, stamp_of(documents, analysis, vocabulary))
        if place is None:
            held.callback(parts.remove)
        yield parts
        parts.remove()


def count_documents(
    parts: Parts,
    documents: Documents,
    analysis: TextAnalysis,
    *,
    verbose: bool,
    kept: Sequence[str] = WHOLE_DOCUMENTS,
    see: Callable[[pa.RecordBatch], None] | None = None,
    on_cluster: bool = False,
    min_df: int | float = 1,
    max_df: int | float = 1.0,
    max_words: int | None = None,
) -> Corpus:
    """Count words with a progress bar, and say what was read, before longer work begins.

    See `docboltz.corpus.counting.count`. On the cluster that was joined, each file is a task.
    """
    limits = min_df, max_df, max_words
    check_limits(*limits)
    if on_cluster:
        from docboltz.cluster.counting import count_files

        count_files(parts, documents, analysis, kept, verbose=verbose)
    else:
        with progress_bar("Reading", "documents", shown=verbose) as update:
            how: Any = {"kept": kept, "see": see, "progress": lambda done: update(done, None)}
            parts.count(documents, analysis, **how)
    corpus = parts.corpus(analysis, limits, documents.unique_ids)
    if verbose:
        for line in documents.report.summary():
            remark(line)
    if verbose and corpus.on_disk:
        remark(f"There are many counts: they are kept in {parts.folder} until all is done")
    if verbose and corpus.n_empty:
        have = "document has" if corpus.n_empty == 1 else "documents have"
        remark(f"{corpus.n_empty:,} {have} no word of the vocabulary")
    return corpus


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
    with counting_beside(model.path, stream, model.analysis, model.vocabulary) as parts:
        corpus = count_documents(parts, stream, model.analysis, verbose=verbose)
        # Held from here on: nobody else may number documents on from the same number.
        with hold_store(folder) if append else nullcontext():
            if append and stream.report.numbered == stream.report.documents:
                there = open_store(folder, model=model.fingerprint)
                numbers = _next_numbers(len(corpus), there.about.next_number)
                corpus = replace(corpus, ids=numbers)
                if verbose:
                    remark(f"They have no ids, and are numbered from {corpus.ids[0]}")
            found = parts.documents(corpus.ids)
            write_documents(
                model, corpus, found, folder, append=append, store=store, verbose=verbose
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
