"""The counts of a collection, from what its store keeps. n documents, K words.

The store has tf-idf weights, (1 + log count) · idf, normalised. Divided by idf, those of a document
are 1 + log count times one number. How often its rarest word comes tells that number: once, as a
rule, and the features of the document say whether it is so.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from docboltz.search.store import SearchStore
from docboltz.search.vectors import unit_vectors

MOST = 50
"""How often the rarest word of a document may come; more is not looked for."""
CLOSE = 1e-4
"""Between features of the right counts and those in the store: float32 comes within 1e-6."""
WHOLE = 1e-3
"""Between right counts and whole numbers, as a share: features near 0 and 1 do not tell all."""


def stored_counts(
    store: SearchStore, features: Callable[[csr_array], NDArray[np.float32]]
) -> csr_array:
    """How often each document has each word, (n, K); `features` gives those of counts."""
    index, n = store.words, len(store)
    starts, columns = np.asarray(index.starts), index.columns.astype(np.int64)
    owner = np.repeat(np.arange(n), np.diff(starts))
    relative = index.weights / index.idf[columns]
    least = np.full(n, np.inf)
    np.minimum.at(least, owner, relative)
    relative /= least[owner]  # 1 for the rarest words of each document

    def counts_with(fewest: NDArray[np.float64]) -> tuple[csr_array, NDArray[np.float64]]:
        """Counts if the rarest word of each comes so often, and how far each is from whole ones."""
        data = np.exp(relative * (1 + np.log(fewest))[owner] - 1)
        whole, off = np.rint(data), np.zeros(n)
        np.maximum.at(off, owner, np.abs(data - whole) / data)
        return csr_array((whole, columns, starts), shape=(n, store.n_words)), off

    fewest, open_rows = np.ones(n), np.arange(n)
    for trial in range(1, MOST + 1):
        fewest[open_rows] = trial
        counts, from_whole = counts_with(fewest)
        vectors = unit_vectors(features(counts[open_rows]), store.mean)
        far = np.abs(vectors - store.features[open_rows]).max(axis=1) > CLOSE
        open_rows = open_rows[far | (from_whole[open_rows] > WHOLE)]
        if not len(open_rows):
            break
    fewest[open_rows] = 1  # nothing fits: as a rule it is so
    return counts_with(fewest)[0]
