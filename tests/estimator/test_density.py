"""Likelihoods through the estimator."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from sklearn.model_selection import GridSearchCV

from docboltz import (
    Finetuning,
    FixedLatentWords,
    LatentWordsUpTo,
    OverReplicatedSoftmax,
    Pretraining,
    ProportionalLatentWords,
    ReplicatedSoftmax,
)
from docboltz.errors import InvalidCounts, InvalidParameter
from docboltz.model import exact
from tests.estimator.test_models import in_float64
from tests.test_laws import corpus

QUICK = Pretraining(updates=60)


@pytest.fixture(scope="module")
def fitted() -> OverReplicatedSoftmax:
    return OverReplicatedSoftmax(8, latent_words=20, pretraining=QUICK, random_state=0).fit(
        corpus(200)
    )


def exact_scores(model: OverReplicatedSoftmax | ReplicatedSoftmax, X) -> np.ndarray:
    counts = torch.from_numpy(X.toarray()).double()
    m = model.latent_words_(counts.sum(1))
    return exact.log_likelihood(in_float64(model), counts, m).numpy()


@pytest.mark.parametrize("method", [None, "exact", "importance"])
def test_scores_are_the_exact_log_likelihood(fitted, method: str | None, device: str) -> None:
    """log ζ has its error; 0.3 nats is several times that of 8 × 128 particles on 8 topics."""
    X, fitted = corpus(30, seed=1), copy.copy(fitted).set_params(device=device)
    off = fitted.score_samples(X, method=method) - exact_scores(fitted, X)
    assert np.abs(off).max() < (1.0 if method == "importance" else 0.3)
    assert abs(off.mean()) < 0.2


def test_the_bound_is_below(fitted) -> None:
    X = corpus(30, seed=1)
    assert (fitted.score_samples(X, method="bound") < exact_scores(fitted, X) + 0.3).all()


def test_perplexity_is_the_papers(fitted) -> None:
    X = corpus(50, seed=2)
    found = fitted.perplexity(X)
    n = X.sum(axis=1)
    expected = np.exp(-np.mean(exact_scores(fitted, X) / n))
    parts = (found.documents_error, found.numerator_error, found.partition_error)
    assert found.value == pytest.approx(expected, abs=5 * found.partition_error)
    assert found.error == pytest.approx(np.hypot.reduce(parts))
    assert found.documents_error == pytest.approx(
        found.value * np.std(exact_scores(fitted, X) / n, ddof=1) / 50**0.5, rel=0.05
    )
    assert (found.method, found.n_documents, found.n_empty) == ("exact", 50, 0)
    assert fitted.score(X) == pytest.approx(-np.log(found.value))


def test_without_weights_it_is_the_unigrams() -> None:
    X = corpus(100)
    model = ReplicatedSoftmax(6, pretraining=QUICK, random_state=0).fit(X)
    model.components_ = np.zeros_like(model.components_)
    b = model.intercept_visible_ - np.logaddexp.reduce(model.intercept_visible_)
    unigram = np.exp(-np.mean((X @ b) / X.sum(axis=1)))
    assert model.perplexity(X).value == pytest.approx(unigram, rel=1e-4)


def test_order_and_repetition_do_not_matter(fitted) -> None:
    X = corpus(20, seed=3)
    scores = fitted.score_samples(X)
    order = np.random.RandomState(0).permutation(20)
    assert fitted.score_samples(X[order]) == pytest.approx(scores[order], abs=1e-6)
    twice = fitted.perplexity(X[np.r_[0:20, 0:20]])
    assert twice.value == pytest.approx(fitted.perplexity(X).value)
    words = np.random.RandomState(1).permutation(X.shape[1])
    permuted = OverReplicatedSoftmax(8, latent_words=20, pretraining=QUICK).fit(X)
    permuted.components_ = np.ascontiguousarray(fitted.components_[:, words].T).T
    permuted.intercept_visible_ = fitted.intercept_visible_[words]
    permuted.intercept_hidden_ = fitted.intercept_hidden_
    assert permuted.score_samples(X[:, words]) == pytest.approx(scores, abs=0.5)


def test_documents_without_words_are_counted_and_left_out(fitted) -> None:
    X = corpus(10, seed=4).toarray()
    X[[2, 5]] = 0
    assert fitted.score_samples(X)[[2, 5]].tolist() == [0, 0]
    found = fitted.perplexity(X)
    assert (found.n_documents, found.n_empty) == (8, 2)
    assert np.isfinite([found.value, found.error]).all()
    with pytest.raises(InvalidCounts, match="nothing to predict"):
        fitted.perplexity(0 * X)


def test_one_word_is_enough(fitted) -> None:
    X = np.zeros((1, 30))
    X[0, 3] = 1
    assert fitted.score_samples(X) == pytest.approx(
        exact_scores(fitted, corpus(1)[:0].__class__(X)), abs=0.3
    )
    assert fitted.perplexity(X).n_documents == 1


def test_both_ways_to_log_zeta_agree(fitted) -> None:
    lengths = [20, 45, 60]
    one, other = (
        fitted.log_partition(lengths, method=m, random_state=0) for m in ("annealing", "ais")
    )
    expected = exact.log_zeta(in_float64(fitted), torch.tensor(lengths).double())
    for found in (one, other):
        assert ((found.value - expected).abs() < 5 * found.error + 0.01).all()


def test_nonsense_is_refused(fitted) -> None:
    with pytest.raises(InvalidParameter, match="'method' parameter of OverReplicated"):
        fitted.score_samples(corpus(2), method="guess")
    with pytest.raises(InvalidParameter, match=r"'method' parameter of .*log_partition"):
        fitted.log_partition([3], method="guess")
    for name, wrong in (("replicas", 1), ("particles", 0), ("sweeps", -1)):
        with pytest.raises(InvalidParameter, match=rf"'{name}' parameter of .*log_partition"):
            fitted.log_partition([3], **{name: wrong})
    for lengths in ([-1], [], [np.nan]):
        with pytest.raises(InvalidParameter, match=r"'lengths' parameter of .*log_partition"):
            fitted.log_partition(lengths)


@pytest.mark.parametrize(
    "latent_words", [FixedLatentWords(0), ProportionalLatentWords(1.5), LatentWordsUpTo(60)]
)
def test_every_policy_of_latent_words(latent_words) -> None:
    """By enumeration and by particles; one log ζ serves all documents that are filled up to 60.

    Particles can miss a mode of a document's topics, which counts against the model: 1.3 nats in
    the worst of 25 documents here."""
    model = OverReplicatedSoftmax(
        6, latent_words=latent_words, pretraining=QUICK, random_state=0
    ).fit(corpus(200))
    X = corpus(25, seed=1)
    expected = exact_scores(model, X)
    assert np.abs(model.score_samples(X, method="exact") - expected).max() < 0.3
    off = model.score_samples(X, method="importance") - expected
    assert off.min() > -1.5
    assert off.max() < 0.6
    assert abs(off.mean()) < 0.2
    found = model.perplexity(X)
    assert found.value == pytest.approx(np.exp(-np.mean(expected / X.sum(axis=1))), rel=0.02)
    if isinstance(latent_words, LatentWordsUpTo):
        assert found.log_partition.d.tolist() == [60] * 25


@pytest.mark.parametrize("F", [8, 16])
@pytest.mark.parametrize("finetuning", [None, Finetuning(updates=60, rungs=32, bridge=8)])
def test_log_zeta_of_trained_models_is_within_its_error(F: int, finetuning) -> None:
    """Against enumeration up to 1,000 words. Four standard errors, 7 degrees of freedom, lengths
    that go together; the seeds are fixed."""
    settings = {"pretraining": Pretraining(updates=300), "finetuning": finetuning}
    model = OverReplicatedSoftmax(F, latent_words=20, random_state=1, **settings).fit(corpus(300))
    lengths = [2, 5, 10, 30, 60, 100, 300, 1000]
    found = model.log_partition(lengths, random_state=0)
    expected = exact.log_zeta(in_float64(model), torch.tensor(lengths).double())
    assert ((found.value - expected).abs() <= 4 * found.error + 2e-3).all()  # g is in float32
    assert found.error.max() < 0.2


def test_grid_search_maximises_the_likelihood() -> None:
    """Two hundred updates predict better than one."""
    grid = {"pretraining": [Pretraining(updates=1), Pretraining(updates=200, learning_rate=0.1)]}
    search = GridSearchCV(ReplicatedSoftmax(4, random_state=0), grid, cv=2).fit(corpus(200))
    assert search.best_params_["pretraining"].updates == 200


def test_unsure_lengths_alone_get_more_particles(fitted, monkeypatch) -> None:
    """So a document's score does not depend on which others are scored with it."""
    few = fitted.log_partition([2, 60], particles=16, random_state=0)
    assert few.error[0] < few.error[1], "a blunt test"
    monkeypatch.setattr("docboltz.estimator.density.FIRST_PARTICLES", 16)
    monkeypatch.setattr("docboltz.estimator.density.SURE", float(few.error.mean()))
    found = fitted.log_partition([2, 60], random_state=0)
    assert found.value[0] == few.value[0]
    assert found.value[1] != few.value[1]
    assert found.steps > few.steps
