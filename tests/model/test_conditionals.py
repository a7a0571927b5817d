"""Equations against the oracle and against the laws they must obey."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from docboltz.model import conditionals as c
from docboltz.model import exact
from docboltz.model.counts import SparseCounts, lengths
from docboltz.model.latent_words import LatentWords
from docboltz.model.parameters import Parameters
from tests.conftest import random_counts, random_parameters


def sparse(counts: torch.Tensor) -> SparseCounts:
    csr = counts.to_sparse_coo()
    row, col = csr.indices()
    starts = torch.searchsorted(row, torch.arange(len(counts) + 1))
    return SparseCounts(starts, col, csr.values(), counts.shape[1])


def absorbed(p: Parameters) -> Parameters:
    """The same model with a = 0: W_jk + a_j."""
    return Parameters(p.W + p.a[:, None], torch.zeros_like(p.a), p.b)


def test_free_energy_is_the_exact_sum_over_topics() -> None:
    p, counts = random_parameters(5, 6), random_counts(4, 6)
    h = exact.topic_states(p)
    expected = [torch.logsumexp(-c.energy(p, x.expand(len(h), 6), h), 0) for x in counts]
    torch.testing.assert_close(c.free_energy(p, counts), -torch.stack(expected))


def test_without_latent_words_every_inference_is_exact() -> None:
    p, counts = random_parameters(5, 6), random_counts(4, 6)
    none = torch.zeros(4, dtype=torch.float64)
    expected = exact.posterior_topic_mean(p, counts, none)
    torch.testing.assert_close(c.topic_mean(p, counts), expected)
    torch.testing.assert_close(c.fast_topic_mean(p, counts, none), expected)
    torch.testing.assert_close(c.mean_field(p, counts, none).topics, expected)


def test_word_weight_is_what_a_words_energy_sums_to() -> None:
    p = random_parameters(4, 5)
    h = exact.topic_states(p)
    one_word = torch.eye(5, dtype=torch.float64)
    summed = [torch.logsumexp(-c.energy(p, one_word, row.expand(5, 4)), 0) for row in h]
    torch.testing.assert_close(c.log_word_weight(p, h), torch.stack(summed))


def test_mean_field_is_a_fixed_point(policy: LatentWords) -> None:
    p, counts = random_parameters(5, 6, scale=0.5), random_counts(7, 6)
    n, m = lengths(counts), policy(lengths(counts))
    found = c.mean_field(p, counts, m, tolerance=1e-12, max_steps=10_000)
    assert found.converged.all()
    torch.testing.assert_close(found.words, c.word_mean(p, found.topics))
    again = torch.sigmoid((counts + m[:, None] * found.words) @ p.W.T + (n + m)[:, None] * p.a)
    torch.testing.assert_close(found.topics, again)


def mean_field_bound(
    p: Parameters, counts: torch.Tensor, m: torch.Tensor, mu1: torch.Tensor, mu2: torch.Tensor
) -> torch.Tensor:
    """MATH: v̂·b + θ·μ1 + M(μ2·(b + Wᵀμ1) + a·μ1) + H(μ1) + M H(μ2), a bound on the numerator."""
    theta = counts @ p.W.T + lengths(counts)[:, None] * p.a
    entropy1 = -(torch.xlogy(mu1, mu1) + torch.xlogy(1 - mu1, 1 - mu1)).sum(1)
    entropy2 = -torch.xlogy(mu2, mu2).sum(1)
    latent = (mu2 * (p.b + mu1 @ p.W)).sum(1) + mu1 @ p.a + entropy2
    return counts @ p.b + (theta * mu1).sum(1) + entropy1 + m * latent


def test_mean_field_climbs_to_a_lower_bound_of_the_exact_likelihood(policy: LatentWords) -> None:
    p, counts = random_parameters(5, 6, scale=0.7), random_counts(7, 6)
    m = policy(lengths(counts))
    start = c.mean_field(p, counts, m, max_steps=1)
    end = c.mean_field(p, counts, m, tolerance=1e-12, max_steps=10_000)
    log_z = exact.log_zeta(p, lengths(counts) + m)
    first, last = (mean_field_bound(p, counts, m, x.topics, x.words) - log_z for x in (start, end))
    truth = exact.log_likelihood(p, counts, m)
    assert (last >= first - 1e-9).all()
    assert (last <= truth + 1e-9).all()


def test_weak_coupling_makes_mean_field_nearly_exact() -> None:
    """Correlations between topics are second order in W, so the error falls with its square."""
    counts = random_counts(6, 6)
    m = torch.full((6,), 4.0, dtype=torch.float64)
    errors = []
    for scale in (0.1, 0.01):
        p = random_parameters(4, 6, scale=scale)
        found = c.mean_field(p, counts, m, tolerance=1e-13, max_steps=1000).topics
        errors.append((found - exact.posterior_topic_mean(p, counts, m)).abs().max().item())
    assert errors[1] < errors[0] / 50


def test_each_document_stops_on_its_own() -> None:
    p, counts = random_parameters(5, 6, scale=0.5), random_counts(8, 6)
    m = torch.full((8,), 5.0, dtype=torch.float64)
    together = c.mean_field(p, counts, m)
    assert len(together.steps.unique()) > 1, "all documents took the same steps: a blunt test"
    for i in range(8):
        alone = c.mean_field(p, counts[i : i + 1], m[i : i + 1])
        assert alone.steps[0] == together.steps[i]
        torch.testing.assert_close(alone.topics[0], together.topics[i])


def test_mean_field_says_when_it_was_cut_short() -> None:
    p, counts = random_parameters(5, 6), random_counts(4, 6)
    cut = c.mean_field(p, counts, torch.full((4,), 5.0).double(), tolerance=0.0, max_steps=2)
    assert not cut.converged.all()
    assert (cut.steps <= 2).all()


def test_the_topic_bias_can_be_absorbed_into_the_weights(policy: LatentWords) -> None:
    p, counts = random_parameters(4, 5), random_counts(6, 5)
    m = policy(lengths(counts))
    same = absorbed(p)
    for quantity in (exact.log_likelihood, exact.posterior_topic_mean, c.fast_topic_mean):
        torch.testing.assert_close(quantity(p, counts, m), quantity(same, counts, m))
    torch.testing.assert_close(
        c.mean_field(p, counts, m).topics, c.mean_field(same, counts, m).topics
    )


def test_no_weights_is_the_unigram() -> None:
    p = Parameters(*(torch.zeros(s).double() for s in ((3, 4), (3,))), torch.arange(4.0).double())
    counts = random_counts(5, 4)
    expected = counts @ torch.log_softmax(p.b, 0)
    m = torch.full((5,), 6.0, dtype=torch.float64)
    torch.testing.assert_close(exact.log_likelihood(p, counts, m), expected)


def test_an_empty_document_has_a_finite_answer() -> None:
    p, empty = random_parameters(4, 5), torch.zeros(1, 5, dtype=torch.float64)
    m = torch.full((1,), 5.0, dtype=torch.float64)
    assert (c.fast_topic_mean(p, empty, m) == 0.5).all()
    assert c.mean_field(p, empty, m).topics.isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@given(seed=st.integers(0, 10_000))
@settings(max_examples=25)
def test_sparse_is_dense(dtype: torch.dtype, seed: int) -> None:
    p = random_parameters(4, 7, seed=seed).to("cpu", dtype)
    dense = random_counts(5, 7, seed=seed).to(dtype)
    few = sparse(dense)
    m = torch.full((5,), 3.0, dtype=dtype)
    h = random_counts(5, 4, seed=seed, most=2).to(dtype)
    torch.testing.assert_close(lengths(few), lengths(dense))
    torch.testing.assert_close(few.dense(), dense)
    torch.testing.assert_close(c.energy(p, few, h), c.energy(p, dense, h))
    torch.testing.assert_close(c.free_energy(p, few), c.free_energy(p, dense))
    torch.testing.assert_close(c.fast_topic_mean(p, few, m), c.fast_topic_mean(p, dense, m))
    torch.testing.assert_close(c.mean_field(p, few, m).topics, c.mean_field(p, dense, m).topics)


@given(seed=st.integers(0, 10_000))
@settings(max_examples=25)
def test_renaming_words_changes_nothing(seed: int) -> None:
    p, counts = random_parameters(3, 6, seed=seed), random_counts(4, 6, seed=seed)
    order = torch.randperm(6, generator=torch.Generator().manual_seed(seed))
    renamed = Parameters(p.W[:, order], p.a, p.b[order])
    m = torch.full((4,), 3.0, dtype=torch.float64)
    torch.testing.assert_close(
        c.mean_field(p, counts, m).topics, c.mean_field(renamed, counts[:, order], m).topics
    )
    torch.testing.assert_close(
        exact.log_likelihood(p, counts, m), exact.log_likelihood(renamed, counts[:, order], m)
    )


def test_float32_follows_float64(device: str) -> None:
    p, counts = random_parameters(16, 50, scale=0.3), random_counts(20, 50, most=9)
    m = torch.full((20,), 30.0, dtype=torch.float64)
    expected = c.mean_field(p, counts, m)
    few = sparse(counts).to(device, torch.float32)
    found = c.mean_field(p.to(device, torch.float32), few, m.to(device, torch.float32))
    # Float32 sums over 200 words carry errors near 200 · 6e-8 into σ; the stop rule adds 1e-5.
    torch.testing.assert_close(found.topics.cpu().double(), expected.topics, atol=5e-5, rtol=0)
    fast = c.fast_topic_mean(p.to(device, torch.float32), few, m.to(device, torch.float32))
    torch.testing.assert_close(
        fast.cpu().double(), c.fast_topic_mean(p, counts, m), atol=5e-5, rtol=0
    )
