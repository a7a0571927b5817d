"""Matching: the gradient against automatic differentiation, and that halves find each other."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy, normalize

from docboltz import Matching, OverReplicatedSoftmax, Pretraining
from docboltz.errors import InvalidParameter
from docboltz.model.conditionals import fast_topic_mean
from docboltz.model.latent_words import FixedLatentWords, LatentWords, ProportionalLatentWords
from docboltz.model.parameters import Parameters
from docboltz.training.documents import Batch
from docboltz.training.matching import Half, HalvesMatching, cut, matching_gradient, whole
from tests.conftest import random_counts, random_parameters
from tests.model.test_conditionals import sparse
from tests.training.fakes import seeded


def batch(counts: Tensor, *, dense: bool = True) -> Batch:
    n = counts.sum(1)
    shares = counts / n[:, None]
    return Batch(shares if dense else sparse(counts).shares(), n, n + 5)


def objective(
    p: Parameters, counts: list[Tensor], latent: LatentWords, temperature: float, prediction: float
) -> Tensor:
    """As the head of the module has it, one document after the other where that is plainer."""
    h = [fast_topic_mean(p, half, latent(half.sum(1))) for half in counts]
    mean = (h[0] + h[1]).mean(0).detach() / 2
    u, v = (normalize(each - mean) for each in h)
    own, cosines = torch.arange(len(u)), u @ v.T / temperature
    found = -(cross_entropy(cosines, own) + cross_entropy(cosines.T, own)) / 2
    words = torch.log_softmax(p.b + h[0] @ p.W, 1)
    predicted = ((counts[1] / counts[1].sum(1, keepdim=True)) * words).sum(1).mean()
    return found + prediction * predicted


@pytest.mark.parametrize("latent", [FixedLatentWords(7), ProportionalLatentWords(0.5)])
@pytest.mark.parametrize(("temperature", "prediction"), [(1.0, 0.0), (0.3, 0.2)])
@pytest.mark.parametrize("dense", [True, False])
def test_the_gradient_is_that_of_the_objective(
    latent: LatentWords, temperature: float, prediction: float, dense: bool
) -> None:
    p, counts = random_parameters(4, 9), random_counts(6, 9) + 2  # no half is empty
    pair = cut(batch(counts, dense=dense), latent, generator=seeded())
    W, b = p.W.clone().requires_grad_(), p.b.clone().requires_grad_()
    halves = [spread_out(half) * _length(half.d, latent)[:, None] for half in pair[:2]]
    objective(Parameters(W, p.a, b), halves, latent, temperature, prediction).backward()
    found = matching_gradient(p, pair, temperature=temperature, prediction=prediction)
    assert torch.allclose(found[0], W.grad.T, atol=1e-12)
    assert torch.allclose(found[1], torch.zeros_like(b) if b.grad is None else b.grad, atol=1e-12)


def spread_out(half: Half) -> Tensor:
    return half.shares if isinstance(half.shares, Tensor) else half.shares.dense()


def _length(d: Tensor, latent: LatentWords) -> Tensor:
    """N of D = N + M(N), by trying whole numbers."""
    n = torch.arange(1, 200).double()
    return n[torch.searchsorted(n + latent(n), d)]


def test_halves_are_the_document_and_alike_however_it_is_stored() -> None:
    counts = random_counts(5, 8) + 1
    latent = FixedLatentWords(3)
    for dense in (True, False):
        given = batch(counts, dense=dense)
        pair = cut(given, latent, generator=seeded())
        n = [half.d - 3 for half in (pair.one, pair.other)]
        together = sum(spread_out(half) * m[:, None] for half, m in zip(pair[:2], n, strict=True))
        assert torch.allclose(together, counts)
        assert torch.allclose(pair.weight, torch.full((5,), 0.2).double())
    a, b = (whole(batch(counts, dense=dense)) for dense in (True, False))
    assert torch.equal(a, b.dense())


def test_documents_of_one_word_count_for_nothing() -> None:
    p, latent = random_parameters(3, 6), FixedLatentWords(4)
    counts = random_counts(4, 6) + 2
    alone = torch.zeros(2, 6).double()
    alone[0, 1] = alone[1, 4] = 1
    pair = cut(batch(torch.cat([counts, alone])), latent, generator=seeded())
    assert pair.weight[4:].tolist() == [0, 0]
    some = pair._replace(
        one=type(pair.one)(*(t[:4] for t in pair.one)),
        other=type(pair.one)(*(t[:4] for t in pair.other)),
        weight=pair.weight[:4],
    )
    settings = {"temperature": 0.5, "prediction": 0.1}
    W, b, seen = matching_gradient(p, pair, **settings)
    W_, b_, seen_ = matching_gradient(p, some, **settings)
    assert torch.allclose(W, W_, atol=1e-12)
    assert torch.allclose(b, b_, atol=1e-12)
    assert seen["matched"] == pytest.approx(float(seen_["matched"]))


def test_nothing_happens_where_no_document_has_two_words() -> None:
    p = random_parameters(3, 6)
    pair = cut(batch(torch.eye(6).double()), FixedLatentWords(4), generator=seeded())
    W, b, seen = matching_gradient(p, pair, temperature=1.0, prediction=0.1)
    assert not W.any()
    assert not b.any()
    assert 0 < seen["data_activity"] < 1, "of all documents"


def test_a_few_passes_are_enough_for_small_collections() -> None:
    phase = HalvesMatching(Matching(max_passes=10), FixedLatentWords(0), 1000)
    assert phase.updates == phase.settings.updates == 20
    assert HalvesMatching(Matching(), FixedLatentWords(0), 10**6).updates == Matching().updates
    assert HalvesMatching(Matching(max_passes=3), FixedLatentWords(0), 40).updates == 3


def test_matched_halves_find_each_other_more_often() -> None:
    """On other documents of the same kinds than those it has learnt from."""
    X = of_few_words(1200)
    found = {}
    for matching in (None, Matching(updates=150, batch_size=128)):
        model = OverReplicatedSoftmax(
            8,
            pretraining=Pretraining(updates=100),
            matching=matching,
            random_state=0,
            device="cpu",
        ).fit(X[:600])
        rng = torch.Generator().manual_seed(1)
        rest = torch.as_tensor(X[600:]).double()
        one = torch.binomial(rest, torch.full_like(rest, 0.5), generator=rng)
        both = (one.sum(1) > 0) & ((rest - one).sum(1) > 0)
        mean = torch.as_tensor(model.transform(X[:600])).mean(0)
        u, v = (
            normalize(torch.as_tensor(model.transform(half[both].numpy())) - mean)
            for half in (one, rest - one)
        )
        cosines = u @ v.T
        rank = (cosines > cosines.diagonal()[:, None]).sum(1)
        found[matching is not None] = float((rank < 3).double().mean())
    assert found[True] > 1.1 * found[False]
    assert model.matching_ == Matching(updates=150, batch_size=128)
    assert not model.has_density_


def of_few_words(n: int) -> NDArray[np.float64]:
    """Documents of 6 words, each of one of 30 kinds with 8 words of its own."""
    rng = np.random.default_rng(0)
    kinds = rng.integers(30, size=n)
    words = 8 * kinds[:, None] + rng.integers(8, size=(n, 6))
    X = np.zeros((n, 240))
    np.add.at(X, (np.arange(n)[:, None], words), 1)
    return X


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("updates", 0),
        ("batch_size", 1),
        ("max_passes", 0),
        ("temperature", 0),
        ("prediction", -1),
        ("averaged", 2),
        ("learning_rate", "fast"),
    ],
)
def test_settings_that_make_no_sense_are_refused(name: str, value: object) -> None:
    with pytest.raises(InvalidParameter, match=name):
        Matching(**{name: value})
