"""The pool of chains against enumeration. Each test fails by chance once in a million."""

from __future__ import annotations

import math

import pytest
import torch
from scipy import stats

from docboltz.model import exact
from docboltz.model.conditionals import log_word_weight
from docboltz.model.parameters import Parameters
from docboltz.sampling.annealing import exact_log_zeta_1
from docboltz.sampling.modes import find_modes, mode_bound
from docboltz.sampling.pool import GUESTS, ChainPool, start_pool, sweep, travelled, visit_modes
from tests.conftest import random_parameters
from tests.sampling.test_chains import FAILURE_RATE, state_counts
from tests.sampling.test_modes import hidden_mode, seeded

SHORT, LONG = 2.0, 7.0


def exact_pool(pairs: int, generator: torch.Generator):
    """Many independent pairs of neighbours, one short and one long, drawn from their exact p_D."""
    p = random_parameters(3, 5, scale=0.3)
    d = torch.tensor([SHORT, LONG]).double().repeat(pairs)
    prior = exact.prior(p, torch.tensor([SHORT, LONG]).double())
    states = torch.stack(
        [torch.multinomial(row, pairs, replacement=True, generator=generator) for row in prior], 1
    ).view(-1)
    R = len(d)
    weight, walker = torch.full_like(d, 1 / R), torch.arange(R)
    return p, prior, ChainPool(exact.topic_states(p)[states], d, weight, walker, nobody(R))


def test_exchange_and_sweeps_leave_every_length_as_it_is() -> None:
    g = torch.Generator().manual_seed(0)
    p, prior, pool = exact_pool(30_000, g)
    for _ in range(3):
        pool, _ = sweep(p, pool, 0, generator=g)
    for row, expected in zip((0, 1), 30_000 * prior, strict=True):
        observed = state_counts(pool.topics[row::2]).numpy()
        assert expected.min() >= 5
        assert stats.chisquare(observed, expected.numpy()).pvalue > FAILURE_RATE


def test_exchanges_are_accepted_as_often_as_the_exact_ratio_says() -> None:
    g = torch.Generator().manual_seed(1)
    p, prior, pool = exact_pool(30_000, g)
    weight = log_word_weight(p, exact.topic_states(p))
    ratio = ((SHORT - LONG) * (weight[None, :] - weight[:, None])).exp().clamp_max(1)
    expected = float(prior[0] @ ratio @ prior[1])
    _, info = sweep(p, pool, 0, generator=g)
    tested = stats.binomtest(round(float(info.acceptance) * 30_000), 30_000, expected)
    assert 0.05 < expected < 0.99, "a blunt test: every exchange is accepted, or none"
    assert tested.pvalue > FAILURE_RATE


def test_a_pool_reaches_the_exact_distribution_of_every_length() -> None:
    """Time averages of many rungs of each length, from fair coins."""
    p = random_parameters(3, 5, scale=0.3)
    g = torch.Generator().manual_seed(2)
    lengths = torch.tensor([3.0, 6.0, 12.0]).double()
    pool = start_pool(3, lengths.repeat_interleave(4000), rungs=12_000, bridge=8, generator=g)
    for parity in range(60):
        pool, _ = sweep(p, pool, parity, generator=g)
    for d, prior in zip(lengths, exact.prior(p, lengths), strict=True):
        topics = pool.topics[(pool.d == d) & (pool.weight > 0)]
        expected = (len(topics) * prior).numpy()
        assert expected.min() >= 5
        assert stats.chisquare(state_counts(topics).numpy(), expected).pvalue > FAILURE_RATE


def test_rungs_are_quantiles_of_the_lengths_and_the_bridge_leads_down_to_one() -> None:
    d = torch.arange(50.0, 150.0)
    pool = start_pool(2, d, rungs=10, bridge=5, generator=torch.Generator())
    assert pool.d[:5].tolist() == [1, 2, 4, 11, 24]
    assert pool.d[5:].tolist() == list(range(55, 150, 10))
    assert pool.weight[:5].sum() == 0
    torch.testing.assert_close(pool.weight.sum(), torch.tensor(1.0))
    assert (pool.d.diff() >= 0).all()


def test_no_bridge_is_needed_where_documents_have_one_word() -> None:
    pool = start_pool(2, torch.ones(9), rungs=4, bridge=5, generator=torch.Generator())
    assert pool.d.tolist() == [1, 1, 1, 1]


def test_rungs_of_fractional_lengths_have_whole_words() -> None:
    """tf-idf weights make such lengths. Words are drawn whole, so D has to be whole too."""
    d = torch.tensor([0.3, 0.6, 1.9, 3.4])
    pool = start_pool(2, d, rungs=4, bridge=0, generator=torch.Generator())
    assert torch.equal(pool.d, pool.d.round())
    assert pool.d.min() >= 1


def pool_of(walker: list[int]) -> ChainPool:
    R = len(walker)
    ones = torch.ones(R).double()
    return ChainPool(torch.zeros(R, 2).double(), ones, ones / R, torch.tensor(walker), nobody(R))


def test_travel_is_the_mean_distance_from_the_first_rung() -> None:
    assert travelled(pool_of([0, 1, 2, 3])) == 0
    assert travelled(pool_of([1, 0, 3, 2])) == 1 / 4
    assert travelled(pool_of([3, 2, 1, 0])) == (3 + 1 + 1 + 3) / 4 / 4


def test_travel_is_a_third_where_all_is_mixed() -> None:
    """|i − j| / R of a random permutation of 9,999 rungs: sd at most 0.0024; five sd."""
    order = torch.randperm(9999, generator=torch.Generator().manual_seed(0))
    assert abs(travelled(pool_of(order.tolist())).item() - 1 / 3) < 0.012


def test_walkers_go_with_their_states() -> None:
    """Two modes as good as each other that no Gibbs sweep leaves: only exchanges move them.

    The logits of topics are ±50 · D, the chance to leave a mode exp(−50).
    """
    W = torch.tensor([[50.0, -50.0], [-50.0, 50.0]]).double()
    p = Parameters(W, torch.zeros(2).double(), torch.zeros(2).double())
    g = torch.Generator().manual_seed(0)
    start = torch.eye(2).double()[torch.randint(0, 2, (9,), generator=g)]
    rungs = torch.arange(1.0, 10).double()
    pool = ChainPool(start, rungs, torch.ones(9).double(), torch.arange(9), nobody(9))
    for parity in range(7):
        pool, info = sweep(p, pool, parity, generator=g)
        assert info.acceptance == 1
        assert torch.equal(pool.topics, start[pool.walker])
    assert travelled(pool) > 0.25


def test_parities_exchange_with_one_neighbour_and_the_other() -> None:
    p, g = random_parameters(2, 3, scale=0.0), torch.Generator()
    pool = pool_of([0, 1, 2, 3, 4])
    assert sweep(p, pool, 0, generator=g)[0].walker.tolist() == [1, 0, 3, 2, 4]
    assert sweep(p, pool, 1, generator=g)[0].walker.tolist() == [0, 2, 1, 4, 3]


def test_hidden_modes_are_visited_as_often_as_they_should_be() -> None:
    """Rungs of one length start in all other states; a visit brings the hidden mode in with the
    share that mean field's bound gives it. 2,000 rungs, five deviations."""
    p, length = hidden_mode(), 11.0
    d = torch.full((2000,), length, dtype=torch.float64)
    states = exact.topic_states(p)
    in_mode = states.sum(1) >= 12
    chance = exact.prior(p, d[:1])[0]
    rest = chance.masked_fill(in_mode, 0)
    start = states[torch.multinomial(rest, 2000, replacement=True, generator=seeded(0))]
    # The rungs know ζ of the rest, and nothing of the mode.
    weight = length * log_word_weight(p, states)
    known = torch.logsumexp(weight.masked_fill(in_mode, -math.inf), 0)
    mean_g = torch.full_like(d, float((known - exact_log_zeta_1(p)) / (length - 1)))
    pool = ChainPool(start, d, d / d.sum(), torch.arange(2000), nobody(2000))
    visited, hosts = visit_modes(p, pool, start, mean_g, length, generator=seeded(1))
    assert torch.equal(hosts, start)
    there = visited.topics.sum(1) >= 12
    modes = find_modes(p, length)
    bound, hidden = mode_bound(p, length, modes), (modes > 0.5).sum(1) >= 12
    of_modes = torch.sigmoid(torch.logsumexp(bound, 0) - known)
    share = float(GUESTS * of_modes * torch.softmax(bound, 0)[hidden].sum())
    assert share > 0.05, "a blunt test"
    assert there.double().mean().item() == pytest.approx(share, abs=5 * (share / 2000) ** 0.5)
    assert (visited.guest | ~there).all()
    again, _ = visit_modes(p, visited, start, mean_g - 100, length, generator=seeded(2))
    assert again.guest.double().mean().item() == pytest.approx(GUESTS, abs=0.05)
    nobody_left, _ = visit_modes(p, again, start, mean_g + 100, length, generator=seeded(3))
    assert not nobody_left.guest.any()
    assert torch.equal(nobody_left.topics, start), "guests go home"


def nobody(R: int) -> torch.Tensor:
    return torch.zeros(R, dtype=torch.bool)
