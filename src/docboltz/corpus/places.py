"""Where the words that count as a term stand in a text.

A search shows ten texts of two thousand characters with the words that were asked for, so cutting
them is most of its work. Wherever a text's words stand in the same places before and after it is
cut, that is left to a few C calls, and what is known of texts that were met before is kept.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache

from docboltz.corpus.analysis import REMEMBERED, TextAnalysis, word_pattern

Span = tuple[int, int]
"""Begin and end of a piece of a text."""

Words = dict[str, dict[str, None]]
"""The words that count as a term, as far as they were met: in the order of the keys."""
KEPT_TEXTS = 8192
"""In memory, of those that were met last: the same ones are hits again and again."""
LONGEST_KEPT = 10_000
"""Characters of a text that is kept."""
MOST_TERMS = 200

_RUNS = re.compile(r"\S+")


class PlaceFinder:
    """Finds words in texts; may be shared by threads.

    >>> PlaceFinder(TextAnalysis()).find("The ship, ships and sails.", {"ship"})
    {'ship': [(4, 8), (10, 15)]}
    """

    def __init__(self, analysis: TextAnalysis) -> None:
        """By that analysis."""
        self._analysis = analysis
        self._term_of = analysis.term_of()
        self._words: Words = {}
        self._n_words = 0
        self._met = lru_cache(KEPT_TEXTS)(self._meet)

    def find(self, text: str, terms: Collection[str]) -> dict[str, list[Span]]:
        """Where words that count as one of the terms stand in a text, in order, by term."""
        if len(terms) > MOST_TERMS:  # each would be looked for in all of the text
            return self.find_word_by_word(text, terms)
        lined_up, words = (self._met if len(text) <= LONGEST_KEPT else self._meet)(text)
        if lined_up is None:
            return self.find_word_by_word(text, terms)
        places: dict[str, list[Span]] = {}
        for term in terms:
            own = tuple(words.get(term, ()))  # another thread may add some
            if found := [span for word in own for span in _places(lined_up, word)]:
                places[term] = sorted(found)
        return places

    def find_word_by_word(self, text: str, terms: Collection[str]) -> dict[str, list[Span]]:
        """As `find`, of any text: normalising may move words, so each is cut on its own."""
        analysis = self._analysis
        places: dict[str, list[Span]] = {}
        pattern = _RUNS if analysis.pretokenised else word_pattern()
        for begin, end in (match.span() for match in pattern.finditer(text)):
            found = analysis.tokens(text[begin:end])
            if len(found) == 1:
                if found[0] in terms:
                    places.setdefault(found[0], []).append((begin, end))
                continue
            for piece in found:  # scripts without spaces are counted in pairs of characters
                at = text.find(piece, begin, end) if piece in terms else -1
                if at >= 0:
                    places.setdefault(piece, []).append((at, at + len(piece)))
        return {term: sorted(spans) for term, spans in places.items()}

    def _meet(self, text: str) -> tuple[str | None, Words]:
        """The text with its words lined up, None if they move, and words that all of its are in."""
        lined_up = None if self._analysis.pretokenised else self._analysis.lined_up(text)
        if self._n_words > REMEMBERED:  # a server that never stops must not grow forever
            self._words, self._n_words = {}, 0
        words = self._words
        for word in set((lined_up or "").split()):
            term = self._term_of(word)
            if term is not None:
                own = words.setdefault(term, {})
                self._n_words += word not in own
                own[word] = None
        return lined_up, words


def _places(lined_up: str, word: str) -> list[Span]:
    """Where a word stands between spaces."""
    found: list[Span] = []
    at = lined_up.find(word)
    while at >= 0:
        end = at + len(word)
        if lined_up[at - 1 : at] in ("", " ") and lined_up[end : end + 1] in ("", " "):
            found.append((at, end))
        at = lined_up.find(word, end)
    return found
