"""N draws out of K words for every document of a batch, each document with its own N.

B documents, K words. The work is O(BK) for cumulative sums and O(ΣN log BK) for the draws: never
N × K, whatever the lengths. Sums and uniforms are float64: in float32 words rarer than about 1e-7
would get a wrong probability, or none.
"""

from __future__ import annotations

import torch
from torch import Tensor

from docboltz import kernels
from docboltz.kernels import Random
from docboltz.model.conditionals import Counts
from docboltz.model.counts import SparseCounts


def sample_words(probabilities: Tensor, n: Tensor, *, generator: torch.Generator) -> SparseCounts:
    """Draw n_i words for document i from row i of `probabilities` (B, K), exactly multinomial.

    Rows need not sum to 1; `n` (B,) are whole numbers, 0 included. A word of probability 0 is never
    drawn. The draws come back in order, one entry of count 1 each, as a text would have them.
    """
    B, K = probabilities.shape
    n = n.long()
    cumulative = probabilities.double().cumsum(1)  # (B, K)
    # One increasing sequence for the whole batch: document i owns the interval [i, i + 1).
    document = torch.arange(B, device=n.device, dtype=torch.float64)
    ladder = (cumulative / cumulative[:, -1:] + document[:, None]).view(-1)  # (BK,)
    owner = torch.repeat_interleave(document, n)  # (ΣN,)
    uniform = torch.rand(len(owner), dtype=torch.float64, device=n.device, generator=generator)
    # owner + uniform may round up to owner + 1, where the next document begins: stay below it.
    target = torch.minimum(owner + uniform, torch.nextafter(owner + 1, owner))
    # Clamped because NaN, in a run that diverges, would point anywhere.
    words = (torch.searchsorted(ladder, target, right=True) - owner.long() * K).clamp_(0, K - 1)
    starts = torch.cat([n.new_zeros(1), n.cumsum(0)])
    return SparseCounts(starts, words, probabilities.new_ones(len(words)), K)


def sample_word_shares(logits: Tensor, n: Tensor, *, generator: Random) -> Counts:
    """Draw n_i ≥ 1 words for document i from softmax of row i of `logits` (B, K), as shares x/n.

    Sparse from plain torch; dense from a kernel whose shapes do not depend on what is drawn.
    """
    if kernels.available(logits):
        return kernels.draw_word_shares(logits, n, generator)
    drawn = sample_words(torch.softmax(logits, 1), n, generator=kernels.generator_of(generator))
    return drawn.shares()
