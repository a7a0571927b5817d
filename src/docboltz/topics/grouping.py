"""Find the topics of a collection: k-means on features, then a mixture of features and words.

Features group documents that share no word, and words tell which of many groupings is good: the
likelihood of words chooses among starts, which the spread of features does not.
"""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from docboltz.errors import InvalidCorpus
from docboltz.topics.mixture import (
    BLOCK_DOCUMENTS,
    Floats,
    Statistics,
    TopicMixture,
    mixture_of,
    normalised,
    tally,
)

SAMPLE = 20_000
"""Documents that starts are tried on; all of them only follow."""
STARTS = 16
STEPS = 15
"""Of expectation and maximisation from each start, and 3 of them on all documents."""


def find_topics(
    vectors: Floats, presence: csr_array, n_topics: int, *, seed: int = 0, starts: int = STARTS
) -> TopicMixture:
    """The best of several mixtures of `n_topics`, or of fewer where some have no document.

    `vectors` (n, F) are unit vectors of centred features, `presence` (n, K) has 1 for each word of
    a document. The largest topic comes first. Documents without a word, and more topics than
    documents, are left out.
    """
    with_words = np.flatnonzero(np.diff(presence.indptr) > 0)
    rng = np.random.default_rng(seed)
    rows = with_words
    if len(rows) > SAMPLE:
        rows = np.sort(rng.choice(rows, SAMPLE, replace=False))
    some, words = np.asarray(vectors[rows], np.float32), presence[rows]
    if not len(rows):
        raise InvalidCorpus("No document has a word of the vocabulary: there are no topics.")
    n_topics = max(1, min(n_topics, len(rows)))
    seeds = rng.integers(2**31, size=starts)
    found = max((start(some, words, n_topics, int(s)) for s in seeds), key=lambda pair: pair[1])[0]
    if len(rows) < len(with_words):
        for _ in range(3):
            found = mixture_of(_all_statistics(found, vectors, presence))
    return by_size(found, vectors, presence)


def start(
    vectors: Floats, presence: csr_array, T: int, seed: int, steps: int = STEPS
) -> tuple[TopicMixture, float]:
    """A mixture from one grouping by features, and its mean log-likelihood."""
    groups = k_means(vectors, T, seed)
    shares = np.zeros((len(groups), T), np.float32)
    shares[np.arange(len(groups)), groups] = 1
    for _ in range(steps):
        found = mixture_of(tally(vectors, presence, shares))
        logs, total = normalised(found.scores(vectors, presence))
        shares = np.exp(logs)
    return found, float(total.mean(dtype=np.float64))


def k_means(
    vectors: Floats | csr_array, n_groups: int, seed: int, *, starts: int = 1
) -> NDArray[np.int64]:
    """Groups of vectors by scikit-learn's k-means, the best of so many starts."""
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    search = KMeans(n_groups, n_init=starts, max_iter=30, random_state=seed, copy_x=False)
    with warnings.catch_warnings():
        # Of fewer different documents than groups some groups stay empty, as they should.
        warnings.simplefilter("ignore", ConvergenceWarning)
        groups: NDArray[np.int64] = search.fit(vectors).labels_.astype(np.int64)
    return groups


def by_size(found: TopicMixture, vectors: Floats, presence: csr_array) -> TopicMixture:
    """The same topics, those of most documents first and those of none left out."""
    topic = found.assign(vectors, presence).topic
    sizes = np.bincount(topic[topic >= 0], minlength=found.n_topics)
    order = np.argsort(-sizes, kind="stable")[: max(1, np.count_nonzero(sizes))]
    return TopicMixture(found.directions[order], found.words[:, order], found.prior[order])


def _all_statistics(found: TopicMixture, vectors: Floats, presence: csr_array) -> Statistics:
    """What all documents add up to under a mixture, block by block."""
    F, K, T = found.directions.shape[1], len(found.words), found.n_topics
    total = Statistics(np.zeros(T), np.zeros((T, F)), np.zeros((K, T)))
    for begin in range(0, presence.shape[0], BLOCK_DOCUMENTS):
        block = presence[begin : begin + BLOCK_DOCUMENTS]
        some = np.asarray(vectors[begin : begin + BLOCK_DOCUMENTS], np.float32)
        shares = np.exp(normalised(found.scores(some, block))[0])
        shares[np.diff(block.indptr) == 0] = 0
        for part, more in zip(total, tally(some, block, shares), strict=True):
            part += more
    return total
