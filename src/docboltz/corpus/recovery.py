"""Counts from the tf-idf weights in which RCV1-v2 is published.

A weight is  w_dt = s_d · (1 + ln tf_dt) · ln(n / df_t),  where s_d makes the squares of a document
sum to 1. Only w is given. The counts follow because both factors come from small sets: tf is a
whole number, mostly 1, and df_t is a whole number from 1 to n = 23,307, the documents on which the
collection's authors computed it.

1. In logarithms w is a sum of a document's part, a term's part and a level log(1 + ln tf).
   Alternating medians, each entry at its nearest level, find the parts up to one common factor.
2. The common factor is the one that makes n·exp(−idf_t) whole for as many terms as possible.
3. Each term's df, then each document's s_d, is chosen as the most probable one given all its
   entries, with whole tf and P(tf) ∝ tf^−2.2. This repairs terms that rarely occur just once, which
   medians take for more frequent ones at a lower level.

Legend: entries of the sparse matrix in row order; `rows` and `cols` are their documents and terms.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from docboltz.errors import InvalidCorpus

N_REFERENCE = 23_307
MAX_TF = 5000
FIRST_DOCUMENTS = 20_000
"""Documents for step 1: enough to see every term that is not rare."""
ROUNDS = 3
"""Of step 3."""
TERM_ENTRIES = 48
"""Entries of a term that decide on its df. A few would do; a wrong s_d among them must not."""
MOST_OFTEN = 4, 60
"""How often a typical entry of a document, and of a term, may occur."""
TYPICAL = (0.3, 0.5, 0.7)
"""Quantiles of a group's entries, one of which at least has no error."""

Floats = NDArray[np.float64]

_LEVELS = np.log1p(np.log(np.arange(1, MAX_TF + 1)))
_BETWEEN = (_LEVELS[1:] + _LEVELS[:-1]) / 2


def recover_counts(weights: csr_array, n_reference: int = N_REFERENCE) -> csr_array:
    """The whole counts tf from cosine-normalised weights (1 + ln tf) · ln(n / df).

    Exact for more than 99.9 % of the entries of RCV1-v2 with weights of six decimals.
    """
    weights = csr_array(weights, dtype=np.float64)
    if weights.nnz == 0 or weights.data.min() <= 0 or weights.data.max() > 1 + 1e-6:
        raise InvalidCorpus(
            "recover_counts() expects cosine-normalised tf-idf weights, above 0 and up to 1; got "
            f"{weights.nnz} weights"
            + (f" from {weights.data.min():g} to {weights.data.max():g}." if weights.nnz else ".")
        )
    n, n_terms = weights.shape
    some = np.unique(np.linspace(0, n - 1, FIRST_DOCUMENTS).astype(int))
    idf, noise = _first_guess(weights[some], n_reference)
    w, cols = weights.data, weights.indices
    rows = np.repeat(np.arange(n, dtype=np.int32), np.diff(weights.indptr))
    tolerance = np.maximum(3 * noise / w, 2e-6)  # rounding, and what the factors inherit from it
    by_term, sizes = np.argsort(cols, kind="stable"), np.bincount(cols, minlength=n_terms)
    rank = np.arange(len(w)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    few = by_term[rank < TERM_ENTRIES]
    tf = np.ones(len(w))
    for _ in range(ROUNDS):
        values = w / idf[cols]
        scale = _most_probable(values, rows, n, tolerance, MOST_OFTEN[0])
        tf = _nearest_tf(values / scale[rows])
        scale = _group_quantile(values / (1 + np.log(tf)), rows, n, 0.5)
        values = w[few] / scale[rows[few]]
        idf = _most_probable(values, cols[few], n_terms, tolerance[few], MOST_OFTEN[1], n_reference)
    return csr_array((tf.astype(np.int32), weights.indices, weights.indptr), shape=weights.shape)


def _first_guess(weights: csr_array, n_reference: int) -> tuple[Floats, float]:
    """Steps 1 and 2: the idf of every term, and the noise of the weights."""
    n, n_terms = weights.shape
    rows, cols = np.repeat(np.arange(n), np.diff(weights.indptr)), weights.indices
    log_w, df = np.log(weights.data), np.bincount(cols, minlength=n_terms)
    term = np.log(np.log((n + 1) / np.maximum(df, 0.5)))
    # About 72 % of the entries have tf = 1, so this quantile is the median of those.
    document = _group_quantile(log_w - term[cols], rows, n, 0.36)
    for _ in range(30):
        lowered = log_w - _level(log_w - document[rows] - term[cols])
        term = _group_quantile(lowered - document[rows], cols, n_terms, 0.5)
        lowered = log_w - _level(log_w - document[rows] - term[cols])
        before = document
        document = _group_quantile(lowered - term[cols], rows, n, 0.5)
        if np.abs(document - before).max() < 1e-7:
            break
    noise = float(np.median(np.abs(lowered - document[rows] - term[cols]) * weights.data)) / 0.6745
    return np.exp(term) * _common_factor(np.exp(term[df >= 3]), n_reference), noise


def _common_factor(idf: Floats, n_reference: int) -> float:
    """The factor that puts idf on the grid ln(n / df), df = 1, 2, 3, …"""

    def on_grid(factor: float, largest: float) -> float:
        df = n_reference * np.exp(-factor * idf)
        near = df[(df > 0.5) & (df < largest)]
        return float(np.cos(2 * np.pi * near).sum())

    # df moves by df·idf times the relative step; a tenth of the grid is a safe step. The terms of
    # low df find the place without getting lost between grid points, the others then sharpen it.
    best, width = 1.0, 0.25
    for largest in (300.0, 1000.0, 3000.0):
        step = 0.04 / (5 * largest)
        factors = best * np.exp(np.arange(-width, width + step, step))
        best = float(factors[np.argmax([on_grid(factor, largest) for factor in factors])])
        width = 4 * step
    return best


def _most_probable(
    values: Floats,
    groups: NDArray[np.int32],
    n: int,
    tolerance: Floats,
    most_often: int,
    n_reference: int = 0,
) -> Floats:
    """Step 3: the unit of each group, whose values are multiples by 1 + ln tf with whole tf.

    With a number of reference documents units are ln(n / df) with whole df.
    """
    typical = [_group_quantile(values, groups, n, quantile) for quantile in TYPICAL]
    best, most = np.ones(n), np.full(n, -np.inf)
    for unit in (each / (1 + np.log(1 + i)) for each in typical for i in range(most_often)):
        if n_reference:
            df = np.clip(np.rint(n_reference * np.exp(-unit)), 1, n_reference - 1)
            unit = np.log(n_reference / df)
        ratio = values / unit[groups]
        tf = _nearest_tf(ratio)
        error = (ratio / (1 + np.log(tf)) - 1) / tolerance
        # An entry that fits nowhere counts against a unit, but not without limit.
        fit = np.bincount(groups, np.maximum(-0.5 * error**2, -20) - 2.2 * np.log(tf), n)
        better = fit > most
        best[better], most[better] = unit[better], fit[better]
    return best


def _nearest_tf(ratio: Floats) -> Floats:
    return np.clip(np.rint(np.exp(np.minimum(ratio - 1, 9.0))), 1, MAX_TF)


def _level(log_ratio: Floats) -> Floats:
    """The value of log(1 + ln tf) nearest to each."""
    return np.asarray(_LEVELS[np.searchsorted(_BETWEEN, log_ratio)])


def _group_quantile(values: Floats, groups: NDArray[np.int32], n: int, quantile: float) -> Floats:
    """A quantile of the values of each group; 1 for a group without any."""
    size = np.bincount(groups, minlength=n)
    last = np.cumsum(size)
    place = last - size + (quantile * np.maximum(size - 1, 0)).astype(np.int64)
    result = np.ones(n)
    filled = size > 0
    result[filled] = values[np.lexsort((values, groups))][place[filled]]
    return result
