from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import stats
from torch import Tensor

from docboltz.errors import InvalidParameter
from docboltz.model import exact
from docboltz.model.conditionals import fast_topic_mean, word_mean
from docboltz.model.counts import SparseCounts, dense, lengths
from docboltz.model.parameters import Parameters
from docboltz.training.by_word import each_by_word, is_sparse
from docboltz.training.documents import Batch
from docboltz.training.pretrain import (
    ContrastiveDivergence,
    Pretraining,
    contrast,
    contrast_gradients,
    weighted_topics,
)
from tests.conftest import random_counts, random_parameters
from tests.training.fakes import batch_of, documents_of, seeded, small_parameters

DOCUMENTS = 3


def contrastive_divergence(
    p: Parameters, batch: Batch, *, steps: int, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """The gradients of W (F, K) and b, no decay and no sparsity."""
    data, model = contrast(p, batch, steps=steps, generator=generator)
    W, b = contrast_gradients(data, model, data.topics / len(data.topics))
    return W.T, b


def mean_and_error(p: Parameters, counts: Tensor, m: Tensor, steps: int, groups: int):
    """CD's gradient for W over many chains: mean and standard error from independent groups."""
    g = seeded()
    many = batch_of(counts.repeat(1000, 1), m.repeat(1000))
    draws = torch.stack(
        [contrastive_divergence(p, many, steps=steps, generator=g)[0] for _ in range(groups)]
    )
    return draws.mean(0), draws.std(0) / groups**0.5


def test_long_contrastive_divergence_is_the_exact_gradient() -> None:
    """Without latent words CD-k tends to maximum likelihood: compare CD-20 with enumeration.
    By enumeration it is 7e-5 off, a tenth of a standard error.

    One of 12 entries beyond 5.5 standard errors happens by chance in 3 of 100,000 runs (Student's t
    with 39 degrees of freedom); the seed is fixed.
    """
    p, counts = random_parameters(3, 4, scale=0.5), random_counts(DOCUMENTS, 4)
    m = torch.zeros(DOCUMENTS, dtype=torch.float64)
    weight = 1 / (DOCUMENTS * lengths(counts))
    expected = exact.likelihood_gradient(p, counts, m, weight).W
    mean, error = mean_and_error(p, counts, m, steps=20, groups=40)
    assert (error < 2e-3).all()
    assert ((mean - expected).abs() < 5.5 * error).all()


def test_one_step_is_biased_so_the_last_test_can_fail() -> None:
    p, counts = random_parameters(3, 4, scale=0.5), random_counts(DOCUMENTS, 4)
    m = torch.zeros(DOCUMENTS, dtype=torch.float64)
    weight = 1 / (DOCUMENTS * lengths(counts))
    expected = exact.likelihood_gradient(p, counts, m, weight).W
    mean, error = mean_and_error(p, counts, m, steps=1, groups=40)
    assert not ((mean - expected).abs() < 5.5 * error).all()


def exact_contrastive_divergence(p: Parameters, document: Tensor, m: float, steps: int) -> Tensor:
    """⟨h x̄ᵀ⟩ of the data less ⟨h x̄ᵀ⟩ after `steps` steps, by enumerating topics and texts."""
    n, K = int(document.sum()), p.n_words
    h = exact.topic_states(p)
    words = word_mean(p, h)  # (S, K)

    def topics_of(x: Tensor) -> Tensor:
        return fast_topic_mean(p, x, torch.full((len(x),), m).double())

    def state_probability(mean: Tensor) -> Tensor:
        return (mean[:, None] * h + (1 - mean[:, None]) * (1 - h)).prod(2)  # (B, S)

    def statistic(x: Tensor) -> Tensor:
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


@pytest.mark.parametrize("steps", [1, 3])
def test_positive_statistics_are_those_of_fast_inference(steps: int) -> None:
    """With W = 0 the reconstruction is the unigram whatever the chain does, in expectation."""
    K, B = 4, 20_000
    p = Parameters(torch.zeros(2, K).double(), torch.zeros(2).double(), torch.zeros(K).double())
    counts = torch.tensor([[4.0, 0, 0, 0]]).double().repeat(B, 1)
    batch = batch_of(counts, torch.full((B,), 4.0).double())
    W, b = contrastive_divergence(p, batch, steps=steps, generator=seeded(1))
    expected = torch.tensor([0.75, -0.25, -0.25, -0.25]).double()
    # An entry of b averages 20,000 shares of 4 words: sd ≤ sqrt(3/16/4/20,000) = 0.0015; five sd.
    torch.testing.assert_close(b, expected, atol=0.0077, rtol=0)
    torch.testing.assert_close(W, 0.5 * expected.expand(2, K), atol=0.0077, rtol=0)


def test_a_dense_batch_is_a_sparse_one() -> None:
    """A device with kernels picks dense batches: the same draws, the same sides."""
    p, counts = random_parameters(3, 5, scale=0.5), random_counts(6, 5)
    sparse = batch_of(counts, torch.full((6,), 2.0).double())
    spread = Batch(sparse.shares.dense(), sparse.n, sparse.d)
    sides = [contrast(p, batch, steps=3, generator=seeded()) for batch in (sparse, spread)]
    for one, other in zip(*sides, strict=True):
        torch.testing.assert_close(dense(one.shares), dense(other.shares))
        torch.testing.assert_close(one.topics, other.topics)
    found, expected = (contrast_gradients(data, model, data.topics / 6) for data, model in sides)
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("K", [5, 200])
def test_gradients_are_those_of_dense_sides(K: int) -> None:
    """With few words among many and with many among few; also with documents by word at hand."""
    p, counts = random_parameters(3, K, scale=0.5), random_counts(6, K)
    counts[:, 5:] = 0
    batch = batch_of(counts, torch.ones(6).double())
    data, model = contrast(p, batch, steps=2, generator=seeded())
    assert isinstance(data.shares, SparseCounts)
    assert isinstance(model.shares, SparseCounts)
    assert is_sparse(data.shares) == (K == 200)
    weighted = data.topics / 6
    x, y = data.shares.dense(), model.shares.dense()
    expected = [x.T @ weighted - y.T @ model.topics / 6, x.mean(0) - y.mean(0)]
    for side in (data, replace(data, by_word=each_by_word(data.shares, 6)[0])):
        torch.testing.assert_close(contrast_gradients(side, model, weighted), expected)


def test_documents_of_fractional_length_are_reconstructed_in_whole_words() -> None:
    """tf-idf weights: 2.6 and 0.2 words draw 3 words and 1."""
    p = random_parameters(2, 4, scale=0.5)
    counts = torch.tensor([[1.3, 1.3, 0, 0], [0, 0, 0.2, 0]]).double().repeat(50, 1)
    batch = batch_of(counts, torch.zeros(100).double())
    _, model = contrast(p, batch, steps=2, generator=seeded())
    drawn = dense(model.shares) * torch.tensor([3.0, 1.0]).double().repeat(50)[:, None]
    torch.testing.assert_close(drawn, drawn.round())
    assert {3.0, 1.0} == set(drawn.sum(1).round().tolist())


def sparsity_pull(topics: Tensor, *, target: float) -> Tensor:
    """What the penalty, at strength 1, adds to the topics of the data divided by B: (B, F)."""
    return weighted_topics(topics, 1.0, target=target) - topics / len(topics)


def test_sparsity_gradient_is_autograds() -> None:
    p, counts = random_parameters(3, 5, scale=0.3), random_counts(6, 5)
    n, m, target = lengths(counts), torch.full((6,), 4.0).double(), 0.2
    shares, topics = counts / n[:, None], fast_topic_mean(p, counts, m)
    W = p.W.clone().requires_grad_()
    drive = shares @ W.T + p.a  # what one of the D words says on average
    # The document's share counts 1/D: pass the value of D · drive on, and the slope of drive.
    value = (n + m)[:, None] * drive
    q = torch.sigmoid(value.detach() + drive - drive.detach()).mean(0)
    kl = target * torch.log(target / q) + (1 - target) * torch.log((1 - target) / (1 - q))
    (-kl.sum()).backward()
    found = sparsity_pull(topics, target=target).T @ shares
    torch.testing.assert_close(found, W.grad)


def test_sparsity_is_finite_where_a_topic_is_always_on_or_off() -> None:
    topics = torch.tensor([0.0, 1.0, 0.5]).double().expand(4, 3)
    found = weighted_topics(topics, 2.0, target=0.1)
    assert found.isfinite().all()
    torch.testing.assert_close(found[:, :2], topics[:, :2] / 4)  # no slope is left to pull at
    torch.testing.assert_close(weighted_topics(topics, 0.0, target=0.1), topics / 4)


def test_sparsity_moves_activity_towards_its_target() -> None:
    p, counts = random_parameters(4, 5, scale=0.1), random_counts(30, 5)
    m = torch.full((30,), 4.0).double()
    before = fast_topic_mean(p, counts, m)
    pull = sparsity_pull(before, target=0.1).T @ (counts / lengths(counts)[:, None])
    after = fast_topic_mean(Parameters(p.W + 0.1 * pull, p.a, p.b), counts, m)
    assert ((after.mean(0) - 0.1).abs() < (before.mean(0) - 0.1).abs()).all()


def begun(p: Parameters, counts: Tensor, **settings: float) -> ContrastiveDivergence:
    """The phase under way, with nothing but the chains unless asked for."""
    quiet = {"weight_decay": 0.0, "sparsity": 0.0} | settings
    phase = ContrastiveDivergence(Pretraining(**quiet))
    phase.begin(p, documents_of(counts, 2), seeded())
    return phase


def test_gradients_add_sparsity_to_the_chains() -> None:
    p, counts = small_parameters(3, 4, scale=1.0), random_counts(5, 4)
    m = torch.full((5,), 2.0).double()

    def gradients(**settings: float) -> list[Tensor]:
        phase = begun(p, counts, **settings)
        return phase.gradients(batch_of(counts, m), 1, seeded())

    plain, sparse = gradients(), gradients(sparsity=2.0, sparsity_target=0.3)
    pull = sparsity_pull(fast_topic_mean(p, counts, m), target=0.3)
    expected = (counts / lengths(counts)[:, None]).T @ pull
    torch.testing.assert_close(sparse[0] - plain[0], 2 * expected)
    assert torch.equal(sparse[1], plain[1])


@pytest.mark.parametrize(("K", "of_the_rate"), [(4, 1e-4), (1000, 1e-4), (5000, 2e-5)])
def test_weight_decay_is_in_units_of_the_vocabulary_and_spares_word_biases(
    K: int, of_the_rate: float
) -> None:
    """One step up a flat hill: W shrinks by rate times decay over K, or over 1,000 if K is less."""
    p = small_parameters(3, K, scale=1.0)
    before = p.copy()
    phase = ContrastiveDivergence(Pretraining(weight_decay=0.1, momentum=0.5))
    optimizer = phase.begin(p, documents_of(random_counts(5, K)), seeded())
    flat = [torch.zeros_like(p.W.T), torch.zeros_like(p.b)]
    optimizer.step(flat, torch.tensor(0.2).double())
    torch.testing.assert_close(p.W, (1 - 0.2 * of_the_rate) * before.W)
    assert torch.equal(p.b, before.b)


def test_the_schedules_are_followed() -> None:
    p, counts = small_parameters(3, 4, scale=1.0), random_counts(5, 4)
    batch = batch_of(counts, torch.full((5,), 2.0).double())
    phase = begun(p, counts, more_steps_every=10, max_steps=3, learning_rate=0.7, halve_after=100)
    for update, steps in ((0, 1), (9, 1), (10, 2), (25, 3), (999, 3)):
        assert phase.variant(update) == steps
        W, b = phase.gradients(batch, phase.variant(update), seeded(update))
        expected = contrastive_divergence(p, batch, steps=steps, generator=seeded(update))
        assert torch.equal(W.T, expected[0])
        assert torch.equal(b, expected[1])
    assert phase.rate(0) == 0.7
    assert phase.rate(100) == 0.7 / 2


def test_a_look_shows_the_activity_of_both_sides() -> None:
    p, counts = small_parameters(3, 4, scale=1.0), random_counts(5, 4)
    m = torch.full((5,), 2.0).double()
    batch = batch_of(counts, m)
    phase = begun(p, counts, more_steps_every=10, max_steps=3)
    seen = phase.watch(batch, p, 11, seeded())
    data, model = contrast(p, batch, steps=2, generator=seeded())
    assert seen["data_activity"] == pytest.approx(fast_topic_mean(p, counts, m).mean().item())
    assert seen == {
        "data_activity": data.topics.mean().item(),
        "model_activity": model.topics.mean().item(),
    }
    assert seen["data_activity"] != seen["model_activity"]


# ---- settings that None leaves open ----


def wide(K: int) -> Tensor:
    """Three documents of few words out of a vocabulary of K."""
    counts = torch.zeros(3, K)
    counts[:, :3] = torch.tensor([[2.0, 1, 0], [0, 1, 1], [1, 0, 3]])
    return counts


def settled(counts: Tensor, F: int = 8, m: int = 0, **settings: float) -> Pretraining:
    return Pretraining(**settings).completed(F, documents_of(counts, m))


def test_what_is_set_stays_set() -> None:
    asked = {"learning_rate": 3.0, "weight_decay": 0.5, "sparsity": 0.25, "updates": 7}
    assert settled(wide(5), F=1000, m=3, **asked) == Pretraining(**asked)
    none = settled(wide(5), F=1000, m=3, weight_decay=0.0, sparsity=0.0)
    assert (none.weight_decay, none.sparsity) == (0, 0)


def test_the_rate_falls_with_the_length_of_documents_and_is_capped() -> None:
    """A step changes what a document says to its topics by about D Σ_k f_k² times the rate."""
    counts = 1000 * wide(6)
    rate = settled(counts).learning_rate
    assert settled(2 * counts).learning_rate == pytest.approx(rate / 2)
    mean_length = round(counts.sum().item() / 3)  # as many latent words as words, on average
    assert settled(counts, m=mean_length).learning_rate == pytest.approx(rate / 2, rel=1e-3)
    # The same lengths over words as frequent as each other, twice as many of them: half Σ_k f_k².
    evenly = [settled(torch.full((3, K), 5000.0 / K)).learning_rate for K in (5, 10)]
    assert evenly[1] == pytest.approx(2 * evenly[0])
    short = [settled(torch.eye(K)).learning_rate for K in (1000, 2000)]
    assert short[0] == short[1], "documents of one word among many: no cap"


@pytest.mark.parametrize(("n", "updates"), [(3, 350), (128, 350), (256, 700), (1000, 2000)])
def test_small_corpora_are_gone_through_so_many_times_and_no_more(n: int, updates: int) -> None:
    """A minibatch is all of a corpus of 128 documents and fewer; large ones get all updates."""
    counts, asked = torch.ones(n, 4), {"updates": 2000, "max_passes": 350, "averaged": 0.3}
    assert settled(counts, F=2, m=3, **asked).updates == updates
    assert settled(counts, F=2, m=3, updates=2000).updates == 2000
    phase = ContrastiveDivergence(Pretraining(**asked))
    phase.begin(small_parameters(2, 4), documents_of(counts, 3), seeded())
    assert (phase.updates, phase.settings.updates) == (updates, updates)
    assert phase.average_from == round(0.7 * updates)


def test_weight_decay_falls_with_the_number_of_documents_and_is_half_without_latent_words() -> None:
    """As 0.65 + 1,800/n, at most 5."""
    decay = {n: settled(torch.ones(n, 8), F=16, m=3).weight_decay for n in (10, 1800, 18_000)}
    assert decay == {10: 5.0, 1800: pytest.approx(1.65), 18_000: pytest.approx(0.75)}
    assert settled(torch.ones(1800, 8), F=16, m=0).weight_decay == pytest.approx(1.65 / 2)


def test_sparsity_grows_with_the_topics_and_is_none_without_latent_words() -> None:
    few, more, many, most = (settled(wide(5), F=F, m=3).sparsity for F in (128, 160, 512, 4096))
    assert 0 == few < more < many == most == 1
    assert all(settled(wide(5), F=F, m=0).sparsity == 0 for F in (16, 4096))


def test_the_phase_settles_its_settings_on_its_documents() -> None:
    p, counts = small_parameters(3, 4), random_counts(5, 4)
    phase = ContrastiveDivergence(Pretraining())
    phase.begin(p, documents_of(counts, 2), seeded())
    assert phase.settings == Pretraining().completed(3, documents_of(counts, 2))
    assert phase.rate(0) == phase.settings.learning_rate


@pytest.mark.parametrize(
    "settings",
    [
        {"updates": 0},
        {"max_passes": 0},
        {"max_passes": 2.5},
        {"batch_size": 2.5},
        {"learning_rate": 0},
        {"learning_rate": float("nan")},
        {"momentum": 1.0},
        {"weight_decay": -1e-3},
        {"sparsity": -1.0},
        {"sparsity_target": 1.0},
        {"max_steps": 0},
        {"more_steps_every": 0},
        {"initial_scale": 0.0},
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
    settings = Pretraining(
        updates=np.int64(5), learning_rate=np.float32(0.5), weight_decay=np.float64(0)
    )
    assert type(settings.updates) is int
    assert type(settings.learning_rate) is float
    assert type(settings.weight_decay) is float
