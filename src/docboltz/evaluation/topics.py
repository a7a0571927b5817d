"""Are topics any good? Their words should occur together, and topics should not repeat each other.

n documents, K words; T topics, each given by the columns of its k words (see `topic_words`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csc_array, issparse

from docboltz.errors import require


def topic_coherence(words: ArrayLike, counts: Any) -> NDArray[np.float64]:
    """NPMI of each topic (T,): the mean over all pairs of its words, from -1 to 1.

    NPMI(i, j) = log(p_ij / (p_i p_j)) / -log p_ij, where p_i is the share of the documents of
    `counts` (n, K) that hold word i and p_ij of those that hold both. Two words that never occur
    together have -1, even if one of them never occurs at all; two that are both in every document
    have 1, the limit for words that are always together. `words` (T, k) holds columns of `counts`.

    >>> topic_coherence([[0, 1], [0, 2]], csc_array([[1, 1, 0], [2, 1, 0], [0, 0, 1], [0, 0, 3]]))
    array([ 1., -1.])
    """
    require(issparse(counts), "topic_coherence", "counts", "a sparse matrix", type(counts))
    n, K = counts.shape
    columns = _columns(words, "topic_coherence")
    k = columns.shape[1]
    require(k > 1, "topic_coherence", "words", "at least two words a topic", columns.shape)
    known = columns.min() >= 0 and columns.max() < K
    require(known, "topic_coherence", "words", f"columns from 0 to {K - 1}", columns)
    distinct = all(len(set(row)) == k for row in columns.tolist())
    require(distinct, "topic_coherence", "words", "different within a topic", columns)
    used, place = np.unique(columns, return_inverse=True)
    # Only the columns of topic words are copied, and they stay sparse.
    presence = csc_array(counts[:, used] > 0, dtype=np.float64)  # (n, used)
    pairs = np.triu_indices(k, 1)
    coherence = []
    for topic in place.reshape(columns.shape):
        together = presence[:, topic]
        p = (together.T @ together).toarray() / n  # (k, k); p_i on the diagonal
        coherence.append(_npmi(p[pairs], np.diag(p)[pairs[0]], np.diag(p)[pairs[1]]).mean())
    return np.array(coherence)


def topic_diversity(words: ArrayLike) -> float:
    """Share of different words among the k words of all topics (T, k): 1 if none is repeated.

    >>> topic_diversity([[0, 1], [0, 2]])
    0.75
    """
    columns = _columns(words, "topic_diversity")
    return len(np.unique(columns)) / columns.size


def _columns(words: ArrayLike, owner: str) -> NDArray[np.int64]:
    columns = np.asarray(words)
    table = columns.ndim == 2 and columns.size > 0 and columns.dtype.kind in "iu"
    require(table, owner, "words", "column numbers of shape (n_topics, k)", columns)
    return columns.astype(np.int64)


def _npmi(
    both: NDArray[np.float64], one: NDArray[np.float64], other: NDArray[np.float64]
) -> NDArray[np.float64]:
    with np.errstate(divide="ignore", invalid="ignore"):
        npmi = np.log(both / (one * other)) / -np.log(both)
    return np.where(both == 0, -1.0, np.where(both == 1, 1.0, npmi))
