"""The certain bound of log ζ against enumeration, and where it proves an estimate wrong."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from docboltz.model import exact
from docboltz.model.conditionals import log_word_weight
from docboltz.model.parameters import Parameters
from docboltz.sampling.ais import anneal_temperatures
from docboltz.sampling.annealing import anneal
from docboltz.sampling.lower_bound import StateSet, climb, distinct, log_sum_over
from tests.conftest import random_parameters
from tests.sampling.test_modes import hidden_mode

LENGTHS = torch.tensor([0.0, 1, 2, 7, 20, 100, 1000]).double()


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def two_modes(F: int = 12, K: int = 40) -> Parameters:
    """Half of the units on, with five frequent words; or the other half, with one rare word.

    Chains of rising temperature go to the first. The second has more weight, but only at the end.
    """
    p = random_parameters(F, K, seed=2, scale=0.05)
    half = F // 2
    p.W[:half, :5] += 0.6
    p.W[half:, 5], p.W[:half, 5], p.b[5] = 4.0, -1.0, 6.5 - 4.0 * (F - half)
    return p


@pytest.mark.parametrize("scale", [0.05, 0.5, 2.0])
@pytest.mark.parametrize("way", [anneal, anneal_temperatures])
def test_it_is_never_above_log_zeta(way, scale: float) -> None:
    """Of any model that can be enumerated, to the rounding of float64."""
    for seed, F in enumerate((1, 4, 9, 13)):
        p = random_parameters(F, 25, seed=seed, scale=scale)
        single = p.to("cpu", torch.float32)
        known = exact.log_zeta(single.to("cpu", torch.float64), LENGTHS).numpy()
        effort = {"steps": 20, "chains": 16} if way is anneal_temperatures else {"particles": 32}
        for parameters in (single, single.to("cpu", torch.float64)):
            found = way(parameters, LENGTHS, generator=seeded(seed), **effort)
            assert (found.lower_bound <= known + 1e-10 * abs(known)).all()
            assert (found.value >= found.lower_bound).all()
            assert found.lower_bound[-1] >= known[-1] - 0.1, "long documents are in few states"


def test_it_is_log_zeta_where_all_states_were_found() -> None:
    p = random_parameters(9, 30, seed=1)
    states = exact.topic_states(p)
    known = exact.log_zeta(p, LENGTHS)
    twice = torch.cat([states, states.flip(0)])
    torch.testing.assert_close(log_sum_over(p, twice, LENGTHS), known, rtol=1e-12, atol=1e-12)
    found = StateSet(p)
    for some in torch.split(twice, 100):
        found.add(some, log_word_weight(p, some))
    torch.testing.assert_close(found.lower_bound(LENGTHS), known, rtol=1e-12, atol=1e-12)


def test_means_alone_are_a_bound_and_good_for_short_documents() -> None:
    """Without weights units are independent, and the mean field is exact."""
    p = random_parameters(9, 30, seed=1)
    flat = Parameters(0 * p.W, p.a, p.b)
    d = torch.tensor([3.0]).double()
    found = StateSet(flat)
    found.add_means(torch.sigmoid(3 * p.a)[None])
    torch.testing.assert_close(found.lower_bound(d), exact.log_zeta(flat, d))


def test_nothing_found_is_no_bound() -> None:
    assert StateSet(random_parameters(3, 5)).lower_bound(LENGTHS).tolist() == [-math.inf] * 7


def test_modes_of_rare_words_are_found_in_a_large_vocabulary(monkeypatch) -> None:
    """The rarest of more words than are started from has a mode with nearly all of the weight."""
    monkeypatch.setattr("docboltz.sampling.modes.MOST_STARTS", 20)
    p = random_parameters(40, 200, seed=4, scale=0.05)
    p.W[:, 7], p.b[7] = torch.tensor([4.0, -4.0]).double().repeat(20), 7.0 - 4.0 * 20
    state = (p.W[:, 7] > 0).double()[None]
    d = torch.tensor([50.0]).double()
    found = anneal(p, d, generator=seeded())
    assert found.value[0] == pytest.approx(50 * log_word_weight(p, state).item(), abs=0.1)
    frequent = torch.topk(p.b, 20).indices
    assert 7 not in frequent.tolist(), "the word is frequent: a blunt test"


def test_states_are_counted_once() -> None:
    states = exact.topic_states(random_parameters(6, 5))
    again = torch.cat([states, states, states[:7]])[torch.randperm(135, generator=seeded())]
    assert len(distinct(again)) == 64
    assert {tuple(h) for h in distinct(again).tolist()} == {tuple(h) for h in states.tolist()}


def test_a_climb_ends_where_no_flip_helps() -> None:
    p = random_parameters(10, 30, seed=3)
    start = (torch.rand(20, 10, generator=seeded()) < 0.5).double()
    tops = climb(p, start)
    flips = (tops[:, None] - torch.eye(10).double()).abs()  # (n, F, F)
    best = log_word_weight(p, flips.view(-1, 10)).view(len(tops), 10).amax(1)
    assert (best <= log_word_weight(p, tops) + 1e-4).all()
    assert log_word_weight(p, tops).max() >= log_word_weight(p, start).max()


@pytest.mark.parametrize("p", [hidden_mode(), two_modes()], ids=["hidden", "two"])
def test_it_proves_annealed_importance_sampling_wrong(p: Parameters) -> None:
    """A planted mode that holds nearly all the weight: the chains agree without it."""
    d = torch.tensor([20.0, 100.0]).double()
    found = anneal_temperatures(p, d, generator=seeded(1))
    known = exact.log_zeta(p, d).numpy()
    assert (known - found.estimate > 20 * found.error + 1).all(), "nothing is missed: a blunt test"
    assert found.disproved.all()
    np.testing.assert_allclose(found.value, known, atol=0.1)
    np.testing.assert_allclose(found.shortfall, known - found.estimate, atol=0.1)
    assert not anneal(p, d, generator=seeded(1)).disproved.any()
