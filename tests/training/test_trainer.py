from __future__ import annotations

import itertools

import pytest
import torch

from docboltz.errors import TrainingDiverged
from docboltz.model.parameters import Gradient, Parameters
from docboltz.training.trainer import TrainingState, climb, shuffled_batches, train


def state() -> TrainingState:
    return TrainingState.start(Parameters(torch.zeros(2, 3), torch.zeros(2), torch.zeros(3)))


def constant(value: float) -> Gradient:
    return Gradient(torch.full((2, 3), value), torch.full((2,), value), torch.full((3,), value))


def test_momentum_accumulates() -> None:
    s = state()
    for _ in range(3):
        climb(s, constant(1.0), rate=0.1, momentum=0.5)
    # Velocities 0.1, 0.15, 0.175.
    torch.testing.assert_close(s.parameters.W, torch.full((2, 3), 0.425))
    torch.testing.assert_close(s.parameters.b, torch.full((3,), 0.425))
    assert s.updates == 3


def test_the_redundant_topic_bias_is_not_learnt() -> None:
    s = state()
    climb(s, constant(1.0), rate=0.1, momentum=0.5)
    assert s.parameters.a.abs().max() == 0


def test_batches_go_through_all_documents_again_and_again() -> None:
    g = torch.Generator().manual_seed(0)
    batches = list(itertools.islice(shuffled_batches(10, 4, generator=g), 10))
    assert all(len(b) == 4 for b in batches)
    seen = torch.cat(batches).view(4, 10)
    assert all(sorted(epoch.tolist()) == list(range(10)) for epoch in seen)
    assert len({tuple(epoch.tolist()) for epoch in seen}) == 4, "each pass has its own order"


def test_a_small_corpus_is_one_batch() -> None:
    g = torch.Generator().manual_seed(0)
    assert sorted(next(shuffled_batches(3, 128, generator=g)).tolist()) == [0, 1, 2]


def test_divergence_is_an_error_with_advice() -> None:
    with pytest.raises(TrainingDiverged, match="Lower the learning rate"):
        train(
            state(),
            shuffled_batches(3, 2, generator=torch.Generator()),
            lambda p, index, update: constant(float("nan")),
            updates=5,
            rate=lambda update: 0.1,
            momentum=0.0,
        )


def test_progress_reaches_the_end_and_schedules_see_the_update() -> None:
    seen: list[tuple[int, int]] = []
    rates: list[int] = []

    def rate(update: int) -> float:
        rates.append(update)
        return 0.1

    s = state()
    s.updates = 7  # as after an earlier run
    batches = shuffled_batches(3, 2, generator=torch.Generator())
    train(
        s,
        batches,
        lambda p, index, update: constant(0.0),
        updates=4,
        rate=rate,
        momentum=0.0,
        progress=lambda done, total: seen.append((done, total)),
    )
    assert rates == [7, 8, 9, 10]
    assert seen[-1] == (4, 4)
