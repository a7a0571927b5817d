"""Word counts of a batch of documents, sparse or dense, and what the equations ask of them.

B documents, K words in the vocabulary. A batch is either a dense tensor (B, K) or `SparseCounts`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

SUM = 0
"""torch's number for sums of rows."""


@dataclass(frozen=True)
class SparseCounts:
    """B documents in compressed rows: document i holds words[starts[i] : starts[i + 1]].

    torch's own CSR tensors cannot pick rows and warn that they are in beta; three plain tensors can
    live on any device and be cut into minibatches there.
    """

    starts: Tensor
    """Where each document begins in `words`, and the end of the last one: (B + 1,) integers."""
    words: Tensor
    """Columns of the vocabulary: (nnz,) integers of the same type as `starts`."""
    counts: Tensor
    """How often each word occurs: (nnz,) floats."""
    n_words: int
    """Size of the vocabulary, K."""
    owner: Tensor | None = None
    """The document of each entry, where it is known: (nnz,) integers."""

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def owners(self) -> Tensor:
        """The document of each entry: (nnz,)."""
        if self.owner is not None:
            return self.owner
        return torch.repeat_interleave(self.starts.diff()).long()

    @cached_property
    def flat(self) -> Tensor:
        """The place of each entry in the batch spread out row by row: (nnz,)."""
        return torch.add(self.words, self.owners, alpha=self.n_words)

    @cached_property
    def lengths(self) -> Tensor:
        """N = Σ_k v̂_k of each document, summed once: (B,)."""
        starts = self.starts
        if starts.device.type == "cpu" and not (
            starts[0] >= 0 and starts[-1] <= len(self.counts) and (starts[1:] >= starts[:-1]).all()
        ):
            raise ValueError("documents begin and end within the counts")  # torch would not look
        return torch.segment_reduce(self.counts, "sum", offsets=self.starts, initial=0.0)

    def to(self, device: torch.device | str, dtype: torch.dtype | None = None) -> SparseCounts:
        """Return the same counts on another device or in another floating type."""
        counts = self.counts.to(device, dtype or self.counts.dtype)
        return SparseCounts(self.starts.to(device), self.words.to(device), counts, self.n_words)

    def rows(self, index: Tensor) -> SparseCounts:
        """Pick documents, in the order of `index`."""
        begin, size = self.starts[index], self.starts[index + 1] - self.starts[index]
        starts = torch.cat([size.new_zeros(1), size.cumsum(0, dtype=size.dtype)])
        owner = torch.repeat_interleave(size).long()
        # Entry e of picked document i sits at begin[i] + (e − starts[i]) in the source.
        shift = (begin - starts[:-1])[owner]
        take = torch.arange(len(shift), device=shift.device, dtype=shift.dtype).add_(shift)
        return SparseCounts(starts, self.words[take], self.counts[take], self.n_words, owner)

    def slice(self, begin: int, end: int) -> SparseCounts:
        """Pick the documents begin, begin + 1, …, end − 1 without copying their entries."""
        first, last = int(self.starts[begin]), int(self.starts[end])
        words, counts = self.words[first:last], self.counts[first:last]
        owner = None if self.owner is None else self.owner[first:last] - begin
        return SparseCounts(
            self.starts[begin : end + 1] - first, words, counts, self.n_words, owner
        )

    def split(self, size: int) -> list[SparseCounts]:
        """So many documents each, one part after the other, without copying their entries."""
        sizes = self.starts.diff().view(-1, size)
        totals = sizes.sum(1).tolist()
        starts = torch.nn.functional.pad(sizes.cumsum(1, dtype=sizes.dtype), (1, 0)).unbind()
        owners = self.owners.remainder(size)
        parts = (torch.split(t, totals) for t in (self.words, self.counts, owners))
        return [
            SparseCounts(begin, words, counts, self.n_words, owner)
            for begin, words, counts, owner in zip(starts, *parts, strict=True)
        ]

    def shares(self) -> SparseCounts:
        """x̄ = x/N: words as shares of their document. No document may be empty."""
        owner = self.owners
        shares = self.counts / self.lengths[owner]
        return SparseCounts(self.starts, self.words, shares, self.n_words, owner)

    def dense(self) -> Tensor:
        """Spread the batch out as a (B, K) tensor. For minibatches only, never for a corpus."""
        flat = self.counts.new_zeros(len(self) * self.n_words)
        return flat.index_add_(0, self.flat, self.counts).view(len(self), self.n_words)


def times(counts: Tensor | SparseCounts, matrix: Tensor) -> Tensor:
    """x ↦ Σ_k x_k matrix_k for each document: (B, K) by (K, C) gives (B, C).

    Sparse rows are summed one by one, so a document's result has the same bits in any batch.
    """
    if isinstance(counts, Tensor):
        return counts @ matrix
    # torch.nn.functional's takes twice as long for small batches.
    bags = torch.embedding_bag(
        matrix.contiguous(),
        counts.words,
        counts.starts,
        mode=SUM,
        per_sample_weights=counts.counts,
        include_last_offset=True,
    )
    return bags[0]


def dense(counts: Tensor | SparseCounts) -> Tensor:
    """Spread a minibatch out, where it is not spread out already: (B, K)."""
    return counts if isinstance(counts, Tensor) else counts.dense()


def lengths(counts: Tensor | SparseCounts) -> Tensor:
    """N = Σ_k v̂_k, the number of words of each document: (B,)."""
    return counts.sum(1) if isinstance(counts, Tensor) else counts.lengths


def whole_counts(counts: Tensor) -> Tensor:
    """Round each count to a whole number, but a word that occurs occurs once at least."""
    return torch.where(counts > 0, counts.round().clamp_min(1), 0)


def cut_counts(counts: Tensor, *, generator: torch.Generator | None) -> tuple[Tensor, Tensor]:
    """Give each occurrence of a word to one of two halves by a fair coin; counts are whole."""
    first = torch.binomial(counts, torch.full_like(counts, 0.5), generator=generator)
    return first, counts - first


def joined(parts: list[SparseCounts]) -> SparseCounts:
    """The documents of all parts, one part after the other."""
    if len(parts) == 1:
        return parts[0]
    sizes = torch.cat([part.starts.diff() for part in parts])
    starts = torch.cat([sizes.new_zeros(1), sizes.cumsum(0, dtype=sizes.dtype)])
    words, counts = (torch.cat([getattr(p, name) for p in parts]) for name in ("words", "counts"))
    return SparseCounts(starts, words, counts, parts[0].n_words)


BLOCK_ENTRIES = 2**22
"""Entries that are summed up at once, in float64."""


def word_totals(counts: SparseCounts) -> Tensor:
    """How often each word occurs in all documents: (K,), float64."""
    # Summed in float64: a float32 sum of ones stops growing at 2²⁴.
    total = torch.zeros(counts.n_words, dtype=torch.float64, device=counts.counts.device)
    for begin in range(0, len(counts.words), BLOCK_ENTRIES):
        some = slice(begin, begin + BLOCK_ENTRIES)
        weights = counts.counts[some].double()
        total += torch.bincount(counts.words[some], weights, minlength=counts.n_words)
    return total


def word_frequency(counts: SparseCounts) -> Tensor:
    """f_k, the share of each word in all words of all documents: (K,), float64."""
    total = word_totals(counts)
    return total / total.sum()
