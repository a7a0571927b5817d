"""How a browser cuts and counts text as `TextAnalysis` does, without a stemmer.

What becomes of a word is decided here, for every word of the collection's texts and for more forms
of words that are not rare; the browser (`page/file/words.js`) looks it up.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from docboltz.corpus.analysis import (
    EMOJI_PATTERN,
    EMOJI_SIGNS,
    SPACELESS_SCRIPTS,
    TextAnalysis,
    emoji_term,
)
from docboltz.corpus.corpus import Vocabulary
from docboltz.corpus.counting import TextCounter
from docboltz.search.words import index_analysis

ENDINGS = 40
"""Of words, the commonest, that are tried on those of terms that may have more forms."""


class WordTable(NamedTuple):
    """Words that count, and as which of T terms: those of the texts and of the vocabulary."""

    number: dict[str, int]
    """Of each term, in alphabetical order."""
    words: list[str]
    """Term by term, of each the one to show first."""
    spelt: NDArray[np.uint32]
    """How many words each term has: (T,)."""
    columns: NDArray[np.int32]
    """Column of each term in the vocabulary, or −1: (T,)."""
    pairs: NDArray[np.uint32]
    """First term, second term and column of each pair of the vocabulary: (pairs, 3)."""


def counted(
    analysis: TextAnalysis, texts: Iterable[str]
) -> tuple[csr_array, list[str], dict[str, str]]:
    """Count the words of n texts as a search index does: counts, (n, V), V terms, and words.

    Words are all that were met, in that order, with their terms.
    """
    found = TextCounter(index_analysis(analysis)).count(list(texts))
    terms, known = list(found.terms.terms), found.terms
    words = dict(zip(known.words, (terms[t] for t in known.word_terms.tolist()), strict=True))
    return found.matrix, terms, words


def word_table(
    analysis: TextAnalysis,
    vocabulary: Vocabulary,
    words: Mapping[str, str],
    frequent: Iterable[str] = (),
) -> WordTable:
    """Which words, those of texts with their terms and others of the vocabulary, count as what.

    Forms that no text has are added to terms of the vocabulary and to `frequent` ones.
    """
    term_of = index_analysis(analysis).term_of()
    split = [term.split(" ") if analysis.ngrams == 2 else [term] for term in vocabulary]
    own = set(chain(frequent, *split))
    cut = (
        word
        for text in (*vocabulary.forms, *vocabulary)
        for some in analysis.words(text)
        for word in some
    )
    found = {**words, **{word: term for word in cut if (term := term_of(word)) in own}}
    if not analysis.pretokenised:
        found |= _more_forms({word: term for word, term in found.items() if term in own}, term_of)
        # An emoji is looked up as what it counts as: without U+FE0F it may be none any more.
        found = {emoji_term(word) or word: term for word, term in found.items()}
    number = {term: t for t, term in enumerate(sorted(own.union(found.values())))}
    spellings: list[list[str]] = [[] for _ in number]
    for word, term in found.items():
        spellings[number[term]].append(word)
    column = {term: k for k, term in enumerate(vocabulary)}
    pairs = [(*map(number.__getitem__, parts), k) for k, parts in enumerate(split) if parts[1:]]
    return WordTable(
        number,
        [word for first, *more in filter(None, spellings) for word in (first, *sorted(more))],
        np.array(list(map(len, spellings)), np.uint32),
        np.array([column.get(term, -1) for term in number], np.int32),
        np.array(pairs, np.uint32).reshape(-1, 3),
    )


def _more_forms(found: Mapping[str, str], term_of: Callable[[str], str | None]) -> dict[str, str]:
    """Forms that no text has, with the endings of those they have: "goals" where there is "goal".

    The stemmer says whether each counts as the same term.
    """
    forms: defaultdict[str, list[str]] = defaultdict(list)
    for word, term in found.items():
        forms[term].append(word)
    begins = {term: _common_begin([term, *words]) for term, words in forms.items()}
    endings = Counter(word.removeprefix(begins[term]) for word, term in found.items())
    tried = [ending for ending, _ in endings.most_common(ENDINGS)]
    return {
        begin + ending: term
        for term, begin in begins.items()
        for ending in tried
        if begin and begin + ending not in found and term_of(begin + ending) == term
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
