"""The k nearest of n unit vectors by cosine, exactly. n documents, F features, Q queries.

A float32 product finds the few rows that may be among the best, and float64 settles their order.
The product alone would not do: its last bits depend on the place of a row in its block and on how
many queries share it, so that equal documents get unequal scores.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from docboltz.search.vectors import Floats

Rows = NDArray[np.int64]
Cosines = NDArray[np.float64]

QUERIES_AT_ONCE = 256
# 16 MB of float32 scores: 16,384 rows for 256 queries, 4 million for one. Smaller products wait for
# the threads of BLAS: on two busy cores 13 of them took 90 ms where one took 8 ms.
SCORES_AT_ONCE = 1 << 22
ROWS_AT_ONCE = 8192  # in float64: equal documents may bring all rows there


def nearest(X: Floats, queries: Floats, k: int, excluded: Rows) -> tuple[Rows, Cosines]:
    """Rows of X nearest to each query, best first, and their cosines: (Q, k) each.

    X is (n, F) and `queries` (Q, F), both unit vectors or zeros. Equal cosines come in the order of
    the rows. Rows in `excluded` are left out; k is cut to the number of the others. A query's
    answer has the same bits in any batch and on any number of threads.

    FloatingPointError tells that a row of X is no unit vector.
    """
    k = min(k, len(X) - len(excluded))
    # A query of zeros has cosine 0 with everything: these are its nearest.
    first = np.setdiff1d(np.arange(k + len(excluded)), excluded)[:k]
    rows = np.tile(first, (len(queries), 1))
    cosines = np.zeros(rows.shape)
    if not k:
        return rows, cosines
    known = np.flatnonzero(queries.any(1))
    for begin in range(0, len(known), QUERIES_AT_ONCE):
        batch = known[begin : begin + QUERIES_AT_ONCE]
        rows[batch], cosines[batch] = _nearest(X, queries[batch], k, excluded)
    return rows, cosines


def _nearest(X: Floats, queries: Floats, k: int, excluded: Rows) -> tuple[Rows, Cosines]:
    rows = np.zeros((len(queries), k), np.int64)
    cosines = np.full((len(queries), k), -2.0)  # below all cosines: a place still to be taken
    # Summed in any order, F products are off by at most F · 2^−24, as is the k-th best they are
    # compared with; a cosine above 1 by rounding, at most 2 · 2^−24, counts as 1.
    margin = 4 * X.shape[1] * 2.0**-24
    step = max(1, SCORES_AT_ONCE // len(queries))
    for begin in range(0, len(X), step):
        block = X[begin : begin + step]
        scores = queries @ block.T  # (Q, rows of the block)
        out = excluded[(excluded >= begin) & (excluded < begin + len(block))]
        scores[:, out - begin] = -np.inf
        for i, score in enumerate(scores):
            low = float(cosines[i, -1])
            if np.count_nonzero(score > low) > k:  # as a rule in the first block only
                low = _kth_best(score, k)
            near = np.flatnonzero(~(score < low - margin))  # NaN comes along, for _exact to find
            if len(near):
                found = np.concatenate([cosines[i], _exact(block, near, queries[i])])
                best = np.argsort(-found, kind="stable")[:k]
                rows[i] = np.concatenate([rows[i], begin + near])[best]
                cosines[i] = found[best]
    return rows, cosines


def _kth_best(scores: Floats, k: int) -> float:
    return float(np.partition(scores, len(scores) - k)[len(scores) - k])


def _exact(X: Floats, rows: Rows, query: Floats) -> Cosines:
    """Cosines in float64: products of two float32 are exact, and all rows are summed alike."""
    q = query.astype(np.float64)
    parts = (rows[begin : begin + ROWS_AT_ONCE] for begin in range(0, len(rows), ROWS_AT_ONCE))
    cosines: Cosines = np.concatenate([(X[part] * q).sum(1) for part in parts])
    if not (np.abs(cosines) < 1.001).all():
        raise FloatingPointError("its features are not unit vectors")
    return cosines.clip(-1, 1)
