"""What makes models comparable: the same documents to predict, and their number of parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array

LEARNT = (
    "components_",
    "intercept_visible_",
    "intercept_hidden_",
    "output_weights_",
    "output_intercept_",
    "alpha_",
    "idf_",
)
"""Attributes in which models keep what they have learnt."""


def choose_to_predict(counts: csr_array, most: int, longest: int, *, seed: int) -> csr_array:
    """Some documents with words, by chance: not too long ones, unless there are no others."""
    n = np.asarray(counts.sum(axis=1)).reshape(-1)
    suited = np.flatnonzero((n > 0) & (n <= longest))
    some = suited if len(suited) else np.flatnonzero(n)
    return counts[np.sort(np.random.default_rng(seed).permutation(some)[:most])]


def n_parameters(model: Any) -> int:
    """How many numbers a fitted model has learnt."""
    n = sum(np.size(getattr(model, name)) for name in LEARNT if hasattr(model, name))
    return int(n or np.size(model.word_frequency_))  # the unigram model has nothing else
