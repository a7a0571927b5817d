"""Pairs of words that are written side by side far more often than chance: "super bowl".

A topic model counts words one by one. People read "super bowl" more easily than "bowl … super", so
pairs are looked for in the texts once more, after the model was made, and only to show words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from docboltz.corpus.analysis import TextAnalysis, is_spaceless
from docboltz.corpus.corpus import Vocabulary

LEAST_COUNT = 5
"""A pair that is met less often is no phrase: names and misprints abound."""
LEAST_ASSOCIATION = 0.5
"""Normalised pointwise mutual information of neighbours: 0 by chance, 1 if never apart."""
LONGEST_TEXT = 5_000
"""Characters read of a text: enough of a book, and 20,000 of them take seconds."""
OUTSIDE = -1
"""Column of words that the vocabulary lacks, and of the gap between two pieces of text."""

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Phrase:
    """Two words of the vocabulary that are written side by side."""

    form: str
    """The two words as they are written most often in it."""
    count: int
    """How often they stand side by side."""
    shares: tuple[float, float]
    """Which share of the first word's occurrences, and of the second's, are in the phrase."""
    association: float
    """NPMI = log(p_ij / (p_i p_j)) / -log p_ij, where p_i is how often word i is met, and p_ij how
    often the pair, for each word of the texts, stop words included."""


def find_phrases(
    texts: Iterable[str],
    analysis: TextAnalysis,
    vocabulary: Vocabulary,
    *,
    most_texts: int = 20_000,
) -> dict[tuple[int, int], Phrase]:
    """The phrases of texts, by the columns of their two words, most frequent first.

    Words are side by side if there is neither a stop word nor punctuation between them, apart from
    a hyphen. Of more than `most_texts` texts some are left out, evenly, and of long ones the end.
    Phrases are made of single words, whether the vocabulary has pairs (`ngrams=2`) or not.

    >>> texts = ["The Super Bowl is on.", "Super Bowl ads!", "A bowl of soup. Super!"] * 3
    >>> found = find_phrases(texts, TextAnalysis(), Vocabulary(["bowl", "super", "soup"]))
    >>> [(columns, phrase.form, phrase.count) for columns, phrase in found.items()]
    [((1, 0), 'super bowl', 6)]
    """
    words, numbers = _number(_spread(texts, most_texts), analysis)
    term_of = analysis.term_of()
    terms = (term_of(word) for word in words)
    found = (None if term is None else vocabulary.column(term) for term in terms)
    column = np.array([*(OUTSIDE if c is None else c for c in found), OUTSIDE], np.int64)
    occurrences = np.bincount(column[numbers] + 1, minlength=len(vocabulary) + 1)[1:]
    n_words = int(np.count_nonzero(numbers >= 0))

    first, second = numbers[:-1], numbers[1:]
    inside = (column[first] >= 0) & (column[second] >= 0) & (column[first] != column[second])
    # Two spellings, two columns: both packed into 64 bits.
    spelled, spelled_counts = np.unique((first[inside] << 32) | second[inside], return_counts=True)
    one, other = spelled >> 32, spelled & 0xFFFFFFFF
    pairs, place = np.unique((column[one] << 32) | column[other], return_inverse=True)
    counts = np.bincount(place, spelled_counts, len(pairs)).astype(np.int64)
    i, j = pairs >> 32, pairs & 0xFFFFFFFF
    with np.errstate(divide="ignore", invalid="ignore"):
        chance = occurrences[i] / n_words * (occurrences[j] / n_words)
        together = counts / n_words
        association = np.log(together / chance) / -np.log(together)
    good = np.flatnonzero((counts >= LEAST_COUNT) & (association >= LEAST_ASSOCIATION))

    # The commonest spelling of each pair; of equals the first in the alphabet.
    best: dict[int, tuple[int, str]] = {}
    for s in np.flatnonzero(np.isin(place, good)).tolist():
        parts = words[int(one[s])], words[int(other[s])]
        if not any(map(is_spaceless, parts)):
            candidate = (-int(spelled_counts[s]), " ".join(parts))
            best[int(place[s])] = min(candidate, best.get(int(place[s]), candidate))
    order = sorted(best, key=lambda pair: (-int(counts[pair]), best[pair][1]))
    return {
        (int(i[p]), int(j[p])): Phrase(
            best[p][1],
            int(counts[p]),
            (float(counts[p] / occurrences[i[p]]), float(counts[p] / occurrences[j[p]])),
            float(association[p]),
        )
        for p in order
    }


def _spread(texts: Iterable[str], most: int) -> list[str]:
    """At most so many of the texts, at equal distances: collections are often sorted by label."""
    kept: list[str] = []
    step = 1
    for number, text in enumerate(texts):
        if number % step == 0:
            if len(kept) == most:
                kept, step = kept[::2], 2 * step
                if number % step:
                    continue
            kept.append(text[:LONGEST_TEXT])
    return kept


class _Numbers(dict[str, int]):
    """word ↦ its number, in the order in which words are met."""

    def __missing__(self, word: str) -> int:
        number = self[word] = len(self)
        return number


def _number(texts: list[str], analysis: TextAnalysis) -> tuple[list[str], Integers]:
    """The distinct words, and the number of every word of the texts with -1 at every gap."""
    numbers = _Numbers()
    arrays = [np.empty(0, np.int64)]
    for text in texts:
        for piece in (text,) if analysis.pretokenised else _GAP.split(text):
            words = list(chain.from_iterable(analysis.words(piece)))
            if words:
                arrays.append(np.array([*map(numbers.__getitem__, words), OUTSIDE], np.int64))
    return list(numbers), np.concatenate(arrays)


_GAP = re.compile(
    r"""[.,;:!?()\[\]{}<>"/\\|*=+~^@#&$%…—“”„«»。、，！？；：（）「」『』।؟،؛]+"""
    r"""|\s[-–']+\s|\n\s*\n"""
)
"""What parts neighbours: empty lines and punctuation, but no hyphen or apostrophe in a word."""
