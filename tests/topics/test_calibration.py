"""Probabilities that say how often another look agrees."""

import numpy as np
from scipy.sparse import csr_array, hstack

from docboltz.topics.calibration import calibrated, opinions
from docboltz.topics.grouping import find_topics

from .worlds import world


def test_probabilities_become_as_sure_as_opinions_agree():
    """More than half of the words are from anywhere, so that a document's topic is often in doubt,
    and each comes with three others that always do: the mixture takes them for independent."""
    vectors, presence, _ = world(n_per_topic=300, mixed=0.6)
    presence = csr_array(hstack([presence] * 4))
    vectors = vectors + 0.5 * np.random.default_rng(0).normal(size=vectors.shape).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    raw = find_topics(vectors, presence, 4, starts=4)
    cool = calibrated(raw, vectors, presence)
    found = {}
    for name, mixture in (("raw", raw), ("calibrated", cool)):
        agreed, said = [], []
        for opinion in opinions(raw, vectors, presence, seed=99, n=3):  # others than it learnt from
            assigned = mixture.assign(vectors[opinion.rows], presence[opinion.rows])
            agreed.append(assigned.topic == opinion.topic)
            said.append(assigned.probability)
        found[name] = abs(np.concatenate(agreed).mean() - np.concatenate(said).mean())
    assert found["calibrated"] < 0.05 < found["raw"], found
    assert np.array_equal(raw.assign(vectors, presence).topic, cool.assign(vectors, presence).topic)


def test_too_few_documents_leave_a_mixture_as_it_is():
    vectors, presence, _ = world(n_per_topic=10)
    raw = find_topics(vectors, presence, 4)
    assert calibrated(raw, vectors, presence) is raw
