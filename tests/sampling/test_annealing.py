"""log ζ of every length against enumeration."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy import stats

from docboltz.model import exact
from docboltz.model.parameters import Parameters
from docboltz.sampling.annealing import anneal, exact_log_zeta_1, sample_p_1
from tests.conftest import random_parameters
from tests.sampling.test_chains import FAILURE_RATE, state_counts

LENGTHS = torch.tensor([0.0, 1, 2, 3, 5, 10, 20, 50, 100, 300, 1000]).double()


def model(seed: int, F: int = 10, K: int = 60, scale: float = 0.5) -> Parameters:
    return random_parameters(F, K, seed=seed, scale=scale)


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize(("seed", "F", "scale"), [(0, 10, 0.5), (1, 12, 0.2), (2, 14, 1.0)])
def test_every_length_is_within_its_error(seed: int, F: int, scale: float, device: str) -> None:
    """Four standard errors; Student's t with 7 degrees of freedom is beyond them once in 200, and
    lengths go together: the seeds are fixed."""
    p = model(seed, F, scale=scale)
    there = Parameters(p.W.to(device), p.a.to(device), p.b.to(device))
    g = torch.Generator(device).manual_seed(seed)
    found = anneal(there, LENGTHS.to(device), generator=g)
    off = abs(found.estimate - exact.log_zeta(p, LENGTHS).numpy())
    assert (off <= 4 * found.error + 1e-9).all()
    assert found.error.max() < 0.2, "a blunt test: the errors allow anything"
    assert abs(found.anchor) < 0.3


def test_errors_are_those_of_many_runs() -> None:
    """The spread of 50 runs and their mean reported error agree within a factor of 1.5."""
    p, d = model(3), torch.tensor([3.0, 20, 100]).double()
    runs = [anneal(p, d, particles=64, generator=seeded(s)) for s in range(50)]
    spread = np.std([run.estimate for run in runs], axis=0, ddof=1)
    reported = np.sqrt(np.mean([run.error**2 for run in runs], axis=0))
    assert (spread < 1.5 * reported).all()
    assert (reported < 1.5 * spread).all()


def test_what_is_known_exactly_is_exact() -> None:
    p = model(4)
    found = anneal(p, torch.tensor([1.0, 7.0, 0.0]).double(), generator=seeded(0))
    assert found.d.tolist() == [1, 7, 0], "in the order asked for"
    assert found.value[2] == pytest.approx(10 * math.log(2), abs=1e-12)
    known = exact.log_zeta(p, torch.ones(1).double()).item()
    assert found.value[0] == pytest.approx(known, rel=1e-12)
    assert exact_log_zeta_1(p).item() == pytest.approx(known, rel=1e-12)
    assert found.error[[0, 2]].tolist() == [0, 0]
    assert found.error[1] > 0


def test_lengths_need_not_be_whole() -> None:
    p, d = model(5), torch.tensor([0.4, 2.5, 17.3]).double()
    found = anneal(p, d, generator=seeded(1))
    assert (abs(found.estimate - exact.log_zeta(p, d).numpy()) < 4 * found.error).all()


def test_without_weights_every_length_is_known() -> None:
    """W = 0, a = 0: ζ(D) = 2^F (Σ_k exp b_k)^D, and no step makes an error."""
    p = model(6)
    flat = Parameters(0 * p.W, 0 * p.a, p.b)
    found = anneal(flat, LENGTHS, generator=seeded(0))
    expected = 10 * math.log(2) + LENGTHS * torch.logsumexp(p.b, 0)
    np.testing.assert_allclose(found.value, expected.numpy(), rtol=1e-9)
    assert found.error.max() < 1e-9


def test_the_first_particles_are_drawn_from_p_1() -> None:
    p = model(7, F=3, K=5, scale=1.0)
    observed = state_counts(sample_p_1(p, 40_000, generator=seeded(0))).numpy()
    expected = 40_000 * exact.prior(p, torch.ones(1).double())[0].numpy()
    assert expected.min() >= 5
    assert stats.chisquare(observed, expected).pvalue > FAILURE_RATE


def test_long_documents_work() -> None:
    p = model(8, F=8)
    d = torch.tensor([5000.0]).double()
    found = anneal(p, d, particles=32, generator=seeded(0))
    assert abs(found.estimate - exact.log_zeta(p, d).numpy()) < 4 * found.error
