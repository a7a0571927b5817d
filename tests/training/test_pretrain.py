from __future__ import annotations

import itertools
from functools import partial

import numpy as np
import pytest
import torch
from scipy import stats

from docboltz.errors import InvalidParameter
from docboltz.model import exact
from docboltz.model.conditionals import fast_topic_mean, word_mean
from docboltz.model.counts import lengths
from docboltz.model.parameters import Parameters
from docboltz.training.pretrain import Pretraining, contrastive_divergence, sparsity_gradient
from tests.conftest import random_counts, random_parameters
from tests.model.test_conditionals import sparse

DOCUMENTS = 3


def mean_and_error(p: Parameters, counts: torch.Tensor, m: torch.Tensor, steps: int, groups: int):
    """CD's gradient for W over many chains: mean and standard error from independent groups."""
    g = torch.Generator().manual_seed(0)
    many = counts.repeat(1000, 1)
    draws = torch.stack(
        [
            contrastive_divergence(p, many, m.repeat(1000), steps=steps, generator=g).W
            for _ in range(groups)
        ]
    )
    return draws.mean(0), draws.std(0) / groups**0.5


def test_long_contrastive_divergence_is_the_exact_gradient() -> None:
    """Without latent words CD-k tends to maximum likelihood: compare CD-40 with enumeration.

    One of 12 entries beyond 5.5 standard errors happens by chance in 3 of 100,000 runs (Student's t
    with 39 degrees of freedom); the seed is fixed.
    """
    p, counts = random_parameters(3, 4, scale=0.5), random_counts(DOCUMENTS, 4)
    m = torch.zeros(DOCUMENTS, dtype=torch.float64)
    weight = 1 / (DOCUMENTS * lengths(counts))
    expected = exact.likelihood_gradient(p, counts, m, weight).W
    mean, error = mean_and_error(p, counts, m, steps=40, groups=40)
    assert (error < 2e-3).all()
    assert ((mean - expected).abs() < 5.5 * error).all()


def test_one_step_is_biased_so_the_last_test_can_fail() -> None:
    p, counts = random_parameters(3, 4, scale=0.5), random_counts(DOCUMENTS, 4)
    m = torch.zeros(DOCUMENTS, dtype=torch.float64)
    weight = 1 / (DOCUMENTS * lengths(counts))
    expected = exact.likelihood_gradient(p, counts, m, weight).W
    mean, error = mean_and_error(p, counts, m, steps=1, groups=40)
    assert not ((mean - expected).abs() < 5.5 * error).all()


def exact_contrastive_divergence(
    p: Parameters, document: torch.Tensor, m: float, steps: int
) -> torch.Tensor:
    """⟨h x̄ᵀ⟩ of the data less ⟨h x̄ᵀ⟩ after `steps` steps, by enumerating topics and texts."""
    n, K = int(document.sum()), p.n_words
    h = exact.topic_states(p)
    words = word_mean(p, h)  # (S, K)

    def topics_of(x: torch.Tensor) -> torch.Tensor:
        return fast_topic_mean(p, x, torch.full((len(x),), m).double())

    def state_probability(mean: torch.Tensor) -> torch.Tensor:
        return (mean[:, None] * h + (1 - mean[:, None]) * (1 - h)).prod(2)  # (B, S)

    def statistic(x: torch.Tensor) -> torch.Tensor:
        return topics_of(x)[:, :, None] * (x / n)[:, None, :]  # (B, F, K)

    data = statistic(document[None])[0]
    if steps == 1:  # reconstruction by probabilities
        weight = state_probability(topics_of(document[None]))[0]
        return data - torch.einsum("s,sjk->jk", weight, statistic(n * words))
    texts = [t for t in itertools.product(range(n + 1), repeat=K) if sum(t) == n]
    outcomes = torch.tensor(texts).double()  # (T, K)
    drawn = torch.tensor(
        [[stats.multinomial.pmf(t, n, w.numpy()) for t in texts] for w in words]
    )  # (S, T)
    kernel = state_probability(topics_of(outcomes)) @ drawn  # (T, T)
    start = (outcomes == document).all(1).double()
    end = start @ torch.linalg.matrix_power(kernel, steps)
    return data - torch.einsum("t,tjk->jk", end, statistic(outcomes))


@pytest.mark.parametrize("steps", [1, 2, 4])
@pytest.mark.parametrize("m", [0.0, 5.0])
def test_contrastive_divergence_is_its_exact_expectation(steps: int, m: float) -> None:
    """Latent words and Gibbs steps both count: the estimate matches theirs and no other's.

    Nine entries beyond 5.5 standard errors: by chance in 3 of 100,000 runs; the seed is fixed.
    """
    p = random_parameters(3, 3, scale=0.7)
    document = torch.tensor([2.0, 1.0, 0.0]).double()
    ms = torch.tensor([m]).double()
    mean, error = mean_and_error(p, document[None], ms, steps=steps, groups=40)
    expected = exact_contrastive_divergence(p, document, m, steps)
    assert ((mean - expected).abs() < 5.5 * error + 1e-12).all()
    other = exact_contrastive_divergence(p, document, 5.0 - m, steps)
    assert not ((mean - other).abs() < 5.5 * error).all(), "the test cannot tell M = 0 from M = 5"


def test_the_schedules_are_followed() -> None:
    p, counts = random_parameters(3, 4), random_counts(5, 4)
    m = torch.full((5,), 2.0).double()
    settings = Pretraining(more_steps_every=10, max_steps=3, weight_decay=0, halve_after=100)
    for update, steps in ((0, 1), (9, 1), (10, 2), (25, 3), (999, 3)):
        found, expected = (
            f(generator=torch.Generator().manual_seed(update)).W
            for f in (
                partial(settings.statistics, p, sparse(counts), m, update),
                partial(contrastive_divergence, p, counts, m, steps=steps),
            )
        )
        assert torch.equal(found, expected)
    assert settings.rate(0) == settings.learning_rate
    assert settings.rate(100) == settings.learning_rate / 2


@pytest.mark.parametrize("steps", [1, 3])
def test_positive_statistics_are_those_of_fast_inference(steps: int) -> None:
    """With W = 0 the reconstruction is the unigram whatever the chain does, in expectation."""
    K, B = 4, 20_000
    p = Parameters(torch.zeros(2, K).double(), torch.zeros(2).double(), torch.zeros(K).double())
    counts = torch.tensor([[4.0, 0, 0, 0]]).double().repeat(B, 1)
    m = torch.full((B,), 4.0).double()
    g = torch.Generator().manual_seed(1)
    found = contrastive_divergence(p, counts, m, steps=steps, generator=g)
    expected = torch.tensor([0.75, -0.25, -0.25, -0.25]).double()
    # An entry of b averages 20,000 shares of 4 words: sd ≤ sqrt(3/16/4/20,000) = 0.0015; five sd.
    torch.testing.assert_close(found.b, expected, atol=0.0077, rtol=0)
    torch.testing.assert_close(found.W, 0.5 * expected.expand(2, K), atol=0.0077, rtol=0)
    assert found.a.abs().max() == 0


def test_sparsity_gradient_is_autograds() -> None:
    p, counts = random_parameters(3, 5, scale=0.3), random_counts(6, 5)
    n, m, target = lengths(counts), torch.full((6,), 4.0).double(), 0.2
    W, a = p.W.clone().requires_grad_(), p.a.clone().requires_grad_()
    drive = (counts / n[:, None]) @ W.T + a  # what one of the D words says on average
    # The document's share counts 1/D: pass the value of D · drive on, and the slope of drive.
    value = (n + m)[:, None] * drive
    q = torch.sigmoid(value.detach() + drive - drive.detach()).mean(0)
    kl = target * torch.log(target / q) + (1 - target) * torch.log((1 - target) / (1 - q))
    (-kl.sum()).backward()
    found = sparsity_gradient(p, counts, m, target=target)
    torch.testing.assert_close(found.W, W.grad)
    torch.testing.assert_close(found.a, a.grad)


def test_sparsity_moves_activity_towards_its_target() -> None:
    p, counts = random_parameters(4, 5, scale=0.1), random_counts(30, 5)
    m = torch.full((30,), 4.0).double()
    before = fast_topic_mean(p, counts, m).mean(0)
    pull = sparsity_gradient(p, counts, m, target=0.1)
    after = fast_topic_mean(Parameters(p.W + 0.1 * pull.W, p.a, p.b), counts, m).mean(0)
    assert ((after - 0.1).abs() < (before - 0.1).abs()).all()


def test_statistics_add_decay_and_sparsity_to_the_chains() -> None:
    p, counts = random_parameters(3, 4), random_counts(5, 4)
    m = torch.full((5,), 2.0).double()

    def step(**settings: float) -> torch.Tensor:
        g = torch.Generator().manual_seed(0)
        quiet = {"weight_decay": 0.0} | settings
        return Pretraining(**quiet).statistics(p, sparse(counts), m, 0, generator=g).W

    torch.testing.assert_close(step(weight_decay=0.1) - step(), -0.1 * p.W)
    pull = sparsity_gradient(p, counts, m, target=0.1).W
    torch.testing.assert_close(step(sparsity=2.0) - step(), 2 * pull)


@pytest.mark.parametrize(
    "settings",
    [
        {"updates": 0},
        {"batch_size": 2.5},
        {"learning_rate": 0},
        {"learning_rate": float("nan")},
        {"momentum": 1.0},
        {"weight_decay": -1e-3},
        {"sparsity_target": 1.0},
        {"max_steps": 0},
        {"updates": True},
        {"learning_rate": "fast"},
        {"halve_after": float("inf")},
        {"momentum": None},
    ],
    ids=str,
)
def test_nonsense_is_refused(settings: dict) -> None:
    name = next(iter(settings))
    with pytest.raises(InvalidParameter, match=f"'{name}' parameter of Pretraining must be"):
        Pretraining(**settings)


def test_numpys_numbers_are_numbers() -> None:
    settings = Pretraining(updates=np.int64(5), learning_rate=np.float32(0.5))
    assert type(settings.updates) is int
    assert type(settings.learning_rate) is float
