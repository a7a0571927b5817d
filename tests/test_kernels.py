"""Each kernel against plain torch. Random ones fail by chance once in a million.

Without a CUDA device, Triton interprets them on the CPU: the same lines, in some ten milliseconds
a row, so that statistical tests have fewer draws there. Float32 comparisons allow a few roundings
of it; statistical ones are chi-square or binomial tests.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
import torch
from scipy import stats
from torch import Tensor

from docboltz import kernels
from docboltz.model import exact
from docboltz.model.counts import SparseCounts
from docboltz.model.latent_words import FixedLatentWords
from docboltz.randomness import Seeds
from docboltz.sampling.chains import gibbs_sweep
from docboltz.training.documents import Batch, Documents
from docboltz.training.pretrain import weighted_topics
from tests.conftest import random_counts, random_parameters
from tests.model.test_conditionals import sparse
from tests.training.test_pretrain import contrastive_divergence, exact_contrastive_divergence

pytestmark = [
    pytest.mark.usefixtures("kernel_device"),
    # Interpreted by NumPy, which warns where σ is 0; a GPU does not.
    pytest.mark.filterwarnings("ignore:overflow encountered in exp:RuntimeWarning"),
]

ON_GPU = torch.cuda.is_available()
DEVICE = "cuda" if ON_GPU else "cpu"
FAILURE_RATE = 1e-6
FLOATS = pytest.mark.parametrize("dtype", [torch.float32, torch.float64])


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Tensor]:
    """Calls a function without kernels: what they are compared with."""

    def call(function: Callable[..., Tensor], *args: Any, **options: Any) -> Tensor:
        with monkeypatch.context() as patched:
            patched.setattr(kernels, "available", lambda tensor: False)
            return function(*args, **options)

    return call


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator(DEVICE).manual_seed(seed)


def normal(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> Tensor:
    """The same numbers on every device."""
    g = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=g, dtype=torch.float64).to(DEVICE, dtype)


def assert_drawn_from(observed: Tensor, expected: Tensor) -> None:
    """Chi-square of counts against expected counts, all large enough for the test to hold."""
    assert expected.min() >= 5, "too few expected draws for a chi-square test"
    found = stats.chisquare(observed.double().cpu().numpy(), expected.double().cpu().numpy())
    assert found.pvalue > FAILURE_RATE


# ---- documents ----


def corpus(K: int, dtype: torch.dtype, whole: torch.dtype) -> tuple[SparseCounts, Tensor]:
    """Documents of few words, of more than 1,024 different ones, and of all words; and dense."""
    x = torch.zeros(4, K, dtype=dtype)
    x[0, K - 1] = 3
    x[1, ::2] = 1 + torch.arange(len(x[1, ::2])) % 5
    x[2] = 1
    x[3, 0], x[3, K // 2] = 1, 0.25
    c = sparse(x)
    compact = SparseCounts(c.starts.to(whole), c.words.to(whole), c.counts, K)
    return compact.to(DEVICE), x.to(DEVICE)


@FLOATS
@pytest.mark.parametrize("whole", [torch.int32, torch.int64])
@pytest.mark.parametrize("K", [5, 1024, 2600])
def test_picked_shares_are_rows_divided_by_their_sums(
    K: int, whole: torch.dtype, dtype: torch.dtype
) -> None:
    counts, x = corpus(K, dtype, whole)
    n = x.sum(1)
    index = torch.tensor([3, 1, 1, 0, 2], device=DEVICE)
    shares, picked_n, picked_d = kernels.pick_shares(
        counts.starts, counts.words, counts.counts, K, (n, n + 7), index
    )
    torch.testing.assert_close(shares, (x / n[:, None])[index])
    torch.testing.assert_close(picked_n, n[index])
    torch.testing.assert_close(picked_d, n[index] + 7)


def test_a_word_that_comes_twice_in_a_row_counts_twice() -> None:
    starts, words = torch.tensor([0, 3], device=DEVICE), torch.tensor([1, 0, 1], device=DEVICE)
    counts, n = torch.tensor([1.0, 2.0, 5.0], device=DEVICE), torch.tensor([8.0], device=DEVICE)
    index = torch.zeros(1, dtype=torch.long, device=DEVICE)
    shares, _, _ = kernels.pick_shares(starts, words, counts, 3, (n, n), index)
    assert shares.tolist() == [[0.25, 0.75, 0.0]]


def test_documents_are_picked_with_their_lengths() -> None:
    counts, index = random_counts(9, 30).float(), torch.tensor([4, 0, 8, 4])
    documents = Documents.of(sparse(counts), FixedLatentWords(3), torch.device(DEVICE))
    batch = documents.pick(index.to(DEVICE))
    assert isinstance(batch.shares, Tensor)
    n = counts[index].sum(1)
    torch.testing.assert_close(batch.shares.cpu(), counts[index] / n[:, None])
    assert torch.equal(batch.n.cpu(), n)
    assert torch.equal(batch.d.cpu(), n + 3)


# ---- softmax ----


@FLOATS
@pytest.mark.parametrize("K", [1, 7, 1000, 4096, 4097, 10_001])
def test_softmax(K: int, dtype: torch.dtype) -> None:
    logits = 5 * normal(3, K, dtype=dtype)
    found = kernels.softmax(logits)
    torch.testing.assert_close(found, torch.softmax(logits, 1))
    torch.testing.assert_close(found.sum(1), torch.ones_like(found[:, 0]))


def test_softmax_of_extreme_logits() -> None:
    """Shifts too large for exp, and words that cannot be."""
    logits = normal(4, 5000)
    shifted = logits + torch.tensor([1e4, -1e4, 300.0, 0.0], device=DEVICE)[:, None]
    shifted[:, 4500] = float("-inf")
    shifted[3, :4999] = float("-inf")
    found = kernels.softmax(shifted)
    torch.testing.assert_close(found, torch.softmax(shifted, 1))
    assert (found[:, 4500] == 0).all()
    assert found[3, 4999] == 1


# ---- words ----


@FLOATS
@pytest.mark.parametrize("K", [1, 2, 33, 4096, 5000])
def test_word_shares_are_whole_words_of_their_document(K: int, dtype: torch.dtype) -> None:
    """Lengths around and beyond the 512 words that are drawn at once."""
    n = torch.tensor([1, 2, 511, 512, 513, 1024, 5000], device=DEVICE, dtype=dtype)
    shares = kernels.draw_word_shares(normal(7, K, dtype=dtype), n, generator())
    assert shares.dtype == dtype
    # n float32 sums that end at 1 are off by up to n half-roundings of 6e-8.
    rounding = 3e-8 if dtype == torch.float32 else 1e-16
    error = (shares.sum(1) - 1).abs().double()
    assert (error <= 2 * rounding * n.double() + rounding).all()
    words = (shares.double() * n[:, None].double())[:6]
    torch.testing.assert_close(words, words.round(), atol=1024**2 * rounding, rtol=0)
    assert (shares >= 0).all()


def test_fractional_lengths_are_rounded_and_at_least_one() -> None:
    n = torch.tensor([2.6, 0.2, 3.4, 7.0], device=DEVICE)
    shares = kernels.draw_word_shares(normal(4, 9), n, generator())
    words = shares * torch.tensor([3.0, 1.0, 3.0, 7.0], device=DEVICE)[:, None]
    torch.testing.assert_close(words, words.round(), atol=1e-5, rtol=0)
    torch.testing.assert_close(shares.sum(1), torch.ones(4, device=DEVICE))


def test_lengths_may_be_whole_numbers() -> None:
    logits = normal(3, 9)
    n = torch.tensor([1, 4, 700], device=DEVICE)
    found = kernels.draw_word_shares(logits, n, generator())
    assert torch.equal(found, kernels.draw_word_shares(logits, n.float(), generator()))


@FLOATS
@pytest.mark.parametrize("n", [3, 700])
def test_words_have_their_probabilities(n: int, dtype: torch.dtype) -> None:
    rows, K = (2000, 11) if ON_GPU else (210 // n + 10, 5)
    logits = 0.5 * normal(1, K, dtype=dtype)
    lengths = torch.full((rows,), n, device=DEVICE, dtype=dtype)
    shares = kernels.draw_word_shares(logits.repeat(rows, 1), lengths, generator())
    words = (shares.double() * n).round().sum(0)
    assert_drawn_from(words, rows * n * torch.softmax(logits[0].double(), 0))


def test_rows_have_distributions_of_their_own() -> None:
    times = 20 if ON_GPU else 4
    logits, n = 2 * normal(3, 8), torch.full((3 * times,), 2_000.0, device=DEVICE)
    shares = kernels.draw_word_shares(logits.repeat(times, 1), n, generator())
    words = (shares.double() * 2_000).round().view(times, 3, 8).sum(0)
    for row, probability in zip(words, torch.softmax(logits.double(), 1), strict=True):
        assert_drawn_from(row, 2_000 * times * probability)


def test_words_of_a_large_vocabulary_have_their_probabilities() -> None:
    """Cumulative weights go on from block to block of 4,096 words."""
    rows, K, n = (50 if ON_GPU else 2), 10_000, 20_000
    logits = normal(1, K)
    lengths = torch.full((rows,), float(n), device=DEVICE)
    shares = kernels.draw_word_shares(logits.repeat(rows, 1), lengths, generator())
    words = (shares.double() * n).round().sum(0).view(100, 100)
    expected = rows * n * torch.softmax(logits[0].double(), 0).view(100, 100)
    assert_drawn_from(words.sum(1), expected.sum(1))  # neighbours together
    assert_drawn_from(words.sum(0), expected.sum(0))  # every hundredth word together


def test_the_joint_distribution_is_multinomial() -> None:
    """Marginals can be right while draws are not independent: check whole count vectors."""
    probability, n, rows = [0.2, 0.5, 0.3], *((4, 60_000) if ON_GPU else (2, 140))
    logits = torch.log(torch.tensor([probability], device=DEVICE)).repeat(rows, 1)
    lengths = torch.full((rows,), float(n), device=DEVICE)
    words = (kernels.draw_word_shares(logits, lengths, generator()) * n).round().long().cpu()
    outcomes = [o for o in itertools.product(range(n + 1), repeat=3) if sum(o) == n]
    observed = [int((words == torch.tensor(o)).all(1).sum()) for o in outcomes]
    expected = [rows * stats.multinomial.pmf(o, n, probability) for o in outcomes]
    assert_drawn_from(torch.tensor(observed), torch.tensor(expected))


def test_the_words_drawn_at_once_are_not_drawn_again() -> None:
    """1,024 tosses of a coin have variance 256; two times the same 512 would have 512."""
    rows, n = (5000 if ON_GPU else 100), 1024
    lengths = torch.full((rows,), float(n), device=DEVICE)
    shares = kernels.draw_word_shares(torch.zeros(rows, 2, device=DEVICE), lengths, generator())
    heads = shares[:, 0].double() * n
    spread = float(((heads - n / 2) ** 2).sum() / (n / 4))
    tail = stats.chi2(rows).cdf(spread)
    assert FAILURE_RATE < tail < 1 - FAILURE_RATE


@FLOATS
@pytest.mark.parametrize("possible", [[0], [2], [4999], [1, 3], [0, 4096, 4999], [4095]], ids=str)
def test_impossible_words_are_never_drawn(possible: list[int], dtype: torch.dtype) -> None:
    logits = torch.full((2, 5000), float("-inf"), device=DEVICE, dtype=dtype)
    logits[:, possible] = normal(2, len(possible), dtype=dtype)
    n = torch.tensor([200_000.0 if ON_GPU else 3_000.0, 1.0], device=DEVICE, dtype=dtype)
    shares = kernels.draw_word_shares(logits, n, generator())
    words = (shares.double() * n[:, None].double()).cpu()
    assert (words[:, possible].sum(1) > 0.5).all()
    words[:, possible] = 0
    assert (words == 0).all()


# ---- topics ----


@FLOATS
@pytest.mark.parametrize("F", [1, 5, 128, 1000])
def test_topic_means_are_the_sigmoid_of_their_input(F: int, dtype: torch.dtype) -> None:
    words_input, a = normal(6, F, dtype=dtype), normal(F, seed=1, dtype=dtype)
    d = torch.tensor([0.5, 1, 2, 3, 10, 1000], device=DEVICE, dtype=dtype)
    expected = torch.sigmoid(d[:, None] * (words_input + a))
    mean, topics = kernels.draw_topics(words_input, a, d, generator())
    torch.testing.assert_close(mean, expected)
    torch.testing.assert_close(kernels.topic_mean(words_input, a, d), expected)
    assert set(topics.unique().tolist()) <= {0.0, 1.0}
    assert topics.dtype == dtype


def test_certain_topics_are_certain() -> None:
    words_input = torch.tensor([[1e4, -1e4, 30.0, -200.0]], device=DEVICE).repeat(20, 250)
    ones, zeros = torch.ones(20, device=DEVICE), torch.zeros(1000, device=DEVICE)
    mean, topics = kernels.draw_topics(words_input, zeros, ones, generator())
    assert mean.isfinite().all()
    assert torch.equal(topics, (words_input > 0).float())


@FLOATS
@pytest.mark.parametrize("together", ["neighbours", "rows"])
def test_topics_are_drawn_with_their_means_and_independently(
    together: str, dtype: torch.dtype
) -> None:
    """All eight states of three neighbours in a row, and of a topic in three rows, against the
    product of their means."""
    rows, times = 60, 500
    words_input = torch.tensor([-0.4, 0.1, 0.5], device=DEVICE, dtype=dtype).repeat(rows, times)
    a = torch.tensor([0.1, -0.2, 0.0], device=DEVICE, dtype=dtype).repeat(times)
    d = torch.full((rows,), 2.0, device=DEVICE, dtype=dtype)
    mean, topics = kernels.draw_topics(words_input, a, d, generator())
    if together == "rows":
        mean, topics = mean[:, ::3].T, topics[:, ::3].T
    p, found = (x.reshape(-1, 3) for x in (mean, topics))
    states = (found.long() << torch.arange(3, device=DEVICE)).sum(1)
    h = torch.tensor(list(itertools.product((0, 1), repeat=3)), device=DEVICE).flip(1)
    expected = len(p) * torch.where(h == 1, p[0].double(), 1 - p[0].double()).prod(1)
    assert_drawn_from(torch.bincount(states, minlength=8), expected)


def test_rare_topics_are_rare() -> None:
    """A mean of 1e-4 in 2²² draws: expected 419, a binomial test."""
    p, rows = 1e-4, 4096 if ON_GPU else 64
    words_input = torch.full((rows, 2**22 // rows), p, device=DEVICE).logit()
    ones, zeros = torch.ones(rows, device=DEVICE), torch.zeros_like(words_input[0])
    _, topics = kernels.draw_topics(words_input, zeros, ones, generator())
    assert stats.binomtest(int(topics.sum()), 2**22, p).pvalue > FAILURE_RATE


# ---- seeds ----


Draw = Callable[[Seeds], Tensor]


def some_words(seeds: Seeds) -> Tensor:
    lengths = torch.full((6,), 50.0, device=DEVICE)
    return kernels.draw_word_shares(torch.zeros(6, 9, device=DEVICE), lengths, seeds)


def some_topics(seeds: Seeds) -> Tensor:
    zeros, ones = torch.zeros(6, 40, device=DEVICE), torch.ones(6, device=DEVICE)
    return kernels.draw_topics(zeros, zeros[0], ones, seeds)[1]


@pytest.mark.parametrize("draw", [some_words, some_topics])
def test_draws_repeat_with_the_seed_and_never_within_an_update(draw: Draw) -> None:
    seeds, again = Seeds(generator(3)), Seeds(generator(3))
    first, second = draw(seeds), draw(seeds)
    assert not torch.equal(first, second)
    assert torch.equal(first, draw(again))
    assert torch.equal(second, draw(again))
    assert not torch.equal(first, draw(Seeds(generator(4))))
    g = generator(3)
    assert not torch.equal(draw(Seeds(g)), draw(Seeds(g))), "two updates drew the same"


# ---- learning ----


@FLOATS
@pytest.mark.parametrize(("B", "K"), [(1, 1), (5, 33), (128, 1000), (300, 64)])
def test_mean_difference(B: int, K: int, dtype: torch.dtype) -> None:
    x, y = normal(B, K, dtype=dtype), normal(B, K, seed=1, dtype=dtype)
    torch.testing.assert_close(kernels.mean_difference(x, y), x.mean(0) - y.mean(0))


@FLOATS
@pytest.mark.parametrize("sparsity", [0.0, 2.0])
@pytest.mark.parametrize(("B", "F"), [(1, 1), (5, 33), (128, 16), (300, 100)])
def test_weighted_topics(
    B: int, F: int, sparsity: float, dtype: torch.dtype, plain: Callable[..., Tensor]
) -> None:
    """Against plain torch. Strength and target are float32 in the kernel."""
    topics = torch.sigmoid(3 * normal(B, F, dtype=dtype))
    topics[:, 0] = 1
    found = kernels.weighted_topics(topics, sparsity, 0.1)
    expected = plain(weighted_topics, topics, sparsity, target=0.1)
    # Float32 has 1 − q ≥ 6e-8 where a topic is always on; then 1 − h = 0, and no pull is left.
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-7)


@FLOATS
@pytest.mark.parametrize("shape", [(1,), (2048,), (70, 31)])
def test_climb_is_a_step_with_momentum_and_decay(
    shape: tuple[int, ...], dtype: torch.dtype
) -> None:
    """In place. Momentum and decay are float32 in the kernel, hence 1e-6 for float64 too."""
    leaf, velocity, gradient = (normal(*shape, seed=seed, dtype=dtype) for seed in range(3))
    rate = torch.tensor([0.3, 0.7], device=DEVICE, dtype=dtype).unbind()[1]
    expected_velocity = 0.9 * velocity + 0.7 * (gradient - 0.01 * leaf)
    expected_leaf = leaf + expected_velocity
    kernels.climb(leaf, velocity, gradient, rate, 0.9, 0.01)
    torch.testing.assert_close(velocity, expected_velocity, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(leaf, expected_leaf, rtol=1e-6, atol=1e-6)


# ---- all together ----


def test_contrastive_divergence_is_its_exact_expectation(plain: Callable[..., Tensor]) -> None:
    """Nine entries beyond 5.5 standard errors of 20 groups: by chance in 24 of 100,000 runs.

    Shares of 20 words are near enough to normal for groups of five documents.
    """
    steps = 2  # the second starts where the first ends
    p, document, m = random_parameters(3, 3, scale=0.1), torch.tensor([10.0, 8, 2]).double(), 30.0
    on_device, g, groups, B = p.to(DEVICE), generator(), 20, 2000 if ON_GPU else 5
    shares = (document / 20).to(DEVICE).expand(B, 3).contiguous()
    n = torch.full((B,), 20.0, device=DEVICE, dtype=torch.float64)
    batch = Batch(shares, n, n + m)
    draws = torch.stack(
        [
            contrastive_divergence(on_device, batch, steps=steps, generator=g)[0]
            for _ in range(groups)
        ]
    ).cpu()
    mean, error = draws.mean(0), draws.std(0) / groups**0.5
    expected = plain(exact_contrastive_divergence, p, document, m, steps)
    assert ((mean - expected).abs() < 5.5 * error + 1e-12).all()
    other = plain(exact_contrastive_divergence, p, document, 0.0, steps)
    assert not ((mean - other).abs() < 5.5 * error).all(), "the test cannot tell M = 30 from M = 0"


@pytest.mark.gpu
@FLOATS
def test_a_sweep_leaves_the_exact_distribution_as_it_is(dtype: torch.dtype) -> None:
    """Start in p_D exactly: after three sweeps it must still be p_D. A hundred chains would pass
    with words of other lengths too, so this is for the tens of thousands of a GPU."""
    p, chains, d = random_parameters(3, 5, scale=0.3), 40_000, 4.0
    prior = exact.prior(p, torch.tensor([d]).double())[0]
    start = torch.multinomial(
        prior, chains, replacement=True, generator=torch.Generator().manual_seed(0)
    )
    on_device, g = p.to(DEVICE, dtype), generator()
    topics = exact.topic_states(p)[start].to(DEVICE, dtype)
    for _ in range(3):
        lengths = torch.full((chains,), d, device=DEVICE, dtype=dtype)
        topics, _ = gibbs_sweep(on_device, topics, lengths, generator=g)
    states = (topics.long() << torch.arange(3, device=DEVICE)).sum(1)
    assert_drawn_from(torch.bincount(states, minlength=8), chains * prior)
