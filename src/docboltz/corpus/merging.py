"""Counts of chunks → counts of a collection, in memory, or part by part on disk.

What is held in memory is written to disk whenever it is more than it may be. Vocabulary and counts
are the same either way.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import chain

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from docboltz.corpus.chunks import ChunkCounts, Integers, Spellings
from docboltz.corpus.corpus import Vocabulary, select_columns
from docboltz.corpus.document import Document
from docboltz.corpus.parts import Part, Parts

BYTES_OF_DOCUMENT = 200
"""Roughly what Python needs for an id, and for its places in three lists, beside its letters."""


class About:
    """Ids, labels and dates of documents in the order they pass."""

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.labels: list[tuple[str, ...]] = []
        self.dates: list[str] = []
        # Few distinct sets of labels, and days: each is kept once, not once for every document.
        self._known: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._days: dict[str, str] = {}

    def add(self, document: Document) -> None:
        """Keep what is known of a document."""
        labels, date = document.labels, document.date
        self.ids.append(document.id)
        self.labels.append(self._known.setdefault(labels, labels))
        if len(date) <= len("2013-08-11"):
            date = self._days.setdefault(date, date)
        self.dates.append(date)

    def take(self, n: int) -> tuple[list[str], list[tuple[str, ...]], list[str]]:
        """What is known of the first n, which is forgotten here."""
        taken = self.ids[:n], self.labels[:n], self.dates[:n]
        del self.ids[:n], self.labels[:n], self.dates[:n]
        self._known, self._days = {}, {}
        return taken


class Merged:
    """Counts of chunks, their terms renumbered to one common numbering."""

    def __init__(
        self,
        vocabulary: Vocabulary | None,
        about: About,
        memory: float,
        open_parts: Callable[[], Parts],
    ) -> None:
        """`memory` is how many bytes may be held; `open_parts` says where more of them go."""
        self.n_documents = 0
        self.parts: Parts | None = None
        """On disk, if there are any."""
        self._fixed, self._about, self._memory = vocabulary, about, memory
        self._open_parts = open_parts
        self._numbers: dict[str, int] = {}
        self._new_terms: list[str] = []
        self._maps: dict[int, Integers] = {}
        self._spellings: defaultdict[int, _SpellingCounts] = defaultdict(_SpellingCounts)
        self._forget()

    def _forget(self) -> None:
        """Hold nothing."""
        self._lengths: list[Integers] = []
        self._terms: list[Integers] = []
        self._counts: list[Integers] = []
        self._held = self._held_documents = self._n_outside = 0

    def take_up(self, parts: Parts) -> None:
        """Go on after the parts there are."""
        self.parts = parts
        for part in parts:
            self.n_documents += len(part.lengths)
            for term in part.new_terms:
                self._numbers[term] = len(self._numbers)

    def add(self, chunk: ChunkCounts) -> None:
        """Take in a chunk. Chunks of one worker must come in the order in which it counted them."""
        terms = chunk.terms
        if self._fixed is None:
            new = np.fromiter(map(self._number, chunk.new_terms), np.int32, len(chunk.new_terms))
            known = self._maps.get(chunk.worker, new[:0])
            if len(new):
                known = self._maps[chunk.worker] = np.concatenate([known, new])
            terms = known[terms]
            if chunk.spellings is not None:
                self._spellings[chunk.worker].add(chunk.spellings)
        n = len(chunk.starts) - 1
        self._lengths.append(np.diff(chunk.starts))
        self._terms.append(terms)
        self._counts.append(chunk.counts)
        self._held += 8 * len(terms) + BYTES_OF_DOCUMENT * n
        self._held_documents += n
        self.n_documents += n
        self._n_outside += chunk.n_outside
        if self._held > self._memory:
            self._write()

    def _number(self, term: str) -> int:
        """The common number of a term; a new one gets the next."""
        number = self._numbers.get(term)
        if number is None:
            number = self._numbers[term] = len(self._numbers)
            self._new_terms.append(term)
        return number

    def _write(self) -> None:
        """Write what is held to disk."""
        if self.parts is None:
            self.parts = self._open_parts()
        self.parts.add(self._take())

    def _take(self) -> Part:
        """What is held, which is forgotten here."""
        spelled = [
            each.take(self._maps[worker]) for worker, each in self._spellings.items() if each.words
        ]
        part = Part(
            _joined(self._lengths),
            _joined(self._terms),
            _joined(self._counts),
            *self._about.take(self._held_documents),
            new_terms=self._new_terms,
            words=[word for words, _, _ in spelled for word in words],
            word_terms=_joined([terms for _, terms, _ in spelled]),
            word_counts=np.concatenate([np.empty(0, np.int64), *(each[2] for each in spelled)]),
            n_outside=self._n_outside,
        )
        self._new_terms = []
        self._forget()
        return part

    def finish(self) -> Counted:
        """All that was counted."""
        terms: Sequence[str] = self._fixed if self._fixed is not None else list(self._numbers)
        if self.parts is not None and self._held_documents:
            self._write()
        whole = [self._take()] if self.parts is None else self.parts
        return Counted(whole, terms, self.n_documents)


class Counted:
    """Everything counted, over all terms, in parts: one in memory, or those on disk."""

    def __init__(self, parts: list[Part] | Parts, terms: Sequence[str], n_documents: int) -> None:
        self.terms, self.n_documents = terms, n_documents
        self._parts = parts

    @cached_property
    def df(self) -> NDArray[np.int64]:
        """Documents that have each term."""
        found = np.zeros(len(self.terms), np.int64)
        for numbers, _ in self._entries():
            found += np.bincount(numbers, minlength=len(found))
        return found

    @cached_property
    def totals(self) -> NDArray[np.int64]:
        """How often each term occurs."""
        found = np.zeros(len(self.terms), np.int64)
        for numbers, counts in self._entries():
            # Whole numbers up to 2⁵³ are exact in float64.
            found += np.bincount(numbers, counts, len(found)).astype(np.int64)
        return found

    def _entries(self) -> Iterator[tuple[Integers, Integers]]:
        return chain.from_iterable(part.entries() for part in self._parts)

    @property
    def n_outside(self) -> int:
        """Tokens outside a fixed vocabulary."""
        return sum(part.n_outside for part in self._parts)

    def counts(self, columns: NDArray[np.int64] | None) -> csr_array:
        """The counts of some of the terms, in the order given, or of all, with sorted indices."""
        if isinstance(self._parts, Parts):
            columns = np.arange(len(self.terms)) if columns is None else columns
            return self._parts.joined(columns, len(self.terms), int(self.df[columns].sum()))
        (part,) = self._parts
        counts = part.whole(len(self.terms))
        if columns is not None:
            return select_columns(counts, columns)
        counts.sort_indices()
        return counts

    def about(self) -> tuple[Sequence[str], Sequence[tuple[str, ...]], Sequence[str]]:
        """Ids, labels and dates of all documents."""
        if isinstance(self._parts, Parts):
            return self._parts.about()
        (part,) = self._parts
        return tuple(part.ids), tuple(part.labels), tuple(part.dates)

    def forms(self, columns: NDArray[np.int64]) -> list[str]:
        """The commonest spelling of each column's term, the first in the alphabet of equals."""
        index: dict[str, int] = {}
        parts = []
        for part in self._parts:
            numbers = np.array([index.setdefault(w, len(index)) for w in part.words], np.int64)
            parts.append((numbers, part.word_terms, part.word_counts))
        term, count = np.zeros(len(index), np.int64), np.zeros(len(index), np.int64)
        for numbers, terms, counts in parts:
            term[numbers] = terms  # a word has one term, whoever met it
            np.add.at(count, numbers, counts)
        words = list(index)
        commonest = np.zeros(len(self.terms), np.int64)
        np.maximum.at(commonest, term, count)
        best: dict[int, str] = {}
        for number in np.flatnonzero(count == commonest[term]).tolist():
            word, column = words[number], int(term[number])
            best[column] = min(word, best.get(column, word))
        return [best[column] for column in columns.tolist()]


class _SpellingCounts:
    """How often one worker met each word."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self._terms: list[Integers] = []
        self._counts = np.empty(0, np.int64)

    def add(self, spellings: Spellings) -> None:
        """Take in a chunk's words."""
        self.words += spellings.new_words
        self._terms.append(spellings.new_word_terms)
        grown = np.zeros(len(self.words) - len(self._counts), np.int64)
        self._counts = np.concatenate([self._counts, grown])
        self._counts[spellings.words] += spellings.counts

    def take(self, common: Integers) -> tuple[list[str], Integers, NDArray[np.int64]]:
        """The words met since the last call, their terms by common numbers, and how often."""
        self._terms = [_joined(self._terms)]
        met = np.flatnonzero(self._counts)
        counts = self._counts[met]
        self._counts[met] = 0
        return [self.words[i] for i in met.tolist()], common[self._terms[0][met]], counts


def _joined(arrays: list[Integers]) -> Integers:
    """Concatenate and free the parts, so that no more than two copies exist at a time."""
    whole = np.concatenate([*arrays, np.empty(0, np.int32)])
    arrays.clear()
    return whole
