"""Phases with kernels: recorded once, replayed, and the same as without.

Without a CUDA device the kernels are interpreted, and functions are called where a GPU replays
what it has recorded: many updates at once, by tensors alone, are tested there as well.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from docboltz.model.latent_words import FixedLatentWords
from docboltz.training.documents import Documents
from docboltz.training.finetune import Finetuning, MaximumLikelihood
from docboltz.training.matching import HalvesMatching, Matching
from docboltz.training.pretrain import ContrastiveDivergence, Pretraining
from docboltz.training.trainer import Phase, Trainer
from tests.conftest import random_counts
from tests.model.test_conditionals import sparse
from tests.training.fakes import small_parameters

ON_GPU = torch.cuda.is_available()
DEVICE = "cuda" if ON_GPU else "cpu"
UPDATES, BATCH = (40, 8) if ON_GPU else (12, 2)
"""The interpreter takes a tenth of a second for an update of two documents."""


class Eager:
    """Calls functions where a Replay would replay them."""

    possible = False

    def __init__(self, generator: torch.Generator, tensors: dict[str, Tensor]) -> None:
        pass

    def __call__(self, key: object, function: Callable[[], None]) -> None:
        function()


class ManyAtOnce(Eager):
    """In place of a Replay without a GPU: a function makes as many updates as it would there."""

    possible = True


@pytest.fixture(autouse=True)
def _replay(kernel_device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if not ON_GPU:
        monkeypatch.setattr("docboltz.training.trainer.Replay", ManyAtOnce)


def pretraining() -> ContrastiveDivergence:
    """CD-1 to CD-3, so that three graphs are recorded."""
    return ContrastiveDivergence(
        Pretraining(
            updates=UPDATES,
            batch_size=BATCH,
            learning_rate=0.3,
            more_steps_every=UPDATES // 3 + 1,
            max_steps=3,
            sparsity=1,
        )
    )


def finetuning() -> MaximumLikelihood:
    """With and without averaging, in two graphs."""
    return MaximumLikelihood(
        Finetuning(
            updates=UPDATES,
            batch_size=BATCH,
            learning_rate=0.01,
            rungs=20,
            bridge=5,
            gibbs_steps=2,
        )
    )


def finetuning_from_data() -> MaximumLikelihood:
    return MaximumLikelihood(
        Finetuning(updates=UPDATES, batch_size=BATCH, learning_rate=0.01, chains="data", sweeps=2)
    )


def matching() -> HalvesMatching:
    settings = Matching(updates=UPDATES, batch_size=BATCH, max_passes=None)
    return HalvesMatching(settings, FixedLatentWords(4), 30)


# A pool of 25 chains warms up by 120 sweeps: half a minute and more for the interpreter.
PHASES = pytest.mark.parametrize(
    "make",
    [
        pretraining,
        pytest.param(finetuning, marks=pytest.mark.gpu),
        finetuning_from_data,
        matching,
    ],
)


def trained(make: Callable[[], Phase], dtype: torch.dtype, *, seed: int = 0) -> Trainer:
    """All updates of a phase on a small corpus."""
    counts = sparse(random_counts(30, 50).to(dtype))
    documents = Documents.of(counts, FixedLatentWords(4), torch.device(DEVICE))
    p = small_parameters(6, 50, dtype=dtype)
    trainer = Trainer(make(), p.to(DEVICE).copy(), documents, seed=seed)
    for _ in range(2):
        trainer.advance(UPDATES // 2)
    return trainer


def state(trainer: Trainer) -> dict[str, Tensor]:
    return {**trainer.tensors(), "generator": trainer.generator.get_state()}


@PHASES
def test_a_replayed_run_is_finite_and_repeats_with_its_seed(make: Callable[[], Phase]) -> None:
    one, other = trained(make, torch.float32), trained(make, torch.float32)
    assert one.update == UPDATES
    for name, tensor in state(one).items():
        assert torch.equal(tensor, state(other)[name]), name
        assert tensor.isfinite().all(), name


def test_another_seed_is_another_run() -> None:
    one, other = (trained(pretraining, torch.float32, seed=seed) for seed in (0, 1))
    assert not torch.equal(one.learnt.W, other.learnt.W)


@PHASES
def test_a_replayed_run_is_the_run_without_replay(
    make: Callable[[], Phase], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same random numbers in float64, where no rounding turns a draw; moments of 1e-9 aside."""
    replayed = trained(make, torch.float64)
    monkeypatch.setattr("docboltz.training.trainer.Replay", Eager)
    eager = trained(make, torch.float64)
    assert torch.equal(replayed.generator.get_state(), eager.generator.get_state())
    for name, tensor in replayed.tensors().items():
        torch.testing.assert_close(tensor, eager.tensors()[name], rtol=1e-6, atol=1e-9)
