from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from docboltz.model.counts import dense
from docboltz.model.parameters import Parameters
from docboltz.training import trainer as trainer_module
from docboltz.training.documents import Documents, Shuffle
from docboltz.training.finetune import Finetuning, MaximumLikelihood
from docboltz.training.pretrain import ContrastiveDivergence, Pretraining
from docboltz.training.trainer import Phase, Trainer
from tests.conftest import random_counts, random_parameters
from tests.training.fakes import Drift, documents_of, small_parameters

DOCUMENTS = documents_of(random_counts(11, 5), 2)


def pretraining() -> ContrastiveDivergence:
    return ContrastiveDivergence(
        Pretraining(updates=10, batch_size=4, learning_rate=0.1, more_steps_every=3, max_steps=3)
    )


def finetuning() -> MaximumLikelihood:
    return MaximumLikelihood(
        Finetuning(updates=10, batch_size=4, learning_rate=0.01, rungs=6, bridge=2, sweeps=2)
    )


REAL = pytest.mark.parametrize("make", [pretraining, finetuning])


def trainer_of(phase: Phase, *, seed: int = 0, first: int = 0) -> Trainer:
    return Trainer(phase, small_parameters(3, 5, scale=0.3), DOCUMENTS, seed=seed, first=first)


def everything(trainer: Trainer) -> dict[str, Tensor]:
    return {**trainer.tensors(), "generator": trainer.generator.get_state()}


def same(one: Trainer, other: Trainer) -> bool:
    """Tell whether two trainers agree in every bit."""
    a, b = everything(one), everything(other)
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


# ---- what an update does ----


def test_rates_and_variants_follow_the_phase_from_the_first_update_on() -> None:
    """The chunk's plan holds rates in float32 at least."""
    slopes = []

    def slope(update: int) -> float:
        slopes.append(update)
        return 2.0

    trainer = trainer_of(Drift(slope=slope, rate=lambda update: 0.1 * update), first=7)
    before = trainer.parameters.copy()
    trainer.advance(3)
    trainer.advance(1)
    assert slopes == [7, 8, 9, 10]
    assert trainer.update == 11
    step = torch.tensor(2 * 0.1 * (7 + 8 + 9 + 10)).double()
    moved = trainer.parameters
    torch.testing.assert_close(moved.W - before.W, step.expand(3, 5), rtol=1e-6, atol=0)
    torch.testing.assert_close(moved.b - before.b, step.expand(5), rtol=1e-6, atol=0)


def test_each_update_sees_the_documents_that_are_its_turn() -> None:
    seen: list[Tensor] = []

    class Looking(Drift):
        def gradients(self, batch, variant, generator):
            seen.append(dense(batch.shares))
            return super().gradients(batch, variant, generator)

    trainer = trainer_of(Looking(batch_size=4), seed=5, first=3)
    trainer.advance(4)
    trainer.advance(2)
    order = Shuffle(11, 4, seed=5)(0, 6)  # from the run's first update, whatever its number
    shares = DOCUMENTS.counts.shares().dense()
    assert torch.equal(torch.stack(seen), shares[order])


@REAL
def test_the_redundant_topic_bias_is_not_learnt(make: Callable[[], Phase]) -> None:
    trainer = trainer_of(make())
    before = trainer.parameters.copy()
    trainer.advance(10)
    for p in (trainer.parameters, trainer.learnt):
        assert before.a.abs().min() > 0
        assert torch.equal(p.a, before.a)
        assert (p.W != before.W).all()
        assert (p.b != before.b).all()


def test_weights_must_lie_word_by_word() -> None:
    """Optimisers go through memory as it lies, and gradients lie so."""
    otherwise = random_parameters(3, 5)
    with pytest.raises(ValueError, match="word by word"):
        Trainer(pretraining(), otherwise, DOCUMENTS, seed=0)
    Trainer(pretraining(), otherwise.copy(), DOCUMENTS, seed=0)


# ---- averages ----


def snapshots(trainer: Trainer, updates: int) -> list[Parameters]:
    """The parameters after each of so many updates."""
    kept = []
    for _ in range(updates):
        trainer.advance(1)
        kept.append(trainer.parameters.copy())
    return kept


def test_what_is_learnt_is_the_mean_of_the_parameters_once_averaging_has_begun() -> None:
    """Shares of the average are float32: 1e-6 is a few of its roundings."""
    trainer = trainer_of(Drift(10, slope=lambda update: update**2, average_from=3))
    kept = snapshots(trainer, 3)
    assert trainer.learnt is trainer.parameters
    kept += snapshots(trainer, 1)
    torch.testing.assert_close(trainer.learnt.W, kept[3].W, rtol=1e-6, atol=1e-6)
    kept += snapshots(trainer, 6)
    for name in ("W", "b"):
        mean = torch.stack([getattr(p, name) for p in kept[3:]]).mean(0)
        torch.testing.assert_close(getattr(trainer.learnt, name), mean, rtol=1e-6, atol=1e-6)
        assert not torch.equal(mean, getattr(trainer.parameters, name))


@pytest.mark.parametrize(("averaged", "of"), [(0.0, 1), (0.25, 5), (1.0, 20)])
def test_pretraining_averages_the_last_share_of_its_updates(averaged: float, of: int) -> None:
    """All that is learnt is the mean of the parameters after each of these updates."""
    trainer = trainer_of(ContrastiveDivergence(Pretraining(updates=20, averaged=averaged)))
    seen = []
    for _ in range(20):
        trainer.advance(1)
        seen.append(trainer.parameters.W.clone())
    torch.testing.assert_close(trainer.learnt.W, torch.stack(seen[-of:]).mean(0))


# ---- reproducible ----


@REAL
def test_the_same_seed_gives_the_same_bits_and_another_seed_does_not(
    make: Callable[[], Phase],
) -> None:
    one, other, third = trainer_of(make()), trainer_of(make()), trainer_of(make(), seed=1)
    for trainer in (one, other, third):
        trainer.advance(10)
    assert same(one, other)
    assert not torch.equal(one.learnt.W, third.learnt.W)


@REAL
def test_updates_are_the_same_however_they_are_cut_and_looked_at(
    make: Callable[[], Phase],
) -> None:
    whole, cut = trainer_of(make()), trainer_of(make())
    whole.advance(10)
    asked = iter([False, False, True])
    cut.advance(10, lambda: next(asked))
    assert cut.update == 3, "it did not stop when asked to"
    for _ in range(7):
        cut.advance(1)
        if make is pretraining:  # in fine-tuning a look measures anew how far states travel
            cut.watch()
    assert whole.update == cut.update == 10
    assert same(whole, cut)


def test_a_look_has_the_rate_of_the_last_update_and_a_batch_of_documents() -> None:
    trainer = trainer_of(Drift(batch_size=4, rate=lambda update: 1.0 + update))
    assert trainer.watch() == {"rate": 1.0, "documents": 4}
    trainer.advance(5)
    assert trainer.watch() == {"rate": 5.0, "documents": 4}


def test_a_look_is_at_few_documents_spread_over_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trainer_module, "WATCHED", 3)
    trainer = trainer_of(Drift(batch_size=4))
    asked: list[list[int]] = []
    real = Documents.pick
    monkeypatch.setattr(
        Documents, "pick", lambda self, index: asked.append(index.tolist()) or real(self, index)
    )
    trainer.watch()
    n = len(trainer.documents)
    assert asked == [[0, n // 3, 2 * n // 3]]


@REAL
def test_looks_draw_random_numbers_of_their_own(make: Callable[[], Phase]) -> None:
    """Twice the same, and the trainer's generator is left alone."""
    trainer = trainer_of(make())
    trainer.advance(3)
    before = trainer.generator.get_state()
    assert trainer.watch() == trainer.watch()
    assert torch.equal(trainer.generator.get_state(), before)


@REAL
def test_tensors_are_all_that_an_update_changes(make: Callable[[], Phase]) -> None:
    """Put into a fresh trainer with the generator's state and the number, they go on as before."""
    one, other = trainer_of(make()), trainer_of(make(), seed=0)
    one.advance(9)
    for name, tensor in other.tensors().items():
        tensor.copy_(one.tensors()[name])
    other.generator.set_state(one.generator.get_state())
    other.update = one.update
    one.advance(1)
    other.advance(1)
    assert same(one, other)
    assert torch.equal(one.learnt.W, other.learnt.W)
    assert one.carried.keys() == other.carried.keys() != set()


def test_a_phase_is_refreshed_at_the_same_updates_whatever_the_chunks() -> None:
    """With the same random numbers too, which differ from one time to the next."""
    said = []
    for chunks in ([10], [1, 4, 5], [3, 3, 3, 1]):
        phase = Drift(updates=10)
        trainer = trainer_of(phase, seed=4)
        for updates in chunks:
            trainer.advance(updates)
        said.append(phase.refreshed)
    assert len(set(said[0])) == 4, "before updates 0, 3, 6 and 9"
    assert said[0] == said[1] == said[2]
