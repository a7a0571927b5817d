"""Is the word sampler a multinomial? Chi-square tests, each failing by chance once in a million."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from scipy import stats

from docboltz.model.counts import dense
from docboltz.sampling import words as words_module
from docboltz.sampling.words import (
    FEW,
    draw_plans,
    plan_of,
    plans_of,
    sample_word_counts,
    sample_word_shares,
    sample_words,
)
from docboltz.training.update_random import UpdateRandom

FAILURE_RATE = 1e-6


def generator(device: str = "cpu", seed: int = 0) -> torch.Generator:
    return torch.Generator(device).manual_seed(seed)


def assert_drawn_from(observed, expected) -> None:
    """Chi-square of counts against expected counts, all large enough for the test to hold."""
    assert min(expected) >= 5, "too few expected draws for a chi-square test"
    assert stats.chisquare(observed, expected).pvalue > FAILURE_RATE


def test_frequencies_over_many_lengths(device: str) -> None:
    """Documents of 1 to 5,000 words side by side, each with its own distribution."""
    n = torch.tensor([1, 0, 17, 5000, 300, 2], device=device)
    copies = 2000
    g = generator(device)
    p = torch.softmax(2 * torch.randn(6, 8, generator=g, device=device), 1)
    drawn = sample_words(p.repeat(copies, 1), n.repeat(copies), generator=g).dense()
    assert torch.equal(drawn.sum(1).long(), n.repeat(copies))
    totals = drawn.view(copies, 6, 8).double().sum(0).cpu()
    for i in (2, 3, 4):
        probability = p[i].double().cpu() / p[i].double().sum().cpu()
        assert_drawn_from(totals[i].numpy(), (copies * n[i].item() * probability).numpy())


def test_joint_distribution_is_multinomial() -> None:
    """Marginals can be right while draws are not independent: check whole count vectors."""
    probability, n, copies = [0.2, 0.5, 0.3], 4, 60_000
    p = torch.tensor([probability]).expand(copies, 3)
    drawn = sample_words(p, torch.full((copies,), n), generator=generator()).dense().long()
    outcomes = [o for o in itertools.product(range(n + 1), repeat=3) if sum(o) == n]
    observed = [int((drawn == torch.tensor(o)).all(1).sum()) for o in outcomes]
    expected = [copies * stats.multinomial.pmf(o, n, probability) for o in outcomes]
    assert_drawn_from(observed, expected)


@pytest.mark.parametrize("margin", [6.0, 0.5, 0.0])
def test_joint_distribution_of_counts_is_multinomial(
    monkeypatch: pytest.MonkeyPatch, margin: float
) -> None:
    """With Poisson counts for none of the 4 words or most, and with too many for a third of the
    documents: whatever their sum, it says nothing about which words they are."""
    monkeypatch.setattr(words_module, "MARGIN", margin)
    probability, n, copies = [0.2, 0.5, 0.3], 4, 60_000
    p = torch.tensor([probability]).expand(copies, 3)
    drawn = sample_word_counts(p, torch.full((copies,), n), generator=generator()).long()
    outcomes = [o for o in itertools.product(range(n + 1), repeat=3) if sum(o) == n]
    observed = [int((drawn == torch.tensor(o)).all(1).sum()) for o in outcomes]
    expected = [copies * stats.multinomial.pmf(o, n, probability) for o in outcomes]
    assert_drawn_from(observed, expected)


def test_counts_of_long_documents_have_binomial_marginals() -> None:
    """Each word's count, in its own bins, against Binomial(n, p): mean and spread are right."""
    p = torch.tensor([1e-4, 0.0, 0.02, 0.9, 0.0799])
    n, copies = 5000, 20_000
    drawn = sample_word_counts(p.expand(copies, 5), torch.full((copies,), n), generator=generator())
    assert (drawn.sum(1) == n).all()
    assert (drawn[:, 1] == 0).all()
    probability = p.double() / p.double().sum()
    for k in (0, 2, 3, 4):
        law = stats.binom(n, float(probability[k]))
        edges = sorted({int(law.ppf(q)) for q in (0.05, 0.2, 0.4, 0.6, 0.8, 0.95)})
        cumulative = [0.0, *law.cdf(edges), 1.0]
        below = [0, *(int((drawn[:, k] <= edge).sum()) for edge in edges), copies]
        expected = [copies * (b - a) for a, b in itertools.pairwise(cumulative)]
        assert_drawn_from([b - a for a, b in itertools.pairwise(below)], expected)


def test_counts_of_short_and_long_documents_side_by_side() -> None:
    n = torch.tensor([1, 0, 17, 5000, 2_000_000, 2])
    p = torch.softmax(2 * torch.randn(6, 8, generator=generator()), 1)
    drawn = sample_word_counts(p, n, generator=generator())
    assert torch.equal(drawn.sum(1).long(), n)
    for i in (3, 4):
        expected = n[i].item() * p[i].double() / p[i].double().sum()
        assert_drawn_from(drawn[i].numpy(), expected.numpy())


def test_a_run_that_diverges_is_not_stopped_by_its_words() -> None:
    """NaN must reach the weights, where the run looks for it."""
    p = torch.tensor([[math.nan, 0.5], [0.5, 0.5]])
    drawn = sample_word_counts(p, torch.tensor([3000, 3000]), generator=generator())
    assert drawn.sum(1).tolist() == [3000, 3000]


def test_order_of_draws_is_free() -> None:
    """Successive words are independent: all ordered pairs have the product of probabilities."""
    probability, copies = torch.tensor([0.1, 0.6, 0.3], dtype=torch.float64), 40_000
    n = torch.full((copies,), 2)
    words = sample_words(probability.expand(copies, 3), n, generator=generator()).words
    pairs = torch.bincount(words[0::2] * 3 + words[1::2], minlength=9)
    expected = copies * torch.outer(probability, probability).view(-1)
    assert_drawn_from(pairs.numpy(), expected.numpy())


def test_rare_words_of_a_large_vocabulary_keep_their_probability() -> None:
    """A float32 sum over 300,000 words would shift probabilities more than this test allows."""
    K, n = 300_000, 6_000_000
    p = torch.ones(1, K)
    p[0, 0] = K  # half the mass in the first word, so that the rest sit where float32 is coarse
    words = sample_words(p, torch.tensor([n]), generator=generator()).words
    observed = torch.bincount(words, minlength=K).view(-1, 1000)[1:].sum(1)
    expected = torch.full((len(observed),), n * 1000 / (2 * K - 1)).double()
    rest = n - observed.sum().item(), n - expected.sum().item()
    assert_drawn_from([*observed.tolist(), rest[0]], [*expected.tolist(), rest[1]])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_impossible_words_are_never_drawn(dtype: torch.dtype) -> None:
    p = torch.tensor([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.5, 0.5]])
    drawn = sample_words(p.to(dtype), torch.full((4,), 200_000), generator=generator()).dense()
    assert (drawn[p == 0] == 0).all()


def test_rows_need_not_be_normalised() -> None:
    p = torch.tensor([[2.0, 6.0]])
    drawn = sample_words(p, torch.tensor([40_000]), generator=generator()).dense()[0]
    assert_drawn_from(drawn.numpy(), [10_000, 30_000])


def test_edges_of_the_unit_interval_stay_in_their_document(monkeypatch: pytest.MonkeyPatch) -> None:
    """A uniform of 1 − 2⁻⁵³ added to document 1,000 rounds up to 1,001."""
    extremes = torch.tensor([0.0, 1 - 2**-53], dtype=torch.float64)
    monkeypatch.setattr(torch, "rand", lambda shape, **_: extremes.repeat(shape[0] // 2))
    n = torch.full((1500,), 2)
    drawn = sample_words(torch.ones(1500, 4) / 4, n, generator=generator())
    assert drawn.words.view(-1, 2).tolist() == [[0, 3]] * 1500


def test_same_seed_same_words_and_no_words_no_harm() -> None:
    p, n = torch.ones(3, 5), torch.tensor([4, 0, 9])
    a, b = (sample_words(p, n, generator=generator(seed=3)).words for _ in range(2))
    assert torch.equal(a, b)
    assert len(sample_words(p, torch.zeros(3), generator=generator()).words) == 0
    assert math.isclose(sample_words(p, n, generator=generator()).counts.sum().item(), 13)


def test_shares_are_those_of_the_words_drawn_from_the_softmax() -> None:
    """The same uniforms, the same words: each row a document of n words divided by n."""
    logits = 2 * torch.randn(5, 7, generator=generator()).double()
    n = torch.tensor([1.0, 3.0, 40.0, 2.0, 500.0]).double()
    shares = dense(sample_word_shares(logits, n, generator=generator(seed=1)))
    words = sample_words(torch.softmax(logits, 1), n, generator=generator(seed=1)).dense()
    torch.testing.assert_close(shares, words / n[:, None])


def test_shares_of_documents_longer_than_the_vocabulary_are_their_counts() -> None:
    logits = 2 * torch.randn(2, 7, generator=generator()).double()
    n = torch.tensor([1.0, 3.0 * FEW]).double()
    shares = dense(sample_word_shares(logits, n, generator=generator(seed=1)))
    counts = sample_word_counts(torch.softmax(logits, 1), n, generator=generator(seed=1))
    torch.testing.assert_close(shares, counts / n[:, None])


def test_shares_are_multinomial(device: str) -> None:
    """On a device with kernels too, in whole words of every length."""
    copies, n = 3000, torch.tensor([1.0, 5.0, 64.0], device=device)
    logits = 1.5 * torch.randn(3, 6, generator=generator()).to(device)
    many = sample_word_shares(
        logits.repeat(copies, 1), n.repeat(copies), generator=generator(device)
    )
    shares = dense(many).double().cpu().view(copies, 3, 6)
    lengths = n.double().cpu()
    # Float32 sums of 64 shares of 1/64 and the like.
    torch.testing.assert_close(shares.sum(2), torch.ones(copies, 3).double(), atol=1e-5, rtol=0)
    words = (shares * lengths[:, None]).round()
    torch.testing.assert_close(shares * lengths[:, None], words, atol=1e-3, rtol=0)
    probability = torch.softmax(logits.double(), 1).cpu()
    for i in range(3):
        expected = copies * lengths[i] * probability[i]
        assert_drawn_from(words[:, i].sum(0).numpy(), expected.numpy())


def test_plans_of_several_batches_are_those_of_each() -> None:
    """Also where some have documents so long that words are counted."""
    n = torch.tensor([3, 0, 2, 5000, 1, 1, 4, 4, 9]).double()
    found = plans_of(n, 50, torch.float32, 3)
    assert [plan is None for plan in found] == [False, True, False]
    for i in (0, 2):
        one, other = found[i], plan_of(n[3 * i : 3 * i + 3], 50, torch.float32)
        assert one is not None
        assert other is not None
        for name in ("starts", "owner", "shares", "first"):
            torch.testing.assert_close(getattr(one, name), getattr(other, name), rtol=0, atol=0)


@pytest.mark.parametrize(("K", "index"), [(2**30 - 1, torch.int32), (2**30, torch.long)], ids=str)
def test_places_too_many_for_32_bits_have_64(K: int, index: torch.dtype) -> None:
    plan = draw_plans(torch.tensor([3, 1]), 2, K, torch.float32)[0]
    assert plan.starts.dtype == plan.owner.dtype == index


def test_places_chosen_beforehand_are_those_chosen_later() -> None:
    p, n = torch.rand(3, 7, generator=generator()), torch.tensor([4, 1, 9])
    early, late = (draw_plans(n, 3, 7, torch.float32)[0] for _ in range(2))
    sources = [UpdateRandom(5, torch.device("cpu")) for _ in range(2)]
    early.prepare(sources[0].uniform((2, 14), torch.float64))
    for _ in range(3):
        one, other = (
            plan.draw(p, generator=source).words
            for plan, source in zip((early, late), sources, strict=True)
        )
        assert torch.equal(one, other)
