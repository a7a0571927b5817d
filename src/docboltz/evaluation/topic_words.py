"""Which words a topic stands for: those that documents with it have more of than those without.

n documents, K words, F features, each between 0 (the document does not have it) and 1 (it does).
T topics, each given by the columns of its k words: are they any good? The words of a topic should
occur together, a word of another topic should stand out among them, and topics should not repeat
each other.

A single weight says little: a topic unit works together with all others, and many weak weights make
its meaning. What it means shows in the documents that switch it on.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csc_array, csr_array, diags_array, issparse

from docboltz.corpus.corpus import check_structure
from docboltz.errors import is_number, is_whole, require

BLOCK_DOCUMENTS = 65_536
SMOOTHING = 0.5
"""Meetings of two words that are added to those seen and to those expected: a Gamma prior of the
shape of Jeffreys' for a Poisson rate, with mean 1."""
ROUNDED = 12
"""Digits down to which sums of NPMI are equal, in whatever order they were added."""


class TopicTally:
    """The words of documents with and without each of F features, added up block by block."""

    def __init__(self, n_words: int, n_features: int) -> None:
        self._on = np.zeros((n_words, n_features))  # words, as shares, weighted by the feature
        self._words = np.zeros(n_words)
        self._weight = np.zeros(n_features)
        self._n_documents = 0

    def add(self, features: Any, counts: csr_array) -> None:
        """Take in documents: features (n, F), dense or sparse, and counts (n, K), no row empty."""
        for given in (features, counts):
            check_structure(given, "TopicTally.add")
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
    for given in (features, counts):
        check_structure(given, "topic_words")
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


def topic_coherence(
    words: ArrayLike, counts: Any, *, smoothing: float = SMOOTHING
) -> NDArray[np.float64]:
    """NPMI of each topic (T,): the mean over all pairs of its words, from -1 to 1.

    NPMI(i, j) = log(p_ij / (p_i p_j)) / -log p_ij, where p_i is the share of the documents of
    `counts` (n, K) that hold word i, and p_ij of those that hold both, smoothed: with n_ij
    documents that hold both and e_ij = n p_i p_j expected by chance,

        p_ij / (p_i p_j) = (n_ij + s) / (e_ij + s),   s = `smoothing`,

    the mean of that ratio after n_ij meetings, Poisson with mean e_ij times the ratio, if it was
    Gamma(s, s) before. Words that meet as often as by chance have 0 with any s. Two words that
    never meet have log(s / (e_ij + s)) / -log(p_i p_j s / (e_ij + s)): near 0 where short texts
    would not let them meet anyway, e_ij far below s, and below 0 where they avoid each other.

    `smoothing=0` is the NPMI of the literature: never together is -1, even if one of the words
    never occurs at all, and always together is 1. Figures of different smoothing, or on different
    documents, must not be compared. `counts` may be those of the training documents, of held-out
    ones or of a reference corpus with the same columns. `words` (T, k) holds columns of it.

    >>> counts = csc_array([[1, 1, 0], [2, 1, 0], [0, 0, 1], [0, 0, 3]])
    >>> topic_coherence([[0, 1], [0, 2]], counts, smoothing=0)
    array([ 1., -1.])
    >>> topic_coherence([[0, 1], [0, 2]], counts).round(3)
    array([ 0.583, -0.442])
    """
    owner = "topic_coherence"
    columns = _word_columns(words, counts, owner)
    _require_smoothing(smoothing, owner)
    used, place = np.unique(columns, return_inverse=True)
    presence = _presence(counts, used)
    pairs = np.triu_indices(columns.shape[1], 1)
    coherence = []
    for topic in place.reshape(columns.shape):
        together = presence[:, topic]
        npmi = pairwise_npmi((together.T @ together).toarray(), counts.shape[0], smoothing)
        coherence.append(npmi[pairs].mean())
    return np.array(coherence)


def word_intrusion(
    words: ArrayLike, counts: Any, *, k: int = 5, smoothing: float = SMOOTHING
) -> NDArray[np.float64]:
    """How often a foreign word is told from the first k words of each topic: (T,), from 0 to 1.

    `words` (T, m), the best first. An intruder is one of the first k words of another topic that is
    not among the m of this one: the larger m, the less it fits here. The judge sees the k words and
    the intruder and picks the one whose mean NPMI with the others (see `topic_coherence`) is the
    lowest in `counts` (n, K): of documents that the topics were *not* made from, or it would know
    the answer. Words that share the last place are each picked with equal chance, and every
    possible intruder is tried, so that nothing is drawn: the value is the expected share.

    Chance finds 1 / (k + 1); so much has a topic that leaves no intruder too, as it has all words
    of the others.

    >>> counts = csc_array([[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]])
    >>> word_intrusion([[0, 1], [2, 3]], counts, k=2)
    array([1., 1.])
    """
    owner = "word_intrusion"
    columns = _word_columns(words, counts, owner)
    T, m = columns.shape
    require(T > 1, owner, "words", "of at least two topics", columns.shape)
    require(is_whole(k) and 2 <= k <= m, owner, "k", f"from 2 to {m} words", k)
    _require_smoothing(smoothing, owner)
    used, place = np.unique(columns[:, :k], return_inverse=True)
    presence = _presence(counts, used)
    npmi = pairwise_npmi((presence.T @ presence).toarray(), counts.shape[0], smoothing)
    np.fill_diagonal(npmi, 0)  # a word is not judged by itself
    found = []
    for own, ranked in zip(place.reshape(T, k), columns, strict=True):
        intruders = np.flatnonzero(~np.isin(used, ranked))
        if not len(intruders):
            found.append(1 / (k + 1))
            continue
        to_intruder = npmi[np.ix_(intruders, own)]  # (intruders, k)
        of_own = npmi[np.ix_(own, own)].sum(0) + to_intruder
        scores = np.column_stack([to_intruder.sum(1), of_own]).round(ROUNDED)
        lowest = scores == scores.min(1, keepdims=True)
        found.append((lowest[:, 0] / lowest.sum(1)).mean())
    return np.array(found)


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


def _word_columns(words: ArrayLike, counts: Any, owner: str) -> NDArray[np.int64]:
    """The words of topics, at least two each, that are columns of `counts`."""
    require(issparse(counts), owner, "counts", "a sparse matrix", type(counts))
    check_structure(counts, owner)
    columns, K = _columns(words, owner), counts.shape[1]
    k = columns.shape[1]
    require(k > 1, owner, "words", "at least two words a topic", columns.shape)
    known = columns.min() >= 0 and columns.max() < K
    require(known, owner, "words", f"columns from 0 to {K - 1}", columns)
    distinct = all(len(set(row)) == k for row in columns.tolist())
    require(distinct, owner, "words", "different within a topic", columns)
    return columns


def _require_smoothing(value: float, owner: str) -> None:
    require(is_number(value) and value >= 0, owner, "smoothing", "a number of at least 0", value)


def _presence(counts: Any, columns: NDArray[np.int64]) -> csc_array:
    """1 where a document holds a word, of these columns alone: they are copied, and stay sparse."""
    return csc_array(counts[:, columns] > 0, dtype=np.float64)


def pairwise_npmi(
    together: NDArray[np.float64], n: int, smoothing: float = SMOOTHING
) -> NDArray[np.float64]:
    """NPMI of all pairs of k words: (k, k), from the documents that hold both, of n.

    `together` has the documents of each word on its diagonal; that of the result means nothing.
    """
    p = np.diag(together) / n
    by_chance = np.outer(p, p)
    s = smoothing
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = (together + s) / (n * by_chance + s)
        both = ratio * by_chance
        npmi = np.log(ratio) / -np.log(both)
    # In every document: the limit for words that are always together, 1 without smoothing.
    npmi[by_chance == 1] = n / (n + 2 * s)
    if s == 0:  # log 0 / log 0; smoothed, a word that is nowhere has 0 / ∞ = 0
        npmi[together == 0] = -1.0
    return np.asarray(npmi)
