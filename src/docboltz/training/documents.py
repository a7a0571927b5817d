"""The training documents where the arithmetic is, and the order in which they are learnt from."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from docboltz import kernels
from docboltz.model.conditionals import Counts
from docboltz.model.counts import SparseCounts
from docboltz.model.latent_words import LatentWords


@dataclass(frozen=True)
class Batch:
    """B documents of an update. K words."""

    shares: Counts
    """x̄ = v̂/N, a document's words as shares of all of them: (B, K)."""
    n: Tensor
    """N, words of each document: (B,)."""
    d: Tensor
    """D = N + M, with its latent words: (B,)."""


@dataclass(frozen=True)
class Documents:
    """Sparse counts on the device, with their numbers of words."""

    counts: SparseCounts
    n: Tensor
    d: Tensor

    @classmethod
    def of(cls, counts: SparseCounts, latent_words: LatentWords, device: torch.device) -> Documents:
        """Move counts to the device; give each document its latent words."""
        counts = counts.to(device)
        n = counts.lengths
        return cls(counts, n, n + latent_words(n))

    def __len__(self) -> int:
        return len(self.counts)

    def pick(self, index: Tensor) -> Batch:
        """Take the documents with these numbers: dense where a kernel can, sparse elsewhere."""
        c = self.counts
        if kernels.available(c.counts):
            both = (self.n, self.d)
            return Batch(*kernels.pick_shares(c.starts, c.words, c.counts, c.n_words, both, index))
        return Batch(c.rows(index).shares(), self.n[index], self.d[index])


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
