from __future__ import annotations

import numpy as np
import pytest
import torch

from docboltz.errors import InvalidParameter, TrainingDiverged
from docboltz.inference import draw_documents, to_torch
from docboltz.model import exact
from docboltz.model.conditionals import mean_field
from docboltz.model.counts import lengths
from docboltz.model.latent_words import FixedLatentWords, LatentWords
from docboltz.model.parameters import Parameters
from docboltz.sampling.pool import ChainPool
from docboltz.training.finetune import Finetuning, data_statistics, finetune, model_statistics
from tests.conftest import random_counts, random_parameters
from tests.model.test_conditionals import sparse


def test_statistics_are_the_exact_gradient_where_inference_is_exact() -> None:
    """Without latent words, and with every topic state weighted by its exact p_D in the pool."""
    p, counts = random_parameters(4, 6), random_counts(5, 6)
    n, none = lengths(counts), torch.zeros(5).double()
    prior = exact.prior(p, n).mean(0)  # each document's length counts alike
    pool = ChainPool(exact.topic_states(p), torch.ones_like(prior), prior)
    data, model = data_statistics(p, sparse(counts), none, steps=3), model_statistics(p, pool)
    expected = exact.likelihood_gradient(p, counts, none, 1 / (5 * n))
    torch.testing.assert_close(data.W - model.W, expected.W)
    torch.testing.assert_close(data.b - model.b, expected.b)
    torch.testing.assert_close(data.a - model.a, expected.a)


def test_latent_words_follow_the_mean_field(policy: LatentWords) -> None:
    """Enough steps give μ1 (v̂ + M μ2)ᵀ / D at the fixed point of mean field."""
    p, counts = random_parameters(3, 5, scale=0.3), random_counts(4, 5)
    m = policy(lengths(counts))
    found = data_statistics(p, sparse(counts), m, steps=500)
    settled = mean_field(p, counts, m, tolerance=1e-14)
    x = (counts + m[:, None] * settled.words) / (lengths(counts) + m)[:, None]
    torch.testing.assert_close(found.W, settled.topics.T @ x / 4)
    torch.testing.assert_close(found.b, x.mean(0))


def test_data_from_a_known_model_are_fitted_as_well_as_by_the_model_itself() -> None:
    """The exact likelihood of the fit comes within sampling error of the true model's.

    2,000 documents and 27 free parameters: maximum likelihood would gain about 27 / 2 / 2,000 nats
    a document over the truth. The tolerance of 0.02 nats a document is three times that.
    """
    # Each topic favours two of six words, less what keeps documents from having all topics on.
    W = 1.5 * torch.eye(3).double().repeat_interleave(2, 1) - 0.77
    true = Parameters(W, torch.zeros(3).double(), torch.zeros(6).double())
    g = torch.Generator().manual_seed(0)
    X = draw_documents(true, np.full(2000, 12), FixedLatentWords(0), sweeps=100, generator=g)
    counts = to_torch(X.astype(np.float64))
    frequency = torch.from_numpy(X.sum(axis=0)).double()
    start = Parameters.initial(3, frequency, scale=0.05, generator=g)
    settings = Finetuning(
        updates=1500,
        batch_size=500,
        learning_rate=0.03,
        halve_after=150,
        weight_decay=0,
        sweeps=2,
        rungs=500,
        bridge=20,
    )
    fitted, history = finetune(start, counts, FixedLatentWords(0), settings, generator=g)
    none = torch.zeros(2000).double()
    dense = counts.dense()
    truth, learnt, unigram = (
        exact.log_likelihood(model, dense, none).mean().item() for model in (true, fitted, start)
    )
    assert truth - unigram > 0.3, "a blunt test: the unigram is nearly as good"
    assert learnt > truth - 0.02
    assert [entry["update"] for entry in history] == list(range(100, 1501, 100))
    assert 0 < history[-1]["exchange_acceptance"] <= 1


def test_divergence_is_an_error() -> None:
    p, counts = random_parameters(2, 4), random_counts(6, 4)
    broken = Parameters(p.W * float("nan"), p.a, p.b)
    with pytest.raises(TrainingDiverged):
        finetune(
            broken,
            sparse(counts),
            FixedLatentWords(2),
            Finetuning(updates=2, rungs=4, bridge=2),
            generator=torch.Generator(),
        )


@pytest.mark.parametrize(
    "settings",
    [{"updates": 0}, {"rungs": 1.5}, {"learning_rate": 0}, {"weight_decay": -1}],
    ids=str,
)
def test_nonsense_is_refused(settings: dict) -> None:
    with pytest.raises(InvalidParameter, match=f"'{next(iter(settings))}' parameter of Finetuning"):
        Finetuning(**settings)
