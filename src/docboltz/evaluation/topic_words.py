"""Which words a topic stands for: those that documents with it have more of than those without.

n documents, K words, F features, each between 0 (the document does not have it) and 1 (it does).

A single weight says little: a topic unit works together with all others, and many weak weights make
its meaning. What it means shows in the documents that switch it on.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array, issparse

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
