"""The oracle against sums over every word and every topic, written out with nothing clever."""

from __future__ import annotations

import itertools
import math

import pytest
import torch

from docboltz.model import exact
from docboltz.model.conditionals import energy, word_mean
from docboltz.model.counts import lengths
from docboltz.model.latent_words import FixedLatentWords, LatentWords, LatentWordsUpTo
from docboltz.model.parameters import Parameters
from tests.conftest import random_counts, random_parameters

F, K = 3, 3


def brute_weight(p: Parameters, words: tuple[int, ...]) -> list[float]:
    """exp(−E) of a word sequence for each topic state, straight from Eq. (6) with Python floats."""
    W, a, b = p.W.tolist(), p.a.tolist(), p.b.tolist()
    weights = []
    for h in itertools.product((0, 1), repeat=F):
        e = -sum(b[k] for k in words)
        e -= sum(W[j][k] * h[j] for j in range(F) for k in words)
        e -= len(words) * sum(a[j] * h[j] for j in range(F))
        weights.append(math.exp(-e))
    return weights


def brute_likelihood(p: Parameters, document: tuple[int, ...], m: int) -> float:
    """p(document): summed over latent words and topics, divided by the same of all documents."""

    def unnormalised(seen: tuple[int, ...]) -> float:
        return sum(
            sum(brute_weight(p, seen + latent)) for latent in itertools.product(range(K), repeat=m)
        )

    everything = itertools.product(range(K), repeat=len(document))
    return unnormalised(document) / sum(unnormalised(seen) for seen in everything)


def as_counts(documents: list[tuple[int, ...]]) -> torch.Tensor:
    return torch.tensor([[d.count(k) for k in range(K)] for d in documents], dtype=torch.float64)


TOY_POLICIES = [FixedLatentWords(0), FixedLatentWords(1), FixedLatentWords(2), LatentWordsUpTo(4)]


@pytest.mark.parametrize("policy", TOY_POLICIES, ids=str)
def test_likelihood_is_the_sum_over_words_and_topics(policy: LatentWords) -> None:
    p = random_parameters(F, K, seed=1)
    documents = [(0,), (2,), (0, 1), (1, 1), (2, 0)]
    counts = as_counts(documents)
    m = policy(lengths(counts))
    expected = [brute_likelihood(p, d, int(i)) for d, i in zip(documents, m, strict=True)]
    found = exact.log_likelihood(p, counts, m).exp()
    torch.testing.assert_close(found, torch.tensor(expected, dtype=torch.float64))


@pytest.mark.parametrize("d", [0, 1, 2, 3, 4])
def test_zeta_is_the_sum_over_words_and_topics(d: int) -> None:
    p = random_parameters(F, K, seed=2)
    total = sum(sum(brute_weight(p, words)) for words in itertools.product(range(K), repeat=d))
    found = exact.log_zeta(p, torch.tensor([float(d)], dtype=torch.float64))
    assert found.item() == pytest.approx(math.log(total), rel=1e-12)


def test_posterior_means_are_the_sums_over_words_and_topics() -> None:
    p = random_parameters(F, K, seed=3)
    m, document = 2, (0, 2)
    topics, latent_words, total = [0.0] * F, [0.0] * K, 0.0
    for latent in itertools.product(range(K), repeat=m):
        for h, w in zip(
            itertools.product((0, 1), repeat=F), brute_weight(p, document + latent), strict=True
        ):
            total += w
            topics = [t + w * on for t, on in zip(topics, h, strict=True)]
            latent_words[latent[0]] += w
    counts, ms = as_counts([document]), torch.tensor([float(m)], dtype=torch.float64)
    expected = torch.tensor(topics, dtype=torch.float64) / total
    torch.testing.assert_close(exact.posterior_topic_mean(p, counts, ms)[0], expected)
    expected = torch.tensor(latent_words, dtype=torch.float64) / total
    torch.testing.assert_close(exact.posterior_word_mean(p, counts, ms)[0], expected)
    further = exact.next_word_mean(p, counts, ms - 1)[0]
    torch.testing.assert_close(further, expected)


def test_next_word_is_the_ratio_of_likelihoods_of_one_length(policy: LatentWords) -> None:
    """p(w | v) ∝ p(v and w), all documents of N + 1 words, each with the latent words it gets."""
    p = random_parameters(4, 5, seed=4)
    counts = random_counts(3, 5, seed=4, most=2)
    longer = (counts[:, None, :] + torch.eye(5, dtype=torch.float64)).reshape(-1, 5)
    joint = exact.log_likelihood(p, longer, policy(lengths(longer))).view(3, 5)
    found = exact.next_word_mean(p, counts, policy(lengths(counts) + 1))
    torch.testing.assert_close(found, torch.softmax(joint, 1))


def test_anchors_of_zeta() -> None:
    """log ζ(0) = F log 2 and log ζ(1) = logsumexp_k(b_k + Σ_j softplus(a_j + W_jk))."""
    p = random_parameters(6, 7)
    found = exact.log_zeta(p, torch.tensor([0.0, 1.0], dtype=torch.float64))
    one = torch.logsumexp(
        p.b + torch.nn.functional.softplus(p.a[:, None] + p.W).sum(0),
        0,
    )
    torch.testing.assert_close(found, torch.stack([torch.tensor(6 * math.log(2.0)).double(), one]))


def test_probabilities_of_all_documents_of_a_length_sum_to_one(policy: LatentWords) -> None:
    p = random_parameters(5, 3, seed=5)
    counts = as_counts(list(itertools.product(range(3), repeat=4)))
    total = exact.log_likelihood(p, counts, policy(lengths(counts))).exp().sum()
    assert total.item() == pytest.approx(1, rel=1e-12)


def test_gradient_is_autograds(policy: LatentWords) -> None:
    p = random_parameters(4, 6, seed=6)
    counts = random_counts(5, 6, seed=6)
    m = policy(lengths(counts))
    weight = torch.rand(5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    leaves = Parameters(*(t.clone().requires_grad_() for t in (p.W, p.a, p.b)))
    (weight @ exact.log_likelihood(leaves, counts, m)).backward()
    found = exact.likelihood_gradient(p, counts, m, weight)
    torch.testing.assert_close(found.W, leaves.W.grad)
    torch.testing.assert_close(found.a, leaves.a.grad)
    torch.testing.assert_close(found.b, leaves.b.grad)


def test_prior_is_normalised_and_uniform_without_words() -> None:
    p = random_parameters(3, 4)
    found = exact.prior(p, torch.tensor([0.0, 7.0], dtype=torch.float64))
    torch.testing.assert_close(found[0], torch.full((8,), 1 / 8, dtype=torch.float64))
    assert found[1].sum().item() == pytest.approx(1)


def test_energy_agrees_with_the_oracles_weights() -> None:
    p = random_parameters(F, K, seed=8)
    words = (0, 1, 1)
    h = torch.tensor(list(itertools.product((0, 1), repeat=F)), dtype=torch.float64)
    counts = as_counts([words]).expand(len(h), K)
    expected = torch.tensor(brute_weight(p, words), dtype=torch.float64)
    torch.testing.assert_close((-energy(p, counts, h)).exp(), expected)
    assert word_mean(p, h).sum(1).allclose(torch.ones(len(h), dtype=torch.float64))


def test_too_many_topics_are_refused_with_advice() -> None:
    with pytest.raises(ValueError, match=r"F ≤ 20; this model has F = 21"):
        exact.topic_states(random_parameters(21, 2))
