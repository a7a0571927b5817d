from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy import stats
from torch import Tensor

from docboltz.errors import InvalidParameter
from docboltz.model.counts import SparseCounts
from docboltz.model.latent_words import FixedLatentWords, LatentWords
from docboltz.model.parameters import Parameters
from docboltz.training import validation
from docboltz.training.validation import HeldOut, Validation, halves, hold_out
from tests.conftest import random_counts, random_parameters
from tests.model.test_conditionals import sparse
from tests.training.fakes import CPU, seeded

NONE = FixedLatentWords(0)


def held_out(
    held: Tensor, learnt: Tensor, latent_words: LatentWords = NONE, *, seed: int = 0
) -> HeldOut:
    return HeldOut(sparse(held), sparse(learnt), latent_words, CPU, generator=seeded(seed))


# ---- halves ----


def test_every_occurrence_of_a_word_goes_to_one_half() -> None:
    """A document of one word has no second half and is left out; 60 words never fall on one side
    (2⁻⁵⁹)."""
    counts = 10 * random_counts(20, 6, most=8) + 10
    counts[7] = torch.tensor([0, 0, 1.0, 0, 0, 0])
    seen, hidden = halves(sparse(counts), generator=seeded())
    rest = torch.cat([counts[:7], counts[8:]])
    assert torch.equal(seen.dense() + hidden.dense(), rest)
    for half in (seen, hidden):
        assert (half.counts >= 0).all()
        assert torch.equal(half.counts, half.counts.round())
        assert (half.lengths > 0).all()


def test_the_coin_is_fair_and_tossed_for_each_occurrence() -> None:
    """A word of count 4 goes 0, 1, … 4 times to the first half like Binomial(4, ½), whatever the
    word before it did. Chi-square, failing by chance once in a million."""
    documents = 20_000
    seen, _ = halves(sparse(torch.full((documents, 3), 4.0)), generator=seeded())
    first, second, _ = seen.dense().long().T
    assert len(first) > 0.99 * documents, "a pair of halves is empty once in 2,048 documents"
    pairs = torch.bincount(first * 5 + second, minlength=25).double()
    binomial = torch.from_numpy(stats.binom.pmf(range(5), 4, 0.5))
    expected = documents * torch.outer(binomial, binomial).view(-1)
    # Documents with an empty half are left out: both words 0 (or 4) times, and the third as well.
    empty = documents / 2**12
    expected[0] -= empty
    expected[24] -= empty
    expected *= pairs.sum() / expected.sum()
    assert expected.min() >= 5
    assert stats.chisquare(pairs.numpy(), expected.numpy()).pvalue > 1e-6


def test_documents_with_an_empty_half_are_left_out() -> None:
    """Of two words, both fall on one side in half of the documents."""
    documents = 2000
    seen, hidden = halves(sparse(torch.ones(documents, 2)), generator=seeded())
    assert stats.binomtest(len(seen), documents, 0.5).pvalue > 1e-6
    assert (seen.lengths == 1).all()
    assert (hidden.lengths == 1).all()


def test_fractional_counts_are_split_in_whole_words() -> None:
    counts = torch.tensor([[40.4, 0.2, 30.5]])
    seen, hidden = halves(sparse(counts), generator=seeded())
    assert (seen.dense() + hidden.dense()).tolist() == [[40, 1, 30]]


def test_counts_of_zero_that_are_stored_stay_zero() -> None:
    """SciPy's matrices may hold them."""
    counts = sparse(torch.full((1, 3), 40.0))
    counts.counts[1] = 0
    seen, hidden = halves(counts, generator=seeded())
    assert (seen.dense() + hidden.dense()).tolist() == [[40, 0, 40]]


# ---- documents held out ----


@pytest.mark.parametrize(
    ("n", "share", "expected"), [(10, 0.3, 3), (10, 0.01, 1), (2, 0.5, 1), (100, 0.1, 10)]
)
def test_documents_are_parted(n: int, share: float, expected: int) -> None:
    learnt, held = hold_out(n, share, generator=seeded())
    assert len(held) == expected
    assert sorted(torch.cat([learnt, held]).tolist()) == list(range(n))


def test_documents_are_held_out_at_random() -> None:
    """Not the first ones, not the same for another seed, and both parts are in no order."""
    (learnt, held), (_, other) = (hold_out(100, 0.5, generator=seeded(seed)) for seed in (0, 1))
    assert set(held.tolist()) != set(other.tolist())
    for part in (learnt, held):
        assert part.tolist() != sorted(part.tolist())


@pytest.mark.parametrize(("n", "share"), [(1, 0.1), (2, 0.9), (3, 0.9)])
def test_something_must_be_left_to_learn_from(n: int, share: float) -> None:
    with pytest.raises(InvalidParameter, match=f"of {n} documents leaves none to learn from"):
        hold_out(n, share, generator=seeded())


# ---- measures ----


def plain_perplexity(p: Parameters, seen: Tensor, hidden: Tensor, policy: LatentWords) -> float:
    """exp of the mean over documents of −log p(hidden word | seen words), document by document."""
    total = 0.0
    for v, w in zip(seen, hidden, strict=True):
        n = v.sum()
        replication = 1 + policy(n[None])[0] / n
        topics = torch.sigmoid(replication * (p.W @ v + n * p.a))
        log_words = torch.log_softmax(p.b + topics @ p.W, 0)
        total -= float(w @ log_words / w.sum())
    return math.exp(total / len(seen))


def plain_free_energy(p: Parameters, counts: Tensor, policy: LatentWords) -> float:
    """−(b·x + Σ_j log(1 + exp(W x + D a))) / D, x the document's words blown up to D of them."""
    total = 0.0
    for v in counts:
        n = v.sum()
        d = n + policy(n[None])[0]
        x = v * d / n
        inside = torch.log1p(torch.exp(p.W @ x + d * p.a)).sum()
        total -= float((p.b @ x + inside) / d)
    return total / len(counts)


def test_measures_are_those_of_a_plain_computation(
    policy: LatentWords, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In blocks of two documents, the last one smaller."""
    monkeypatch.setattr(validation, "BLOCK_ENTRIES", 12)
    p = random_parameters(4, 6, scale=0.5)
    held, learnt = random_counts(7, 6, seed=1) + 2, random_counts(9, 6, seed=2)
    found = held_out(held, learnt, policy, seed=5).measure(p)
    seen, hidden = halves(sparse(held), generator=seeded(5))
    assert len(seen) == 7, "choose another seed: a document has an empty half"
    expected = plain_perplexity(p, seen.dense(), hidden.dense(), policy)
    assert found["validation_perplexity"] == pytest.approx(expected, rel=1e-12)
    gap = plain_free_energy(p, held, policy) - plain_free_energy(p, learnt[:7], policy)
    assert found["free_energy_gap"] == pytest.approx(gap, rel=1e-10)
    assert abs(gap) > 0.01, "a blunt test: nothing tells the documents apart"


def test_without_weights_the_perplexity_is_the_unigrams() -> None:
    p, held = random_parameters(3, 6), random_counts(8, 6) + 2
    blank = Parameters(torch.zeros_like(p.W), p.a, p.b)
    found = held_out(held, held, FixedLatentWords(3)).measure(blank)["validation_perplexity"]
    _, hidden = halves(sparse(held), generator=seeded())
    shares = hidden.dense() / hidden.lengths[:, None]
    cross_entropy = -(shares @ torch.log_softmax(p.b, 0)).mean()
    assert found == pytest.approx(cross_entropy.exp().item(), rel=1e-12)


def test_a_model_that_knows_the_topics_has_a_lower_perplexity() -> None:
    """Documents of one half of the vocabulary or the other: at best 3 words to choose from."""
    held = torch.tensor([[9.0, 9, 9, 0, 0, 0], [0, 0, 0, 9, 9, 9]]).double().repeat(5, 1)
    W = torch.tensor([[3.0, 3, 3, -3, -3, -3]]).double()
    p = Parameters(
        W, torch.zeros(1).double(), torch.tensor([-1.5, -1.5, -1.5, 1.5, 1.5, 1.5]).double()
    )
    found = held_out(held, held).measure(p)["validation_perplexity"]
    assert 3 < found < 3.5
    blank = Parameters(0 * W, p.a, 0 * p.b)
    assert held_out(held, held).measure(blank)["validation_perplexity"] == pytest.approx(6)


def test_there_is_no_gap_to_the_training_documents_themselves(policy: LatentWords) -> None:
    p, counts = random_parameters(3, 6, scale=0.5), random_counts(8, 6) + 1
    assert held_out(counts, counts, policy).measure(p)["free_energy_gap"] == 0


def test_a_model_of_the_training_documents_has_a_gap_to_others() -> None:
    """W = 0 and b = log frequency: the gap is the difference of two cross-entropies, in nats."""
    learnt, held = torch.tensor([[8.0, 2.0]]).double(), torch.tensor([[2.0, 8.0]]).double()
    b = torch.log(torch.tensor([0.8, 0.2]).double())
    p = Parameters(torch.zeros(2, 2).double(), torch.zeros(2).double(), b)
    gap = held_out(held, learnt).measure(p)["free_energy_gap"]
    assert gap == pytest.approx(0.6 * math.log(4))


def test_as_many_documents_are_looked_at_on_both_sides() -> None:
    p = random_parameters(3, 6, scale=0.5)
    held, learnt = random_counts(9, 6, seed=1) + 1, random_counts(5, 6, seed=2) + 1
    fewer = held_out(held[:5], learnt).measure(p)
    assert held_out(held, learnt).measure(p) == fewer


def test_no_more_documents_are_held_out_than_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validation, "MOST_DOCUMENTS", 3)
    learnt, held = hold_out(100, 0.5, generator=seeded())
    assert (len(learnt), len(held)) == (97, 3)


# ---- halves that are found ----


def of_many_kinds(n: int, n_words: int, *, seed: int) -> Tensor:
    """Documents of 40 words, each with a few words of its own."""
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.full(n_words, 0.1), n)
    return torch.from_numpy(rng.multinomial(40, shares).astype(float))


def test_found_halves_are_those_of_a_plain_computation(policy: LatentWords) -> None:
    p = random_parameters(6, 30, scale=0.3)
    held, learnt = of_many_kinds(60, 30, seed=1), of_many_kinds(70, 30, seed=2)
    found = held_out(held, learnt, policy, seed=5).measure(p)["halves_found"]
    seen, hidden = (half.dense() for half in halves(sparse(held), generator=seeded(5)))

    def features(counts: Tensor) -> Tensor:
        n = counts.sum(1, keepdim=True)
        return torch.sigmoid((1 + policy(n) / n) * (counts @ p.W.T + n * p.a))

    mean = features(learnt[: len(held)]).mean(0)
    expected = 0
    for i, one in enumerate(features(seen) - mean):
        cosines = [float(one @ x / (one.norm() * x.norm())) for x in features(hidden) - mean]
        rank = 1 + sum(c > cosines[i] for c in cosines)
        expected += rank <= len(cosines) // 20
    assert 0 < expected < len(seen)
    assert found == pytest.approx(expected / len(seen))


def test_a_model_that_cannot_tell_halves_apart_finds_them_by_chance() -> None:
    """All cosines are alike: every half shares the middle rank of a hundred."""
    p, held = random_parameters(3, 30), of_many_kinds(100, 30, seed=1)
    blank = Parameters(torch.zeros_like(p.W), torch.zeros_like(p.a), p.b)
    assert held_out(held, held).measure(blank)["halves_found"] == 0


def test_counts_may_be_numbered_in_32_bits() -> None:
    """As SciPy numbers small matrices."""
    p = random_parameters(3, 6, scale=0.5)
    held, learnt = random_counts(6, 6, seed=1) + 2, random_counts(6, 6, seed=2)

    def short(counts: Tensor) -> SparseCounts:
        c = sparse(counts)
        return SparseCounts(c.starts.int(), c.words.int(), c.counts, c.n_words)

    found = HeldOut(short(held), short(learnt), NONE, CPU, generator=seeded()).measure(p)
    assert found == held_out(held, learnt).measure(p)


def test_a_hopeless_model_has_a_number_too() -> None:
    """exp(1000) is beyond a float: the perplexity is cut, not an error."""
    b = torch.tensor([0.0, -1000.0, -1000.0]).double()
    p = Parameters(torch.zeros(1, 3).double(), torch.zeros(1).double(), b)
    counts = torch.tensor([[0.0, 9.0, 9.0]]).double()
    assert held_out(counts, counts).measure(p)["validation_perplexity"] == math.exp(700)


# ---- settings ----


@pytest.mark.parametrize(
    "settings",
    [
        {"share": 0},
        {"share": 1.0},
        {"share": "some"},
        {"strengths": ()},
        {"strengths": (2.0, 1.0)},
        {"strengths": (0.0, 1.0)},
        {"strengths": 2.0},
        {"tolerance": 1.0},
        {"tolerance": -0.1},
        {"by": "luck"},
        {"fewest": 1},
    ],
    ids=str,
)
def test_nonsense_is_refused(settings: dict) -> None:
    with pytest.raises(InvalidParameter, match=f"'{next(iter(settings))}' parameter of Validation"):
        Validation(**settings)


def test_numpys_numbers_are_numbers() -> None:
    settings = Validation(
        share=np.float32(0.25), strengths=[np.float32(2)], tolerance=np.float64(0)
    )
    assert {type(value) for value in (settings.share, *settings.strengths)} == {float}
    assert settings.strengths == (2.0,)


def test_held_out_documents_of_one_word_cannot_be_judged_by() -> None:
    counts = sparse(torch.eye(4).double())
    with pytest.raises(InvalidParameter, match="None of the 4 held-out documents has two words"):
        HeldOut(counts, counts, FixedLatentWords(2), torch.device("cpu"), generator=seeded())
