"""The k best of n documents for a query, exactly. n documents, F features, Q queries.

A document's score is a weighted sum of two cosines, of features and of words. A float32 product
finds the few rows that may be among the best, and float64 decides their order. The product alone
would not do: its last bits depend on the place of a row in its block and on how many queries share
it, so that equal documents get unequal scores.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from docboltz.search.codes import Codes, codes_of
from docboltz.search.vectors import Floats
from docboltz.search.words import Rows, WordIndex

Cosines = NDArray[np.float64]

# 16 MB of float32 scores: 16,384 rows for 256 queries, 4 million for one. Smaller products wait for
# the threads of BLAS: on two busy cores 13 of them took 90 ms where one took 8 ms.
SCORES_AT_ONCE = 1 << 22
QUERIES_AT_ONCE = 256
# A few queries in a small collection: piece by piece, each of which stays in a core's own cache for
# all of them and is too small for threads. For 20,000 rows of 128 and 8 queries on two busy cores
# that took 2 ms where the product of matrices took 3 ms on one thread and 14 ms on two.
FEW_QUERIES, FEW_NUMBERS, NUMBERS_AT_ONCE = 16, 1 << 23, 1 << 18
CANDIDATES = 3000
"""Documents that bits find for a query, and whose features decide."""
ROWS_AT_ONCE = 8192  # in float64: equal documents may bring all rows there


class Weights(NamedTuple):
    """What the two cosines count for in a score; together 1."""

    features: float
    words: float


class Queries(NamedTuple):
    """What is asked for."""

    features: Floats
    """Unit vectors, or zeros: (Q, F)."""
    words: csr_array
    """Unit vectors, or zeros: (Q, K)."""


class Best(NamedTuple):
    """The best documents of each query, best first: (Q, k) each."""

    rows: Rows
    features: Cosines
    """Cosines of features; 0 where they count for nothing."""
    words: Cosines
    """Cosines of words; 0 where they count for nothing."""

    def scores(self, weights: Weights) -> Cosines:
        """The sums they are ordered by."""
        scores: Cosines = weights.features * self.features + weights.words * self.words
        return scores


def nearest(
    X: Floats, words: WordIndex, queries: Queries, k: int, excluded: Rows, weights: Weights
) -> Best:
    """Find the k documents of the highest scores for each query.

    X is (n, F), unit vectors or zeros. Equal scores come in the order of the rows. Rows in
    `excluded`, in order, are left out; k is cut to the number of the others. Where features count
    for nothing, documents that share no word with the query are no hits: their rows are -1. A
    query's answer has the same bits in any batch and on any number of threads.

    FloatingPointError tells that a document's features or words are no unit vector.
    """
    k = min(k, len(X) - len(excluded))
    Q = len(queries.features)
    best = Best(np.full((Q, k), -1, np.int64), np.zeros((Q, k)), np.zeros((Q, k)))
    at_once = QUERIES_AT_ONCE
    if weights.words:  # whose scores are held for all documents at once
        at_once = min(at_once, max(1, SCORES_AT_ONCE // len(X)))
    for begin in range(0, Q if k else 0, at_once):
        part = slice(begin, begin + at_once)
        some = Queries(queries.features[part], queries.words[part])
        places = Best(best.rows[part], best.features[part], best.words[part])
        _fill(places, X, words, some, excluded, weights)
    return best


def _fill(
    best: Best, X: Floats, words: WordIndex, queries: Queries, excluded: Rows, weights: Weights
) -> None:
    """Put the best of a few queries into the places of `best`."""
    Q, k = best.rows.shape
    scores = np.full((Q, k), -2.0)  # below all scores: a place still to be taken
    of_features: Floats = np.float32(weights.features) * queries.features
    if weights.words:
        of_words = words.scores(queries.words * np.float32(weights.words))  # (Q, n)
    # Summed in any order, T products of unit vectors are off by at most T · 2^−24, as is the k-th
    # best they are compared with: twice that. Weights, the sum of features and words, and a cosine
    # above 1 by rounding, which counts as 1, add less than 8. The other 2 is for safety.
    terms = X.shape[1] + int(np.diff(queries.words.indptr).max(initial=0)) + 8
    margin = 4 * terms * 2.0**-24
    step = max(1, SCORES_AT_ONCE // Q)
    for begin in range(0, len(X), step):
        block = X[begin : begin + step]
        if not weights.words:
            rough = _products(of_features, block)
        else:
            rough = of_words[:, begin : begin + step]
            if weights.features:
                rough += _products(of_features, block)
            else:
                rough[rough == 0] = -np.inf  # only documents that share a word
        first, last = np.searchsorted(excluded, (begin, begin + len(block)))
        rough[:, excluded[first:last] - begin] = -np.inf
        for i, score in enumerate(rough):
            low = float(scores[i, -1])
            if np.count_nonzero(score > low) > k:  # as a rule in the first block only
                low = max(low, _reached(score, k))
            # NaN comes along, for the exact cosines to find.
            rows = begin + np.flatnonzero(~(score < low - margin))
            if len(rows):
                features, shared = exact_cosines(X, words, queries, i, rows, weights)
                exact = weights.features * features + weights.words * shared
                found = np.concatenate([scores[i], exact])
                order = np.argsort(-found, kind="stable")[:k]
                scores[i] = found[order]
                for whole, more in zip(best, (rows, features, shared), strict=True):
                    whole[i] = np.concatenate([whole[i], more])[order]


def nearest_by_codes(
    X: Floats,
    codes: Codes,
    words: WordIndex,
    queries: Queries,
    k: int,
    excluded: Rows,
    weights: Weights,
) -> Best:
    """As `nearest`, of the documents whose bits and words look best; `excluded` is in order.

    Scores are exact, as are the best of a collection of no more documents than `CANDIDATES`. How
    many of the best are missed in a large one is measured in docs/lab/search.md.
    """
    k = min(k, len(X) - len(excluded))
    Q, n = len(queries.features), max(CANDIDATES, 4 * k)
    best = Best(np.full((Q, k), -1, np.int64), np.zeros((Q, k)), np.zeros((Q, k)))
    asked = codes_of(queries.features)
    for i in range(Q if k else 0):
        of_words = None
        if weights.words:
            of_words = words.scores(queries.words[[i]] * np.float32(weights.words))[0]  # (n,)
        rows = codes.likely(asked[i], n, weights.features, of_words, excluded)
        found = exact_cosines(X, words, queries, i, rows, weights)
        scores = weights.features * found[0] + weights.words * found[1]
        order = np.argsort(-scores, kind="stable")[:k]
        for whole, part in zip(best, (rows, *found), strict=True):
            whole[i] = part[order]
    return best


def without_own(found: Best, own: Rows, k: int) -> Best:
    """The k best of k + 1 for documents of the collection, (Q,): none is among its own hits."""
    is_own = found.rows == own[:, None]
    n = found.rows.shape[1]
    if is_own.any(1).all():  # else some are left out by a filter, or k equal ones came before them
        n -= 1
    last = np.argsort(is_own, axis=1, kind="stable")[:, : min(k, n)]
    rows = np.where(is_own, -1, found.rows)
    rows, features, words = (np.take_along_axis(x, last, 1) for x in (rows, *found[1:]))
    return Best(rows, features, words)


def _products(queries: Floats, X: Floats) -> Floats:
    """Products of queries with rows: (Q, rows)."""
    if len(queries) > FEW_QUERIES or X.size > FEW_NUMBERS:
        product: Floats = queries @ X.T
        return product
    found = np.empty((len(queries), len(X)), np.float32)
    step = max(1, NUMBERS_AT_ONCE // X.shape[1])
    for begin in range(0, len(X), step):
        piece = X[begin : begin + step]
        for query, places in zip(queries, found, strict=True):
            np.dot(piece, query, out=places[begin : begin + step])
    return found


def _reached(scores: Floats, k: int) -> float:
    """A number that at least k of the scores reach, and few more."""
    if len(scores) > 1024 * k:  # the best of every 64, in a tenth of the time
        n = len(scores) // 64
        scores = scores[: 64 * n].reshape(64, n).max(0)
    return float(np.partition(scores, len(scores) - k)[len(scores) - k])


def exact_cosines(
    X: Floats, words: WordIndex, queries: Queries, i: int, rows: Rows, weights: Weights
) -> tuple[Cosines, Cosines]:
    """Cosines of features and of words in float64, of a query with some documents."""
    features, shared = np.zeros(len(rows)), np.zeros(len(rows))
    query = queries.features[i].astype(np.float64)
    own = slice(queries.words.indptr[i], queries.words.indptr[i + 1])
    asked = np.zeros(queries.words.shape[1])
    asked[queries.words.indices[own]] = queries.words.data[own]
    for begin in range(0, len(rows), ROWS_AT_ONCE):
        part = slice(begin, begin + ROWS_AT_ONCE)
        if weights.features:
            # Products of two float32 are exact, and all rows are summed alike.
            features[part] = (X[rows[part]] * query).sum(1)
        if weights.words:
            shared[part] = words.exact(rows[part], asked)
    for cosines, what in ((features, "features"), (shared, "weights of words")):
        if not (np.abs(cosines) < 1.001).all():
            raise FloatingPointError(f"its {what} are not unit vectors")
    return features.clip(-1, 1), shared.clip(-1, 1)
