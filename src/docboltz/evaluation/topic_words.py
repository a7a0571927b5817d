"""Which words a topic stands for: those that documents with it have more of than those without.

n documents, K words, F features, each between 0 (the document does not have it) and 1 (it does).
T topics, each given by the columns of its k words: are they any good? The words of a topic should
occur together, and topics should not repeat each other.

A single weight says little: a topic unit works together with all others, and many weak weights make
its meaning. What it means shows in the documents that switch it on.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csc_array, csr_array, diags_array, issparse

from docboltz.errors import is_whole, require

BLOCK_DOCUMENTS = 65_536


class TopicTally:
    """The words of documents with and without each of F features, added up block by block."""

    def __init__(self, n_words: int, n_features: int) -> None:
        self._on = np.zeros((n_words, n_features))  # words, as shares, weighted by the feature
        self._words = np.zeros(n_words)
        self._weight = np.zeros(n_features)
        self._n_documents = 0

    def add(self, features: Any, counts: csr_array) -> None:
        """Take in documents: features (n, F), dense or sparse, and counts (n, K), no row empty."""
        shares = diags_array(1 / counts.sum(axis=1)) @ counts
        on = shares.T @ features
        self._on += on.toarray() if issparse(on) else on
        self._words += shares.sum(axis=0)
        self._weight += np.asarray(features.sum(0, dtype=np.float64)).reshape(-1)
        self._n_documents += counts.shape[0]

    @property
    def activity(self) -> NDArray[np.float64]:
        """Mean of each feature over the documents: (F,)."""
        return self._weight / self._n_documents

    def divergence(self, feature: int) -> NDArray[np.float64]:
        """What each word adds to the KL divergence, in bits, of documents with from without: (K,).

        By this measure neither a rare word leads nor one that hardly differs.
        """
        average = self._words / self._n_documents
        on, weight = self._on[:, feature], self._weight[feature]
        # One average document on either side keeps words that are only ever on, or off, finite.
        with_topic = (on + average) / (weight + 1)
        without = (self._words - on + average) / (self._n_documents - weight + 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.nan_to_num(with_topic * np.log2(with_topic / without)))


def topic_words(features: Any, counts: csr_array, k: int = 10) -> NDArray[np.int64]:
    """Columns of the k words that stand for each feature, clearest first: (F, k).

    `features` (n, F), dense or sparse, must not be negative; a column that goes beyond 1 is divided
    by its largest. `counts` is (n, K); documents without words are left out. Words come in order of
    what they add to the divergence (see `TopicTally`), ties in order of columns.

    >>> counts = csr_array([[3, 1, 0], [2, 2, 0], [0, 1, 3]])
    >>> topic_words(np.array([[0.9, 0.1], [0.8, 0.1], [0.1, 0.9]]), counts, k=1)
    array([[0],
           [2]])
    """
    n, K = counts.shape
    require(is_whole(k) and 1 <= k <= K, "topic_words", "k", f"from 1 to {K} words", k)
    values = csr_array(features) if issparse(features) else np.asarray(features)
    fits = values.ndim == 2 and values.shape[0] == n
    require(fits, "topic_words", "features", f"of shape ({n}, n_features)", values.shape)
    largest = values.max(axis=0)
    largest = largest.toarray().reshape(-1) if issparse(values) else largest
    least = values.min()
    require(bool(least >= 0), "topic_words", "features", "0 or more and not NaN", least)
    scale = 1 / np.maximum(largest, 1)
    tally = TopicTally(K, values.shape[1])
    for begin in range(0, n, BLOCK_DOCUMENTS):
        block = counts[begin : begin + BLOCK_DOCUMENTS]
        has_words = np.diff(block.indptr) > 0
        part = values[begin : begin + BLOCK_DOCUMENTS][has_words]
        tally.add(part @ diags_array(scale) if issparse(part) else part * scale, block[has_words])
    best = (np.argsort(-tally.divergence(j), kind="stable")[:k] for j in range(values.shape[1]))
    return np.stack(list(best))


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
