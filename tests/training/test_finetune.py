from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from docboltz.errors import InvalidParameter, TrainingDiverged
from docboltz.inference import draw_documents, to_torch
from docboltz.model import exact
from docboltz.model.conditionals import mean_field, word_mean
from docboltz.model.counts import lengths
from docboltz.model.latent_words import FixedLatentWords, LatentWords
from docboltz.model.parameters import Parameters
from docboltz.sampling.pool import ChainPool, SweepInfo
from docboltz.training.documents import Batch, Documents
from docboltz.training.finetune import (
    Finetuning,
    MaximumLikelihood,
    data_statistics,
    model_statistics,
)
from docboltz.training.run import Run
from docboltz.training.trainer import Trainer
from tests.conftest import random_counts, random_parameters
from tests.training.fakes import (
    CPU,
    batch_of,
    documents_of,
    seeded,
    small_parameters,
    unseen,
)

DOCUMENTS = 3
GROUPS = 40
ERRORS = 5.5
"""Standard errors that at most 19 means of 40 groups may be off: by chance one is, in 5 of 100,000
runs (Student's t with 39 degrees of freedom); seeds are fixed."""


def mean_and_error(draws: list[Tensor]) -> tuple[Tensor, Tensor]:
    """Mean of independent groups and its standard error."""
    groups = torch.stack(draws)
    return groups.mean(0), groups.std(0) / len(draws) ** 0.5


# ---- the two sides of the gradient ----


def test_statistics_are_the_exact_gradient_where_inference_is_exact() -> None:
    """Without latent words, and with every topic state weighted by its exact p_D in the pool."""
    p, counts = random_parameters(4, 6), random_counts(5, 6)
    n, none = lengths(counts), torch.zeros(5).double()
    prior = exact.prior(p, n).mean(0)  # each document's length counts alike
    nobody = torch.zeros(16, dtype=torch.bool)
    pool = ChainPool(exact.topic_states(p), torch.ones_like(prior), prior, torch.arange(16), nobody)
    data, topics = data_statistics(p, batch_of(counts, none), steps=3, generator=seeded())
    model = model_statistics(p, pool)
    expected = exact.likelihood_gradient(p, counts, none, 1 / (5 * n))
    torch.testing.assert_close(data.W - model.W, expected.W)
    torch.testing.assert_close(data.b - model.b, expected.b)
    torch.testing.assert_close(data.a - model.a, expected.a)
    torch.testing.assert_close(topics, exact.posterior_topic_mean(p, counts, none))


def test_latent_words_follow_the_mean_field(policy: LatentWords) -> None:
    """Enough steps give μ1 (v̂ + M μ2)ᵀ / D at the fixed point of mean field."""
    p, counts = random_parameters(3, 5, scale=0.3), random_counts(4, 5)
    m = policy(lengths(counts))
    found, topics = data_statistics(p, batch_of(counts, m), steps=500, generator=seeded())
    settled = mean_field(p, counts, m, tolerance=1e-14)
    x = (counts + m[:, None] * settled.words) / (lengths(counts) + m)[:, None]
    torch.testing.assert_close(found.W, settled.topics.T @ x / 4)
    torch.testing.assert_close(found.b, x.mean(0))
    torch.testing.assert_close(topics, settled.topics)


def exact_data_statistics(p: Parameters, counts: Tensor, m: Tensor) -> Tensor:
    """E[h xᵀ | v] / D by enumerating topics, averaged over the documents: (F, K)."""
    h = exact.topic_states(p)
    given = exact.posterior(p, counts, m)  # (B, S)
    x = counts[:, None, :] + m[:, None, None] * word_mean(p, h)  # (B, S, K)
    each = torch.einsum("bs,sj,bsk->bjk", given, h, x) / (lengths(counts) + m)[:, None, None]
    return each.mean(0)


def test_gibbs_steps_find_the_covariance_that_mean_field_misses() -> None:
    """A document without latent words is among them."""
    p, counts = random_parameters(3, 4, scale=0.7), random_counts(DOCUMENTS, 4, most=2)
    m = torch.tensor([0.0, 3.0, 6.0]).double()
    many = batch_of(counts.repeat(1000, 1), m.repeat(1000))
    expected, g = exact_data_statistics(p, counts, m), seeded()

    def statistics(gibbs_steps: int) -> Tensor:
        return data_statistics(p, many, steps=20, gibbs_steps=gibbs_steps, generator=g)[0].W

    mean, error = mean_and_error([statistics(25) for _ in range(GROUPS)])
    assert ((mean - expected).abs() < ERRORS * error).all()
    biased = (statistics(0) - expected).abs()
    assert biased.max() > 20 * error.max(), "a blunt test: mean field is as good"


def test_gibbs_steps_draw_all_latent_words_of_a_fractional_document() -> None:
    """tf-idf weights in float32, one document at a time: b's statistics are then x = (v̂ + ĥ)/D."""
    p = small_parameters(2, 3, dtype=torch.float32)
    for n in torch.linspace(30.05, 150.15, 20):
        counts, m = torch.tensor([[1.0, 0.0, 0.0]]) * n, torch.tensor([100.0])
        data, _ = data_statistics(
            p, batch_of(counts, m), steps=1, gibbs_steps=1, generator=seeded()
        )
        drawn = data.b * (n + m) - counts[0]
        torch.testing.assert_close(drawn, drawn.round(), rtol=0, atol=1e-3)


@pytest.mark.parametrize(("chains", "sweeps"), [("pool", 20), ("data", 40)])
def test_the_gradient_is_the_exact_one(chains: str, sweeps: int) -> None:
    """With latent words: many Gibbs steps on the data, many sweeps of the model's chains.

    20 sweeps between updates are enough for groups that a pool makes one after the other to be
    independent. Lengths differ, so chains at the wrong D would show.
    """
    p, counts = small_parameters(3, 4, scale=0.5), random_counts(DOCUMENTS, 4)
    m = torch.tensor([4.0, 4.0, 4.0]).double()
    settings = {"weight_decay": 0, "gibbs_steps": 20, "rungs": 1500, "bridge": 4}
    phase = MaximumLikelihood(Finetuning(chains=chains, sweeps=sweeps, **settings))
    many, g = batch_of(counts.repeat(500, 1), m.repeat(500)), seeded(1)
    phase.begin(p, documents_of(counts, 4), g)
    expected = exact.likelihood_gradient(p, counts, m, 1 / (DOCUMENTS * (lengths(counts) + m)))
    draws = [full_gradient(phase, many, counts, g) for _ in range(GROUPS)]
    for found, wanted in zip(zip(*draws, strict=True), vars(expected).values(), strict=True):
        mean, error = mean_and_error(list(found))
        assert (error < 3e-3).all()
        assert ((mean - wanted).abs() < ERRORS * error).all()


def test_one_sweep_from_the_data_is_biased_so_the_last_test_can_fail() -> None:
    p, counts = small_parameters(3, 4, scale=0.5), random_counts(DOCUMENTS, 4)
    none, g = torch.zeros(DOCUMENTS).double(), seeded(1)
    phase = MaximumLikelihood(Finetuning(chains="data", sweeps=1, weight_decay=0))
    phase.begin(p, documents_of(counts), g)
    many = batch_of(counts.repeat(500, 1), none.repeat(500))
    draws = [full_gradient(phase, many, counts, g)[0] for _ in range(GROUPS)]
    mean, error = mean_and_error(draws)
    expected = exact.likelihood_gradient(p, counts, none, 1 / (DOCUMENTS * lengths(counts))).W
    assert not ((mean - expected).abs() < ERRORS * error).all()


def full_gradient(
    phase: MaximumLikelihood, batch: Batch, counts: Tensor, g: torch.Generator
) -> tuple[Tensor, Tensor, Tensor]:
    """For W, a and b, where the phase has for W what is left beside the row means."""
    W, b, row_mean = phase.gradients(batch, 0, g)
    frequency = counts.sum(0) / counts.sum()
    return W.T + torch.outer(row_mean, frequency), row_mean, b


# ---- row means ----


def under_way(**settings: object) -> tuple[MaximumLikelihood, Trainer, Tensor]:
    """A phase with a small pool, its trainer, and the word frequencies of its documents."""
    counts = random_counts(12, 6)
    quick = {"updates": 10, "batch_size": 5, "rungs": 6, "bridge": 2, "learning_rate": 0.05}
    phase = MaximumLikelihood(Finetuning(**{**quick, **settings}))
    p = small_parameters(3, 6, scale=0.3)
    return phase, Trainer(phase, p, documents_of(counts, 3), seed=0), counts.sum(0) / counts.sum()


def test_row_means_move_by_their_own_steps_only() -> None:
    phase, trainer, frequency = under_way()
    W, row_mean = trainer.parameters.W, phase.tensors()["row_mean"]
    start = row_mean.clone()
    trainer.advance(1)
    # Adam's first step is the rate, up or down; the rate is held in float32.
    step = 0.05 / trainer.documents.d.mean()
    torch.testing.assert_close((row_mean - start).abs(), step.expand(3), rtol=1e-6, atol=0)
    for _ in range(9):
        torch.testing.assert_close(W @ frequency, row_mean, rtol=0, atol=1e-12)
        trainer.advance(1)
    torch.testing.assert_close(W @ frequency, row_mean, rtol=0, atol=1e-12)


@pytest.mark.parametrize("chains", ["pool", "data"])
@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
def test_the_gradient_of_the_weights_leaves_row_means_to_theirs(
    chains: str, weight_decay: float
) -> None:
    """Over words it sums to 0, less weight decay towards the row's mean."""
    phase, trainer, _ = under_way(chains=chains, weight_decay=weight_decay)
    p = trainer.parameters
    W, _, row_mean = phase.gradients(trainer.documents.pick(torch.arange(5)), 0, seeded())
    torch.testing.assert_close(
        W.sum(0), -weight_decay * (p.W - phase.tensors()["row_mean"][:, None]).sum(1)
    )
    assert row_mean.abs().min() > 1e-4, "a blunt test: there is nothing to leave out"
    assert W.abs().max() > 1e-4


# ---- the phase ----


def test_data_from_a_known_model_are_fitted_as_well_as_by_the_model_itself() -> None:
    """The exact likelihood of the fit comes within sampling error of the true model's.

    2,000 documents and 27 free parameters: maximum likelihood would gain about 27 / 2 / 2,000 nats
    a document over the truth. The tolerance of 0.02 nats a document is three times that.
    """
    # Each topic favours two of six words, less what keeps documents from having all topics on.
    W = 1.5 * torch.eye(3).double().repeat_interleave(2, 1) - 0.77
    true = Parameters(W, torch.zeros(3).double(), torch.zeros(6).double())
    g = seeded()
    X = draw_documents(true, np.full(2000, 12), FixedLatentWords(0), sweeps=100, generator=g)
    counts = to_torch(X.astype(np.float64))
    frequency = torch.from_numpy(X.sum(axis=0)).double()
    start = Parameters.initial(3, frequency, scale=0.05, generator=g)
    settings = Finetuning(
        updates=1000,
        batch_size=500,
        learning_rate=0.1,
        halve_after=150,
        weight_decay=0,
        sweeps=2,
        rungs=500,
        bridge=20,
    )
    fitted = start.copy()
    documents = Documents.of(counts, FixedLatentWords(0), CPU)
    run = Run(fitted, documents, [MaximumLikelihood(settings)], seed=0)
    run.go(unseen)
    none, dense = torch.zeros(2000).double(), counts.dense()
    truth, learnt, unigram = (
        exact.log_likelihood(model, dense, none).mean().item() for model in (true, fitted, start)
    )
    assert truth - unigram > 0.3, "a blunt test: the unigram is nearly as good"
    assert learnt > truth - 0.02
    assert [entry["update"] for entry in run.history] == list(range(100, 1001, 100))
    assert 0 < run.history[-1]["exchange_acceptance"] <= 1


def test_the_last_fifth_is_averaged() -> None:
    assert MaximumLikelihood(Finetuning(updates=1000)).average_from == 800


def test_the_rate_is_as_set_and_by_default_falls_with_the_number_of_topics() -> None:
    def phase(F: int, **settings: float) -> MaximumLikelihood:
        begun = MaximumLikelihood(Finetuning(rungs=2, bridge=0, sweeps=1, **settings))
        begun.begin(small_parameters(F, 4), documents_of(random_counts(3, 4)), seeded())
        return begun

    few = phase(4, learning_rate=0.02, halve_after=100)
    assert few.rate(0) == 0.02
    assert few.rate(100) == 0.01
    assert phase(1000).rate(0) < phase(200).rate(0) < phase(128).rate(0) == phase(4).rate(0)


def test_a_look_shows_what_the_chains_do_and_measures_travel_anew() -> None:
    phase, trainer, _ = under_way(sweeps=2)
    trainer.advance(5)
    walker = phase.tensors()["walker"]
    assert not torch.equal(walker, torch.arange(8)), "nothing has travelled"
    seen = trainer.watch()
    assert torch.equal(walker, torch.arange(8))
    assert 0 < seen["data_activity"] < 1
    assert 0 < seen["model_activity"] < 1
    assert 0 < seen["chain_movement"] < 1
    assert 0 <= seen["exchange_acceptance"] <= 1
    assert 0 < seen["travelled"] < 1


def test_chains_from_data_have_no_ladder_to_travel() -> None:
    _, trainer, _ = under_way(chains="data")
    trainer.advance(1)
    seen = trainer.watch()
    assert set(seen) == {"rate", "data_activity", "model_activity", "chain_movement"}
    assert 0 < seen["chain_movement"] < 1


@pytest.mark.parametrize("sweeps", [1, 2, 3, 4])
def test_states_travel_along_the_ladder_whatever_the_number_of_sweeps(sweeps: int) -> None:
    """With W = 0 every exchange is accepted, and 24 of them suffice to mix 16 rungs."""
    p, counts = small_parameters(2, 4, scale=0.0), random_counts(16, 4)
    phase = MaximumLikelihood(Finetuning(sweeps=sweeps, rungs=16, bridge=0))
    documents, g = documents_of(counts), seeded()
    phase.begin(p, documents, g)
    batch = documents.pick(torch.arange(16))
    phase.watch(batch, p, 0, g)
    farthest = 0.0
    for update in range(24 // sweeps):
        phase.gradients(batch, phase.variant(update), g)
        farthest = max(farthest, phase.tensors()["travelled"].item())
    assert farthest > 0.25  # 1/3 where all is mixed


def test_divergence_is_an_error() -> None:
    p, documents = small_parameters(2, 4), documents_of(random_counts(6, 4), 2)
    broken = Parameters(p.W * float("nan"), p.a, p.b).copy()
    phase = MaximumLikelihood(Finetuning(updates=2, rungs=4, bridge=2))
    with pytest.raises(TrainingDiverged, match="Fine-tuning"):
        Run(broken, documents, [phase], seed=0).go(unseen)


@pytest.mark.parametrize(
    "settings",
    [
        {"updates": 0},
        {"rungs": 1.5},
        {"learning_rate": 0},
        {"weight_decay": -1},
        {"sweeps": 0},
        {"gibbs_steps": -1},
        {"mean_field_steps": -1},
        {"bridge": -1},
        {"chains": "free"},
        {"momentum": 1.0},
        {"halve_after": float("nan")},
    ],
    ids=str,
)
def test_nonsense_is_refused(settings: dict) -> None:
    with pytest.raises(InvalidParameter, match=f"'{next(iter(settings))}' parameter of Finetuning"):
        Finetuning(**settings)


def test_numpys_numbers_are_numbers() -> None:
    settings = Finetuning(rungs=np.int64(5), weight_decay=np.float32(0), momentum=np.float64(0.5))
    assert [type(v) for v in (settings.rungs, settings.weight_decay, settings.momentum)] == [
        int,
        float,
        float,
    ]


def test_guests_do_not_tell_what_chains_know(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neighbours swap at both sweeps; g is 100 of a guest and 1 of any other."""
    p, documents = small_parameters(4, 12), documents_of(random_counts(40, 12), 5)
    phase = MaximumLikelihood(Finetuning(rungs=20, bridge=0, sweeps=2))
    phase.begin(p, documents, seeded())
    pool = phase._pool
    assert pool is not None

    def swapping(p: Parameters, pool: ChainPool, parity: int, *, generator: torch.Generator):
        g = torch.where(pool.guest, 100.0, 1.0).to(p.W.dtype)
        order = torch.arange(20).view(10, 2).flip(1).reshape(-1)
        return replace(pool, guest=pool.guest[order]), SweepInfo(g[:0].sum(), g[:0].sum(), g)

    monkeypatch.setattr("docboltz.training.finetune.sweep", swapping)
    pool.guest[::2] = True
    phase._mean_g.zero_()
    phase._sweep(pool, 0, seeded())
    assert pool.guest.tolist() == [True, False] * 10
    assert set(phase._mean_g.tolist()) == {0.0, 1.0}
