from __future__ import annotations

import pytest
import torch

from docboltz.errors import InvalidParameter
from docboltz.model import exact
from docboltz.model.conditionals import fast_topic_mean
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
    ],
    ids=str,
)
def test_nonsense_is_refused(settings: dict) -> None:
    name = next(iter(settings))
    with pytest.raises(InvalidParameter, match=f"'{name}' parameter of Pretraining must be"):
        Pretraining(**settings)
