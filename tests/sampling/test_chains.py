"""Gibbs chains against the enumerated p_D. Each test fails by chance once in a million."""

from __future__ import annotations

import pytest
import torch
from scipy import stats

from docboltz.model import exact
from docboltz.model.conditionals import fast_topic_mean, word_mean
from docboltz.model.counts import lengths
from docboltz.model.latent_words import LatentWords
from docboltz.sampling.chains import (
    draw_topics,
    gibbs_sweep,
    sample_documents,
    topic_mean_of_shares,
    topic_thresholds,
)
from tests.conftest import random_counts, random_parameters
from tests.model.test_conditionals import sparse

FAILURE_RATE = 1e-6


def state_counts(topics: torch.Tensor) -> torch.Tensor:
    F = topics.shape[1]
    return torch.bincount((topics.long() << torch.arange(F)).sum(1), minlength=2**F)


def test_topics_of_a_documents_own_words_are_fast_inference(policy: LatentWords) -> None:
    """Eq. (11), from shares and D, dense or sparse."""
    p, counts = random_parameters(4, 6), random_counts(5, 6)
    n, m = lengths(counts), policy(lengths(counts))
    expected = fast_topic_mean(p, counts, m)
    for shares in (counts / n[:, None], sparse(counts).shares()):
        mean, _ = draw_topics(p, shares, n + m, generator=torch.Generator())
        torch.testing.assert_close(mean, expected)


def test_topics_are_drawn_with_their_means_and_independently() -> None:
    """All eight states of three topics of one document, against the product of their means."""
    p, chains = random_parameters(3, 4, scale=0.4), 40_000
    shares = torch.tensor([[0.5, 0.25, 0.25, 0.0]]).double().expand(chains, 4)
    d = torch.full((chains,), 4.0).double()
    mean, topics = draw_topics(p, shares, d, generator=torch.Generator().manual_seed(0))
    h = exact.topic_states(p)
    expected = chains * (mean[0] * h + (1 - mean[0]) * (1 - h)).prod(1)
    assert expected.min() >= 5, "too few expected chains for a chi-square test"
    observed = state_counts(topics).numpy()
    assert stats.chisquare(observed, expected.numpy()).pvalue > FAILURE_RATE


@pytest.mark.parametrize("d", [1, 4, 15])
def test_a_sweep_leaves_the_exact_distribution_as_it_is(d: int) -> None:
    """Start in p_D exactly: after three sweeps it must still be p_D."""
    p, chains = random_parameters(3, 5, scale=0.3), 40_000
    prior = exact.prior(p, torch.tensor([float(d)], dtype=torch.float64))[0]
    g = torch.Generator().manual_seed(d)
    state = torch.multinomial(prior, chains, replacement=True, generator=g)
    topics = exact.topic_states(p)[state]
    for _ in range(3):
        topics, _ = gibbs_sweep(p, topics, torch.full((chains,), d), generator=g)
    expected = (chains * prior).numpy()
    assert expected.min() >= 5, "too few expected chains for a chi-square test"
    assert stats.chisquare(state_counts(topics).numpy(), expected).pvalue > FAILURE_RATE


@pytest.mark.parametrize("m", [0, 6])
def test_sampled_documents_have_the_exact_word_distribution(m: int) -> None:
    """One visible word per document: its distribution is Σ_h p_{1+M}(h) softmax(b + Wᵀh)."""
    p, documents = random_parameters(3, 5, scale=0.6), 40_000
    one = torch.ones(documents, dtype=torch.float64)
    g = torch.Generator().manual_seed(m)
    drawn = sample_documents(p, one, m * one, sweeps=30, generator=g)
    prior = exact.prior(p, torch.tensor([1.0 + m], dtype=torch.float64))
    expected = documents * (prior @ word_mean(p, exact.topic_states(p)))[0]
    observed = torch.bincount(drawn.words, minlength=5)
    assert stats.chisquare(observed.numpy(), expected.numpy()).pvalue > FAILURE_RATE


def test_sampled_documents_have_the_exact_pair_distribution() -> None:
    """Two words share their topics, so pairs tell a chain at p_2 from one at the marginals."""
    p, documents = random_parameters(3, 4, scale=0.8), 40_000
    two = torch.full((documents,), 2.0, dtype=torch.float64)
    g = torch.Generator().manual_seed(5)
    words = sample_documents(p, two, 0 * two, sweeps=30, generator=g).words
    observed = torch.bincount(words[0::2] * 4 + words[1::2], minlength=16)
    s = word_mean(p, exact.topic_states(p))
    prior = exact.prior(p, two[:1])[0]
    expected = documents * torch.einsum("s,si,sj->ij", prior, s, s).view(-1)
    assert stats.chisquare(observed.numpy(), expected.numpy()).pvalue > FAILURE_RATE


def test_units_above_their_thresholds_are_those_whose_uniform_is_below_their_mean() -> None:
    """With biases and every D; a uniform of 0 switches any unit on."""
    p, shares = random_parameters(3, 4), torch.softmax(random_counts(50, 4), 1)
    d = torch.linspace(1, 90, 50).double()
    uniform = torch.rand(2, 50, 3, generator=torch.Generator().manual_seed(0)).double()
    uniform[0, 0] = 0
    mean = topic_mean_of_shares(p, shares, d)
    found = topic_thresholds(p, d, uniform.clone()) < shares @ p.W.T
    assert torch.equal(found, uniform < mean)
    assert 0.1 < found.double().mean() < 0.9
