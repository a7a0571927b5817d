"""Updates made ready ahead: the same steps, by a thread, and never twice."""

from __future__ import annotations

import threading

import pytest
import torch

from docboltz.model.counts import dense
from docboltz.model.latent_words import FixedLatentWords
from docboltz.training import plans
from docboltz.training.documents import Documents
from docboltz.training.plans import HostPlan, Step, one_thread_ahead, plan_updates
from docboltz.training.pretrain import ContrastiveDivergence, Pretraining
from tests.conftest import random_counts
from tests.model.test_conditionals import sparse
from tests.training.fakes import CPU, seeded, small_parameters


@pytest.fixture(params=["asked for", "ahead"])
def threads(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Too few threads, and enough of them."""
    few = request.param == "asked for"
    monkeypatch.setattr(plans, "ENOUGH_THREADS", torch.get_num_threads() + (2 if few else 0))


def enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "ENOUGH_THREADS", torch.get_num_threads())


def plan(first: int = 0, updates: int = 40) -> HostPlan:
    documents = Documents.of(sparse(random_counts(9, 5).float()), FixedLatentWords(2), CPU)
    phase = ContrastiveDivergence(Pretraining(updates=updates, batch_size=4, more_steps_every=3))
    phase.begin(small_parameters(3, 5, dtype=torch.float32), documents, seeded())
    made = plan_updates(
        phase, documents, first=first, seed=5, dtype=torch.float32, generator=seeded()
    )
    assert isinstance(made, HostPlan)
    return made


def numbers(step: Step) -> list[torch.Tensor]:
    """All that a step holds, with more random numbers than were drawn ahead."""
    batch, random, rate, share = step
    drawn = [random.uniform((4, 3), torch.float32) for _ in range(5)]
    return [dense(batch.shares), batch.n, batch.d, rate, share, *drawn]


def test_an_update_has_the_same_numbers_however_it_is_reached(threads: None) -> None:
    straight, other = plan(), plan()
    straight.stage(0, 12)
    expected = [numbers(straight.next()) for _ in range(12)]
    for first, updates in ((0, 4), (4, 4), (8, 4), (2, 5), (7, 1), (0, 12)):
        other.stage(first, updates)
        for t in range(first, first + updates):
            torch.testing.assert_close(numbers(other.next()), expected[t], rtol=0, atol=0)


def test_numbers_made_ahead_are_those_made_when_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    slow, fast = plan(), plan()
    slow.stage(0, 8)
    enough(monkeypatch)
    fast.stage(0, 4)
    found = [numbers(fast.next()) for _ in range(4)]
    fast.stage(4, 4)
    found += [numbers(fast.next()) for _ in range(4)]
    expected = [numbers(slow.next()) for _ in range(8)]
    torch.testing.assert_close(found, expected, rtol=0, atol=0)


def test_the_next_updates_are_made_once_by_a_thread_and_none_after_the_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real, made = HostPlan._make, []

    def make(self: HostPlan, updates: range) -> list[Step]:
        assert threading.current_thread() is not threading.main_thread()
        made.append(list(updates))
        return real(self, updates)

    monkeypatch.setattr(HostPlan, "_make", make)
    enough(monkeypatch)
    ahead = plan(first=3, updates=6)
    for first in (3, 6):
        ahead.stage(first, 3)
    assert ahead._ahead[1].result() == []
    assert made == [[3, 4, 5], [6, 7, 8], []]


def test_an_error_while_updates_are_made_ready_is_raised(
    threads: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that cannot be read, say."""

    def broken(self: Documents, index: torch.Tensor) -> None:
        raise OSError("the disk is gone")

    monkeypatch.setattr(Documents, "pick", broken)
    with pytest.raises(OSError, match="the disk is gone"):
        plan().stage(0, 4)


def test_one_of_enough_threads_is_left_free_while_training() -> None:
    before = torch.get_num_threads()
    try:
        for threads, expected in ((2, 2), (plans.ENOUGH_THREADS, plans.ENOUGH_THREADS - 1)):
            torch.set_num_threads(threads)
            with one_thread_ahead(CPU):
                assert torch.get_num_threads() == expected
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)


def test_the_thread_that_is_ahead_computes_alone_and_leaves_others_theirs() -> None:
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(3)
        thread = plans.thread_of_its_own()
        assert thread.submit(torch.get_num_threads).result() == 1
        assert torch.get_num_threads() == 3
        found: list[int] = []
        other = threading.Thread(target=lambda: found.append(torch.get_num_threads()))
        other.start()
        other.join()
        assert found == [3]
    finally:
        torch.set_num_threads(before)
