"""Which documents belong nowhere: those whose words fit no topic, as words drawn at random do not.

How well words fit is the largest over topics of Σ log p(word | topic)/p(word), for a document of n
words. A topic is found for any few words, so what is too little depends on n: it is compared with
documents of the collection cut to n words, of which nearly all must keep their topics, and with as
many words drawn from the whole collection, which belong nowhere.

Words fit topics that were learnt from them better than others do, so the topics that documents of
the collection are compared with are learnt again from other documents.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from docboltz.topics.mixture import Floats, TopicMixture, mixture_of, normalised, tally

REAL = 0.01
"""Share of real documents of any length, at most, that are said to belong nowhere."""
DRAWN = 0.99
"""Share of drawn documents for which no more is asked, where real ones are far from them."""
FEWEST = 100
"""Documents of a length to look at it: of fewer, that share is nobody."""
LEARNT, PARTS = 20_000, 5
"""Documents that topics are learnt from again, each time without one of so many parts."""
SAMPLE = 2000
"""Of those, cut to a number of words."""


def with_limits(
    mixture: TopicMixture, vectors: Floats, presence: csr_array, *, seed: int = 0
) -> TopicMixture:
    """The same topics, which know how well the words of a document must fit at least.

    `vectors` and `presence` as `find_topics` takes them.
    """
    rng = np.random.default_rng(seed)
    rows = rng.permutation(np.flatnonzero(np.diff(presence.indptr) > 0))[:LEARNT]
    some, words = np.asarray(vectors[rows], np.float32), presence[rows]
    part = np.arange(len(rows)) % PARTS
    shares = np.exp(normalised(mixture.scores(some, words))[0])
    others = [
        mixture_of(tally(some[part != each], words[part != each], shares[part != each]))
        for each in range(PARTS)
    ]
    found: list[tuple[int, float]] = []
    sizes, n = np.diff(words.indptr), 1
    while mixture.n_topics > 1 and np.count_nonzero(sizes >= n) >= FEWEST:
        long = rng.permutation(np.flatnonzero(sizes >= n))[:SAMPLE]
        own = np.stack([rng.choice(size, n, replace=False) for size in sizes[long]])
        cut = documents_of(words.indices[words.indptr[long][:, None] + own], words.shape[1])
        by_others = np.stack([other.fit(cut) for other in others])
        real = by_others[part[long], np.arange(len(long))]
        drawn = documents_of(words.indices[rng.integers(words.nnz, size=own.shape)], words.shape[1])
        limit = min(np.quantile(real, REAL), np.quantile(mixture.fit(drawn), DRAWN))
        found.append((n, float(limit)))
        n *= 2
    lengths, limits = np.array(found, np.float32).reshape(-1, 2).T
    return replace(mixture, lengths=lengths, limits=limits)


def documents_of(words: NDArray[np.int32], K: int) -> csr_array:
    """Documents of so many words, (n, N), as counts: (n, K)."""
    rows = np.arange(0, words.size + 1, words.shape[1])
    return csr_array((np.ones(words.size, np.float32), words.reshape(-1), rows), (len(words), K))
