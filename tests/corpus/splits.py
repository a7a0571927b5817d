"""Small splits for tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from docboltz.corpus.corpus import Corpus, Vocabulary
from docboltz.corpus.document import Document
from docboltz.corpus.split import Counting, Split, count_split

THEMES = {
    "sea": ["ship", "harbour", "sail", "wave", "captain", "anchor", "tide"],
    "food": ["bread", "butter", "soup", "oven", "salt", "flour", "sugar"],
    "space": ["rocket", "orbit", "moon", "planet", "star", "launch", "engine"],
}


def sentences(n: int = 60, *, labels: int = 1) -> list[Document]:
    """Short documents of three themes."""
    rng = np.random.default_rng(0)
    themes = list(THEMES)
    found = []
    for number in range(n):
        theme = themes[number % 3]
        text = " ".join(rng.choice(THEMES[theme], 6))
        own = (theme,) if labels == 1 else (theme, f"kind {number % 2}")
        found.append(Document(str(number), text, own if labels else ()))
    return found


def split_of(documents: Sequence[Document], **options: Any) -> Split:
    """Documents counted with all their words."""
    return count_split(documents, Counting(min_df=1, max_df=1.0), **options)


def corpus_of(counts: Any, labels: Sequence[Sequence[str]]) -> Corpus:
    """Counts whose words are called by numbers."""
    matrix = csr_array(counts)
    words = Vocabulary(map(str, range(matrix.shape[1])))
    return Corpus(matrix, tuple(map(str, range(len(labels)))), tuple(map(tuple, labels)), words)


def tiny_split(*, several_labels: bool = False) -> Split:
    """Three groups of documents, each with ten words of its own: 60 to learn from, 30 to test."""
    rng = np.random.RandomState(0)
    group = np.arange(90) % 3
    counts = np.zeros((90, 30), np.int64)
    for row, g in enumerate(group):
        np.add.at(counts[row], 10 * g + rng.randint(10, size=rng.randint(3, 15)), 1)
    more = ["even"] if several_labels else []
    labels = [[str(g), *(more if row % 2 == 0 else [])] for row, g in enumerate(group)]
    return Split(corpus_of(counts[:60], labels[:60]), corpus_of(counts[60:], labels[60:]))
