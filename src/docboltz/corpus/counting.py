"""One pass over a stream of documents → a Corpus.

Memory holds the counts, the ids, labels and dates, and a few chunks of text. Vocabulary and counts
do not depend on the number of processes.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from docboltz.corpus.chunks import ChunkCounter, ChunkCounts, Integers, Spellings
from docboltz.corpus.counts import Corpus, by_frequency, select_columns, total_counts
from docboltz.corpus.document import Document
from docboltz.corpus.text import TextAnalysis
from docboltz.corpus.vocabulary import Vocabulary
from docboltz.corpus.workers import count_with_workers
from docboltz.errors import InvalidCorpus, NoDocuments, is_number, is_whole, require

CHUNK_CHARACTERS = 1 << 20
CHUNK_DOCUMENTS = 10_000
ALONE_CHARACTERS = 4 << 20
"""Text that this process counts before it starts workers: starting them takes as long."""


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
) -> Corpus:
    """Count the words of a stream of documents.

    Words in fewer than `min_df` or more than `max_df` documents are dropped (whole numbers count
    documents, fractions are shares of them, as in scikit-learn), then all but the `max_words` most
    frequent. With a `vocabulary` its columns are taken as they are, and the other words are only
    counted, in `Corpus.n_outside`. `n_jobs` processes analyse text, this one among them; -1 means
    one for each core. Little text starts none. `on_document` sees every document as it passes, in
    order, and `progress` how many have been counted.

    >>> corpus = count([Document("1", "Ships at sea, ships in port.", ())])
    >>> corpus.vocabulary.words, corpus.counts.toarray().tolist()
    (('ship', 'port', 'sea'), [[2, 1, 1]])
    """
    analysis = analysis or TextAnalysis()
    check_limits(min_df, max_df, max_words)
    ok = is_whole(n_jobs) and (n_jobs == -1 or n_jobs >= 1)
    require(ok, "count", "n_jobs", "-1 or at least 1", n_jobs)
    n_processes = (os.cpu_count() or 1) if n_jobs == -1 else n_jobs
    ids: list[str] = []
    labels: list[tuple[str, ...]] = []
    dates: list[str] = []

    def texts() -> Iterator[str]:
        # Few distinct sets of labels, and days: each is kept once, not once for every document.
        known: dict[tuple[str, ...], tuple[str, ...]] = {}
        days: dict[str, str] = {}
        for document in documents:
            if on_document:
                on_document(document)
            ids.append(document.id)
            labels.append(known.setdefault(document.labels, document.labels))
            date = document.date
            dates.append(days.setdefault(date, date) if len(date) <= len("2013-08-11") else date)
            yield document.text

    counter, merged = ChunkCounter(analysis, vocabulary), _Merged(vocabulary)
    # Closed whatever happens, Ctrl-C included: workers end before the error is seen.
    with closing(_counted(chunks_of(texts()), counter, n_processes)) as chunks:
        for chunk in chunks:
            merged.add(chunk)
            if progress:
                progress(merged.n_documents)
    if not ids:
        raise NoDocuments("There are no documents to count.")
    counts, terms = merged.finish()
    if vocabulary is not None:
        counts.sort_indices()
    else:
        df = np.bincount(counts.indices, minlength=len(terms))
        limits = (min_df, max_df, max_words)
        columns = select_terms(terms, df, total_counts(counts), counts.shape[0], *limits)
        n_before = int(counts.data.sum(dtype=np.int64))
        counts = select_columns(counts, columns)
        merged.n_outside = n_before - int(counts.data.sum(dtype=np.int64))
        vocabulary = Vocabulary([terms[column] for column in columns], merged.forms(columns))
    about = tuple(ids), tuple(labels), vocabulary, analysis, merged.n_outside, tuple(dates)
    return Corpus(counts, *about)


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


class _Merged:
    """Counts of chunks, their terms renumbered to one common numbering."""

    def __init__(self, vocabulary: Vocabulary | None) -> None:
        self.n_documents = 0
        self.n_outside = 0
        self._fixed = vocabulary
        self._spellings: defaultdict[int, _SpellingCounts] = defaultdict(_SpellingCounts)
        self._numbers: dict[str, int] = {}
        self._maps: dict[int, Integers] = {}
        self._rows: list[Integers] = []
        self._terms: list[Integers] = []
        self._counts: list[Integers] = []

    def add(self, chunk: ChunkCounts) -> None:
        """Take in a chunk. Chunks of one worker must come in the order in which it counted them."""
        terms = chunk.terms
        if self._fixed is None:
            numbers = self._numbers
            new = [numbers.setdefault(term, len(numbers)) for term in chunk.new_terms]
            known = self._maps.get(chunk.worker, np.empty(0, np.int32))
            if new:
                known = np.concatenate([known, np.array(new, np.int32)])
                self._maps[chunk.worker] = known
            terms = known[terms]
            if chunk.spellings is not None:
                self._spellings[chunk.worker].add(chunk.spellings)
        self._rows.append(np.diff(chunk.starts))
        self._terms.append(terms)
        self._counts.append(chunk.counts)
        self.n_documents += len(chunk.starts) - 1
        self.n_outside += chunk.n_outside

    def forms(self, columns: NDArray[np.int64]) -> list[str]:
        """The commonest spelling of each column's term, the first in the alphabet of equals."""
        index: dict[str, int] = {}
        parts = []
        for worker, spellings in self._spellings.items():
            numbers = np.array([index.setdefault(w, len(index)) for w in spellings.words], np.int64)
            terms = self._maps[worker][_joined(spellings.terms)]
            parts.append((numbers, terms, spellings.counts))
        term, count = np.zeros(len(index), np.int64), np.zeros(len(index), np.int64)
        for numbers, terms, counts in parts:
            term[numbers] = terms  # a word has one term, whoever met it
            np.add.at(count, numbers, counts)
        words = list(index)
        commonest = np.zeros(len(self._numbers), np.int64)
        np.maximum.at(commonest, term, count)
        best: dict[int, str] = {}
        for number in np.flatnonzero(count == commonest[term]).tolist():
            word, column = words[number], int(term[number])
            best[column] = min(word, best.get(column, word))
        return [best[column] for column in columns.tolist()]

    def finish(self) -> tuple[csr_array, Sequence[str]]:
        """All counts, and the term of each column."""
        terms: Sequence[str] = self._fixed if self._fixed is not None else list(self._numbers)
        lengths = _joined(self._rows)
        data, columns = _joined(self._counts), _joined(self._terms)
        starts = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
        if starts[-1] <= np.iinfo(np.int32).max:
            starts = starts.astype(np.int32)
        return csr_array((data, columns, starts), shape=(len(lengths), len(terms))), terms


class _SpellingCounts:
    """How often one worker met each word."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self.terms: list[Integers] = []
        self.counts = np.empty(0, np.int64)

    def add(self, spellings: Spellings) -> None:
        """Take in a chunk's words."""
        self.words += spellings.new_words
        self.terms.append(spellings.new_word_terms)
        grown = np.zeros(len(self.words) - len(self.counts), np.int64)
        self.counts = np.concatenate([self.counts, grown])
        self.counts[spellings.words] += spellings.counts


def _joined(arrays: list[Integers]) -> Integers:
    """Concatenate and free the parts, so that no more than two copies exist at a time."""
    whole = np.concatenate([*arrays, np.empty(0, np.int32)])
    arrays.clear()
    return whole


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
