"""A run of phases: looks, progress, divergence, early stopping, Ctrl-C."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from docboltz.errors import TrainingDiverged
from docboltz.progress import Update
from tests.training.fakes import Drift, unseen
from tests.training.runs import (
    Saves,
    Scores,
    broken_at,
    drifted,
    interrupting,
    run_of,
)

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


def test_slow_updates_are_shown_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """20 updates of a second each would be too long to wait for."""
    monkeypatch.setattr("docboltz.training.run.SHOW_SECONDS", -1.0)
    calls: list[int] = []

    @contextmanager
    def show(phase: str) -> Iterator[Update]:
        yield lambda done, total, note="": calls.append(done)

    run_of(Drift(45)).go(show)
    assert calls == list(range(1, 46))


def test_what_a_later_phase_prepares_is_announced() -> None:
    """Chains that have to find their modes take seconds, and nothing is done yet."""
    calls: list[tuple[int, str]] = []

    class Slow(Drift):
        def begin(self, *args):
            calls.append((-1, "begun"))
            return super().begin(*args)

    @contextmanager
    def show(phase: str) -> Iterator[Update]:
        calls.append((-1, phase))
        yield lambda done, total, note="": calls.append((done, note))

    run_of(Drift(1, name="One"), Slow(1, name="Two")).go(show)
    assert calls == [(-1, "One"), (1, ""), (-1, "Two"), (0, "preparing"), (-1, "begun"), (1, "")]


def test_a_run_keeps_the_average_where_there_is_one() -> None:
    """Of 5, 6, … 10 after so many updates; the next phase goes on from there."""
    run = run_of(Drift(10, average_from=4), Drift(3))
    run.go(unseen)
    assert drifted(run.parameters) == pytest.approx(7.5 + 3, rel=1e-6)  # shares are float32


# ---- divergence ----


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
        TrainingDiverged, match=r"Second, between updates 0 and 100.*before this phase"
    ):
        run.go(unseen)
    assert drifted(run.parameters) == 30
    assert run.updates == 30


def test_divergence_in_the_last_updates_is_seen() -> None:
    run = run_of(Drift(130, slope=broken_at(129)))
    with pytest.raises(TrainingDiverged, match="between updates 100 and 130"):
        run.go(unseen)
    assert drifted(run.parameters) == 100


# ---- held-out documents ----


def test_held_out_documents_are_looked_at_and_change_nothing() -> None:
    run = run_of(Drift(250, name="One"), Drift(100, name="Two"), held_out=Scores(lambda at: at))
    run.go(unseen)
    seen = [(entry["phase"], entry["update"], entry["halves_found"]) for entry in run.history]
    assert seen == [("One", 100, 100), ("One", 200, 200), ("One", 250, 250), ("Two", 100, 350)]
    assert drifted(run.parameters) == 350


# ---- Ctrl-C ----


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
