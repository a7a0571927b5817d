"""The paper's annealing against enumeration."""

from __future__ import annotations

import torch

from docboltz.model import exact
from docboltz.sampling.ais import anneal_temperatures
from tests.conftest import random_parameters


def test_every_length_is_within_its_error() -> None:
    """Five standard errors of 128 chains; the seed is fixed."""
    p, d = random_parameters(8, 30, scale=0.5), torch.tensor([0.0, 1, 7, 40]).double()
    g = torch.Generator().manual_seed(0)
    found = anneal_temperatures(p, d, steps=300, generator=g)
    off = abs(found.estimate - exact.log_zeta(p, d).numpy())
    assert (off <= 5 * found.error + 1e-9).all()
    assert 0 < found.error[-1] < 0.2
    assert found.steps == 4 * 300


def test_few_steps_are_worse_so_the_last_test_can_fail() -> None:
    p, d = random_parameters(8, 30, scale=0.5), torch.tensor([40.0]).double()
    g = torch.Generator().manual_seed(0)
    few, many = (anneal_temperatures(p, d, steps=n, generator=g).error[0] for n in (5, 300))
    assert few > 3 * many
