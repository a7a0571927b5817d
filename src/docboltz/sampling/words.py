"""N draws out of K words for every document of a batch, each document with its own N.

B documents, K words. The work is O(BK) for cumulative sums and O(ΣN log BK) for the draws: never
N × K. Where documents are longer than the vocabulary, words are counted instead of drawn one by
one, which leaves O(BK + Σ√N). Sums and uniforms are float64: in float32 words rarer than about 1e-7
would get a wrong probability, or none.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

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


@dataclass(frozen=True)
class DrawPlan:
    """Where n_i draws for each document i lie. Documents of a Gibbs chain keep their lengths, so
    one plan serves all its steps."""

    n: Tensor
    """Whole numbers, 0 included: (B,), integers."""
    dtype: torch.dtype
    """Of counts and shares."""

    @cached_property
    def owner(self) -> Tensor:
        """The document of each draw: (ΣN,)."""
        return torch.repeat_interleave(torch.arange(len(self.n), device=self.n.device), self.n)

    @cached_property
    def starts(self) -> Tensor:
        """Where each document's draws begin, and the end of the last one's: (B + 1,)."""
        return torch.cat([self.n.new_zeros(1), self.n.cumsum(0)])

    @cached_property
    def below_next(self) -> Tensor:
        """The largest number below that of the next document: (ΣN,), float64."""
        first = self.owner.double()
        return torch.nextafter(first + 1, first)

    @cached_property
    def shares(self) -> Tensor:
        """1/N for each draw: (ΣN,)."""
        return (1 / self.n.to(self.dtype))[self.owner]

    def draw(self, probabilities: Tensor, *, generator: torch.Generator) -> SparseCounts:
        """Draw n_i words for document i from row i of `probabilities` (B, K), exactly multinomial.

        One entry of count 1 each, in the order they are drawn.
        """
        B, K = probabilities.shape
        ladder = probabilities.cumsum(1, dtype=torch.float64)
        # One increasing sequence for the whole batch: document i owns the interval [i, i + 1).
        document = torch.arange(B, device=self.n.device, dtype=torch.float64)
        ladder.div_(ladder[:, -1:].clone()).add_(document[:, None])
        target = torch.rand(
            len(self.owner), dtype=torch.float64, device=self.n.device, generator=generator
        )
        # owner + uniform may round up to owner + 1, where the next document begins: stay below it.
        torch.minimum(target.add_(self.owner), self.below_next, out=target)
        words = torch.searchsorted(ladder.view(-1), target, right=True).sub_(self.owner, alpha=K)
        # Clamped because NaN, in a run that diverges, would point anywhere.
        ones = torch.ones((), dtype=self.dtype, device=words.device).expand(len(words))
        return SparseCounts(self.starts, words.clamp_(0, K - 1), ones, K, self.owner)


def sample_words(probabilities: Tensor, n: Tensor, *, generator: torch.Generator) -> SparseCounts:
    """Draw n_i words for document i from row i of `probabilities` (B, K), exactly multinomial.

    Rows need not sum to 1; `n` (B,) are whole numbers, 0 included. A word of probability 0 is never
    drawn. The draws come back in order, one entry of count 1 each, as a text would have them.
    """
    return DrawPlan(n.long(), probabilities.dtype).draw(probabilities, generator=generator)


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


def sample_word_shares(
    logits: Tensor, n: Tensor, *, generator: Random, plan: DrawPlan | None = None
) -> Counts:
    """Draw n_i ≥ 1 words for document i from softmax of row i of `logits` (B, K), as shares x/n.

    From plain torch sparse, or dense where documents are long; dense from a kernel whose shapes do
    not depend on what is drawn. Who draws again and again for the same n keeps the `plan_of` it.
    """
    if kernels.available(logits):
        return kernels.draw_word_shares(logits, n, generator)
    g, probabilities = kernels.generator_of(generator), torch.softmax(logits, 1)
    plan = plan or plan_of(n, logits.shape[1], logits.dtype)
    if plan is not None:
        drawn = plan.draw(probabilities, generator=g)
        return replace(drawn, counts=plan.shares)
    counts = sample_word_counts(probabilities, n, generator=g)
    return (counts / counts.sum(1, keepdim=True)).to(logits.dtype)


def plan_of(n: Tensor, n_words: int, dtype: torch.dtype) -> DrawPlan | None:
    """Where n_i draws lie, or None where a kernel draws, or documents are so long that words are
    better counted."""
    few = not kernels.available(n) and float(n.double().mean()) <= max(n_words, FEW)
    return DrawPlan(n.long(), dtype) if few else None
