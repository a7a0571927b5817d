"""Updates made ready ahead: the same steps, by a thread, and never twice."""

from __future__ import annotations

import threading
from functools import partial

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
from tests.training.fakes import CPU, Drift, seeded, small_parameters, unseen
from tests.training.runs import Saves
from tests.training.test_going_on import assert_same_end, real_run

AHEAD = pytest.mark.parametrize("ahead", [False, True])


def plan(first: int = 0, updates: int = 40, *, ahead: bool = False) -> HostPlan:
    documents = Documents.of(sparse(random_counts(9, 5).float()), FixedLatentWords(2), CPU)
    phase = ContrastiveDivergence(Pretraining(updates=updates, batch_size=4, more_steps_every=3))
    p = small_parameters(3, 5, dtype=torch.float32)
    phase.begin(p, documents, seeded())
    made = plan_updates(phase, documents, p, seeded(5), first=first)
    assert isinstance(made, HostPlan)
    made.ahead = ahead
    return made


def numbers(step: Step) -> list[torch.Tensor]:
    """All that a step holds, with more random numbers than were drawn ahead."""
    batch, random, rate, share = step
    drawn = [random.uniform((4, 3), torch.float32) for _ in range(5)]
    ready = [t.clone() for t in (*batch.thresholds, *batch.plan._ready)]  # its memory is used again
    return [dense(batch.shares), batch.n, batch.d, rate, share, *drawn, *ready]


@AHEAD
def test_an_update_has_the_same_numbers_however_it_is_reached(ahead: bool) -> None:
    straight, other = plan(), plan(ahead=ahead)
    other._at_once = 3
    straight.stage(0, 12)
    expected = [numbers(straight.next()) for _ in range(12)]
    for first, updates in ((0, 4), (4, 4), (8, 4), (2, 5), (7, 1), (0, 12)):
        other.stage(first, updates)
        for t in range(first, first + updates):
            torch.testing.assert_close(numbers(other.next()), expected[t], rtol=0, atol=0)


def test_the_next_updates_are_made_once_by_a_thread_and_none_after_the_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real, made = HostPlan._make, []

    def make(self: HostPlan, updates: range) -> list[Step]:
        assert threading.current_thread() is not threading.main_thread()
        made.append(list(updates))
        return real(self, updates)

    monkeypatch.setattr(HostPlan, "_make", make)
    ahead = plan(first=3, updates=6, ahead=True)
    ahead._at_once = 3
    for first, updates in ((3, 4), (7, 2)):
        ahead.stage(first, updates)
        for _ in range(updates):
            ahead.next()
    assert ahead._ahead is None
    assert made == [[3, 4, 5], [6, 7, 8]]


def test_of_long_documents_and_large_models_fewer_updates_are_made_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert plan()._at_once == plans.CHUNK
    monkeypatch.setattr(plans, "MOST_NUMBERS", 100)
    assert 1 < plan()._at_once < plans.CHUNK
    monkeypatch.setattr(plans, "MOST_NUMBERS", 1)
    assert plan()._at_once == 1


def test_what_a_thread_still_makes_ready_is_waited_for_where_it_is_asked_no_longer() -> None:
    straight, other = plan(), plan(ahead=True)
    other._at_once = 3
    expected = [numbers(straight.next()) for _ in range(12)]
    for t in range(12):
        other.ahead = t < 2
        torch.testing.assert_close(numbers(other.next()), expected[t], rtol=0, atol=0)
    assert other._ahead is None


@AHEAD
def test_an_error_while_updates_are_made_ready_is_raised(
    ahead: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that cannot be read, say."""

    def broken(self: Documents, index: torch.Tensor) -> None:
        raise OSError("the disk is gone")

    monkeypatch.setattr(Documents, "pick", broken)
    with pytest.raises(OSError, match="the disk is gone"):
        plan(ahead=ahead).next()


def test_one_of_enough_threads_is_ahead_where_that_is_worth_it() -> None:
    before, enough = torch.get_num_threads(), plans.ENOUGH_THREADS
    drawing, other = ContrastiveDivergence(Pretraining()), Drift()
    try:
        for threads, phase, ahead in (
            (enough - 1, drawing, False),
            (enough, drawing, True),
            (enough, other, False),
        ):
            torch.set_num_threads(threads)
            made = plan()
            with one_thread_ahead(made, phase):
                assert made.ahead == ahead
                assert torch.get_num_threads() == threads - ahead
            assert torch.get_num_threads() == threads
            assert not made.ahead
    finally:
        torch.set_num_threads(before)


def test_a_small_update_is_computed_by_a_part_of_many_threads() -> None:
    before, most = torch.get_num_threads(), plans.MOST_THREADS
    made = plan()
    assert made.work == 4 * 5 * 3, "documents times words times units"
    try:
        for threads, computing in ((most, most - 1), (most + 1, most), (3 * most, most)):
            torch.set_num_threads(threads)
            with one_thread_ahead(made, ContrastiveDivergence(Pretraining())):
                assert torch.get_num_threads() == computing
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)


def test_a_run_in_another_thread_leaves_the_number_of_threads_alone() -> None:
    found: list[bool] = []

    def look() -> None:
        torch.set_num_threads(plans.ENOUGH_THREADS)
        made = plan()
        with one_thread_ahead(made, ContrastiveDivergence(Pretraining())):
            found.append(made.ahead)

    before = torch.get_num_threads()
    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    torch.set_num_threads(before)
    assert found == [False]


@pytest.mark.parametrize("stop", [None, (0, 13), (1, 3)], ids=str)
def test_a_run_with_a_thread_ahead_ends_in_the_same_bits(
    stop: tuple[int, int] | None,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    """All phases; also when it was stopped in the middle, without the thread."""
    request.addfinalizer(partial(torch.set_num_threads, torch.get_num_threads()))
    torch.set_num_threads(1)
    whole, saves = real_run(), Saves()
    whole.go(unseen)
    resumed = real_run()
    if stop:
        with pytest.raises(KeyboardInterrupt):
            real_run(stop=stop, save=saves).go(unseen)
        resumed.restore(*saves[0])
    made: list[str] = []
    real = HostPlan._make
    monkeypatch.setattr(plans, "ENOUGH_THREADS", 2)
    monkeypatch.setattr(
        HostPlan,
        "_make",
        lambda self, updates: made.append(threading.current_thread().name) or real(self, updates),
    )
    torch.set_num_threads(2)  # one of them ahead: as many compute as before
    resumed.go(unseen)
    assert_same_end(whole, resumed)
    ahead = any(name.startswith("docboltz-plan") for name in made)
    assert ahead == (stop != (1, 3)), "pretraining is over there"


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
