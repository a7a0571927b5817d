"""What the estimators learn, draw and go on with."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import stats

import docboltz.inference
from docboltz import (
    Finetuning,
    OverReplicatedSoftmax,
    Pretraining,
    ReplicatedSoftmax,
)
from docboltz.errors import (
    InvalidParameter,
)
from docboltz.model import exact
from docboltz.model.conditionals import mean_field, word_mean
from docboltz.model.latent_words import automatic_latent_words
from docboltz.model.parameters import Parameters
from docboltz.training.documents import Documents
from tests.test_laws import corpus

QUICK = Pretraining(updates=20)


def in_float64(model: ReplicatedSoftmax | OverReplicatedSoftmax) -> Parameters:
    arrays = (model.components_, model.intercept_hidden_, model.intercept_visible_)
    return Parameters(*(torch.from_numpy(np.array(a)).double() for a in arrays))


# ---- learning ----


def test_learning_raises_the_exact_likelihood_above_the_unigrams() -> None:
    """Four units can be enumerated, so the gain over the unigram is known, not estimated."""
    X, held_out = corpus(600, seed=0), corpus(100, seed=0)
    model = ReplicatedSoftmax(4, pretraining=Pretraining(updates=400), random_state=0).fit(X)
    counts = torch.from_numpy(held_out.toarray()).double()
    none = torch.zeros(len(counts), dtype=torch.float64)
    learnt = exact.log_likelihood(in_float64(model), counts, none)
    frequency = torch.from_numpy(X.sum(axis=0) + 0.1).double()
    unigram = counts @ torch.log(frequency / frequency.sum())
    gain = ((learnt - unigram) / counts.sum(1)).mean().item()
    # Measured 0.32 nats a word; an untrained model gains 0.
    assert gain > 0.2


def test_latent_words_change_what_is_learnt() -> None:
    settings = {"pretraining": QUICK, "random_state": 0}
    with_latent = OverReplicatedSoftmax(4, latent_words=30, **settings).fit(corpus())
    without = ReplicatedSoftmax(4, **settings).fit(corpus())
    assert not np.allclose(with_latent.components_, without.components_)


def test_kinds_of_documents_are_told_apart_without_labels() -> None:
    rng = np.random.default_rng(0)
    kinds = np.eye(2).repeat(10, axis=1) / 10
    kind = rng.integers(0, 2, 300)
    X = np.array([rng.multinomial(15, kinds[k]) for k in kind])
    features = OverReplicatedSoftmax(
        8, pretraining=Pretraining(updates=300), random_state=0
    ).fit_transform(X)
    unit = features / np.linalg.norm(features, axis=1, keepdims=True)
    cosine = unit @ unit.T - 2 * np.eye(300)
    assert (kind[cosine.argmax(1)] == kind).mean() > 0.99


def test_automatic_latent_words_follow_the_mean_length() -> None:
    X = corpus()
    model = OverReplicatedSoftmax(4, pretraining=QUICK).fit(X)
    assert model.latent_words_ == automatic_latent_words(X.sum() / X.shape[0])


def test_no_latent_words_is_the_replicated_softmax() -> None:
    X = corpus()
    ors = OverReplicatedSoftmax(4, latent_words=0, pretraining=QUICK, random_state=3).fit(X)
    rs = ReplicatedSoftmax(4, pretraining=QUICK, random_state=3).fit(X)
    assert np.array_equal(ors.components_, rs.components_)
    assert np.array_equal(ors.transform(X), rs.transform(X))
    np.testing.assert_allclose(rs.transform(X, "mean_field"), rs.transform(X), atol=1e-6)


def test_moving_the_unit_bias_into_the_weights_changes_nothing(fitted) -> None:
    X = corpus()
    with_bias = OverReplicatedSoftmax(4, pretraining=QUICK, random_state=0).fit(X)
    with_bias.intercept_hidden_ = np.linspace(-0.3, 0.3, 4, dtype=np.float32)
    with_bias.components_ = with_bias.components_ - with_bias.intercept_hidden_[:, None]
    for inference in ("fast", "mean_field"):
        np.testing.assert_allclose(
            with_bias.transform(X, inference), fitted.transform(X, inference), atol=1e-4
        )


def test_next_word_is_the_mean_field_of_one_more_latent_word(fitted) -> None:
    X = corpus(20, seed=4)
    counts = torch.from_numpy(X.toarray()).double()
    m = fitted.latent_words_(counts.sum(1) + 1)
    found = torch.from_numpy(fitted.predict_words(X, inference="mean_field")).double()
    expected = mean_field(in_float64(fitted), counts, m + 1).words
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=0)


def test_next_word_is_the_oracles_where_mean_field_is_good() -> None:
    """Weak weights: mean field errs in second order, so both inferences come near enumeration."""
    model = OverReplicatedSoftmax(4, pretraining=QUICK, random_state=0).fit(corpus())
    model.components_ = model.components_ * 0.02
    X = corpus(20, seed=4)
    counts = torch.from_numpy(X.toarray()).double()
    p, m = in_float64(model), model.latent_words_(counts.sum(1) + 1)
    expected = exact.next_word_mean(p, counts, m)
    unigram = torch.softmax(p.b, 0)
    spread = (expected - unigram).abs().max()
    found = torch.from_numpy(model.predict_words(X, inference="mean_field")).double()
    assert (found - expected).abs().max() < 0.02 * spread


def test_without_weights_the_next_word_is_the_unigram() -> None:
    model = OverReplicatedSoftmax(4, pretraining=QUICK, random_state=0).fit(corpus())
    model.components_ = np.zeros_like(model.components_)
    frequency = np.exp(model.intercept_visible_) / np.exp(model.intercept_visible_).sum()
    for inference in ("fast", "mean_field"):
        found = model.predict_words(corpus(3), inference=inference)
        np.testing.assert_allclose(found, np.tile(frequency, (3, 1)), atol=1e-6)


def test_partial_fits_do_not_touch_arrays_already_handed_out(fitted) -> None:
    model = OverReplicatedSoftmax(4, pretraining=QUICK, random_state=0).partial_fit(corpus())
    held = model.components_
    before = held.copy()
    model.partial_fit(corpus())
    assert np.array_equal(held, before)


def test_a_vocabulary_word_no_document_has_is_harmless() -> None:
    X = corpus().tolil()
    X[:, 5] = 0
    model = OverReplicatedSoftmax(4, pretraining=QUICK, random_state=0).fit(X.tocsr())
    assert np.isfinite(model.predict_words(corpus())).all()


# ---- drawing documents ----


def test_drawn_documents_follow_the_exact_distribution(fitted) -> None:
    """One word and M latent ones: compare with p_{1 + M}; fails by chance once in a million."""
    model = OverReplicatedSoftmax(4, latent_words=6, pretraining=QUICK, random_state=0)
    model.fit(corpus())
    p, n = in_float64(model), 20_000
    drawn = model.sample(np.ones(n, int), sweeps=60, random_state=0)
    prior = exact.prior(p, torch.tensor([7.0]).double())
    expected = n * (prior @ word_mean(p, exact.topic_states(p)))[0].numpy()
    observed = np.asarray(drawn.sum(axis=0))
    rare = expected < 5
    observed, expected = (np.append(x[~rare], x[rare].sum() + 1e-9) for x in (observed, expected))
    assert stats.chisquare(observed, expected * observed.sum() / expected.sum()).pvalue > 1e-6


def test_long_documents_keep_every_word(fitted) -> None:
    assert fitted.sample([2**24 + 1], sweeps=1, random_state=0).sum() == 2**24 + 1
    assert fitted.sample([], sweeps=1).shape == (0, 30)


def test_blocks_of_drawn_documents_are_bounded(monkeypatch) -> None:
    monkeypatch.setattr(docboltz.inference, "BLOCK_ENTRIES", 100)
    n, m = torch.tensor([10.0, 90, 500, 1, 1, 1]), torch.zeros(6)
    sizes = [part[0].tolist() for part in docboltz.inference._cut_by_work(n, m, 30)]
    assert sizes == [[10], [90], [500], [1, 1, 1]]


# ---- going on ----


def test_partial_fit_goes_once_through_the_documents(monkeypatch) -> None:
    seen = []
    real = Documents.pick

    def spy(self, index):
        seen.append(index)
        return real(self, index)

    monkeypatch.setattr(Documents, "pick", spy)
    OverReplicatedSoftmax(4, pretraining=QUICK).partial_fit(corpus(300))
    updates = seen[0]  # three of 128 documents; the last one begins a second pass to be as large
    assert len(updates) == 3 * 128
    assert sorted(updates[:300].tolist()) == list(range(300))


def test_partial_fits_keep_their_momentum() -> None:
    """Two passes from rest and two that go on differ by the velocity carried over."""
    going_on, from_rest = (
        OverReplicatedSoftmax(4, pretraining=QUICK, random_state=0).partial_fit(corpus())
        for _ in range(2)
    )
    from_rest._velocity = None
    assert not np.array_equal(
        going_on.partial_fit(corpus()).components_, from_rest.partial_fit(corpus()).components_
    )


def test_another_number_of_units_needs_a_new_fit(fitted) -> None:
    model = OverReplicatedSoftmax(4, pretraining=QUICK).partial_fit(corpus())
    with pytest.raises(InvalidParameter, match=r"'n_components'.*the 4 it was fitted with"):
        model.set_params(n_components=7).partial_fit(corpus())


def test_a_loaded_model_goes_on_with_fresh_random_numbers(fitted, tmp_path) -> None:
    fitted.save(tmp_path / "model")
    first, second = (OverReplicatedSoftmax.load(tmp_path / "model") for _ in range(2))
    assert np.array_equal(
        first.partial_fit(corpus()).components_, second.partial_fit(corpus()).components_
    )
    first.save(tmp_path / "further")
    further = OverReplicatedSoftmax.load(tmp_path / "further")
    assert further._rng.randint(2**31) != second._rng.randint(2**31)


# ---- devices ----


@pytest.mark.gpu
@pytest.mark.parametrize("finetuning", [None, Finetuning(updates=100, rungs=32, bridge=8)])
def test_cuda_learns_and_agrees_with_the_cpu(tmp_path, finetuning) -> None:
    X = corpus(600)
    pretraining = Pretraining(updates=200, more_steps_every=100)
    settings = {"pretraining": pretraining, "finetuning": finetuning, "random_state": 0}
    a, b = (OverReplicatedSoftmax(8, device="cuda", **settings).fit(X) for _ in range(2))
    assert np.array_equal(a.components_, b.components_), "same seed, same device, same bits"
    carried_over = OverReplicatedSoftmax(8, device="cuda", **settings).partial_fit(X)
    carried_over.set_params(device="cpu").partial_fit(X)
    a.save(tmp_path / "model")
    on_cpu = OverReplicatedSoftmax.load(tmp_path / "model", device="cpu")
    for inference in ("fast", "mean_field"):
        np.testing.assert_allclose(
            on_cpu.transform(X, inference), a.transform(X, inference), atol=1e-4
        )


def test_partial_fit_follows_new_settings_and_adds_to_the_history() -> None:
    X = corpus(100)
    model = OverReplicatedSoftmax(4, random_state=0).partial_fit(X)
    before = model.components_.copy()
    model.set_params(pretraining=Pretraining(learning_rate=1e-12, momentum=0.0)).partial_fit(X)
    assert np.abs(model.components_ - before).max() < 1e-9
    assert [entry["update"] for entry in model.history_] == [1, 2]
