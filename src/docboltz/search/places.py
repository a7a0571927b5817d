"""Where the words that count as a term stand in a text, to mark them in what a search finds."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache

from docboltz.corpus.analysis import TextAnalysis, is_spaceless, without_links, word_pattern

Span = tuple[int, int]
"""Begin and end of a piece of a text."""

KEPT_WORDS = 1 << 17
"""Whose terms are remembered."""
_ASCII_WORD = re.compile("[A-Za-z0-9]+")
_RUN = re.compile(r"\S+")
_WITHIN_SIGNS = re.compile(r"[^\W_](?:\S*[^\W_])?")


class PlaceFinder:
    """Finds words in texts; may be shared by threads.

    >>> PlaceFinder(TextAnalysis()).find("The ship, ships and sails.", {"ship"})
    {'ship': [(4, 8), (10, 15)]}
    """

    def __init__(self, analysis: TextAnalysis) -> None:
        """By that analysis."""
        self._analysis = replace(analysis, ngrams=1)
        self._terms_of = lru_cache(KEPT_WORDS)(self._cut)

    def find(self, text: str, terms: set[str] | frozenset[str]) -> dict[str, list[Span]]:
        """Where words that count as one of the terms stand in a text, in order, by term.

        Each word is cut on its own, so that it stands where it stood before it was normalised.
        """
        analysis, terms_of = self._analysis, self._terms_of
        if not (analysis.pretokenised or analysis.links):
            text = without_links(text)
        pattern = _ASCII_WORD if text.isascii() else word_pattern()
        if analysis.pretokenised:
            pattern = _RUN if analysis.function is None else _WITHIN_SIGNS
        # A function of the user's may take milliseconds: only words that begin like a term.
        letters = {term[0] for term in terms} if analysis.function is not None else None
        places: dict[str, list[Span]] = {}
        for match in pattern.finditer(text):
            word = match[0]
            if letters and letters.isdisjoint(word[0].lower()) and not is_spaceless(word):
                continue
            found = terms_of(word)
            if terms.isdisjoint(found):
                continue
            if len(found) == 1:
                places.setdefault(found[0], []).append(match.span())
                continue
            for term in terms.intersection(found):  # of a script without spaces
                parts = re.compile(re.escape(term), re.I).finditer(text, *match.span())
                places.setdefault(term, []).extend(part.span() for part in parts)
        return places

    def _cut(self, word: str) -> tuple[str, ...]:
        return tuple(self._analysis.tokens(word))
