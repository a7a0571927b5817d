"""The score of a document: what it is about, and which words of the query it has.

With f the cosine of centred features, b the document's BM25 over all words divided by the best of
any document for the query, c the share of the query's idf that the document's words have, and u the
share of the query's words that the model does not know,

    score = (f + (.1 + u + .8 c⁴) b) / (1 + .1 + u + .8)

c⁴ is near 1 for a document that has all words and falls quickly: such documents come first, and
the others are ordered by what they are about. What the model does not know is left to words; where
it knows nothing, f is left out of both sums. Words that no document has do not count in c. 1 is a
document that is just what was asked for. Constants were chosen on validation queries of all
development collections, from two random words to whole documents: benchmarks/search.py and
docs/lab/search.md.
"""

from __future__ import annotations

from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from docboltz.search.vectors import Rows, Scores

By = Literal["both", "features", "words"]
BM25_WEIGHT, SHARE_WEIGHT, SHARE_POWER = 0.1, 0.8, 4
WAYS = ("both", "features", "words")


class Weights(NamedTuple):
    """What the parts of a score count: features · f + (bm25 + share · c⁴) · b."""

    features: float
    bm25: float
    share: float

    @classmethod
    def of(cls, by: By, known: bool, unknown: float) -> Weights:
        """For a query of which the model knows something, and does not know such a share."""
        if by != "both":
            return cls(1, 0, 0) if by == "features" else cls(0, 1, 0)
        whole = known + BM25_WEIGHT + unknown + SHARE_WEIGHT
        return cls(known / whole, (BM25_WEIGHT + unknown) / whole, SHARE_WEIGHT / whole)


class Matches:
    """Which of n documents have the terms of a query. T terms."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.forms: list[str] = []
        """The words to show."""
        self._rows: list[Rows] = []
        self._idf: list[float] = []
        self._bm25: list[Scores] = []

    def add(self, form: str, rows: Rows, idf: float, bm25: Scores) -> None:
        """Add a term: the documents that have it, in order, and what each scores for it."""
        self.forms.append(form)
        self._rows.append(rows)
        self._idf.append(idf)
        self._bm25.append(bm25)

    def scores(self, weights: Weights) -> tuple[Rows, Scores]:
        """The documents that have a term, in order, and what words add to their scores."""
        rows = np.flatnonzero(self._sums[0] > 0)
        return rows, self._factor(rows, weights) * self._sums[0][rows]

    def parts(self, rows: Rows, weights: Weights) -> Scores:
        """What each term adds to the score of some documents: (len(rows), T)."""
        found, factor = np.zeros((len(rows), len(self.forms))), self._factor(rows, weights)
        for t, (own, bm25) in enumerate(zip(self._rows, self._bm25, strict=True)):
            _, here, there = np.intersect1d(rows, own, return_indices=True)
            found[here, t] = factor[here] * bm25[there]
        return found

    def _factor(self, rows: Rows, weights: Weights) -> Scores:
        """What BM25 counts in some documents."""
        share = self._sums[1][rows]
        found: Scores = (weights.bm25 + weights.share * share**SHARE_POWER) / self._best
        return found

    @cached_property
    def _sums(self) -> tuple[Scores, Scores]:
        """BM25 and the share of idf of every document: (n,) each."""
        bm25, share = np.zeros(self.n), np.zeros(self.n)
        whole = sum(self._idf)
        for own, idf, score in zip(self._rows, self._idf, self._bm25, strict=True):
            bm25[own] += score
            share[own] += idf / whole
        return bm25, share

    @cached_property
    def _best(self) -> float:
        return float(self._sums[0].max(initial=0)) or 1.0
