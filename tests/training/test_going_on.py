"""Runs taken apart and put together: they end in the same bits."""

from __future__ import annotations

import itertools
import signal

import pytest
import torch

from docboltz.errors import TrainingDiverged
from docboltz.model.latent_words import FixedLatentWords
from docboltz.training import run as runs
from docboltz.training.finetune import Finetuning, MaximumLikelihood
from docboltz.training.pretrain import ContrastiveDivergence, Pretraining
from docboltz.training.run import Run
from docboltz.training.trainer import Phase
from docboltz.training.validation import HeldOut
from tests.conftest import random_counts
from tests.model.test_conditionals import sparse
from tests.training.fakes import CPU, Drift, documents_of, seeded, small_parameters, unseen
from tests.training.runs import (
    DOCUMENTS,
    Saves,
    broken_at,
    drifted,
    interrupting,
    run_of,
)


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
    return Run(p, documents, phases, seed=3, held_out=held_out, save=save)


def interrupt(phase: Phase, update: int) -> None:
    """Ctrl-C comes in the middle of update number `update` of the phase, the first being 1."""
    correct, number = phase.correct, itertools.count(1)

    def interrupted() -> None:
        correct()
        if next(number) == update:
            signal.raise_signal(signal.SIGINT)

    phase.correct = interrupted  # type: ignore[method-assign]


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
