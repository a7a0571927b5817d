from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from docboltz.training.optimizers import Adam, Momentum
from docboltz.training.trainer import Optimizer
from tests.training.fakes import seeded

Make = Callable[[list[Tensor]], Optimizer]


def momentum(leaves: list[Tensor]) -> Momentum:
    return Momentum(leaves, [0.0] * len(leaves), momentum=0.5)


def adam(leaves: list[Tensor]) -> Adam:
    return Adam(leaves, [1.0] * len(leaves), momentum=0.5)


BOTH = pytest.mark.parametrize("make", [momentum, adam])


def rate(value: float) -> Tensor:
    return torch.tensor(value, dtype=torch.float64)


def test_momentum_accumulates() -> None:
    leaves = [torch.zeros(2, 3).double(), torch.ones(3).double()]
    optimizer = momentum(leaves)
    for _ in range(3):
        optimizer.step([torch.ones(2, 3).double(), -torch.ones(3).double()], rate(0.1))
    # Velocities 0.1, 0.15, 0.175.
    torch.testing.assert_close(leaves[0], torch.full((2, 3), 0.425).double())
    torch.testing.assert_close(leaves[1], torch.full((3,), 1 - 0.425).double())


def test_momentum_scales_each_gradient_by_the_rate_of_its_own_step() -> None:
    """Velocities 1 · 2 and 0.5 · 2 + 0.1 · 10, not 0.1 · (0.5 · 2 + 10)."""
    leaf = torch.zeros(1).double()
    optimizer = momentum([leaf])
    optimizer.step([torch.full((1,), 2.0).double()], rate(1.0))
    optimizer.step([torch.full((1,), 10.0).double()], rate(0.1))
    torch.testing.assert_close(leaf, torch.full((1,), 4.0).double())


def test_without_momentum_a_step_is_the_gradient_less_decay_times_the_rate() -> None:
    leaf = torch.full((2,), 10.0).double()
    optimizer = Momentum([leaf], [0.2], momentum=0.0)
    for _ in range(2):
        optimizer.step([torch.ones(2).double()], rate(0.1))
    # 10 + 0.1 · (1 − 0.2 · 10) = 9.9, and + 0.1 · (1 − 0.2 · 9.9).
    torch.testing.assert_close(leaf, torch.full((2,), 9.802).double())


def test_a_gradient_may_lie_in_memory_any_way() -> None:
    leaf, gradient = torch.zeros(4, 6).double(), torch.arange(24.0).double().view(6, 4).T
    momentum([leaf]).step([gradient], rate(1.0))
    assert torch.equal(leaf, gradient)


def test_decay_pulls_each_leaf_by_its_own_share() -> None:
    """rate · decay · leaf goes into the velocity, from the leaf as it was before the step."""
    leaves = [torch.full((2,), 10.0).double(), torch.full((2,), 10.0).double()]
    optimizer = Momentum(leaves, [0.2, 0.0], momentum=0.5)
    for _ in range(2):
        optimizer.step([torch.ones(2).double(), torch.ones(2).double()], rate(0.1))
    # Velocities 0.1 · (1 − 0.2 · 10) = −0.1 and 0.5 · −0.1 + 0.1 · (1 − 0.2 · 9.9) = −0.148.
    torch.testing.assert_close(leaves[0], torch.full((2,), 9.752).double())
    torch.testing.assert_close(leaves[1], torch.full((2,), 10.25).double())


def test_adam_is_torchs_climbing_with_a_share_of_the_rate_for_each_leaf() -> None:
    """Plain torch descends; the rate changes from step to step. Rates are held in float32."""
    g = seeded()
    start = [torch.randn(4, 3, generator=g).double(), torch.randn(5, generator=g).double()]
    ours, plain = [t.clone() for t in start], [t.clone() for t in start]
    optimizer = Adam(ours, [1.0, 0.25], momentum=0.8)
    groups = [{"params": [leaf]} for leaf in plain]
    expected = torch.optim.Adam(groups, lr=1.0, betas=(0.8, 0.999), fused=False, foreach=False)
    for step in range(20):
        gradients = [torch.randn(t.shape, generator=g).double() for t in start]
        optimizer.step(gradients, rate(0.1 / (1 + step)))
        for group, leaf, gradient, share in zip(
            expected.param_groups, plain, gradients, (1.0, 0.25), strict=True
        ):
            leaf.grad, group["lr"] = -gradient, share * 0.1 / (1 + step)
        expected.step()
    for found, wanted, first in zip(ours, plain, start, strict=True):
        torch.testing.assert_close(found, wanted, rtol=1e-6, atol=1e-6)
        assert (found - first).abs().min() > 1e-4, "a blunt test: a leaf has not moved"


@BOTH
def test_an_optimiser_climbs_to_the_top_of_a_hill(make: Make) -> None:
    """−(x − 3)² with a falling rate, from 0."""
    leaf = torch.zeros(2).double()
    optimizer = make([leaf])
    for step in range(400):
        optimizer.step([-2 * (leaf - 3)], rate(0.2 / (1 + step / 20)))
    torch.testing.assert_close(leaf, torch.full((2,), 3.0).double(), rtol=0, atol=1e-3)


@BOTH
def test_tensors_are_the_live_ones(make: Make) -> None:
    """What one optimiser carries, put into another, makes it go on in the same bits."""
    start = torch.arange(6.0).double().view(2, 3)

    def gradient(step: int) -> list[Tensor]:
        return [torch.full((2, 3), 1.0 + step).double()]

    first, second = start.clone(), start.clone()
    one = make([first])
    for step in range(3):
        one.step(gradient(step), rate(0.1))
    other = make([second])
    second.copy_(first)
    assert one.tensors().keys() == other.tensors().keys()
    for name, tensor in other.tensors().items():
        assert not torch.equal(tensor, one.tensors()[name]), f"{name} holds nothing yet"
        tensor.copy_(one.tensors()[name])
    one.step(gradient(3), rate(0.1))
    other.step(gradient(3), rate(0.1))
    assert torch.equal(first, second)
    other.step(gradient(4), rate(0.1))
    assert not torch.equal(one.tensors().popitem()[1], other.tensors().popitem()[1])
