"""Minibatches word by word instead of document by document, for sums over their documents.

B documents, K words in the vocabulary.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import torch
from scipy.sparse import csr_array
from torch import Tensor

from docboltz.model.counts import SparseCounts, dense, times

DENSE = 0.25
"""Share of entries among all words of all documents from which on zeros are multiplied too."""


class Words(NamedTuple):
    """A batch word by word."""

    documents: SparseCounts
    """For each word the documents that hold it: K rows, B columns."""
    sums: Tensor
    """Σ_i x_ik: (K,)."""


def by_word(counts: SparseCounts) -> Words:
    """The same entries word by word."""
    columns = _columns(counts, counts.words, counts.n_words)
    sums = _sums(counts.counts, counts.words, counts.n_words)
    return Words(SparseCounts(*columns, len(counts)), sums)


def each_by_word(counts: SparseCounts, size: int) -> list[Words]:
    """The same for each of the batches of so many documents that these are."""
    K, batches = counts.n_words, len(counts) // size
    number = counts.owners.div(size, rounding_mode="floor")
    words = torch.add(counts.words, number, alpha=K)  # columns of its own for each batch
    starts, documents, values = _columns(counts, words, batches * K)
    sums = _sums(counts.counts, words, batches * K).view(batches, K)
    ends = starts[::K].tolist()
    sizes = [end - begin for begin, end in pairwise(ends)]
    parts = zip(
        torch.split(documents.remainder(size), sizes), torch.split(values, sizes), strict=True
    )
    entries = (
        SparseCounts(starts[i * K : (i + 1) * K + 1] - ends[i], *part, size)
        for i, part in enumerate(parts)
    )
    return list(map(Words, entries, sums.unbind()))


def _columns(counts: SparseCounts, words: Tensor, n_words: int) -> tuple[Tensor, Tensor, Tensor]:
    """Starts, documents and values of the columns; a word may have several in one document."""
    entries = tuple(t.numpy() for t in (counts.counts, words, counts.starts))
    # SciPy counts where torch would sort, which takes eight times as long.
    columns = csr_array(entries, (len(counts), n_words)).tocsc()
    starts, documents, values = map(
        torch.from_numpy, (columns.indptr, columns.indices, columns.data)
    )
    return starts, documents, values


def _sums(values: Tensor, words: Tensor, n_words: int) -> Tensor:
    """The sum of each word's values: (n_words,)."""
    return values.new_zeros(n_words).index_add_(0, words, values)  # bincount looks at all first


def is_sparse(counts: Tensor | SparseCounts) -> bool:
    """Whether zeros are so many that they are better left out."""
    if isinstance(counts, Tensor):
        return False
    return len(counts.words) < DENSE * len(counts) * counts.n_words


def spread(
    counts: Tensor | SparseCounts, rows: Tensor, words: Words | None = None
) -> tuple[Tensor, Tensor]:
    """Σ_i x_ik row_i for each word, (B, K) transposed, by (B, C), gives (K, C); and Σ_i x_ik: (K,).

    `words` are the counts by word, where somebody has them already.
    """
    if words is None and isinstance(counts, SparseCounts) and is_sparse(counts):
        words = by_word(counts)
    if words is not None:
        return times(words.documents, rows), words.sums
    x = dense(counts)
    return x.T @ rows, x.sum(0)
