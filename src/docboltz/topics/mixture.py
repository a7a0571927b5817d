"""A mixture over documents: each topic has a direction among features, and words of its own.

n documents, F features, K words, T topics. A document is its unit vector of centred features and
the words it has, each once: a word that comes ten times in a long text says no more about its topic
than one that comes twice. p(document | topic) is a von Mises–Fisher density over directions, raised
to a small power because features overstate what the words behind them say, times a multinomial
over words; both as ratios to what any document is like, so that 0 is "nothing says so".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

Floats = NDArray[np.float32]

FEATURES_WEIGHT = 0.05
"""Power of the features' density. Chosen on training documents of six collections; words alone, or
features of ten times the weight, agree less with labels."""
BLOCK_DOCUMENTS = 65_536


class Assignment(NamedTuple):
    """Where documents belong."""

    topic: NDArray[np.int64]
    """The topic of each document, or −1 for none: (n,)."""
    probability: NDArray[np.float32]
    """How sure that is: (n,)."""


class Statistics(NamedTuple):
    """What documents add up to, each counted to topics by its share in them."""

    documents: NDArray[np.float64]
    """(T,)"""
    vectors: NDArray[np.float64]
    """(T, F)"""
    words: NDArray[np.float64]
    """(K, T)"""


@dataclass(frozen=True, eq=False)
class TopicMixture:
    """Topics, as far as documents are assigned to them."""

    directions: Floats
    """Direction of each topic times its concentration and the features' weight: (T, F)."""
    words: Floats
    """log p(word | topic) / p(word): (K, T)."""
    prior: Floats
    """log p(topic), and what makes the features' density a ratio: (T,)."""
    temperature: float = 1.0
    """What scores are divided by to be log probabilities, for a document of one word …"""
    growth: float = 0.0
    """… and how that grows with the number of words n: as n to this power."""
    lengths: Floats = field(default_factory=lambda: np.empty(0, np.float32))
    """Numbers of words, rising, for which `limits` are known; see `nowhere`."""
    limits: Floats = field(default_factory=lambda: np.empty(0, np.float32))
    """How well so many words must `fit` for a document to have a topic."""

    @property
    def n_topics(self) -> int:
        """Number of topics, T."""
        return len(self.prior)

    def fit(self, presence: csr_array) -> Floats:
        """log p(words | topic) / p(words) of the topic that words fit best: (n,)."""
        best: Floats = (presence @ self.words).max(axis=1)
        return best

    def scores(self, vectors: Floats, presence: csr_array) -> Floats:
        """log p(document, topic) / p(document like any other): (n, T)."""
        return self._with_features(presence @ self.words, vectors)

    def _with_features(self, words: Floats, vectors: Floats) -> Floats:
        words += vectors @ self.directions.T
        words += self.prior
        return words

    def log_probabilities(self, vectors: Floats, presence: csr_array) -> Floats:
        """log p(topic | document), calibrated, with a last column for "nowhere": (n, T + 1).

        Nowhere is as probable as the best topic where words fit just as well as they must.
        """
        words = presence @ self.words
        n_words = np.maximum(np.diff(presence.indptr), 1)
        wanting = np.full(len(words), -np.inf, np.float32)
        if len(self.lengths):
            wanting = np.interp(n_words, self.lengths, self.limits) - words.max(axis=1)
        scores = self._with_features(words, vectors)
        nowhere = scores.max(axis=1) + wanting
        heat = (self.temperature * n_words**self.growth).astype(np.float32)
        columns = np.hstack([scores, nowhere[:, None].astype(np.float32)])
        return normalised(columns / heat[:, None])[0]

    def assign(
        self, vectors: Floats, presence: csr_array, numbers: NDArray[np.int64] | None = None
    ) -> Assignment:
        """The most probable topic of each document; of one without a known word −1, surely.

        Topics of the same number (T,) are one topic, whose probability is their sum.
        """
        n = presence.shape[0]
        numbers = np.arange(self.n_topics) if numbers is None else numbers
        known = np.append(np.unique(numbers), -1)
        topic, probability = np.empty(n, np.int64), np.empty(n, np.float32)
        for begin in range(0, n, BLOCK_DOCUMENTS):
            rows = slice(begin, min(begin + BLOCK_DOCUMENTS, n))
            found = self.probabilities(
                np.asarray(vectors[rows], np.float32), presence[rows], numbers
            )
            topic[rows], probability[rows] = known[found.argmax(axis=1)], found.max(axis=1)
        return Assignment(topic, probability)

    def probabilities(
        self, vectors: Floats, presence: csr_array, numbers: NDArray[np.int64]
    ) -> Floats:
        """p(topic | document) of each number in order, and of none: (n, numbers + 1)."""
        T = self.n_topics
        known, place = np.unique(numbers, return_inverse=True)
        found = np.exp(self.log_probabilities(vectors, presence))
        if not np.array_equal(place, np.arange(T)):  # fewer numbers, or in another order
            together = np.zeros((T + 1, len(known) + 1), np.float32)
            together[np.append(np.arange(T), T), np.append(place, len(known))] = 1
            found = found @ together
        wordless = np.diff(presence.indptr) == 0
        found[wordless] = np.append(np.zeros(len(known)), 1)
        return np.minimum(found, 1)


def normalised(scores: Floats) -> tuple[Floats, Floats]:
    """Log of the softmax of each row, and the log of what it was divided by."""
    largest = scores.max(axis=1, keepdims=True)
    below = scores - largest
    total = np.log(np.exp(below).sum(axis=1, keepdims=True))
    return below - total, (largest + total)[:, 0]


def tally(vectors: Floats, presence: csr_array, shares: Floats) -> Statistics:
    """Add up documents, counted to topics by `shares` (n, T)."""
    words = np.asarray(presence.T @ shares, np.float64)
    sums = np.asarray(shares.T @ vectors, np.float64)
    return Statistics(shares.sum(axis=0, dtype=np.float64), sums, words)


def mixture_of(found: Statistics) -> TopicMixture:
    """The most probable mixture. A topic has one vocabulary's worth of usual words beforehand.

    All directions share one concentration κ: T of them would be estimated from a few documents
    each, and the narrowest would swallow the others. κ is Banerjee's estimate from the mean length
    of the topics' mean vectors.
    """
    n, (T, F), K = found.documents.sum(), found.vectors.shape, len(found.words)
    usual = found.words.sum(axis=1) + 1e-9
    usual /= usual.sum()
    words = found.words + K * usual[:, None]
    words /= words.sum(axis=0)
    lengths = np.linalg.norm(found.vectors, axis=1)
    mean = min(lengths.sum() / max(n, 1e-12), 1 - 1e-6)  # of a single document, n may be 0
    kappa = mean * (F - mean**2) / (1 - mean**2)
    directions = found.vectors / np.maximum(lengths, 1e-12)[:, None]
    prior = np.log((found.documents + 1) / (n + T)) + FEATURES_WEIGHT * _log_density_at_0(kappa, F)
    return TopicMixture(
        (FEATURES_WEIGHT * kappa * directions).astype(np.float32),
        np.log(words / usual[:, None]).astype(np.float32),
        prior.astype(np.float32),
    )


def _log_density_at_0(kappa: float, F: int) -> float:
    """log of the von Mises–Fisher density at right angles to its direction, to the uniform one."""
    from scipy.special import gammaln, ive  # which a question can do without

    if F < 2 or kappa <= 0:
        return 0.0
    order = F / 2 - 1
    bessel = ive(order, kappa)
    if bessel <= 0:  # it underflows where F is large; there log E exp(κ cos) ≈ κ²/2F
        return -(kappa**2) / (2 * F)
    log_bessel = np.log(bessel) + kappa
    return float(order * np.log(kappa / 2) - log_bessel - gammaln(order + 1))
