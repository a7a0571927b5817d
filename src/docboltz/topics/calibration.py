"""How sure an assignment is: as often as another look at the collection would agree.

The mixture takes the words of a document for independent, which they are not, so it is too sure,
and the surer the longer the document. Further mixtures are found, each in one half of the
documents; their topics are matched with the first's, and the first's probabilities are flattened
until they say how often the others agree about documents that they have not seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment, minimize
from scipy.sparse import csr_array

from docboltz.topics.grouping import find_topics
from docboltz.topics.mixture import Floats, TopicMixture

SAMPLE = 8000
"""Documents that each of the others takes, half of them to learn from."""
OPINIONS = 6
STARTS = 2
"""Of each of the other mixtures."""
LIMITS = [(-5.0, 10.0), (-2.0, 3.0)]
"""Of the log of the temperature and of its growth: where nearly all documents have the same number
of words, nothing else keeps the two from growing against each other beyond all numbers."""


class Opinion(NamedTuple):
    """What a mixture found in some documents says of others."""

    rows: NDArray[np.int64]
    """Documents it has not seen."""
    topic: NDArray[np.int64]
    """Their topics, by the numbers of the first mixture; −1 where it has no such topic."""


def calibrated(
    mixture: TopicMixture, vectors: Floats, presence: csr_array, *, seed: int = 0
) -> TopicMixture:
    """The same topics with probabilities that are as sure as they should be."""
    heard = list(opinions(mixture, vectors, presence, seed=seed))
    if not heard:
        return mixture
    rows = np.concatenate([opinion.rows for opinion in heard])
    topic = np.concatenate([opinion.topic for opinion in heard])
    some, words = np.asarray(vectors[rows], np.float32), presence[rows]
    own = mixture.assign(some, words).topic  # whatever the temperature
    somewhere = np.flatnonzero(own >= 0)  # other mixtures know no nowhere to agree with
    some, words, agreed = some[somewhere], words[somewhere], (own == topic)[somewhere]

    def surprise(at: NDArray[np.float64]) -> float:
        """What it costs, in nats, to be as sure as that."""
        trial = replace(mixture, temperature=float(np.exp(at[0])), growth=float(at[1]))
        p = np.clip(trial.assign(some, words).probability, 1e-6, 1 - 1e-6)
        return -float(np.where(agreed, np.log(p), np.log1p(-p)).mean(dtype=np.float64))

    options = {"maxiter": 50}
    best = minimize(surprise, [0.5, 0.5], method="Nelder-Mead", bounds=LIMITS, options=options).x
    return replace(mixture, temperature=float(np.exp(best[0])), growth=float(best[1]))


def opinions(
    mixture: TopicMixture, vectors: Floats, presence: csr_array, *, seed: int, n: int = OPINIONS
) -> Iterator[Opinion]:
    """Topics of documents by mixtures that were found in others; none of too few documents."""
    with_words = np.flatnonzero(np.diff(presence.indptr) > 0)
    T = mixture.n_topics
    if T < 2 or len(with_words) < 20 * T:
        return
    for each in range(1, n + 1):
        rng = np.random.default_rng([seed, each])
        rows = rng.permutation(with_words)[:SAMPLE]
        half = len(rows) // 2
        asked, learnt = np.sort(rows[:half]), np.sort(rows[half:])
        other = find_topics(
            vectors[learnt], presence[learnt], T, seed=int(rng.integers(2**31)), starts=STARTS
        )
        some, words = np.asarray(vectors[asked], np.float32), presence[asked]
        one, two = (m.scores(some, words).argmax(axis=1) for m in (mixture, other))
        common = np.zeros((other.n_topics, T))
        np.add.at(common, (two, one), 1)
        theirs, ours = linear_sum_assignment(-common)
        number = np.full(other.n_topics, -1)
        number[theirs] = ours
        yield Opinion(asked, number[two])
