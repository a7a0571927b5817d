"""One pass over a stream of documents → a Corpus.

Memory holds a few chunks of text, and counts, ids, labels and dates as far as they are few; else
they are on disk. Vocabulary and counts depend neither on that nor on the number of processes.
"""

from __future__ import annotations

import os
import shutil
import weakref
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from itertools import chain
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
from numpy.typing import NDArray

from docboltz.corpus.chunks import ChunkCounter, ChunkCounts
from docboltz.corpus.counts import Corpus, by_frequency
from docboltz.corpus.document import Document
from docboltz.corpus.merging import About, Merged
from docboltz.corpus.parts import PART, Parts, remove_parts
from docboltz.corpus.text import TextAnalysis
from docboltz.corpus.vocabulary import Vocabulary
from docboltz.corpus.workers import count_with_workers
from docboltz.errors import InvalidCorpus, NoDocuments, is_number, is_whole, require

CHUNK_CHARACTERS = 1 << 20
CHUNK_DOCUMENTS = 10_000
ALONE_CHARACTERS = 4 << 20
"""Text that this process counts before it starts workers: starting them takes as long."""
MEMORY_SHARE, MOST_HELD = 1 / 8, 1 << 28
"""Of the machine's memory, what counts may take before they go to disk, and bytes at most: from
there they are read as fast as long as nobody else needs the memory."""


def count(
    documents: Iterable[Document],
    analysis: TextAnalysis | None = None,
    *,
    vocabulary: Vocabulary | None = None,
    min_df: int | float = 1,
    max_df: int | float = 1.0,
    max_words: int | None = None,
    n_jobs: int = -1,
    on_document: Callable[[Document], None] | None = None,
    progress: Callable[[int], None] | None = None,
    folder: Path | None = None,
    run: str = "",
    memory: float | None = None,
) -> Corpus:
    """Count the words of a stream of documents.

    Words in fewer than `min_df` or more than `max_df` documents are dropped (whole numbers count
    documents, fractions are shares of them, as in scikit-learn), then all but the `max_words` most
    frequent. With a `vocabulary` its columns are taken as they are, and the other words are only
    counted, in `Corpus.n_outside`. `n_jobs` processes analyse text, this one among them; -1 means
    one for each core. Little text starts none. `on_document` sees every document as it passes, in
    order, and `progress` how many have been counted.

    Of counts more than `memory` bytes are on disk, in parts, and the corpus is read from there: by
    default a share of the machine's memory. Parts are written to `folder`, for the caller to remove
    with `remove_parts` when the corpus is no longer needed, or to a temporary folder. `run` tells
    one count from others: what is read, and how. A count that was interrupted goes on after the
    last part in the folder that has the same; documents before it are only read.

    >>> corpus = count([Document("1", "Ships at sea, ships in port.", ())])
    >>> corpus.vocabulary.words, corpus.counts.toarray().tolist()
    (('ship', 'port', 'sea'), [[2, 1, 1]])
    """
    analysis = analysis or TextAnalysis()
    check_limits(min_df, max_df, max_words)
    ok = is_whole(n_jobs) and (n_jobs == -1 or n_jobs >= 1)
    require(ok, "count", "n_jobs", "-1 or at least 1", n_jobs)
    n_processes = (os.cpu_count() or 1) if n_jobs == -1 else n_jobs
    with ExitStack() as while_counting, ExitStack() as if_nothing_comes_of_it:
        about = About()

        def open_parts() -> Parts:
            if folder is None:
                place = mkdtemp(prefix="docboltz-counts-")
                if_nothing_comes_of_it.callback(shutil.rmtree, place, ignore_errors=True)
                return Parts(Path(place), "")
            folder.mkdir(parents=True, exist_ok=True)
            while_counting.enter_context(PART.locked(folder))
            if not run:  # nobody could go on
                if_nothing_comes_of_it.callback(remove_parts, folder)
            return Parts(folder, run)

        merged = Merged(vocabulary, about, memory_for_counts(memory), open_parts)
        if folder is not None and folder.is_dir() and len(done := open_parts()):
            merged.take_up(done)
        n_before = merged.n_documents

        def texts() -> Iterator[str]:
            for number, document in enumerate(documents):
                if on_document:
                    on_document(document)
                if number >= n_before:
                    about.add(document)
                    yield document.text

        counter = ChunkCounter(analysis, vocabulary)
        # Closed whatever happens, Ctrl-C included: workers end before the error is seen.
        with closing(_counted(chunks_of(texts()), counter, n_processes)) as chunks:
            for chunk in chunks:
                merged.add(chunk)
                if progress:
                    progress(merged.n_documents)
        if not merged.n_documents:
            raise NoDocuments("There are no documents to count.")
        found = merged.finish()
        n_outside = found.n_outside
        if vocabulary is not None:
            counts = found.counts(None)
        else:
            facts = found.terms, found.df, found.totals, found.n_documents
            columns = select_terms(*facts, min_df, max_df, max_words)
            counts = found.counts(columns)
            n_outside = int(found.totals.sum() - found.totals[columns].sum())
            terms = [found.terms[column] for column in columns]
            vocabulary = Vocabulary(terms, found.forms(columns))
        ids, labels, dates = found.about()
        corpus = Corpus(counts, ids, labels, vocabulary, analysis, n_outside, dates)
        left = if_nothing_comes_of_it.pop_all()
        if folder is None and merged.parts is not None:
            weakref.finalize(counts, left.close)
        return corpus


def memory_for_counts(given: float | None) -> float:
    """Bytes of counts that are held before they go to disk: what is given, or a share of memory."""
    if given is not None:
        return given
    try:
        there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError):  # Windows
        return MOST_HELD
    return min(MOST_HELD, MEMORY_SHARE * there)


def check_limits(min_df: Any, max_df: Any, max_words: Any) -> None:
    """Refuse limits of a vocabulary that make no sense."""
    for name, df in (("min_df", min_df), ("max_df", max_df)):
        ok = df >= 1 if is_whole(df) else is_number(df) and 0 <= df <= 1
        require(ok, "count", name, "a whole number from 1 or a share, 0.0 to 1.0", df)
    ok = max_words is None or (is_whole(max_words) and max_words >= 1)
    require(ok, "count", "max_words", "None or at least 1", max_words)


def chunks_of(texts: Iterable[str]) -> Iterator[list[str]]:
    """Texts, as many at a time as are counted at once."""
    chunk: list[str] = []
    size = 0
    for text in texts:
        chunk.append(text)
        size += len(text)
        if size >= CHUNK_CHARACTERS or len(chunk) >= CHUNK_DOCUMENTS:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _counted(
    chunks: Iterator[list[str]], counter: ChunkCounter, n_processes: int
) -> Generator[ChunkCounts, None, None]:
    """Count the first chunks here; for what follows get help if there is more than one core."""
    size = 0
    for chunk in chunks:
        yield counter.count(chunk)
        size += sum(map(len, chunk))
        if n_processes > 1 and size >= ALONE_CHARACTERS:
            break
    ahead = next(chunks, None)
    if ahead is not None:
        yield from count_with_workers(chain([ahead], chunks), counter, n_processes - 1)


def select_terms(
    terms: Sequence[str],
    df: NDArray[np.int64],
    totals: NDArray[np.int64],
    n_documents: int,
    min_df: int | float,
    max_df: int | float,
    max_words: int | None,
) -> NDArray[np.int64]:
    """The terms to keep, by falling frequency: `df` documents have each, `totals` times in all."""
    if not len(terms):
        raise InvalidCorpus(
            f"None of the {n_documents} documents has a word left: they are empty, or "
            "hold only stop words, short words or numbers.",
            hint="Check the text column ({text}) and the {language}.",
            settings=("text", "language"),
        )
    low = min_df if is_whole(min_df) else min_df * n_documents
    high = max_df if is_whole(max_df) else max_df * n_documents
    kept = (df >= low) & (df <= high)
    if not kept.any():
        raise InvalidCorpus(
            f"No word is in at least {low:g} and at most {high:g} of the {n_documents} documents.",
            hint=f"Lower {{min_df}} (got {min_df}) or raise {{max_df}} (got {max_df}).",
            settings=("min_df", "max_df"),
        )
    columns = np.flatnonzero(kept)
    order = by_frequency(totals[columns], [terms[int(c)] for c in columns])
    return columns[order[:max_words]]
