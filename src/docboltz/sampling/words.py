"""N draws out of K words for every document of a batch, each document with its own N.

B documents, K words. The work is O(BK) for cumulative sums and O(ΣN log BK) for the draws: never
N × K. Where documents are longer than the vocabulary, words are counted instead of drawn one by
one, which leaves O(BK + Σ√N). Sums and uniforms are float64: in float32 words rarer than about 1e-7
would get a wrong probability, or none.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import torch
from torch import Tensor

from docboltz import kernels
from docboltz.model.conditionals import Counts, softmax
from docboltz.model.counts import SparseCounts
from docboltz.randomness import Random, generator_of, uniform
from docboltz.scratch import Scratch

FEW = 1000
"""Words of a document that are not worth counting: to draw them costs little."""
MARGIN = 6.0
"""Standard deviations by which Poisson counts are kept below N: more than N in all are drawn for
one document in a billion."""


@dataclass(frozen=True)
class DrawPlan:
    """Where n_i draws for each document i lie. Documents of a Gibbs chain keep their lengths, so
    one plan serves all its steps."""

    starts: Tensor
    """Where each document's draws begin, and the end of the last one's: (B + 1,) integers."""
    owner: Tensor
    """The document of each draw: (ΣN,) integers."""
    shares: Tensor
    """1/N for each draw: (ΣN,)."""
    first: Tensor
    """The number of each document, where the interval of its draws begins: (B, 1), float64."""
    _ready: deque[Tensor] = field(default_factory=deque)
    """Random places for the next draws."""

    def prepare(self, numbers: Tensor) -> None:
        """Choose the places of several draws now, by uniform numbers (draws, ΣN), float64, which
        are overwritten."""
        self._ready.extend(self._places(numbers).unbind())

    def _places(self, numbers: Tensor) -> Tensor:
        """Random places, document i's in [i, i + 1), by uniform numbers, which are overwritten."""
        # i + uniform may round up to i + 1, where the next document begins: stay below it by more
        # than the distance of numbers as large as i.
        return numbers.mul_(1 - len(self.first) * 2.0**-51).add_(self.owner)

    def draw(
        self,
        probabilities: Tensor,
        *,
        generator: Random,
        counts: Tensor | None = None,
        scratch: Scratch | None = None,
    ) -> SparseCounts:
        """Draw n_i words for document i from row i of `probabilities` (B, K), exactly multinomial.

        One entry each, in the order they are drawn, of count 1 or as `counts` (ΣN,) say.
        """
        K, room = probabilities.shape[1], scratch or Scratch()
        ladder = room("ladder", probabilities.shape, probabilities, torch.float64)
        ladder.copy_(probabilities).cumsum_(1)
        # One increasing sequence for the whole batch: document i owns the interval [i, i + 1).
        ladder.mul_(ladder[:, -1:].reciprocal()).add_(self.first)  # to divide takes twice the time
        if self._ready:
            places = self._ready.popleft()
        else:
            places = self._places(uniform(self.owner.shape, like=self.first, random=generator))
        short = self.owner.dtype == torch.int32
        words = torch.searchsorted(ladder.view(-1), places, right=True, out_int32=short)
        words.sub_(self.owner, alpha=K)
        if counts is None:
            counts = probabilities.new_ones(()).expand(len(words))
        # Clamped because NaN, in a run that diverges, would point anywhere.
        return SparseCounts(self.starts, words.clamp_(0, K - 1), counts, K, self.owner)


def draw_plans(n: Tensor, size: int, n_words: int, dtype: torch.dtype) -> list[DrawPlan]:
    """Plans for so many documents each of those whose numbers of draws are the integers `n`."""
    index = torch.int32 if max(size * n_words, int(n.sum())) < 2**31 else torch.long
    rows = n.view(len(n) // size, size) if size else n.view(1, 0)
    totals, owner = rows.sum(1).tolist(), torch.repeat_interleave(n)
    shares = torch.split(n.to(dtype).reciprocal().index_select(0, owner), totals)
    starts = torch.nn.functional.pad(rows.cumsum(1), (1, 0)).to(index).unbind()
    owners = torch.split(owner.to(index).remainder_(max(size, 1)), totals)
    first = torch.arange(size, device=n.device, dtype=torch.float64)[:, None]
    return [DrawPlan(*each, first) for each in zip(starts, owners, shares, strict=True)]


def sample_words(probabilities: Tensor, n: Tensor, *, generator: Random) -> SparseCounts:
    """Draw n_i words for document i from row i of `probabilities` (B, K), exactly multinomial.

    Rows need not sum to 1; `n` (B,) are whole numbers, 0 included. A word of probability 0 is never
    drawn. The draws come back in order, one entry of count 1 each, as a text would have them.
    """
    B, K = probabilities.shape
    plan = draw_plans(n.long(), B, K, probabilities.dtype)[0]
    return plan.draw(probabilities, generator=generator)


def sample_word_counts(probabilities: Tensor, n: Tensor, *, generator: Random) -> Tensor:
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
    counts = torch.poisson((mean[:, None] * p).nan_to_num(0.0), generator=generator_of(generator))
    counts[counts.sum(1) > n] = 0
    return counts + sample_words(p, n - counts.sum(1), generator=generator).dense()


def sample_word_shares(
    logits: Tensor,
    n: Tensor,
    *,
    generator: Random,
    plan: DrawPlan | None = None,
    scratch: Scratch | None = None,
) -> Counts:
    """Draw n_i ≥ 1 words for document i from softmax of row i of `logits` (B, K), as shares x/n.

    From plain torch sparse, or dense where documents are long; dense from a kernel whose shapes do
    not depend on what is drawn. Who draws again and again for the same n keeps the `plan_of` it.
    """
    if kernels.available(logits):
        return kernels.draw_word_shares(logits, n, generator)
    probabilities = softmax(logits, scratch)
    plan = plan or plan_of(n, logits.shape[1], logits.dtype)
    if plan is not None:
        return plan.draw(probabilities, generator=generator, counts=plan.shares, scratch=scratch)
    counts = sample_word_counts(probabilities, n, generator=generator)
    return (counts / counts.sum(1, keepdim=True)).to(logits.dtype)


def plan_of(n: Tensor, n_words: int, dtype: torch.dtype) -> DrawPlan | None:
    """Where n_i draws lie, or None where a kernel draws, or documents are so long that words are
    better counted."""
    if kernels.available(n) or not len(n):
        return None
    return plans_of(n, n_words, dtype, len(n))[0]


def plans_of(n: Tensor, n_words: int, dtype: torch.dtype, size: int) -> list[DrawPlan | None]:
    """The same for each of several batches of so many documents."""
    rows = n.view(len(n) // size, size)
    short = rows.double().mean(1) <= max(n_words, FEW)
    if not short.any():
        return [None] * len(rows)
    plans = draw_plans((rows * short[:, None]).long().view(-1), size, n_words, dtype)
    return [plan if drawn else None for plan, drawn in zip(plans, short.tolist(), strict=True)]
