"""Small worlds of documents whose topics are known."""

import numpy as np
from scipy.sparse import csr_array


def world(n_per_topic=60, T=4, F=16, K=40, n_words=6, seed=0, mixed=0.0):
    """Vectors, presence and true topics of documents: each topic has a direction and ten words.

    A share `mixed` of the words comes from anywhere.
    """
    rng = np.random.default_rng(seed)
    topic = np.repeat(np.arange(T), n_per_topic)
    directions = np.linalg.qr(rng.normal(size=(F, F)))[0][:T]
    vectors = directions[topic] + 0.15 * rng.normal(size=(len(topic), F))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    own = K // T
    words = topic[:, None] * own + rng.integers(own, size=(len(topic), n_words))
    anywhere = rng.random(words.shape) < mixed
    words[anywhere] = rng.integers(K, size=int(anywhere.sum()))
    rows = np.repeat(np.arange(len(topic)), n_words)
    presence = csr_array((np.ones(rows.size), (rows, words.reshape(-1))), shape=(len(topic), K))
    presence.sum_duplicates()
    presence.data[:] = 1
    order = rng.permutation(len(topic))
    return vectors[order].astype(np.float32), presence[order].astype(np.float32), topic[order]
