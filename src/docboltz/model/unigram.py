"""The unigram model: every word drawn alone, with its share of the training documents.

B documents, K words in the vocabulary.
"""

from __future__ import annotations

import torch
from torch import Tensor

from docboltz.model.counts import SparseCounts, word_totals

UNSEEN_WORD_COUNT = 0.1
"""Added to every word's count: a word no document has stays possible."""
BLOCK_DOCUMENTS = 1 << 16
"""Documents whose words are looked at at once."""


def smoothed_word_frequency(counts: SparseCounts) -> Tensor:
    """f_k ∝ Σ_documents v̂_k + UNSEEN_WORD_COUNT: (K,), float64."""
    return smoothed(word_totals(counts))


def smoothed(totals: Tensor) -> Tensor:
    """f_k ∝ total_k + UNSEEN_WORD_COUNT, for totals (K,) of each word in all documents."""
    frequency = totals / totals.sum() + UNSEEN_WORD_COUNT / float(totals.sum())
    return frequency / frequency.sum()


def unigram_log_likelihood(counts: SparseCounts, frequency: Tensor) -> Tensor:
    """log p(v) = Σ_k v̂_k log f_k: (B,), float64."""
    log_f = frequency.double().log()
    parts = [log_f.new_empty(0)]
    for begin in range(0, len(counts), BLOCK_DOCUMENTS):
        some = counts.slice(begin, min(begin + BLOCK_DOCUMENTS, len(counts)))
        log_p = some.counts.double() * log_f[some.words.long()]
        parts.append(torch.segment_reduce(log_p, "sum", offsets=some.starts, initial=0.0))
    return torch.cat(parts)
