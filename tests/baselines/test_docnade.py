"""DocNADE through its estimator."""

from __future__ import annotations

import numpy as np
import pytest

from docboltz.baselines import DocNADE, Unigram
from docboltz.errors import TrainingDiverged
from tests.test_laws import corpus


@pytest.fixture(scope="module", params=["softmax", "tree"])
def fitted(request) -> DocNADE:
    model = DocNADE(8, output=request.param, updates=400, rate=1e-2, random_state=0)
    return model.fit(corpus(360)[:300])


def test_it_beats_the_unigram_on_other_documents(fitted) -> None:
    train, test = corpus(360)[:300], corpus(360)[300:]
    unigram = Unigram().fit(train).perplexity(test)
    found = fitted.perplexity(test)
    assert found.value < unigram.value - 3 * found.error
    assert found.method == "exact, one order"


def test_averaging_orders_is_averaging_probabilities(fitted) -> None:
    """Over a document's two orders: their log mean probability, when both come up."""
    X = np.zeros((1, 30))
    X[0, [3, 7]] = 1
    single = {round(float(fitted.score_samples(X, random_state=seed)[0]), 9) for seed in range(12)}
    assert len(single) == 2
    many = DocNADE(**(fitted.get_params() | {"orderings": 4000}))
    vars(many).update({k: v for k, v in vars(fitted).items() if k.endswith("_")})
    expected = np.log(np.mean(np.exp(list(single))))
    # A share of 4,000 fair coins is off by 4 standard errors, 0.03, at most.
    spread = abs(max(single) - min(single))
    assert many.score_samples(X)[0] == pytest.approx(expected, abs=0.032 * spread + 1e-9)


def test_features_are_the_state_after_the_last_word(fitted) -> None:
    X = corpus(5, seed=3)
    expected = np.tanh(fitted.intercept_hidden_ + X @ fitted.components_.T)
    np.testing.assert_allclose(fitted.transform(X), expected, rtol=1e-4, atol=1e-5)


def test_history_tells_what_happened(fitted) -> None:
    assert [h["update"] for h in fitted.history_] == [100, 200, 300, 400]
    best = min(fitted.history_, key=lambda h: h["validation_perplexity"])
    assert fitted.n_updates_ == best["update"]


def test_a_model_that_diverged_is_usable() -> None:
    model = DocNADE(3, rate=1e30, updates=200, dropout=0, random_state=0)
    with pytest.raises(TrainingDiverged):
        model.fit(corpus())
    assert np.isfinite(model.score_samples(corpus())).all()


@pytest.mark.gpu
def test_cuda_gives_the_same_likelihood(fitted) -> None:
    X = corpus(20, seed=1)
    expected = fitted.set_params(device="cpu").score_samples(X)
    found = fitted.set_params(device="cuda").score_samples(X)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    assert DocNADE(4, updates=20, device="cuda").fit(X).transform(X).shape == (20, 4)
