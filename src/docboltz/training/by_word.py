"""Minibatches word by word instead of document by document, for sums over their documents.

B documents, K words in the vocabulary.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple, TypeGuard

import torch
from scipy.sparse import csr_array
from torch import Tensor

from docboltz.model.counts import SparseCounts, dense, times

DENSE = 0.25
"""Share of entries among all words of all documents from which on zeros are multiplied too."""


class Words(NamedTuple):
    """A batch word by word, worked out beforehand."""

    documents: SparseCounts
    """For each word the documents that hold it: K rows, B columns, so `words` are documents."""
    sums: Tensor
    """Σ_i x_ik: (K,)."""


def by_word(counts: SparseCounts) -> SparseCounts:
    """The same entries for each word, as `Words.documents` has them."""
    return SparseCounts(*_columns(counts, counts.words, counts.n_words), len(counts))


def each_by_word(counts: SparseCounts, size: int) -> list[Words]:
    """Each of the batches of so many documents that these are, all at once."""
    K, batches = counts.n_words, len(counts) // size
    number = counts.owners.div(size, rounding_mode="floor")
    words = torch.add(counts.words, number, alpha=K)  # columns of its own for each batch
    starts, documents, values = _columns(counts, words, batches * K)
    totals = _totals(words, counts.counts, batches * K).view(batches, K)
    ends = starts[::K].tolist()
    sizes = [end - begin for begin, end in pairwise(ends)]
    parts = zip(
        torch.split(documents.remainder(size), sizes), torch.split(values, sizes), strict=True
    )
    entries = [
        SparseCounts(starts[i * K : (i + 1) * K + 1] - ends[i], *part, size)
        for i, part in enumerate(parts)
    ]
    return list(map(Words, entries, totals.unbind()))


def _columns(counts: SparseCounts, words: Tensor, n_words: int) -> tuple[Tensor, Tensor, Tensor]:
    """Starts, documents and values of the columns; a word may have several in one document."""
    entries = tuple(t.numpy() for t in (counts.counts, words, counts.starts))
    # SciPy counts where torch would sort, which takes eight times as long.
    columns = csr_array(entries, (len(counts), n_words)).tocsc()
    starts, documents, values = map(
        torch.from_numpy, (columns.indptr, columns.indices, columns.data)
    )
    return starts, documents, values


def _totals(words: Tensor, values: Tensor, n_words: int) -> Tensor:
    """The sum of each word's values: (n_words,)."""
    return values.new_zeros(n_words).index_add_(0, words, values)  # bincount looks at all first


def is_sparse(counts: Tensor | SparseCounts) -> TypeGuard[SparseCounts]:
    """Whether zeros are so many that they are better left out, where SciPy can do it."""
    if isinstance(counts, Tensor) or counts.words.device.type != "cpu":
        return False
    return len(counts.words) < DENSE * len(counts) * counts.n_words


def spread(
    counts: Tensor | SparseCounts, rows: Tensor, words: SparseCounts | None = None
) -> Tensor:
    """Σ_i x_ik row_i for each word: (B, K) transposed, by (B, C), gives (K, C).

    `words` are the counts by word, where somebody has them already.
    """
    if words is None and is_sparse(counts):
        words = by_word(counts)
    return dense(counts).T @ rows if words is None else times(words, rows)


def sums(counts: Tensor | SparseCounts) -> Tensor:
    """Σ_i x_ik for each word: (K,)."""
    if isinstance(counts, Tensor):
        return counts.sum(0)
    return _totals(counts.words, counts.counts, counts.n_words)
