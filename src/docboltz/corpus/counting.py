"""One pass over a stream of documents → a Corpus.

Memory holds a few chunks of text, and counts, ids, labels and dates as far as they are few; else
they are on disk. Vocabulary and counts depend neither on that nor on the number of processes.
"""

from __future__ import annotations

import os
import shutil
import weakref
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from itertools import chain
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from docboltz.corpus.analysis import TextAnalysis
from docboltz.corpus.chunks import ChunkCounter, ChunkCounts, cut
from docboltz.corpus.corpus import Corpus, Vocabulary, by_frequency
from docboltz.corpus.document import Document
from docboltz.corpus.merging import About, Merged
from docboltz.corpus.naming import named
from docboltz.corpus.parts import PART, Parts, remove_parts
from docboltz.corpus.reading import read_with_workers
from docboltz.corpus.taken_ids import TakenIds
from docboltz.corpus.workers import count_with_workers
from docboltz.errors import InvalidCorpus, NoDocuments, is_number, is_whole, require
from docboltz.storage import folder_above

if TYPE_CHECKING:
    from docboltz.corpus.readers import Documents, Part  # which a question can do without

CHUNK_CHARACTERS = 1 << 20
CHUNK_DOCUMENTS = 10_000
ALONE_CHARACTERS = 4 << 20
"""Text that this process counts before it starts workers: starting them takes as long."""
FEWEST_READERS = 3
"""Processes with which workers read files themselves. Two are busy without: one reads, both count.
"""
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
    one for each core. Little text starts none. Of several large tables each is read by one of
    `n_jobs` others, and this process puts together what they find. `on_document` sees every
    document as it passes, in order, and `progress` how many have been counted.

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
        passing = _Passing(about, merged.n_documents, on_document)
        counter = ChunkCounter(analysis, vocabulary)
        stream: Any = documents
        if hasattr(documents, "tables") and (tables := _for_workers(stream, n_processes)):
            place = None if folder is None else folder_above(folder)
            counted = _read_by_workers(stream, tables, passing, counter, n_processes, place)
        else:
            counted = _counted(chunks_of(passing.texts(documents)), counter, n_processes)
        # Closed whatever happens, Ctrl-C included: workers end before the error is seen.
        with closing(counted) as chunks:
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
    return cut(texts, len, CHUNK_CHARACTERS, CHUNK_DOCUMENTS)


class _Passing:
    """Documents on their way from the reader to the counts."""

    def __init__(
        self, about: About, n_counted: int, on_document: Callable[[Document], None] | None
    ) -> None:
        self.n_counted = n_counted
        """Documents still to come that were counted before: they are only looked at."""
        self._about, self._on_document = about, on_document

    def texts(self, documents: Iterable[Document]) -> Iterator[str]:
        """The texts to count; what else is known of them is kept."""
        for document in documents:
            if self._on_document:
                self._on_document(document)
            if self.n_counted:
                self.n_counted -= 1
            else:
                self._about.add(document)
                yield document.text


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


def _for_workers(documents: Documents, n_processes: int) -> list[Part]:
    """The files of a collection if workers should read them: several, large, and not too unequal.

    Of a few large files, one process reads while all count; that keeps more of them busy.
    """
    if n_processes < FEWEST_READERS:
        return []
    tables = documents.tables()
    places = [source.location for table in tables for source in table.sources]
    try:
        sizes = [None if place is None else place.size() for place in places]
    except OSError:  # whoever reads the file says it better
        return []
    known = [size for size in sizes if size is not None]
    if len(known) < max(2, len(tables)) or sum(known) < ALONE_CHARACTERS:
        return []
    return tables if 2 * sum(known) >= n_processes * max(known) else []


def _read_by_workers(
    documents: Documents,
    tables: list[Part],
    passing: _Passing,
    counter: ChunkCounter,
    n_processes: int,
    place: Path | None,
) -> Generator[ChunkCounts, None, None]:
    """Count files that workers read; ids are made to differ here, where all of them come by."""
    report, taken = documents.begin(), TakenIds()
    left = iter(tables)
    # What was counted before is only read: no work for others. They begin with the next file.
    while passing.n_counted and (table := next(left, None)):
        for chunk in chunks_of(passing.texts(named(table.documents.rows(report), taken, report))):
            yield counter.count(chunk)
    limits = CHUNK_CHARACTERS, CHUNK_DOCUMENTS
    n_workers = min(n_processes, len(tables))
    for rows, counts in read_with_workers(left, counter, n_workers, report, limits, place):
        deque(passing.texts(named(rows, taken, report)), maxlen=0)
        yield counts
    documents.require_some(report)


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
    if low > n_documents:
        raise InvalidCorpus(
            f"No word can be in {low:,} documents: there are {n_documents:,}.",
            hint="Lower {min_df}; 2 is a good start.",
            settings=("min_df",),
        )
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
