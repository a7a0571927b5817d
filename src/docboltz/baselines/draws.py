"""Random numbers that are a function of a seed and of a document's own words.

A document then gets the same estimate and the same features whatever else is in the batch.
B documents, T words of all documents.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from docboltz.model.counts import SparseCounts, whole_counts

Keys = NDArray[np.uint64]

# Steps of the counters: odd numbers without pattern, the first that of splitmix64.
_STEP = np.uint64(0x9E3779B97F4A7C15)
_OTHER_STEP = np.uint64(0xD1B54A32D192ED03)


def repeat_words(counts: SparseCounts) -> SparseCounts:
    """Write every word as often as it occurs, each with a count of 1, in the vocabulary's order.

    Counts that are not whole numbers are rounded, a word that occurs occurs once at least.
    """
    whole = whole_counts(counts.counts).long()
    words = torch.repeat_interleave(counts.words.long(), whole)
    ends = torch.cat([whole.new_zeros(1), whole.cumsum(0)])
    return SparseCounts(ends[counts.starts.long()], words, torch.ones(len(words)), counts.n_words)


def document_keys(words: NDArray[np.int64], starts: NDArray[np.int64], seed: int) -> Keys:
    """Hash each document's words, in the vocabulary's order, and a seed: (B,)."""
    n = np.diff(starts)
    place = np.arange(len(words)) - np.repeat(starts[:-1], n)
    mixed = _mix(words.astype(np.uint64) * _STEP + place.astype(np.uint64) * _OTHER_STEP)
    ends = np.concatenate([np.zeros(1, np.uint64), mixed.cumsum(dtype=np.uint64)])
    sums = ends[starts[1:]] - ends[starts[:-1]]  # modulo 2⁶⁴, as it should be
    return _mix(_mix(sums) + np.array([seed], np.uint64) * _STEP)


def uniform(keys: Keys, *counters: NDArray[np.int64] | int) -> NDArray[np.float64]:
    """Draw from [0, 1) for each key and each value of the counters, broadcast together."""
    state = keys
    for counter in counters:
        # At least one dimension: NumPy warns of overflow, which is meant here, in scalars only.
        steps = np.atleast_1d(counter).astype(np.uint64) + np.uint64(1)
        state = _mix(state + steps * _STEP)
    return (state >> np.uint64(11)).astype(np.float64) * 2.0**-53


def shuffle_words(sequences: SparseCounts, seed: int, number: int = 0) -> SparseCounts:
    """Put each document's words into a random order, the `number`-th of its orders."""
    words, starts = sequences.words.numpy(), sequences.starts.numpy()
    n = np.diff(starts)
    owner = np.repeat(np.arange(len(n)), n)
    keys = document_keys(words, starts, seed)[owner]
    order = np.lexsort((uniform(keys, number, np.arange(len(words)) - starts[owner]), owner))
    shuffled = torch.from_numpy(words[order])
    return SparseCounts(sequences.starts, shuffled, sequences.counts, sequences.n_words)


def _mix(state: Keys) -> Keys:
    """Scramble 64 bits: the last step of splitmix64 (Steele, Lea and Flood, 2014)."""
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))
