"""A chunk of texts → sparse counts over numbers that the analysing process gives to terms.

Every process numbers terms as it meets them and reports only the terms that are new since its last
chunk. Whoever merges keeps one array per process, its number ↦ common number, so merging a chunk
is one array look-up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from docboltz.corpus.text import REMEMBERED, TextAnalysis

Integers = NDArray[np.int32]
DROPPED = -1
"""Number of a word that is not counted, such as a stop word."""
OUTSIDE = -2
"""Number of a term that a fixed vocabulary lacks."""
WORDS_AT_ONCE = 1 << 12
"""Words held as strings before they become numbers: few enough to stay in the processor's cache."""


@dataclass(frozen=True, slots=True)
class ChunkCounts:
    """The counts of a chunk: document i holds terms[starts[i] : starts[i + 1]]."""

    starts: Integers
    terms: Integers
    counts: Integers
    new_terms: tuple[str, ...]
    """Terms that got the next free numbers in this chunk."""
    forms: tuple[tuple[int, str], ...]
    """Shortest word met for a term, where this chunk had a shorter one: "hockey" for "hockei"."""
    n_outside: int
    """Tokens outside a fixed vocabulary."""


class ChunkCounter:
    """Counts chunks, numbering terms as they come or by a fixed vocabulary."""

    def __init__(self, analysis: TextAnalysis, vocabulary: Sequence[str] | None = None) -> None:
        self._analysis = analysis
        self._numbers = _Numbers(analysis, vocabulary)

    def count(self, texts: Sequence[str]) -> ChunkCounts:
        """Count the terms of every text."""
        words, lengths = self._number(texts)
        rows = np.repeat(np.arange(len(texts)), lengths)
        n_outside = int(np.count_nonzero(words == OUTSIDE))
        kept = words >= 0
        # One sort for the whole chunk: (document, term) packed into 64 bits.
        keys = (rows[kept] << 32) | words[kept]
        keys.sort()
        first = np.flatnonzero(np.diff(keys, prepend=-1))
        counts = np.diff(first, append=len(keys)).astype(np.int32)
        keys = keys[first]
        starts = np.searchsorted(keys, np.arange(len(texts) + 1) << 32).astype(np.int32)
        terms = (keys & 0xFFFFFFFF).astype(np.int32)
        return ChunkCounts(starts, terms, counts, *self._numbers.take_new(), n_outside)

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


class _Numbers(dict[str, int]):
    """word ↦ number of its term. Filled as words are met, so each word is analysed once."""

    def __init__(self, analysis: TextAnalysis, vocabulary: Sequence[str] | None) -> None:
        super().__init__()
        self._term = analysis.term_of()
        self._fixed = vocabulary is not None
        self._terms = {term: number for number, term in enumerate(vocabulary or ())}
        self._new_terms: list[str] = []
        self._forms: dict[int, str] = {}
        self._new_forms: dict[int, str] = {}

    def __missing__(self, word: str) -> int:
        if len(self) >= REMEMBERED:
            self.clear()
        number = self[word] = self._decide(self._term(word), word)
        return number

    def _decide(self, term: str | None, word: str) -> int:
        if term is None:
            return DROPPED
        number = self._terms.get(term)
        if self._fixed:
            return OUTSIDE if number is None else number
        if number is None:
            number = self._terms[term] = len(self._terms)
            self._new_terms.append(term)
            self._forms[number] = self._new_forms[number] = word
        elif shorter(word, self._forms[number]) == word:
            self._forms[number] = self._new_forms[number] = word
        return number

    def take_new(self) -> tuple[tuple[str, ...], tuple[tuple[int, str], ...]]:
        """The terms numbered and the shorter forms met since the last call."""
        new = tuple(self._new_terms), tuple(self._new_forms.items())
        self._new_terms, self._new_forms = [], {}
        return new


def shorter(a: str, b: str) -> str:
    """The shorter of two words, the first in the alphabet of two as long: mostly the plain form."""
    return min(a, b, key=lambda word: (len(word), word))
