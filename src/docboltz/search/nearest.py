"""The k best of n documents for a query, exactly. n documents, F features, Q queries.

A document's score is a weighted sum of two cosines, of features and of words. A float32 product
finds the few rows that may be among the best, and float64 settles their order. The product alone
would not do: its last bits depend on the place of a row in its block and on how many queries share
it, so that equal documents get unequal scores.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from docboltz.search.vectors import Floats
from docboltz.search.words import Rows, WordIndex

Cosines = NDArray[np.float64]

# 16 MB of float32 scores: 16,384 rows for 256 queries, 4 million for one. Smaller products wait for
# the threads of BLAS: on two busy cores 13 of them took 90 ms where one took 8 ms.
SCORES_AT_ONCE = 1 << 22
QUERIES_AT_ONCE = 256
ROWS_AT_ONCE = 8192  # in float64: equal documents may bring all rows there


class Weights(NamedTuple):
    """What the two cosines count for in a score; together 1."""

    topics: float
    words: float


class Queries(NamedTuple):
    """What is asked for."""

    topics: Floats
    """Unit vectors, or zeros: (Q, F)."""
    words: csr_array
    """Unit vectors, or zeros: (Q, K)."""


class Best(NamedTuple):
    """The best documents of each query, best first: (Q, k) each."""

    rows: Rows
    topics: Cosines
    words: Cosines

    def scores(self, weights: Weights) -> Cosines:
        """The sums they are ordered by."""
        scores: Cosines = weights.topics * self.topics + weights.words * self.words
        return scores


def nearest(
    X: Floats, words: WordIndex, queries: Queries, k: int, excluded: Rows, weights: Weights
) -> Best:
    """Find the k documents of the highest scores for each query.

    X is (n, F), unit vectors or zeros. Equal scores come in the order of the rows. Rows in
    `excluded` are left out; k is cut to the number of the others. Where features count for nothing,
    documents that share no word with the query are no hits: their rows are -1. A query's answer
    has the same bits in any batch and on any number of threads.

    FloatingPointError tells that a row of X is no unit vector.
    """
    k = min(k, len(X) - len(excluded))
    Q = len(queries.topics)
    best = Best(np.zeros((Q, k), np.int64), np.zeros((Q, k)), np.zeros((Q, k)))
    # Word scores are held for all documents at once.
    at_once = (
        min(QUERIES_AT_ONCE, max(1, SCORES_AT_ONCE // len(X)))
        if weights.words
        else (QUERIES_AT_ONCE)
    )
    for begin in range(0, Q if k else 0, at_once):
        part = slice(begin, begin + at_once)
        found = _nearest(
            X, words, Queries(queries.topics[part], queries.words[part]), k, excluded, weights
        )
        for whole, piece in zip(best, found, strict=True):
            whole[part] = piece
    return best


def _nearest(
    X: Floats, words: WordIndex, queries: Queries, k: int, excluded: Rows, weights: Weights
) -> Best:
    Q = len(queries.topics)
    best = Best(np.full((Q, k), -1, np.int64), np.zeros((Q, k)), np.zeros((Q, k)))
    scores = np.full((Q, k), -2.0)  # below all scores: a place still to be taken
    of_words = words.scores(queries.words) if weights.words else None  # (Q, n)
    # Summed in any order, F products are off by at most F · 2^−24, as is the k-th best they are
    # compared with; a cosine above 1 by rounding, at most 2 · 2^−24, counts as 1.
    terms = X.shape[1] + int(np.diff(queries.words.indptr).max(initial=0)) + 2
    margin = 4 * terms * 2.0**-24
    step = max(1, SCORES_AT_ONCE // Q)
    for begin in range(0, len(X), step):
        block = X[begin : begin + step]
        if weights.topics:
            rough = weights.topics * (queries.topics @ block.T)  # (Q, rows of the block)
        else:  # only documents that share a word
            assert of_words is not None
            rough = np.where(of_words[:, begin : begin + step] > 0, np.float32(0), -np.inf)
        if of_words is not None:
            rough += weights.words * of_words[:, begin : begin + step]
        out = excluded[(excluded >= begin) & (excluded < begin + len(block))]
        rough[:, out - begin] = -np.inf
        for i, score in enumerate(rough):
            low = float(scores[i, -1])
            if np.count_nonzero(score > low) > k:  # as a rule in the first block only
                low = _kth_best(score, k)
            near = np.flatnonzero(~(score < low - margin))  # NaN comes along, for _exact to find
            if len(near):
                rows = begin + near
                topics = _exact(block, near, queries.topics[i])
                shared = np.zeros(len(near))
                if of_words is not None:
                    shared = words.exact(rows, _dense(queries.words, i))
                found = weights.topics * topics + weights.words * shared
                order = np.argsort(-np.concatenate([scores[i], found]), kind="stable")[:k]
                scores[i] = np.concatenate([scores[i], found])[order]
                for whole, more in zip(best, (rows, topics, shared), strict=True):
                    whole[i] = np.concatenate([whole[i], more])[order]
    return best


def _kth_best(scores: Floats, k: int) -> float:
    return float(np.partition(scores, len(scores) - k)[len(scores) - k])


def _dense(vectors: csr_array, i: int) -> Cosines:
    dense = np.zeros(vectors.shape[1])
    own = slice(vectors.indptr[i], vectors.indptr[i + 1])
    dense[vectors.indices[own]] = vectors.data[own]
    return dense


def _exact(X: Floats, rows: Rows, query: Floats) -> Cosines:
    """Cosines in float64: products of two float32 are exact, and all rows are summed alike."""
    q = query.astype(np.float64)
    parts = (rows[begin : begin + ROWS_AT_ONCE] for begin in range(0, len(rows), ROWS_AT_ONCE))
    cosines: Cosines = np.concatenate([(X[part] * q).sum(1) for part in parts])
    if not (np.abs(cosines) < 1.001).all():
        raise FloatingPointError("its features are not unit vectors")
    return cosines.clip(-1, 1)
