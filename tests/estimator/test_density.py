"""Likelihoods through the estimator."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from dataclasses import replace

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
from docboltz.baselines import LSI, NMF, DocNADE, LatentDirichletAllocation, TfIdf, Unigram
from docboltz.errors import (
    InvalidCounts,
    InvalidParameter,
    NoDensityWarning,
    Spelling,
    UncertainLikelihoodWarning,
)
from docboltz.estimator.density import no_density
from docboltz.model import exact
from tests.estimator.test_models import in_float64
from tests.sampling.test_modes import hidden_mode
from tests.test_laws import corpus

# Small models, trained quickly, will do here; that it is said of them is tested at the end.
pytestmark = pytest.mark.filterwarnings("ignore::docboltz.errors.NoDensityWarning")

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


@pytest.mark.parametrize("method", [None, "exact"])
def test_exact_is_exact(fitted, method: str | None, device: str) -> None:
    """Numerator and log ζ, to the rounding of float64: 1e-9 of a score."""
    X, fitted = corpus(30, seed=1), copy.copy(fitted).set_params(device=device)
    scores = fitted.score_samples(X, method=method)
    np.testing.assert_allclose(scores, exact_scores(fitted, X), rtol=1e-9)
    found = fitted.perplexity(X, method=method)
    assert found.value == pytest.approx(
        np.exp(-np.mean(exact_scores(fitted, X) / X.sum(axis=1))), rel=1e-9
    )
    assert (found.method, found.numerator_error, found.partition_error) == ("exact", 0, 0)


def test_importance_is_near(fitted, device: str) -> None:
    """log ζ is enumerated, so all of the error is that of each document's particles."""
    X, fitted = corpus(30, seed=1), copy.copy(fitted).set_params(device=device)
    off = fitted.score_samples(X, method="importance") - exact_scores(fitted, X)
    assert np.abs(off).max() < 1.0
    assert abs(off.mean()) < 0.2


def test_the_bound_is_below(fitted) -> None:
    X = corpus(30, seed=1)
    assert (fitted.score_samples(X, method="bound") <= exact_scores(fitted, X) + 1e-9).all()


def test_with_many_units_nothing_is_called_exact() -> None:
    """Without latent words the numerator has a closed form, whose error is 0; log ζ has not."""
    X = corpus(40)
    model = ReplicatedSoftmax(21, pretraining=Pretraining(updates=5), random_state=0).fit(X)
    found = model.perplexity(X)
    assert (found.method, found.numerator_error) == ("importance", 0)
    assert found.partition_error > 0
    for call in (model.perplexity, model.score_samples):
        with pytest.raises(InvalidParameter, match=r"'method' .*importance.*F ≤ 20"):
            call(X, method="exact")
    for call in (model.log_partition, model.log_zeta):
        with pytest.raises(InvalidParameter, match=r"'method' .*annealing.*F ≤ 20"):
            call([3], method="exact")


def test_seventeen_units_are_exact_where_that_is_asked_for() -> None:
    """Beyond those that are enumerated by default, in several blocks of states."""
    model = OverReplicatedSoftmax(17, pretraining=Pretraining(updates=5), random_state=0)
    X = corpus(5)
    model.fit(corpus(17))
    assert model.perplexity(X).method == "importance"
    scores = model.score_samples(X, method="exact")
    np.testing.assert_allclose(scores, exact_scores(model, X), rtol=1e-9)


def test_perplexity_is_the_papers(fitted) -> None:
    X = corpus(50, seed=2)
    found = fitted.perplexity(X)
    n = X.sum(axis=1)
    expected = np.exp(-np.mean(exact_scores(fitted, X) / n))
    parts = (found.documents_error, found.numerator_error, found.partition_error)
    assert found.value == pytest.approx(expected, rel=1e-9)
    assert found.error == pytest.approx(np.hypot.reduce(parts))
    assert found.documents_error == pytest.approx(
        found.value * np.std(exact_scores(fitted, X) / n, ddof=1) / 50**0.5, rel=1e-9
    )
    assert (found.method, found.n_documents, found.n_empty) == ("exact", 50, 0)
    assert fitted.score(X) == pytest.approx(-np.log(found.value))


def test_without_weights_it_is_the_unigrams() -> None:
    X = corpus(100)
    model = ReplicatedSoftmax(6, pretraining=QUICK, random_state=0).fit(X)
    model.components_ = np.zeros_like(model.components_)
    b = model.intercept_visible_ - np.logaddexp.reduce(model.intercept_visible_)
    unigram = np.exp(-np.mean((X @ b) / X.sum(axis=1)))
    assert model.perplexity(X).value == pytest.approx(unigram, rel=1e-5)  # b is float32


def test_order_and_repetition_do_not_matter(fitted) -> None:
    X = corpus(20, seed=3)
    scores = fitted.score_samples(X)
    order = np.random.RandomState(0).permutation(20)
    assert fitted.score_samples(X[order]) == pytest.approx(scores[order], rel=1e-9)
    twice = fitted.perplexity(X[np.r_[0:20, 0:20]])
    assert twice.value == pytest.approx(fitted.perplexity(X).value)
    words = np.random.RandomState(1).permutation(X.shape[1])
    permuted = OverReplicatedSoftmax(8, latent_words=20, pretraining=QUICK).fit(X)
    permuted.components_ = np.ascontiguousarray(fitted.components_[:, words].T).T
    permuted.intercept_visible_ = fitted.intercept_visible_[words]
    permuted.intercept_hidden_ = fitted.intercept_hidden_
    assert permuted.score_samples(X[:, words]) == pytest.approx(scores, rel=1e-9)


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
        exact_scores(fitted, corpus(1)[:0].__class__(X)), rel=1e-9
    )
    assert fitted.perplexity(X).n_documents == 1


def test_all_ways_to_log_zeta_agree(fitted) -> None:
    d = [20, 45, 60]
    expected = exact.log_zeta(in_float64(fitted), torch.tensor(d).double()).numpy()
    for method in ("annealing", "ais"):
        found = fitted.log_zeta(d, method=method, random_state=0)
        assert (found.error > 0).all()
        assert (abs(found.estimate - expected) < 5 * found.error + 0.01).all()
        assert (found.lower_bound <= expected + 1e-9).all()
    for method in (None, "exact"):
        found = fitted.log_zeta(d, method=method)
        np.testing.assert_allclose(found.value, expected, rtol=1e-12)
        assert (found.lower_bound == found.value).all()
        assert found.error.tolist() == [0, 0, 0]


@pytest.mark.parametrize("method", ["exact", "annealing", "ais"])
def test_log_partition_takes_lengths_of_documents(fitted, method: str) -> None:
    """D is N + M, with the latent words the model gives them."""
    n = [3, 25]
    found = fitted.log_partition(n, method=method, random_state=0)
    at_d = fitted.log_zeta([23, 45], method=method, random_state=0)
    assert found.d.tolist() == [23, 45]
    assert found.value.tolist() == at_d.value.tolist()


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
        with pytest.raises(InvalidParameter, match=r"'d' parameter of .*log_zeta"):
            fitted.log_zeta(lengths)


@pytest.mark.parametrize(
    "latent_words", [FixedLatentWords(0), ProportionalLatentWords(1.5), LatentWordsUpTo(60)]
)
def test_every_policy_of_latent_words(latent_words) -> None:
    """By enumeration and by particles; all documents that are filled up to 60 share one log ζ.

    Particles can miss a mode of a document's units, which counts against the model: 1.3 nats in
    the worst of 25 documents here, of models with this weight decay."""
    pretraining = replace(QUICK, weight_decay=2.6)
    model = OverReplicatedSoftmax(
        6, latent_words=latent_words, pretraining=pretraining, random_state=0
    ).fit(corpus(200))
    X = corpus(25, seed=1)
    expected = exact_scores(model, X)
    np.testing.assert_allclose(model.score_samples(X, method="exact"), expected, rtol=1e-9)
    off = model.score_samples(X, method="importance", random_state=0) - expected
    assert off.min() > -1.5
    assert off.max() < 0.6
    assert abs(off.mean()) < 0.2
    found = model.perplexity(X)
    assert found.value == pytest.approx(np.exp(-np.mean(expected / X.sum(axis=1))), rel=1e-9)
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
    found = model.log_zeta(lengths, method="annealing", random_state=0)
    expected = exact.log_zeta(in_float64(model), torch.tensor(lengths).double()).numpy()
    assert (abs(found.estimate - expected) <= 4 * found.error + 2e-3).all()  # g is in float32
    assert found.error.max() < 0.2


def test_grid_search_maximises_the_likelihood() -> None:
    """Two hundred updates predict better than one."""
    grid = {"pretraining__updates": [1, 200], "pretraining__learning_rate": [0.1]}
    search = GridSearchCV(ReplicatedSoftmax(4, random_state=0), grid, cv=2).fit(corpus(200))
    assert search.best_params_["pretraining__updates"] == 200
    assert search.best_estimator_.n_updates_ == 200


def test_uncertain_lengths_alone_get_more_particles(fitted, monkeypatch) -> None:
    """So a document's score does not depend on which others are scored with it."""
    few = fitted.log_zeta([2, 60], method="annealing", particles=16, random_state=0)
    assert few.error[0] < few.error[1], "a blunt test"
    monkeypatch.setattr("docboltz.estimator.density.FIRST_PARTICLES", 16)
    monkeypatch.setattr("docboltz.estimator.density.WANTED_ERROR", float(few.error.mean()))
    found = fitted.log_zeta([2, 60], method="annealing", random_state=0)
    assert found.estimate[0] == few.estimate[0]
    assert found.estimate[1] != few.estimate[1]
    assert found.steps > few.steps


# ---- what it is worth ----


@pytest.mark.filterwarnings("error::docboltz.errors.NoDensityWarning")
def test_likelihoods_after_contrastive_divergence_alone_warn(fitted) -> None:
    X = corpus(10)
    for call in (fitted.score, fitted.score_samples, fitted.perplexity):
        with pytest.warns(NoDensityWarning, match="divergence.*recipe='density'") as caught:
            call(X)
        assert caught[0].filename == __file__
    tuned = Finetuning(updates=2, rungs=8, bridge=2, sweeps=1)
    model = ReplicatedSoftmax(4, pretraining=QUICK, finetuning=tuned, random_state=0).fit(X)
    assert model.has_density_
    assert model.score(X) < 0, "without a warning"
    assert not model.partial_fit(X).has_density_, "contrastive divergence has moved it since"


def test_the_papers_way_warns_of_what_it_is_worth() -> None:
    """The recipe in short: contrastive divergence, then for ORS chains that begin at documents."""
    few = {"pretraining__updates": 5, "random_state": 0}
    X = corpus(30)
    rs = ReplicatedSoftmax(4, recipe="paper").set_params(**few).fit(X)
    assert (rs.pretraining_.max_steps, rs.finetuning_) == (20, None)
    with pytest.warns(NoDensityWarning, match="by contrastive divergence"):
        rs.score(X)
    ors = OverReplicatedSoftmax(4, latent_words=50, recipe="paper")
    ors.set_params(**few, finetuning__updates=2).fit(X)
    assert (ors.finetuning_.chains, ors.finetuning_.sweeps) == ("data", 20)
    assert not ors.has_density_
    with pytest.warns(NoDensityWarning, match="start at documents.*recipe='density'"):
        ors.score(X)


def test_other_faces_spell_the_warning_their_way() -> None:
    class Command(Spelling):
        def setting(self, mention: str) -> str:
            return "--" + mention.replace("=", " ").replace("'", "")

    assert no_density(Command()).endswith("Fit with --recipe density to have one.")


@pytest.mark.parametrize(
    ("n_units", "how", "labels"),
    [
        (4, {"method": "exact"}, {"States of the units", "Likelihood"}),
        (17, {}, {"Likelihood", "log Z"}),
    ],
)
def test_long_likelihoods_show_what_is_done_and_left(
    monkeypatch, capsys, n_units: int, how: dict, labels: set[str]
) -> None:
    X, quick = corpus(30), Pretraining(updates=2)
    model = OverReplicatedSoftmax(n_units, pretraining=quick, random_state=0).fit(X)
    for name in ("FIRST_SECONDS", "LINE_SECONDS"):
        monkeypatch.setattr(f"docboltz.progress.{name}", 0.0)
    model.set_params(verbose=True).perplexity(X, **how)
    lines = capsys.readouterr().err.splitlines()
    assert {line.partition(":")[0] for line in lines} == labels
    for label in labels:
        last = [line.partition(": ")[2] for line in lines if line.startswith(label)][-1]
        done, total = re.fullmatch(r"([\d,]+) of ([\d,]+) \w+", last).groups()
        assert done == total, "the last line is of the end"


# ---- what annealed importance sampling misses ----


KINDS = [
    lambda: OverReplicatedSoftmax(8, latent_words=20, pretraining=QUICK, random_state=0),
    lambda: ReplicatedSoftmax(17, pretraining=Pretraining(updates=5), random_state=0),
    lambda: DocNADE(4, updates=5, random_state=0),
    lambda: LatentDirichletAllocation(4, sweeps=5, random_state=0),
    lambda: LSI(4, random_state=0),
    lambda: NMF(4, random_state=0),
    TfIdf,
    Unigram,
]
ANSWERS = {
    "transform": lambda m, X: m.transform(X),
    "predict_words": lambda m, X: [m.predict_words(X), m.predict_words(X, top=2)],
    "sample": lambda m, X: m.sample([3, 4], sweeps=2),
    "log_partition": lambda m, X: [m.log_partition([5, 9], method=x) for x in LENGTH_METHODS],
    "log_zeta": lambda m, X: m.log_zeta([5, 9]),
    "score_samples": lambda m, X: m.score_samples(X),
    "score": lambda m, X: m.score(X),
    "perplexity": lambda m, X: m.perplexity(X),
    "unigram_perplexity": lambda m, X: m.unigram_perplexity(X),
    "get_feature_names_out": lambda m, X: m.get_feature_names_out(),
}
"""What each public method that answers is asked."""
LENGTH_METHODS = (None, "annealing", "ais")


def parts_of(answer: object) -> Iterator[object]:
    """An answer and all there is in it."""
    yield answer
    if isinstance(answer, list | tuple):
        held = list(answer)
    else:
        held = list(vars(answer).values()) if hasattr(answer, "__dict__") else []
    for part in held:
        yield from parts_of(part)


@pytest.fixture
def planted(fitted) -> OverReplicatedSoftmax:
    """A model with a mode that the paper's chains do not find."""
    model, p = copy.deepcopy(fitted), hidden_mode(F=8, K=fitted.n_features_in_)
    model.components_ = p.W.float().numpy()
    model.intercept_hidden_, model.intercept_visible_ = p.a.float().numpy(), p.b.float().numpy()
    return model


def test_a_value_is_never_below_what_is_proven(planted) -> None:
    with pytest.warns(UncertainLikelihoodWarning, match="2 of 2 lengths.* nats more at D = 100"):
        found = planted.log_zeta([60, 100], method="ais", random_state=0)
    known = planted.log_zeta([60, 100], method="exact")
    assert (known.value - found.estimate > 1).all(), "nothing is missed: a blunt test"
    assert (found.lower_bound <= known.value).all()
    np.testing.assert_allclose(found.value, known.value, atol=0.01)
    np.testing.assert_allclose(found.shortfall, known.value - found.estimate, atol=0.01)
    assert (known.shortfall == 0).all()
    with pytest.raises(InvalidParameter, match="'annealing' for lengths that are not whole"):
        planted.log_zeta([2.5], method="ais")


def test_perplexity_by_annealed_importance_sampling_uses_what_is_proven(planted) -> None:
    X = corpus(20, seed=1)
    with pytest.warns(UncertainLikelihoodWarning, match="is too small"):
        found = planted.perplexity(X, partition="ais", random_state=0)
    assert found.value == pytest.approx(planted.perplexity(X).value, rel=0.02)
    assert found.is_lower_bound
    assert "at least" in repr(found)
    kept = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert kept["is_lower_bound"]
    assert kept["errors"]["log_partition"] is None, "an error that has been proven wrong"
    assert kept["log_partition"]["method"] == "ais"
    assert not planted.perplexity(X).is_lower_bound
    with pytest.raises(InvalidParameter, match="'partition'"):
        planted.perplexity(X, partition="importance")


@pytest.mark.filterwarnings("ignore::docboltz.errors.UncertainLikelihoodWarning")
@pytest.mark.parametrize("make", KINDS, ids=lambda make: type(make()).__name__)
def test_public_methods_return_no_tensors(make, device: str) -> None:
    """What they return can be plotted and saved, on whatever device the model is."""
    X, model = corpus(30), make()
    if "device" in model.get_params():
        model.set_params(device=device)
    model.fit(X)
    answers = {name: call(model, X) for name, call in ANSWERS.items() if hasattr(model, name)}
    assert answers
    for name, answer in answers.items():
        assert not any(isinstance(part, torch.Tensor) for part in parts_of(answer)), name
