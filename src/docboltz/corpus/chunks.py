"""A chunk of texts → sparse counts over numbers that the analysing process gives to terms.

Every process numbers terms as it meets them and reports only the terms that are new since its last
chunk. Whoever merges keeps one array per process, its number ↦ common number, so merging a chunk
is one array look-up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from docboltz.corpus.analysis import REMEMBERED, TextAnalysis, pair_term
from docboltz.corpus.corpus import Vocabulary

T = TypeVar("T")
Integers = NDArray[np.int32]
OWN = -1
"""The number of the process that reads and merges, which counts too."""
DROPPED = -1
"""Number of a word that is not counted, such as a stop word."""
OUTSIDE = -2
"""Number of a term that a fixed vocabulary lacks."""
WORDS_AT_ONCE = 1 << 12
"""Words held as strings before they become numbers: few enough to stay in the processor's cache."""


@dataclass(frozen=True, slots=True)
class Spellings:
    """Words behind the terms of a chunk, numbered by the process like terms are: a stem is no word
    to show to people, but the commonest spelling of it is."""

    new_words: tuple[str, ...]
    """Words that got the next free numbers in this chunk."""
    new_word_terms: Integers
    """The number of each new word's term."""
    words: Integers
    """Numbers of the words in this chunk."""
    counts: Integers
    """How often each of them occurs in it."""


@dataclass(frozen=True, slots=True)
class ChunkCounts:
    """The counts of a chunk: document i holds terms[starts[i] : starts[i + 1]]."""

    starts: Integers
    terms: Integers
    counts: Integers
    new_terms: tuple[str, ...]
    """Terms that got the next free numbers in this chunk."""
    n_outside: int
    """Tokens outside a fixed vocabulary."""
    worker: int
    """The process that numbered the terms."""
    spellings: Spellings | None
    """How terms were spelled; None with a fixed vocabulary, whose spellings are settled."""


class ChunkCounter:
    """Counts chunks, numbering terms as they come or by a fixed vocabulary."""

    def __init__(
        self, analysis: TextAnalysis, vocabulary: Sequence[str] | None = None, worker: int = OWN
    ) -> None:
        self._analysis = analysis
        self.settings = (analysis, vocabulary)
        """What a worker needs to count alike."""
        self._worker = worker
        self._fixed = vocabulary is not None
        self._n_terms = 0 if vocabulary is None else len(vocabulary)
        self._numbers = _Numbers(analysis, vocabulary)
        self._pairs = _PairNumbers(self._numbers, vocabulary) if analysis.ngrams == 2 else None
        self._term_of_word = np.empty(0, np.int32)

    def count(self, texts: Sequence[str]) -> ChunkCounts:
        """Count the terms of every text."""
        words, lengths = self._number(texts)
        rows = np.repeat(np.arange(len(texts)), lengths)
        if self._pairs is not None:
            words, rows = self._with_pairs(self._pairs, words, rows)
        n_outside = int(np.count_nonzero(words == OUTSIDE))
        kept = words >= 0
        terms, spellings = words[kept], None
        new_terms, new_words, new_word_terms = self._numbers.take_new()
        if not self._fixed:
            self._term_of_word = np.concatenate([self._term_of_word, new_word_terms])
            used, often = _tally(terms)
            spellings = Spellings(new_words, new_word_terms, used, often)
            terms = self._term_of_word[terms]
        # One sort for the whole chunk: (document, term) packed into 64 bits.
        keys = (rows[kept] << 32) | terms
        keys.sort()
        first = np.flatnonzero(np.diff(keys, prepend=-1))
        counts = np.diff(first, append=len(keys)).astype(np.int32)
        keys = keys[first]
        starts = np.searchsorted(keys, np.arange(len(texts) + 1) << 32).astype(np.int32)
        terms = (keys & 0xFFFFFFFF).astype(np.int32)
        return ChunkCounts(starts, terms, counts, new_terms, n_outside, self._worker, spellings)

    def _with_pairs(
        self, pairs: _PairNumbers, words: Integers, rows: NDArray[np.int64]
    ) -> tuple[Integers, NDArray[np.int64]]:
        """Add the pairs of neighbours among the counted words of each text."""
        counted = words != DROPPED
        words, rows = words[counted], rows[counted]
        together = rows[1:] == rows[:-1]
        found = pairs.of(words[:-1][together], words[1:][together])
        if self._fixed:
            words[words >= self._n_terms] = OUTSIDE  # it only stands in pairs
        return np.concatenate([words, found]), np.concatenate([rows, rows[1:][together]])

    def _number(self, texts: Sequence[str]) -> tuple[Integers, NDArray[np.int64]]:
        """The number of every word of every text, one after the other, and the texts' lengths."""
        lengths = np.zeros(len(texts), np.int64)
        arrays = [np.empty(0, np.int32)]
        pending: list[list[str]] = []
        n_pending = 0
        for row, text in enumerate(texts):
            for words in self._analysis.words(text):
                pending.append(words)
                lengths[row] += len(words)
                n_pending += len(words)
                if n_pending > WORDS_AT_ONCE:
                    arrays.append(self._look_up(pending, n_pending))
                    pending, n_pending = [], 0
        arrays.append(self._look_up(pending, n_pending))
        return np.concatenate(arrays), lengths

    def _look_up(self, words: list[list[str]], n: int) -> Integers:
        numbers = map(self._numbers.__getitem__, chain.from_iterable(words))
        return np.fromiter(numbers, np.int32, n)


def cut(
    items: Iterable[T], size_of: Callable[[T], int], most_size: int, most_items: int
) -> Iterator[list[T]]:
    """Items in lists, each of which ends when it has so much or so many."""
    taken: list[T] = []
    size = 0
    for item in items:
        taken.append(item)
        size += size_of(item)
        if size >= most_size or len(taken) >= most_items:
            yield taken
            taken, size = [], 0
    if taken:
        yield taken


def _tally(numbers: Integers) -> tuple[Integers, Integers]:
    """The distinct numbers and how often each occurs."""
    if not len(numbers) or numbers.max() < 8 * len(numbers):
        often = np.bincount(numbers)
        used = np.flatnonzero(often)
        return used.astype(np.int32), often[used].astype(np.int32)
    # Pairs reach numbers of many millions: sorting a chunk's beats counting up to there.
    distinct, repeats = np.unique(numbers, return_counts=True)
    return distinct, repeats.astype(np.int32)


class _Numbers(dict[str, int]):
    """word ↦ its number, or its term's in a fixed vocabulary. Filled as words are met, so each word
    is analysed once."""

    def __init__(self, analysis: TextAnalysis, vocabulary: Sequence[str] | None) -> None:
        super().__init__()
        self._term = analysis.term_of()
        self._fixed = vocabulary is not None
        self._keeps_words = analysis.ngrams == 2 and not self._fixed
        self._kept: dict[int, tuple[str, str]] = {}
        """Word and term behind a number, for the pairs they may be part of."""
        self._terms = _columns(vocabulary or ())
        self._n_words = 0
        self._new_terms: list[str] = []
        self._new_words: list[str] = []
        self._new_word_terms: list[int] = []

    def __missing__(self, word: str) -> int:
        if len(self) >= REMEMBERED:
            self.clear()
        term = self._term(word)
        number = self[word] = self._decide(term, word)
        if term is not None and self._keeps_words:
            self._kept[number] = (word, term)
        return number

    def number_pair(self, first: int, second: int) -> int:
        """Number a new pair of words like a word."""
        (word, term), (next_word, next_term) = self._kept[first], self._kept[second]
        return self._decide(pair_term(term, next_term), f"{word} {next_word}")

    def extend(self, terms: Sequence[str]) -> list[int]:
        """The numbers of terms; those that a fixed vocabulary lacks get the next ones after it."""
        return [self._terms.setdefault(term, len(self._terms)) for term in terms]

    def _decide(self, term: str | None, word: str) -> int:
        if term is None:
            return DROPPED
        known = self._terms.get(term)
        if self._fixed:
            return OUTSIDE if known is None else known
        if known is None:
            known = self._terms[term] = len(self._terms)
            self._new_terms.append(term)
        self._new_words.append(word)
        self._new_word_terms.append(known)
        self._n_words += 1
        return self._n_words - 1

    def take_new(self) -> tuple[tuple[str, ...], tuple[str, ...], Integers]:
        """The terms and the words numbered since the last call, and the words' terms."""
        terms, words, word_terms = self._new_terms, self._new_words, self._new_word_terms
        self._new_terms, self._new_words, self._new_word_terms = [], [], []
        return tuple(terms), tuple(words), np.array(word_terms, np.int32)


def _columns(vocabulary: Sequence[str]) -> dict[str, int]:
    """The column of every term, in a dictionary of the caller's own."""
    if isinstance(vocabulary, Vocabulary):  # it has one: a search should not make it anew
        return vocabulary.columns()
    return {term: number for number, term in enumerate(vocabulary)}


class _PairNumbers:
    """Numbers pairs of words among the words. A pair of numbers is looked up as one of 64 bits."""

    def __init__(self, words: _Numbers, vocabulary: Sequence[str] | None) -> None:
        self._words = words
        self._fixed = vocabulary is not None
        self._known: dict[int, int] = {}
        pairs = [
            (words.extend(term.split(" ")), column)
            for column, term in enumerate(vocabulary or ())
            if term.count(" ") == 1
        ]
        in_order = sorted(((first << 32) | second, column) for (first, second), column in pairs)
        self._keys = np.array([key for key, _ in in_order], np.int64)
        self._columns = np.array([column for _, column in in_order], np.int32)

    def of(self, first: Integers, second: Integers) -> Integers:
        """The number of each pair of neighbours, given the numbers of its words."""
        keys = (first.astype(np.int64) << 32) | second  # negative if a word is outside
        if not self._fixed:
            distinct, places = np.unique(keys, return_inverse=True)
            numbers = map(self._number, distinct.tolist())
            return np.fromiter(numbers, np.int32, len(distinct))[places]
        if not len(self._keys):
            return np.full(len(keys), OUTSIDE, np.int32)
        nearest = np.searchsorted(self._keys, keys).clip(max=len(self._keys) - 1)
        known = self._keys[nearest] == keys
        return np.where(known, self._columns[nearest], np.int32(OUTSIDE))

    def _number(self, key: int) -> int:
        number = self._known.get(key)
        if number is None:
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            number = self._known[key] = self._words.number_pair(key >> 32, key & 0xFFFFFFFF)
        return number
