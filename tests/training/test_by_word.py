"""Documents by word are the same entries, and their sums the dense matrix's."""

from __future__ import annotations

import pytest
import torch

from docboltz.model.counts import SparseCounts
from docboltz.training.by_word import DENSE, by_word, each_by_word, is_sparse, spread, sums
from tests.conftest import random_counts
from tests.model.test_conditionals import sparse


def test_rows_are_words_and_columns_documents() -> None:
    counts = random_counts(6, 9)
    counts[2], counts[:, 4] = 0, 0
    found = by_word(sparse(counts))
    assert (len(found), found.n_words) == (9, 6)
    assert torch.equal(found.dense(), counts.T)


def test_a_word_drawn_twice_counts_twice() -> None:
    counts = SparseCounts(torch.tensor([0, 3]), torch.tensor([1, 0, 1]), torch.ones(3), 2)
    assert by_word(counts).dense().tolist() == [[1], [2]]
    assert sums(counts).tolist() == [1, 2]


@pytest.mark.parametrize("size", [1, 4, 12])
def test_batches_of_a_chunk_are_those_of_each(size: int) -> None:
    """To the bit and in the same order: who makes many ready at once changes no sum."""
    counts = random_counts(12, 5)
    counts[4], counts[:, 2] = 0, 0
    whole = sparse(counts)
    found = each_by_word(whole, size)
    assert len(found) == 12 // size
    for one, part in zip(found, whole.split(size), strict=True):
        other = by_word(part)
        assert one.documents.n_words == other.n_words == size
        for name in ("starts", "words", "counts"):
            assert torch.equal(getattr(one.documents, name), getattr(other, name))
        assert torch.equal(one.sums, sums(part))


@pytest.mark.parametrize("K", [6, 400])
def test_rows_are_spread_over_words_alike_however_documents_are_stored(K: int) -> None:
    """Few entries are taken by word, many are multiplied as a dense matrix."""
    counts = torch.zeros(3, K).double()
    counts[0, 1], counts[1, :4], counts[2, 1] = 2, 1, 3
    assert is_sparse(sparse(counts)) == (DENSE * 3 * K > 6) == (K == 400)
    rows = torch.arange(12.0).double().view(3, 4)
    expected = counts.T @ rows
    assert torch.equal(spread(counts, rows), expected)
    assert torch.equal(spread(sparse(counts), rows), expected)
    assert torch.equal(spread(sparse(counts), rows, by_word(sparse(counts))), expected)
    assert torch.equal(sums(counts), sums(sparse(counts)))


def test_a_device_that_scipy_knows_nothing_of_multiplies_zeros() -> None:
    counts = sparse(torch.eye(3, 400))
    assert is_sparse(counts)
    assert not is_sparse(counts.to("meta"))
