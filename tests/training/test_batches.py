"""Documents streamed from the host: the batches and bits that counts on the device have."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from docboltz import Finetuning, OverReplicatedSoftmax, Pretraining, Validation
from docboltz.model.counts import dense
from docboltz.model.latent_words import FixedLatentWords
from docboltz.training import run as runs
from docboltz.training.batches import StreamedBatches, batches_of, most_entries
from docboltz.training.documents import Documents, Shuffle, size_in_memory
from docboltz.training.plans import CHUNK
from docboltz.training.trainer import Phase, Trainer
from tests.conftest import random_counts
from tests.estimator.test_checkpoints import assert_same_bits, stop_after
from tests.model.test_conditionals import sparse
from tests.training.fakes import CPU, small_parameters, unseen
from tests.training.runs import Saves
from tests.training.test_going_on import assert_same_end, real_run
from tests.training.test_replay import finetuning, finetuning_from_data, pretraining
from tests.training.test_validation import of_many_kinds

FREE = "docboltz.training.documents.free_memory"


@contextmanager
def streaming() -> Iterator[None]:
    """As if the device were full."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FREE, lambda device: 0.0)
        yield


def documents(
    n: int = 9, K: int = 5, device: torch.device = CPU, rows: torch.Tensor | None = None
) -> Documents:
    counts = sparse(random_counts(n, K).float())
    return Documents.of(counts, FixedLatentWords(2), device, rows=rows)


def streamed(n: int = 9, K: int = 5, device: torch.device = CPU) -> Documents:
    with streaming():
        return documents(n, K, device)


# ---- when ----


def test_counts_that_take_half_of_the_free_memory_stay_on_the_host(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    size = size_in_memory(sparse(random_counts(9, 5).float()))
    assert not documents().streamed, "on the CPU they are where they are"
    for free, expected in ((2 * size, False), (2 * size - 1, True)):
        monkeypatch.setattr(FREE, lambda device, free=free: free)
        assert documents().streamed == expected


# ---- batches ----


@given(
    sizes=st.lists(st.integers(0, 9), min_size=1, max_size=12),
    batch_size=st.integers(1, 15),
    updates=st.integers(1, 5),
    first=st.integers(0, 30),
    seed=st.integers(0, 5),
)
def test_there_is_room_for_any_chunk(
    sizes: list[int], batch_size: int, updates: int, first: int, seed: int
) -> None:
    shuffle, of_document = Shuffle(len(sizes), batch_size, seed), torch.tensor(sizes)
    found = of_document[shuffle(first, updates)].sum()
    assert found <= most_entries(of_document, updates * shuffle.size)


CHUNKS = [(0, 4), (4, 4), (8, 2), (10, 4), (3, 1), (4, 4), (0, 4), (0, 4)]
"""One after the other, a short one, back, and the same once more."""


@pytest.mark.parametrize("rows", [None, torch.tensor([7, 0, 3, 8, 1])], ids=["all", "some"])
def test_staged_batches_are_the_batches_of_the_counts(rows: torch.Tensor | None) -> None:
    plain = batches_of(documents(rows=rows), 4, seed=3, at_once=4)
    with streaming():
        ahead = batches_of(documents(rows=rows), 4, seed=3, at_once=4)
    assert isinstance(ahead, StreamedBatches)
    places = [
        t.data_ptr() for t in vars(ahead._staged.counts).values() if isinstance(t, torch.Tensor)
    ]
    for first, updates in CHUNKS:
        there = ahead.stage(first, updates)
        for expected, index in zip(plain.stage(first, updates), there, strict=True):
            one, other = plain.pick(expected), ahead.pick(index)
            assert torch.equal(dense(one.shares), dense(other.shares))
            assert torch.equal(one.n, other.n)
            assert torch.equal(one.d, other.d)
    now = [t.data_ptr() for t in vars(ahead._staged.counts).values() if isinstance(t, torch.Tensor)]
    assert now == places, "a graph would read elsewhere"


def test_the_next_chunk_is_gathered_before_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a thread, and never twice."""
    real, gathered = StreamedBatches._gather, []

    def gather(self: StreamedBatches, first: int, half: int) -> int:
        gathered.append((first, half))
        assert threading.current_thread() is not threading.main_thread()
        return real(self, first, half)

    monkeypatch.setattr(StreamedBatches, "_gather", gather)
    ahead = batches_of(streamed(), 4, seed=3, at_once=4)
    ahead.stage(0, 4)
    ahead._ahead[1].result()
    assert gathered == [(0, 0), (4, 1)]
    ahead.stage(4, 4)
    ahead._ahead[1].result()
    assert gathered == [(0, 0), (4, 1), (8, 0)]


def test_an_error_while_gathering_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that cannot be read, say."""

    def broken(self: StreamedBatches, first: int, half: int) -> int:
        raise OSError("the disk is gone")

    monkeypatch.setattr(StreamedBatches, "_gather", broken)
    ahead = batches_of(streamed(), 4, seed=3, at_once=4)
    with pytest.raises(OSError, match="the disk is gone"):
        ahead.stage(0, 4)


# ---- training ----


def trained(make: Callable[[], Phase], device: torch.device) -> Trainer:
    """Chunks of all sizes, and a look."""
    found = documents(30, 50, device)
    p = small_parameters(6, 50, dtype=torch.float32).to(device).copy()
    trainer = Trainer(make(), p, found, seed=0)
    for updates in (CHUNK, 7, CHUNK, 1):
        trainer.advance(updates)
    trainer.watch()
    return trainer


@pytest.mark.parametrize("make", [pretraining, finetuning, finetuning_from_data])
def test_a_streamed_run_has_the_bits_of_one_with_counts_on_the_device(
    make: Callable[[], Phase], device: str
) -> None:
    """With CUDA, replayed from the staged buffers."""
    plain = trained(make, torch.device(device))
    with streaming():
        other = trained(make, torch.device(device))
    assert other.documents.streamed
    assert other.watch() == plain.watch()
    for name, tensor in plain.tensors().items():
        assert torch.equal(tensor, other.tensors()[name]), name


@pytest.mark.parametrize("stop", [(0, 13), (1, 3)], ids=str)
def test_a_streamed_run_goes_on_after_an_interrupt(
    stop: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the middle of a chunk, to the bits of a run that neither stopped nor streamed."""
    monkeypatch.setattr(runs, "LOOK", 10)
    whole = real_run()
    whole.go(unseen)
    saves = Saves()
    with streaming():
        with pytest.raises(KeyboardInterrupt):
            real_run(stop=stop, save=saves).go(unseen)
        resumed = real_run()
        resumed.restore(*saves[0])
        resumed.go(unseen)
    assert_same_end(whole, resumed)


def test_a_streamed_fit_has_the_bits_of_a_plain_one(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, device: str
) -> None:
    """Both phases, trials without the documents that are held out, Ctrl-C, and partial fits."""
    X = of_many_kinds(200, 30, seed=0).numpy()

    def model(checkpoint: object = None) -> OverReplicatedSoftmax:
        return OverReplicatedSoftmax(
            4,
            pretraining=Pretraining(updates=50, more_steps_every=20, batch_size=16),
            finetuning=Finetuning(updates=30, rungs=8, bridge=4, batch_size=32, sweeps=1),
            validation=Validation(share=0.2, strengths=(1,)),
            random_state=0,
            device=device,
            checkpoint=checkpoint,
        )

    plain, other = model().fit(X), model().partial_fit(X)
    with streaming():
        assert_same_bits(model().fit(X), plain)
        assert np.array_equal(model().partial_fit(X).components_, other.components_)
        stop_after(monkeypatch, 97)  # in the run on all documents
        with pytest.raises(KeyboardInterrupt):
            model(tmp_path / "state").fit(X)
        assert_same_bits(model(tmp_path / "state").fit(X), plain)
