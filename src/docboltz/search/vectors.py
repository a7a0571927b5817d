"""Unit vectors of features, their bits, and the best of n documents for a query. F features.

A document's score is what its features and its words add: the cosine of features by a weight, and
a number that is known for every document. A float32 product, or in very large collections the
distance of bits, finds the rows that may be among the best, and float64 decides their order. The
product alone would not do: its last bits depend on the place of a row in its block and on how many
queries share it, so that equal documents get unequal scores.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Scores = NDArray[np.float64]
Rows = NDArray[np.int64]
Codes = NDArray[np.uint64]

# Queries in a small collection: piece by piece, each of which stays in a core's own cache for all
# of them and is too small for threads. For 20,000 rows of 128 and 8 queries on two busy cores that
# took 2 ms where the product of matrices took 3 ms on one thread and 14 ms on two.
FEW_QUERIES, FEW_NUMBERS, NUMBERS_AT_ONCE = 16, 1 << 23, 1 << 18
EXACT_AT_ONCE = 8192  # in float64: equal documents may bring all rows there
CODES_AT_ONCE = 1 << 15  # whose distances stay in a core's own cache


def unit_vectors(vectors: Floats, mean: Floats | None) -> Floats:
    """x ↦ (x − mean) / |x − mean|, in float64 up to the last rounding; 0 ↦ 0.

    A vector of zeros stands for a document nothing is known of. It stays 0 with a mean as well, so
    that its cosine with everything is 0.
    """
    x = np.asarray(vectors, np.float64)
    if mean is not None:
        x = np.where(x.any(1, keepdims=True), x - mean, 0)
    norm = np.linalg.norm(x, axis=1, keepdims=True)
    unit = np.zeros(x.shape, np.float32)
    np.divide(x, norm, out=unit, where=norm > 0, casting="same_kind")
    return unit


def codes_of(vectors: Floats) -> Codes:
    """A bit for each feature above 0, which is the mean of centred ones: (n, F / 64 rounded up).

    The bits of ten million documents with 128 features are 160 MB, which stay in memory.
    """
    n, F = vectors.shape
    packed = np.zeros((n, 8 * -(-F // 64)), np.uint8)
    packed[:, : (F + 7) // 8] = np.packbits(vectors > 0, axis=1)
    return packed.view("<u8")


class Best(NamedTuple):
    """The best documents of each query, best first: (Q, k) each."""

    rows: Rows
    """−1 where there are fewer."""
    features: Scores
    """What features add to the score."""
    words: Scores
    """What words add to it."""

    @classmethod
    def none(cls, n_queries: int, k: int) -> Best:
        """Places still to be taken."""
        shape = n_queries, k
        return cls(np.full(shape, -1, np.int64), np.zeros(shape), np.zeros(shape))

    def take(self, i: int, rows: Rows, features: Scores, words: Scores) -> None:
        """Fill the places of query i with the best of some rows, which come in order.

        Equal scores stay in that order. A document that has no word of the query and whose score
        is 0 or less is no hit.
        """
        hits = np.flatnonzero((features + words > 0) | (words > 0))
        order = hits[np.argsort(-(features + words)[hits], kind="stable")[: self.rows.shape[1]]]
        for places, found in zip(self, (rows, features, words), strict=True):
            places[i, : len(order)] = found[order]


def products(queries: Floats, X: Floats) -> Floats:
    """Products of queries with rows: (Q, rows)."""
    if len(queries) > FEW_QUERIES or X.size > FEW_NUMBERS:
        product: Floats = queries @ X.T
        return product
    found = np.empty((len(queries), len(X)), np.float32)
    step = max(1, NUMBERS_AT_ONCE // X.shape[1])
    for begin in range(0, len(X), step):
        for query, places in zip(queries, found, strict=True):
            np.dot(X[begin : begin + step], query, out=places[begin : begin + step])
    return found


def candidates(rough: Floats, k: int, n_features: int) -> Rows:
    """The rows that may have one of the k highest scores, by float32 scores (n,) of all."""
    # Summed in any order, F products of unit vectors are off by at most F · 2^−24, as is the k-th
    # best they are compared with: twice that. Rounding what words add is off by less than 8 · 2^−24
    # where scores are below 4; the rest is for safety.
    margin = 4 * (n_features + 16) * 2.0**-24
    low, best = 0.0, rough
    if len(rough) > 1024 * k:  # the best of every 64: at least k reach the k-th of them, few more
        best = rough[: len(rough) // 64 * 64].reshape(-1, 64).max(1)
    if len(best) > k:
        low = max(low, float(np.partition(best, len(best) - k)[len(best) - k]))
    return np.flatnonzero(~(rough < low - margin))  # NaN comes along, for the cosines to find


def likely(codes: Codes, query: Floats, n: int, weight: float, words: Floats) -> Rows:
    """The n rows of the highest scores by bits, in order of rows.

    A score is `weight` times the cosine of features, for which that of bits stands, and what
    `words` adds for each document; −∞ leaves a document out.
    """
    lost = np.float32(-2 * weight / len(query))  # by a bit that differs
    asked, best = codes_of(query[None])[0], (np.empty(0, np.int64), np.empty(0, np.float32))
    for first in range(0, len(codes), CODES_AT_ONCE):
        block = codes[first : first + CODES_AT_ONCE]
        distance: NDArray[Any] = np.zeros(len(block), np.uint16)
        for word, bits in zip(asked, block.T, strict=True):
            distance += np.bitwise_count(bits ^ word)
        score = distance * lost + words[first : first + len(block)]
        low = best[1].min() if len(best[1]) >= n else -np.inf
        found = np.flatnonzero(score > low)
        rows, scores = np.append(best[0], found + first), np.append(best[1], score[found])
        if len(rows) > 4 * n or first + len(block) == len(codes):
            order = np.sort(np.argsort(-scores, kind="stable")[:n])  # the first of equals stay
            rows, scores = rows[order], scores[order]
        best = rows, scores
    return best[0]


def cosines(X: Floats, query: Floats, rows: Rows) -> Scores:
    """Cosines in float64 of a query with some documents; ValueError if these are no unit vectors.

    Products of two float32 are exact in float64, and all rows are summed alike.
    """
    found, exact = np.zeros(len(rows)), query.astype(np.float64)
    for begin in range(0, len(rows), EXACT_AT_ONCE):
        part = slice(begin, begin + EXACT_AT_ONCE)
        found[part] = (X[rows[part]] * exact).sum(1)
    if not (np.abs(found) < 1.001).all():
        raise ValueError("its features are not unit vectors")
    return found.clip(-1, 1)
