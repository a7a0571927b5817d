from __future__ import annotations

import pytest
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


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_a_tensor_is_filled_with_the_numbers_that_come_next(dtype: torch.dtype) -> None:
    one, other = UpdateRandom(7, CPU), UpdateRandom(7, CPU)
    room = torch.full((5, 4), 2.0, dtype=dtype)
    found = [one.fill_(room[1:4]).clone(), one.uniform((2,), dtype)]
    assert torch.equal(found[0], other.uniform((3, 4), dtype))
    assert torch.equal(found[1], other.uniform((2,), dtype))
    assert (room[[0, 4]] == 2).all()


def test_other_distributions_follow_the_seed_too() -> None:
    a, b = (torch.poisson(torch.ones(9), generator_of(UpdateRandom(2, CPU))) for _ in range(2))
    assert torch.equal(a, b)


def test_a_generator_of_torch_draws_what_torch_draws() -> None:
    one, other = (torch.Generator().manual_seed(3) for _ in range(2))
    found = uniform((4, 2), like=torch.zeros((), dtype=torch.float64), random=one)
    assert torch.equal(found, torch.rand(4, 2, dtype=torch.float64, generator=other))
