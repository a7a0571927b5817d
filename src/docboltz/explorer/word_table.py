"""How a browser cuts and counts text as `TextAnalysis` does, without a stemmer.

What becomes of a word is decided here, for every word of the collection's texts and for forms that
others have of these words; the browser (`page/file/words.js`) looks it up. K words in the
vocabulary.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from docboltz.corpus.emoji import EMOJI_PATTERN, EMOJI_SIGNS, emoji_term
from docboltz.corpus.text import SPACELESS_SCRIPTS, TextAnalysis
from docboltz.corpus.vocabulary import Vocabulary

ENDINGS = 40
"""Of words, the commonest, that are tried on every other. On 20 Newsgroups 14,181 words of texts
become 95,272, a third of a megabyte of the file. Of a table from the first 5,000 texts, 96 % of the
words of all 11,314 are known; without more endings 83 %."""


class WordTable(NamedTuple):
    """Words that count, and as what."""

    words: list[str]
    terms: NDArray[np.uint32]
    """Column of each, or from K on a term that counts in pairs only."""
    pairs: NDArray[np.uint32]
    """First term, second term and column of each pair of the vocabulary: (pairs, 3)."""


def word_table(analysis: TextAnalysis, vocabulary: Vocabulary, texts: Iterable[str]) -> WordTable:
    """Which words of the texts, and forms of the vocabulary, count as what."""
    number = {term: column for column, term in enumerate(vocabulary)}
    pairs = []
    for column, term in enumerate(vocabulary):
        if analysis.ngrams == 2 and " " in term:  # a single term has no space
            first, second = (number.setdefault(part, len(number)) for part in term.split(" "))
            pairs.append((first, second, column))
    term_of = analysis.term_of()
    found: dict[str, int | None] = {}
    for text in (*vocabulary.forms, *vocabulary, *texts):
        for words in analysis.words(text):
            for word in words:
                if word not in found:
                    found[word] = number.get(term_of(word) or "")
    kept = {word: term for word, term in found.items() if term is not None}
    if not analysis.pretokenised:
        kept |= _more_forms(kept, list(number), term_of)
        # An emoji is looked up as what it counts as: without U+FE0F it may be none any more.
        kept = {emoji_term(word) or word: term for word, term in kept.items()}
    words = sorted(kept, key=lambda word: (kept[word], word))
    return WordTable(
        words,
        np.array([kept[word] for word in words], np.uint32),
        np.array(pairs, np.uint32).reshape(-1, 3),
    )


def _more_forms(
    found: Mapping[str, int], terms: Sequence[str], term_of: Callable[[str], str | None]
) -> dict[str, int]:
    """Forms that no text has, with the endings of those they have: "goals" where there is "goal".

    The stemmer says whether each counts as the same term.
    """
    forms: defaultdict[int, list[str]] = defaultdict(list)
    for word, number in found.items():
        forms[number].append(word)
    begins = {number: _common_begin([terms[number], *words]) for number, words in forms.items()}
    endings = Counter(word.removeprefix(begins[number]) for word, number in found.items())
    tried = [ending for ending, _ in endings.most_common(ENDINGS)]
    return {
        begin + ending: number
        for number, begin in begins.items()
        for ending in tried
        if begin and begin + ending not in found and term_of(begin + ending) == terms[number]
    }


def _common_begin(words: Sequence[str]) -> str:
    """What all words begin with: of the first and the last in order, all others do too."""
    first, last = min(words), max(words)
    alike = (i for i, (one, other) in enumerate(zip(first, last, strict=False)) if one != other)
    return first[: next(alike, min(len(first), len(last)))]


def cutting(analysis: TextAnalysis) -> dict[str, Any]:
    """The settings and patterns that the browser cuts a text by, as JSON can hold them."""
    entries = () if analysis.pretokenised else analysis.to_dict()["stop_words"]
    dropped = {piece for entry in entries for words in analysis.words(entry) for piece in words}
    return {
        "lowercase": analysis.lowercase,
        "turkish": analysis.language == "turkish",
        "min_letters": analysis.min_letters,
        "numbers": analysis.numbers,
        "pretokenised": analysis.pretokenised,
        "dropped": sorted(dropped),
        "emoji": EMOJI_PATTERN,
        "emoji_signs": EMOJI_SIGNS,
        "spaceless": SPACELESS_SCRIPTS,
    }
