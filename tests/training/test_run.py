from __future__ import annotations

import itertools
import json
import math
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch import Tensor

from docboltz.errors import TrainingDiverged
from docboltz.model.latent_words import FixedLatentWords
from docboltz.model.parameters import Parameters
from docboltz.progress import Update
from docboltz.training import run as runs
from docboltz.training.finetune import Finetuning, MaximumLikelihood
from docboltz.training.pretrain import ContrastiveDivergence, Pretraining
from docboltz.training.run import Run
from docboltz.training.trainer import Phase
from docboltz.training.validation import HeldOut
from tests.conftest import random_counts
from tests.model.test_conditionals import sparse
from tests.training.fakes import CPU, Drift, documents_of, seeded, small_parameters, unseen

DOCUMENTS = documents_of(random_counts(9, 4))


def run_of(*phases: Phase, **settings: Any) -> Run:
    """A run from zeros, so that W says how many updates of a Drift it has seen."""
    zeros = small_parameters(2, 4, scale=0.0)
    return Run(zeros, DOCUMENTS, list(phases), seed=0, **settings)


def drifted(p: Parameters) -> float:
    """By how much all parameters have moved from zero, all alike."""
    values = torch.cat([p.W.reshape(-1), p.b])
    assert (values == values[0]).all()
    return values[0].item()


# ---- looks and progress ----


def test_a_look_every_100_updates_and_at_the_end() -> None:
    run = run_of(Drift(250, name="One"), Drift(130, name="Two"))
    run.go(unseen)
    seen = [(entry["phase"], entry["update"]) for entry in run.history]
    assert seen == [("One", 100), ("One", 200), ("One", 250), ("Two", 100), ("Two", 130)]
    assert all(entry["rate"] == 1.0 and entry["documents"] == 2 for entry in run.history)
    assert run.updates == 380
    assert drifted(run.parameters) == 380


def test_looks_and_numbers_go_on_from_an_earlier_run() -> None:
    """So do the schedules."""
    phase = Drift(150, average_from=10**6, rate=lambda update: 1.0 if update >= 1030 else 0.0)
    run = run_of(phase, first=1000)
    run.go(unseen)
    assert [entry["update"] for entry in run.history] == [1100, 1150]
    assert run.updates == 1150
    assert drifted(run.parameters) == 120


def test_progress_reaches_the_end_of_every_phase() -> None:
    calls: dict[str, list[tuple[int, int | None]]] = {}

    @contextmanager
    def show(phase: str) -> Iterator[Update]:
        calls[phase] = []
        yield lambda done, total, note="": calls[phase].append((done, total))

    run_of(Drift(250, name="One"), Drift(7, name="Two"), first=40).go(show)
    assert list(calls) == ["One", "Two"]
    for phase, total in (("One", 250), ("Two", 7)):
        done = [each[0] for each in calls[phase]]
        assert done == sorted(set(done)), "progress stands still or goes back"
        assert {each[1] for each in calls[phase]} == {total}
        assert done[-1] == total


def test_a_run_keeps_the_average_where_there_is_one() -> None:
    """Of 5, 6, … 10 after so many updates; the next phase goes on from there."""
    run = run_of(Drift(10, average_from=4), Drift(3))
    run.go(unseen)
    assert drifted(run.parameters) == pytest.approx(7.5 + 3, rel=1e-6)  # shares are float32


# ---- divergence ----


def broken_at(update: int) -> Callable[[int], float]:
    return lambda t: math.nan if t == update else 1.0


def test_divergence_puts_the_model_back_to_the_last_good_look() -> None:
    run = run_of(Drift(300, slope=broken_at(150)))
    said = r"\(Drift, between updates 100 and 200\).*after update 100\. Lower the learning rate"
    with pytest.raises(TrainingDiverged, match=said):
        run.go(unseen)
    assert drifted(run.parameters) == 100
    assert run.updates == 100
    assert [entry["update"] for entry in run.history] == [100]


def test_divergence_before_the_first_look_of_a_phase_puts_back_what_the_phase_began_with() -> None:
    run = run_of(Drift(30), Drift(300, slope=broken_at(50), name="Second"))
    with pytest.raises(
        TrainingDiverged, match=r"Second, between updates 0 and 100.*after update 0"
    ):
        run.go(unseen)
    assert drifted(run.parameters) == 30
    assert run.updates == 30


def test_divergence_in_the_last_updates_is_seen() -> None:
    run = run_of(Drift(130, slope=broken_at(129)))
    with pytest.raises(TrainingDiverged, match="between updates 100 and 130"):
        run.go(unseen)
    assert drifted(run.parameters) == 100


# ---- early stopping ----


class Scores:
    """Stands in for held-out documents: the score is a function of how far the model has come."""

    def __init__(self, score: Callable[[float], float]) -> None:
        self._score = score

    def measure(self, p: Parameters) -> dict[str, float]:
        return {"validation_perplexity": self._score(drifted(p)), "free_energy_gap": 0.0}


def from_best(best: float) -> Scores:
    """The nearer to `best` updates, the better."""
    return Scores(lambda at: 1 + abs(at - best))


def test_training_stops_out_of_patience_and_keeps_the_best() -> None:
    run = run_of(Drift(1000), held_out=from_best(300), patience=3)
    run.go(unseen)
    assert [entry["update"] for entry in run.history] == [100, 200, 300, 400, 500, 600]
    assert [entry["validation_perplexity"] for entry in run.history] == [201, 101, 1, 101, 201, 301]
    assert all(entry["free_energy_gap"] == 0 for entry in run.history)
    assert drifted(run.parameters) == 300
    assert run.updates == 600


def test_patience_counts_looks_since_the_best_one() -> None:
    """Bad looks between better ones do not add up, and as good is not better."""
    scores = {100: 9, 200: 10, 300: 8, 400: 10, 500: 7, 600: 7, 700: 8, 800: 1}
    run = run_of(Drift(900), held_out=Scores(lambda at: scores[round(at)]), patience=2)
    run.go(unseen)
    assert run.history[-1]["update"] == 700
    assert drifted(run.parameters) == 500


def test_the_best_is_kept_where_patience_lasts_to_the_end() -> None:
    run = run_of(Drift(500), held_out=from_best(400), patience=10)
    run.go(unseen)
    assert run.history[-1]["update"] == 500
    assert drifted(run.parameters) == 400


def test_every_phase_has_patience_of_its_own_and_starts_from_the_best_of_the_last() -> None:
    run = run_of(
        Drift(1000, name="One"), Drift(300, name="Two"), held_out=from_best(200), patience=1
    )
    run.go(unseen)
    seen = [(entry["phase"], entry["update"]) for entry in run.history]
    # The second phase goes from 200 to 300, which is worse: what the first one found is kept.
    assert seen == [("One", 100), ("One", 200), ("One", 300), ("Two", 100)]
    assert drifted(run.parameters) == 200
    assert run.updates == 400


# ---- Ctrl-C ----


@pytest.fixture(autouse=True)
def plain_interrupts() -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt, even where the tests run in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler, "handler not put back"
    signal.signal(signal.SIGINT, before)


def interrupting(update: int, times: int = 1) -> Callable[[int], float]:
    """Ctrl-C comes in the middle of an update."""

    def slope(t: int) -> float:
        if t == update:
            for _ in range(times):
                signal.raise_signal(signal.SIGINT)
        return 1.0

    return slope


class Saves(list[tuple[dict[str, Tensor], dict[str, Any]]]):
    """States as a file would hold them: copies of the tensors, the rest as JSON."""

    def __call__(self, tensors: dict[str, Tensor], facts: dict[str, Any]) -> None:
        copies = {name: tensor.clone() for name, tensor in tensors.items()}
        self.append((copies, json.loads(json.dumps(facts))))


def test_an_interrupt_finishes_the_update_saves_and_raises() -> None:
    saves = Saves()
    run = run_of(Drift(30), Drift(50, slope=interrupting(7)), save=saves)
    with pytest.raises(KeyboardInterrupt):
        run.go(unseen)
    assert drifted(run.parameters) == 30 + 8
    assert run.updates == 30 + 8
    [(tensors, facts)] = saves
    assert (facts["phase"], facts["update"]) == (1, 8)
    assert (tensors["W"] == 38).all()


def test_an_interrupt_while_progress_is_shown_stops_there() -> None:
    @contextmanager
    def show(phase: str) -> Iterator[Update]:
        yield lambda done, total, note="": signal.raise_signal(signal.SIGINT)

    run = run_of(Drift(50))
    with pytest.raises(KeyboardInterrupt):
        run.go(show)
    assert drifted(run.parameters) == run.updates < 50


def test_an_interrupt_in_the_averaging_window_keeps_the_average() -> None:
    run = run_of(Drift(50, slope=interrupting(9), average_from=4))
    with pytest.raises(KeyboardInterrupt):
        run.go(unseen)
    assert drifted(run.parameters) == pytest.approx(7.5, rel=1e-6)  # of 5, 6, … 10


def test_a_second_interrupt_raises_at_once() -> None:
    saves = Saves()
    run = run_of(Drift(50, slope=interrupting(7, times=2)), save=saves)
    with pytest.raises(KeyboardInterrupt):
        run.go(unseen)
    assert drifted(run.parameters) == run.updates == 0, "back to the last look"
    assert not saves


def test_errors_put_the_handler_back() -> None:
    """The fixture looks."""
    with pytest.raises(TrainingDiverged):
        run_of(Drift(10, slope=broken_at(5))).go(unseen)


def test_ignored_interrupts_stay_ignored() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        run = run_of(Drift(50, slope=interrupting(7)))
        run.go(unseen)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    assert drifted(run.parameters) == 50


def test_a_run_works_outside_the_main_thread() -> None:
    """Only the main thread may set a signal handler."""
    run = run_of(Drift(150))
    thread = threading.Thread(target=run.go, args=(unseen,))
    thread.start()
    thread.join()
    assert drifted(run.parameters) == run.updates == 150
    assert [entry["update"] for entry in run.history] == [100, 150]


# ---- taken apart and put together ----


@pytest.fixture
def frequent_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "LOOK", 10)


def real_run(*, stop: tuple[int, int] | None = None, save: Saves | None = None) -> Run:
    """Both phases with averaging, chains and validation; Ctrl-C in an update of a phase."""
    counts = random_counts(40, 8).float()
    policy = FixedLatentWords(2)
    held_out = HeldOut(sparse(counts[30:]), sparse(counts[:30]), policy, CPU, generator=seeded(9))
    cd = Pretraining(
        updates=34, batch_size=8, learning_rate=0.3, more_steps_every=12, max_steps=3, sparsity=0.1
    )
    ml = Finetuning(updates=35, batch_size=8, learning_rate=0.01, sweeps=2, rungs=7, bridge=3)
    phases: list[Phase] = [ContrastiveDivergence(cd), MaximumLikelihood(ml)]
    if stop is not None:
        interrupt(phases[stop[0]], stop[1])
    p = small_parameters(3, 8, dtype=torch.float32)
    documents = documents_of(counts[:30], policy)
    return Run(p, documents, phases, seed=3, held_out=held_out, patience=5, save=save)


def interrupt(phase: Phase, update: int) -> None:
    """Ctrl-C comes in the middle of update number `update` of the phase, the first being 1."""
    settle, number = phase.settle, itertools.count(1)

    def interrupted() -> None:
        settle()
        if next(number) == update:
            signal.raise_signal(signal.SIGINT)

    phase.settle = interrupted  # type: ignore[method-assign]


def assert_same_end(one: Run, other: Run) -> None:
    assert torch.equal(one.parameters.W, other.parameters.W)
    assert torch.equal(one.parameters.b, other.parameters.b)
    assert one.history == other.history
    assert one.updates == other.updates


STOPS = [
    (0, 1),
    (0, 10),  # just before a look
    (0, 13),
    (0, 27),
    (0, 34),  # the last update of the phase
    (1, 3),
    (1, 26),
    (1, 30),
    (1, 33),  # averaging began with update 29
]


@pytest.mark.usefixtures("frequent_looks")
@pytest.mark.parametrize("stop", STOPS, ids=str)
def test_an_interrupted_run_that_goes_on_ends_in_the_same_bits(stop: tuple[int, int]) -> None:
    whole = real_run()
    whole.go(unseen)
    saves = Saves()
    with pytest.raises(KeyboardInterrupt):
        real_run(stop=stop, save=saves).go(unseen)
    [(tensors, facts)] = saves
    assert (facts["phase"], facts["update"]) == stop
    resumed = real_run()
    resumed.restore(tensors, facts)
    resumed.go(unseen)
    assert_same_end(whole, resumed)


@pytest.mark.usefixtures("frequent_looks")
def test_every_state_saved_on_the_way_leads_to_the_same_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(runs, "SAVE_SECONDS", -1.0)
    saves = Saves()
    whole = real_run(save=saves)
    whole.go(unseen)
    assert len(saves) == len(whole.history) + 1 >= 7  # and one at the end
    for tensors, facts in saves:
        resumed = real_run()
        resumed.restore(tensors, facts)
        resumed.go(unseen)
        assert_same_end(whole, resumed)


@pytest.mark.usefixtures("frequent_looks")
@pytest.mark.parametrize("update", [7, 25, 36])
def test_a_run_that_goes_on_knows_its_best_and_its_patience(update: int) -> None:
    """Best after 20 updates; patience for 3 looks more, wherever the run was interrupted."""
    saves = Saves()
    with pytest.raises(KeyboardInterrupt):
        run_of(
            Drift(100, slope=interrupting(update)), held_out=from_best(20), patience=3, save=saves
        ).go(unseen)
    resumed = run_of(Drift(100), held_out=from_best(20), patience=3)
    resumed.restore(*saves[0])
    resumed.go(unseen)
    assert [entry["update"] for entry in resumed.history] == [10, 20, 30, 40, 50]
    assert drifted(resumed.parameters) == 20
    assert resumed.updates == 50


def test_a_run_that_goes_on_and_diverges_is_put_back_to_the_look_before_the_interrupt() -> None:
    saves = Saves()
    with pytest.raises(KeyboardInterrupt):
        run_of(Drift(300, slope=interrupting(120)), save=saves).go(unseen)
    resumed = run_of(Drift(300, slope=broken_at(150)))
    resumed.restore(*saves[0])
    with pytest.raises(TrainingDiverged, match="between updates 100 and 200"):
        resumed.go(unseen)
    assert drifted(resumed.parameters) == 100
    assert resumed.updates == 100
    assert [entry["update"] for entry in resumed.history] == [100]


def test_what_the_optimiser_carries_can_be_given_to_another_run() -> None:
    """As partial fits do."""
    one, other = (
        Run(
            small_parameters(2, 4),
            DOCUMENTS,
            [ContrastiveDivergence(Pretraining(updates=5))],
            seed=0,
        )
        for _ in range(2)
    )
    one.go(unseen)
    for name, tensor in other.velocity.items():
        assert not torch.equal(tensor, one.velocity[name])
        tensor.copy_(one.velocity[name])
    before = other.parameters.copy()
    other.go(unseen)
    rested = Run(before, DOCUMENTS, [ContrastiveDivergence(Pretraining(updates=5))], seed=0)
    rested.go(unseen)
    assert not torch.equal(other.parameters.W, rested.parameters.W)
