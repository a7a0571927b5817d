from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from docboltz.model.counts import SparseCounts, times, whole_counts
from tests.conftest import random_counts
from tests.model.test_conditionals import sparse


@given(picks=st.lists(st.integers(0, 5), max_size=12), seed=st.integers(0, 100))
@settings(max_examples=50)
def test_rows_picks_any_documents_in_any_order(picks: list[int], seed: int) -> None:
    dense = random_counts(6, 4, seed=seed)
    dense[2] = 0  # an empty document must not shift its neighbours
    index = torch.tensor(picks, dtype=torch.long)
    assert torch.equal(sparse(dense).rows(index).dense(), dense[index])


def test_slice_is_a_run_of_rows() -> None:
    dense = random_counts(6, 4)
    assert torch.equal(sparse(dense).slice(2, 5).dense(), dense[2:5])
    assert len(sparse(dense).slice(3, 3)) == 0


def test_repeated_words_add_up() -> None:
    from docboltz.model.counts import SparseCounts, lengths

    text = SparseCounts(torch.tensor([0, 3]), torch.tensor([1, 0, 1]), torch.ones(3), 3)
    assert text.dense().tolist() == [[1, 2, 0]]
    assert lengths(text).tolist() == [3]


def test_a_documents_product_has_the_same_bits_in_any_batch() -> None:
    dense = random_counts(40, 30, most=9).float()
    matrix = torch.randn(30, 16, generator=torch.Generator().manual_seed(0))
    together = times(sparse(dense), matrix)
    for i in (0, 7, 39):
        assert torch.equal(times(sparse(dense[i : i + 1]), matrix)[0], together[i])


def test_whole_counts_lose_no_word() -> None:
    counts = SparseCounts(
        torch.tensor([0, 4]), torch.arange(4), torch.tensor([0.0, 0.2, 1.6, 3]), 4
    )
    assert whole_counts(counts.counts).tolist() == [0, 1, 2, 3]


def test_parts_of_equal_size_are_slices() -> None:
    dense = random_counts(12, 5)
    dense[4] = 0
    whole = sparse(dense)
    for size in (1, 3, 12):
        parts = whole.split(size)
        assert len(parts) == 12 // size
        for i, part in enumerate(parts):
            expected = dense[i * size : (i + 1) * size]
            assert torch.equal(part.dense(), expected)
            assert torch.equal(part.lengths, expected.sum(1))
