from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from docboltz.model.counts import dense
from docboltz.model.latent_words import LatentWords
from docboltz.scratch import Scratch
from docboltz.training import documents as training_documents
from docboltz.training.documents import Documents, Shuffle
from tests.conftest import random_counts
from tests.model.test_conditionals import sparse
from tests.training.fakes import CPU, documents_of


@pytest.mark.parametrize(("n", "batch_size"), [(10, 4), (7, 3), (5, 5), (9, 1)])
def test_every_pass_holds_every_document_once_in_an_order_of_its_own(
    n: int, batch_size: int
) -> None:
    """Batches straddle passes, so n batches of any size are `batch_size` whole passes."""
    order = Shuffle(n, batch_size, seed=0)(0, n)
    assert order.shape == (n, batch_size)
    passes = order.view(batch_size, n)
    assert all(sorted(each.tolist()) == list(range(n)) for each in passes)
    assert len({tuple(each.tolist()) for each in passes}) == batch_size, "an order came twice"


@given(
    n=st.integers(1, 12),
    batch_size=st.integers(1, 15),
    first=st.integers(0, 40),
    updates=st.integers(1, 20),
    asked_before=st.integers(0, 40),
)
def test_which_documents_an_update_sees_depends_on_its_number_alone(
    n: int, batch_size: int, first: int, updates: int, asked_before: int
) -> None:
    """Any slice is the slice of the whole sequence, whatever was asked for before."""
    whole = Shuffle(n, batch_size, seed=3)(0, 60)
    shuffle = Shuffle(n, batch_size, seed=3)
    shuffle(asked_before, 1)
    assert torch.equal(shuffle(first, updates), whole[first : first + updates])


def test_another_seed_is_another_order() -> None:
    assert not torch.equal(Shuffle(50, 50, seed=0)(0, 1), Shuffle(50, 50, seed=1)(0, 1))


def test_a_small_corpus_is_one_batch() -> None:
    order = Shuffle(3, 128, seed=0)(0, 2)
    assert order.shape == (2, 3)
    assert all(sorted(batch.tolist()) == [0, 1, 2] for batch in order)


def test_picked_documents_are_their_dense_shares(policy: LatentWords) -> None:
    """In the order asked for, and as often."""
    counts, index = random_counts(6, 5), torch.tensor([4, 0, 4, 2])
    batch = documents_of(counts, policy).pick(index)
    n = counts.sum(1)[index]
    torch.testing.assert_close(dense(batch.shares), counts[index] / n[:, None])
    assert torch.equal(batch.n, n)
    assert torch.equal(batch.d, n + policy(n))
    assert len(documents_of(counts, policy)) == 6


def test_documents_beside_those_held_out_are_learnt_from_like_a_copy_of_them(
    policy: LatentWords, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training_documents, "BLOCK_ROWS", 3)
    counts, rows = random_counts(9, 5), torch.tensor([7, 0, 3, 8, 1, 4, 2])
    some = Documents.of(sparse(counts), policy, CPU, rows=rows)
    copied = documents_of(counts[rows], policy)
    assert len(some) == len(copied) == 7
    one, other = (each.pick(torch.tensor([6, 0, 6])) for each in (some, copied))
    assert torch.equal(dense(one.shares), dense(other.shares))
    assert torch.equal(one.d, other.d)
    assert torch.equal(some.quantiles(4), copied.quantiles(4))
    assert torch.equal(some.facts.frequency, copied.facts.frequency)
    assert (some.facts.sizes, some.facts.mean_d) == (copied.facts.sizes, copied.facts.mean_d)


def test_only_sparse_batches_of_a_chunk_have_their_words_ready() -> None:
    """As each would be taken alone: a run has the same bits wherever its chunks begin."""
    counts = torch.zeros(4, 40)
    counts[0, 3] = counts[1, 7] = 2
    counts[2:] = 1
    chunk = documents_of(counts).pick(torch.arange(4))
    one, other = chunk.split(2, Scratch(), draws=True)
    assert one.by_word is not None
    assert torch.equal(one.by_word.documents.dense(), dense(one.shares).T)
    assert other.by_word is None
    assert all(batch.by_word is None for batch in chunk.split(2, Scratch(), draws=False))
