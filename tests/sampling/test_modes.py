"""Modes no particle finds, against enumeration."""

from __future__ import annotations

import math

import pytest
import torch

from docboltz.model import exact
from docboltz.model.conditionals import log_word_weight
from docboltz.model.parameters import Parameters
from docboltz.sampling.annealing import anneal, together
from docboltz.sampling.modes import Survey, find_modes, iterate, log_sums_by, mode_bound
from tests.conftest import random_parameters

LENGTHS = torch.tensor([2.0, 5, 10, 20, 40, 80, 200, 1000]).double()


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def hidden_mode(F: int = 14, K: int = 40) -> Parameters:
    """A word that is likely only when nearly all topics are on, and that switches them on."""
    p = random_parameters(F, K, seed=1, scale=0.2)
    p.W[:, 0], p.b[0] = 4.0, -4.0 * F + 4.3
    return p


@pytest.mark.parametrize("scale", [0.2, 1.0])
def test_every_mean_is_a_proof(scale: float) -> None:
    """The bound is never above log ζ, for any μ, a fixed point or not."""
    p = random_parameters(10, 30, seed=0, scale=scale)
    some = torch.rand(50, 10, generator=seeded(), dtype=torch.float64)
    for d in LENGTHS.tolist():
        known = float(exact.log_zeta(p, torch.tensor([d]).double()))
        for mean in (some, iterate(p, d, some, 20), find_modes(p, d)):
            assert (mode_bound(p, d, mean) <= known + 1e-9).all()


def test_the_hidden_mode_is_found_and_is_not_found_by_particles() -> None:
    p = hidden_mode()
    found = anneal(p, LENGTHS, generator=seeded(3))
    known = exact.log_zeta(p, LENGTHS).numpy()
    assert found.missed.max() > 0.5, "nothing was hidden: the test is blunt"
    assert (abs(found.estimate - known) <= 4 * found.error + 1e-6).all()
    assert found.error.max() < 0.1


def test_the_sum_around_modes_is_that_of_their_states() -> None:
    """Each mode's sum against enumeration of the states that belong to it. 8 × 512 draws a length:
    five standard errors, of some dozens of comparisons."""
    compared = 0
    for seed in range(4):
        p = random_parameters(10, 30, seed=seed, scale=0.7)
        states, survey = exact.topic_states(p), Survey(p, replicas=8, generator=seeded())
        for d in (5.0, 10.0, 20.0, 40.0, 60.0):
            around = survey.near(d)
            weights = around.d * log_word_weight(p, states)[None]
            known = log_sums_by(around.owner(states)[None], weights, len(around.mean) + 1)
            known = known[0, :-1] + math.log(len(states))
            by_draws, sound = around.log_sums(around.d)
            relative = (by_draws - known).exp()[:, sound]
            error = relative.std(0) / math.sqrt(len(relative))
            assert ((relative.mean(0) - 1).abs() <= 5 * error + 1e-3).all()
            compared += int(sound.sum())
    assert compared >= 20


def test_what_particles_missed_is_added_and_what_they_found_is_not_counted_twice() -> None:
    """Two modes of weight 1 and 3 and a rest of 2: particles have seen the first and the rest."""
    rest, one, three = math.log(2), 0.0, math.log(3)
    noise = 0.01 * torch.randn(8, 3, generator=seeded(), dtype=torch.float64)
    by_particles = torch.tensor([[one, -math.inf, rest]]).double().expand(8, 3) + noise
    by_draws = torch.tensor([[one, three]]).double().expand(8, 2) + noise[:, :2]
    found, missed = together(by_particles, by_draws, torch.tensor([True, True]))
    assert found.mean().item() == pytest.approx(math.log(6), abs=0.02)
    assert missed.item() == pytest.approx(0.5, abs=0.02)
