from __future__ import annotations

import torch
from scipy import stats

from docboltz.randomness import generator_of, uniform
from docboltz.training.update_random import UpdateRandom

CPU = torch.device("cpu")


def test_numbers_are_uniform_and_a_function_of_the_seed() -> None:
    for dtype in (torch.float32, torch.float64):
        one, same, other = (
            UpdateRandom(seed, CPU).uniform((20_000,), dtype) for seed in (-3, -3, 4)
        )
        assert one.dtype == dtype
        assert torch.equal(one, same)
        assert not torch.equal(one, other)
        assert 0 <= one.min() <= one.max() < 1
        assert stats.kstest(one.double().numpy(), "uniform").pvalue > 1e-4


def test_what_is_drawn_ahead_is_handed_out_once() -> None:
    drawn = UpdateRandom(7, CPU)
    drawn.ahead(2, (3, 4), torch.float32)
    found = [uniform((3, 4), like=torch.zeros(()), random=drawn) for _ in range(4)]
    found.append(uniform((3, 4), like=torch.zeros((), dtype=torch.float64), random=drawn))
    assert [t.dtype for t in found] == [torch.float32] * 4 + [torch.float64]
    assert len(torch.unique(torch.stack([t.double() for t in found]))) == 5 * 12


def test_numbers_of_another_type_are_not_taken_for_those_drawn_ahead() -> None:
    drawn = UpdateRandom(7, CPU)
    drawn.ahead(1, (5,), torch.float32)
    assert drawn.uniform((5,), torch.float64).dtype == torch.float64
    assert drawn.uniform((5,), torch.float32).dtype == torch.float32


def test_other_distributions_follow_the_seed_too() -> None:
    a, b = (torch.poisson(torch.ones(9), generator_of(UpdateRandom(2, CPU))) for _ in range(2))
    assert torch.equal(a, b)


def test_a_generator_of_torch_draws_what_torch_draws() -> None:
    one, other = (torch.Generator().manual_seed(3) for _ in range(2))
    found = uniform((4, 2), like=torch.zeros((), dtype=torch.float64), random=one)
    assert torch.equal(found, torch.rand(4, 2, dtype=torch.float64, generator=other))
