"""N draws out of K words for every document of a batch, each document with its own N.

B documents, K words. The work is O(BK) for cumulative sums and O(ΣN log BK) for the draws: never
N × K. Where documents are longer than the vocabulary, words are counted instead of drawn one by
one, which leaves O(BK + Σ√N). Sums and uniforms are float64: in float32 words rarer than about 1e-7
would get a wrong probability, or none.
"""

from __future__ import annotations

import torch
from torch import Tensor

from docboltz import kernels
from docboltz.kernels import Random
from docboltz.model.conditionals import Counts
from docboltz.model.counts import SparseCounts

FEW = 1000
"""Words of a document that are not worth counting: to draw them costs little."""
MARGIN = 6.0
"""Standard deviations by which Poisson counts are kept below N: more than N in all are drawn for
one document in a billion."""


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
    cumulative.div_(cumulative[:, -1:].clone()).add_(document[:, None])
    ladder = cumulative.view(-1)  # (BK,)
    owner = torch.repeat_interleave(document, n)  # (ΣN,)
    uniform = torch.rand(len(owner), dtype=torch.float64, device=n.device, generator=generator)
    # owner + uniform may round up to owner + 1, where the next document begins: stay below it.
    target = torch.minimum(owner + uniform, torch.nextafter(owner + 1, owner))
    # Clamped because NaN, in a run that diverges, would point anywhere.
    words = (torch.searchsorted(ladder, target, right=True) - owner.long() * K).clamp_(0, K - 1)
    starts = torch.cat([n.new_zeros(1), n.cumsum(0)])
    return SparseCounts(starts, words, probabilities.new_ones(len(words)), K)


def sample_word_counts(probabilities: Tensor, n: Tensor, *, generator: torch.Generator) -> Tensor:
    """How often each word is among n_i draws from row i of `probabilities`: (B, K), float64.

    As `sample_words`, exactly multinomial, at a cost that hardly grows with n. Independent Poisson
    counts with means proportional to the probabilities are multinomial given their sum S, whatever
    it is; n − S draws one by one complete them. Only S decides whether there were too many, so to
    begin again then changes nothing.
    """
    n = n.double().round()
    p = probabilities.double()
    p = p / p.sum(1, keepdim=True)
    mean = (n - MARGIN * n.sqrt()).clamp_min(0)  # (B,)
    # NaN, in a run that diverges, is left to the draws one by one.
    counts = torch.poisson((mean[:, None] * p).nan_to_num(0.0), generator=generator)
    counts[counts.sum(1) > n] = 0
    return counts + sample_words(p, n - counts.sum(1), generator=generator).dense()


def sample_word_shares(logits: Tensor, n: Tensor, *, generator: Random) -> Counts:
    """Draw n_i ≥ 1 words for document i from softmax of row i of `logits` (B, K), as shares x/n.

    From plain torch sparse, or dense where documents are long; dense from a kernel whose shapes do
    not depend on what is drawn.
    """
    if kernels.available(logits):
        return kernels.draw_word_shares(logits, n, generator)
    g, probabilities = kernels.generator_of(generator), torch.softmax(logits, 1)
    if float(n.double().mean()) <= max(logits.shape[1], FEW):
        drawn, n = sample_words(probabilities, n, generator=g), n.long()
        share = torch.repeat_interleave(1 / n.to(logits.dtype), n)  # SparseCounts.shares
        return SparseCounts(drawn.starts, drawn.words, share, drawn.n_words)
    counts = sample_word_counts(probabilities, n, generator=g)
    return (counts / counts.sum(1, keepdim=True)).to(logits.dtype)
