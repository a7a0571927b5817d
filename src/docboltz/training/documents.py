"""The training documents where the arithmetic is, and the order in which they are learnt from."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce

import torch
from torch import Tensor

from docboltz import kernels
from docboltz.model.conditionals import Counts
from docboltz.model.counts import SparseCounts, word_totals
from docboltz.model.latent_words import LatentWords
from docboltz.sampling.words import DrawPlan, plans_of
from docboltz.scratch import Scratch
from docboltz.training.by_word import Words, each_by_word, is_sparse
from docboltz.training.together import ALONE, Alone

MOST_OF_DEVICE = 0.5
"""Share of a device's free memory that counts may take; the rest is for the model."""
BLOCK_ROWS = 1 << 16
"""Documents that are copied at once."""


@dataclass(frozen=True)
class Batch:
    """B documents of an update. K words."""

    shares: Counts
    """x̄ = v̂/N, a document's words as shares of all of them: (B, K)."""
    n: Tensor
    """N, words of each document: (B,)."""
    d: Tensor
    """D = N + M, with its latent words: (B,)."""

    plan: DrawPlan | None = None
    """Where as many words lie as the documents have, if it was worked out beforehand."""
    by_word: Words | None = None
    """The shares word by word, if it was worked out beforehand."""
    thresholds: deque[Tensor] = field(default_factory=deque)
    """What decides about the units, draw by draw, if it was worked out beforehand: (B, F) each."""
    scratch: Scratch | None = None
    """Memory for what is worked out from them, used by one batch after the other."""

    @property
    def whole(self) -> Tensor:
        """N as whole numbers of at least 1 (those of tf-idf are none): (B,)."""
        return self.n.round().clamp_min(1)

    def split(self, size: int, scratch: Scratch, *, draws: bool) -> list[Batch]:
        """Batches of so many documents each; with plans, if as many words are to be drawn."""
        x = self.shares
        n, d = torch.split(self.n, size), torch.split(self.d, size)
        plans: Sequence[DrawPlan | None] = [None] * len(n)
        by_word: Sequence[Words | None] = [None] * len(n)
        shares: Sequence[Counts] = torch.split(x, size) if isinstance(x, Tensor) else x.split(size)
        if draws and not isinstance(x, Tensor):
            plans = plans_of(self.whole, x.n_words, self.n.dtype, size)
            sparse = list(map(is_sparse, shares))
            words = each_by_word(x, size) if any(sparse) else by_word
            by_word = [w if few else None for w, few in zip(words, sparse, strict=True)]
        each = zip(shares, n, d, plans, by_word, strict=True)
        return [Batch(*parts, scratch=scratch) for parts in each]


@dataclass(frozen=True)
class Facts:
    """What all documents are like, whichever worker has them."""

    sizes: list[int]
    """Documents of each worker."""
    mean_d: float
    """Mean of D."""
    latent: bool
    """Whether any of them has latent words."""
    frequency: Tensor
    """Share of each word in all words: (K,), float64, on the CPU."""

    @property
    def n(self) -> int:
        """The number of documents."""
        return sum(self.sizes)


@dataclass(frozen=True)
class Documents:
    """Sparse counts with their numbers of words, on the device or, `streamed`, on the host.

    Where some documents are held out, `rows` are the others, in the order of their numbers here:
    counts, which may be on disk, are not copied. With several workers these are one worker's own;
    `facts` are of all.
    """

    counts: SparseCounts
    n: Tensor
    d: Tensor
    rows: Tensor | None
    device: torch.device
    streamed: bool
    together: Alone
    facts: Facts

    @classmethod
    def of(
        cls,
        counts: SparseCounts,
        latent_words: LatentWords,
        device: torch.device,
        together: Alone = ALONE,
        *,
        rows: Tensor | None = None,
    ) -> Documents:
        """Give each document its latent words; move counts to the device if there is room.

        `rows` are those to learn from; None for all.
        """
        streamed = size_in_memory(counts) > MOST_OF_DEVICE * free_memory(device)
        if not streamed:
            counts = counts.to(device)
        n = counts.lengths
        d = n + latent_words(n)
        if rows is not None:
            rows = rows.to(n.device)
        facts = facts_of(counts, n, d, rows, together)
        return cls(counts, n, d, rows, device, streamed, together, facts)

    def __len__(self) -> int:
        return len(self.counts if self.rows is None else self.rows)

    def at(self, index: Tensor) -> Tensor:
        """Where the documents with these numbers are in `counts`, `n` and `d`."""
        return index if self.rows is None else self.rows[index]

    def pick(self, index: Tensor) -> Batch:
        """Take the documents with these numbers to the device."""
        if not self.streamed:
            return pick(self.counts, self.n, self.d, self.at(index))
        at, device = self.at(index.to(self.n.device)), self.device
        n, d = self.n[at].to(device), self.d[at].to(device)
        every = torch.arange(len(index), device=device)
        return pick(self.counts.rows(at).to(device), n, d, every)

    # ---- of all workers ----

    def quantiles(self, number: int) -> Tensor:
        """So many of all documents' D, evenly spread over the documents in order of D."""
        values, times = torch.unique(own(self.d, self.rows).double().cpu(), return_counts=True)
        each = self.together.gather((values, times))
        values, order = torch.cat([v for v, _ in each]).sort()
        ends = torch.cat([t for _, t in each])[order].cumsum(0)
        place = (torch.arange(number, dtype=torch.float64) + 0.5) / number * int(ends[-1])
        return values[torch.searchsorted(ends, place.long(), right=True)].to(self.d.dtype)

    @property
    def share(self) -> float:
        """Share of all documents that this worker has.

        Each worker's mean over documents of its own, times this, adds up to a mean over documents
        of all, in expectation: whatever part of a minibatch it takes.
        """
        return len(self) / self.facts.n

    def part_of_batch(self, batch_size: int) -> int:
        """This worker's part of a minibatch: like its share of the documents, 1 at least."""
        facts = self.facts
        return max(1, self.together.part_of(min(batch_size, facts.n), facts.sizes))

    def average_(self, tensor: Tensor) -> None:
        """Put the mean of all workers' tensors, weighted by their documents, in their place."""
        if self.together.size > 1:
            self.together.sum_(tensor.mul_(self.share))


def pick(counts: SparseCounts, n: Tensor, d: Tensor, index: Tensor) -> Batch:
    """Take the documents with these numbers: dense where a kernel can, sparse elsewhere."""
    c = counts
    if kernels.available(c.counts):
        return Batch(*kernels.pick_shares(c.starts, c.words, c.counts, c.n_words, (n, d), index))
    return Batch(c.rows(index).shares(), n[index], d[index])


def own(values: Tensor, rows: Tensor | None) -> Tensor:
    """The values of these rows; of all where that is None."""
    return values if rows is None else values[rows]


def facts_of(
    counts: SparseCounts, n: Tensor, d: Tensor, rows: Tensor | None, together: Alone
) -> Facts:
    """What the documents of all workers are like, each of which gives its own."""
    n, d = own(n, rows), own(d, rows)
    each = together.gather((len(d), float(d.double().sum()), bool((d > n).any())))
    sizes, totals = [size for size, _, _ in each], together.total(totals_of(counts, rows).cpu())
    return Facts(
        sizes,
        mean_d=sum(total for _, total, _ in each) / sum(sizes),
        latent=any(latent for _, _, latent in each),
        frequency=totals / totals.sum(),
    )


def totals_of(counts: SparseCounts, rows: Tensor | None) -> Tensor:
    """How often each word occurs in these rows: (K,), float64."""
    if rows is None:
        return word_totals(counts)
    blocks = torch.split(rows.sort().values, BLOCK_ROWS)  # in the order they lie in
    return reduce(torch.add, (word_totals(counts.rows(some)) for some in blocks))


def size_in_memory(counts: SparseCounts) -> int:
    """Bytes of counts."""
    return sum(t.numel() * t.element_size() for t in (counts.starts, counts.words, counts.counts))


def free_memory(device: torch.device) -> float:
    """Bytes that can still be had on a device; on the CPU, where counts are already, any number."""
    if device.type != "cuda":
        return float("inf")
    free, _ = torch.cuda.mem_get_info(device)
    return free + torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)


class Shuffle:
    """Endless minibatches, all of one size, each pass through the documents in a new order.

    Which documents update t sees is a function of the seed and of t alone, so a run can be taken up
    anywhere. A minibatch may straddle two passes: no document is left out, no batch is small.
    """

    def __init__(self, n_documents: int, batch_size: int, seed: int) -> None:
        self.size = min(batch_size, n_documents)
        self._n, self._seed = n_documents, seed
        self._pass, self._order = -1, torch.empty(0, dtype=torch.long)

    def __call__(self, first: int, updates: int) -> Tensor:
        """Documents of the updates first, first + 1, …: (updates, size)."""
        begin, end = first * self.size, (first + updates) * self.size
        parts = []
        while begin < end:
            number, at = divmod(begin, self._n)
            parts.append(self._of_pass(number)[at : at + end - begin])
            begin += len(parts[-1])
        return torch.cat(parts).view(updates, self.size)

    def _of_pass(self, number: int) -> Tensor:
        if number != self._pass:
            # A generator of its own for each pass; consecutive seeds would do for torch's Mersenne
            # twister only after mixing, which manual_seed does.
            generator = torch.Generator().manual_seed(self._seed + 1_000_003 * number)
            self._order = torch.randperm(self._n, generator=generator)
            self._pass = number
        return self._order
