"""Which documents belong nowhere: those whose words fit no topic, as words drawn at random do not.

How well words fit is the largest over topics of Σ log p(word | topic)/p(word), for a document of n
words. A topic is found for any few words, so what is too little depends on n: it is compared with
documents of the collection cut to n words, of which nearly all must keep their topics, and with as
many words drawn from the whole collection, which belong nowhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from docboltz.topics.mixture import TopicMixture

REAL = 0.01
"""Share of real documents of any length, at most, that are said to belong nowhere."""
DRAWN = 0.99
"""Share of drawn documents for which no more is asked, where real ones are far from them."""
FEWEST = 100
"""Documents of a length to look at it: of fewer, that share is nobody."""
SAMPLE = 2000


def with_limits(mixture: TopicMixture, presence: csr_array, *, seed: int = 0) -> TopicMixture:
    """The same topics, which know how well the words of a document must fit at least.

    `presence` (n, K) has 1 for each word of a document.
    """
    rng = np.random.default_rng(seed)
    found = [
        (n, min(np.quantile(real, REAL, method="lower"), np.quantile(drawn, DRAWN)))
        for n, real, drawn in _fits(mixture, presence, rng)
    ]
    lengths, limits = np.array(found, np.float32).reshape(-1, 2).T
    return replace(mixture, lengths=lengths, limits=limits)


def _fits(
    mixture: TopicMixture, presence: csr_array, rng: np.random.Generator
) -> Iterator[tuple[int, NDArray[np.float32], NDArray[np.float32]]]:
    """1, 2, 4, … words with how well they fit, of documents cut to them and of drawn ones."""
    sizes, n = np.diff(presence.indptr), 1
    while mixture.n_topics > 1 and np.count_nonzero(sizes >= n) >= FEWEST:
        rows = rng.permutation(np.flatnonzero(sizes >= n))[:SAMPLE]
        begins = presence.indptr[rows]
        own = [rng.choice(size, n, replace=False) for size in sizes[rows]]
        cut = presence.indices[begins[:, None] + np.stack(own)]
        drawn = presence.indices[rng.integers(presence.nnz, size=cut.shape)]
        real, other = (
            mixture.fit(documents_of(words, presence.shape[1])) for words in (cut, drawn)
        )
        yield n, real, other
        n *= 2


def documents_of(words: NDArray[np.int32], K: int) -> csr_array:
    """Documents of so many words, (n, N), as counts: (n, K)."""
    rows = np.arange(0, words.size + 1, words.shape[1])
    return csr_array((np.ones(words.size, np.float32), words.reshape(-1), rows), (len(words), K))
