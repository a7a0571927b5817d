"""Recipes, and settings of training as parameters of the models."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, asdict, replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from docboltz import Finetuning, OverReplicatedSoftmax, Pretraining, ReplicatedSoftmax, Validation
from docboltz.errors import InvalidParameter
from docboltz.training.recipes import RECIPES
from tests.test_laws import corpus

KINDS = [OverReplicatedSoftmax, ReplicatedSoftmax]
SHORT = {
    "pretraining__updates": 4,
    "finetuning__updates": 3,
    "finetuning__rungs": 8,
    "matching__updates": 2,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("recipe", RECIPES)
def test_a_recipe_stands_for_its_settings(kind, recipe: str) -> None:
    phases = dict(RECIPES[recipe])
    if kind is ReplicatedSoftmax and recipe == "paper":
        phases["finetuning"] = None  # as in the paper
    short = {k: v for k, v in SHORT.items() if phases[k.partition("__")[0]] is not None}
    X = corpus(150)
    by_name = kind(3, recipe=recipe, random_state=0).set_params(**short).fit(X)
    given = phases.copy()
    for key, value in short.items():
        name, _, part = key.partition("__")
        given[name] = replace(given[name], **{part: value})
    by_hand = kind(3, random_state=0, **given).fit(X)
    assert np.array_equal(by_name.components_, by_hand.components_)
    assert by_name.finetuning_ == given["finetuning"]
    assert by_name.matching_ in (given["matching"], None)
    assert by_name.pretraining_.updates == 4
    assert by_name.has_density_ == (recipe == "density")
    assert bool(by_name.looks_) == (recipe == "full")


def test_given_settings_replace_the_recipes() -> None:
    mine = Pretraining(updates=4, weight_decay=2.0)
    tuned = Finetuning(updates=2, rungs=8)
    model = ReplicatedSoftmax(3, recipe="density", pretraining=mine, finetuning=tuned).fit(corpus())
    assert model.pretraining_.weight_decay == 2
    assert model.n_updates_ == 6


@pytest.mark.parametrize("kind", KINDS)
def test_parts_of_settings_are_parameters(kind) -> None:
    model = kind(recipe="density")
    assert model.get_params()["pretraining__weight_decay"] == 1.2, "the recipe's"
    assert model.get_params()["finetuning__sweeps"] == Finetuning().sweeps
    assert model.set_params(pretraining__updates=500) is model
    own = RECIPES["density"]["pretraining"]
    assert model.pretraining == replace(own, updates=500)
    assert model.finetuning is None
    model.set_params(pretraining__momentum=0.5, finetuning__sweeps=2, n_components=7)
    assert model.pretraining == replace(own, updates=500, momentum=0.5)
    assert model.finetuning == replace(RECIPES["density"]["finetuning"], sweeps=2)
    assert model.n_components == 7
    again = clone(model)
    assert again.get_params() == model.get_params()
    model.set_params(validation=Validation(), validation__share=0.3)
    assert model.validation == Validation(share=0.3)
    assert not any("__" in name for name in model.get_params(deep=False))


def test_a_recipe_and_a_part_of_it_can_be_set_together() -> None:
    model = ReplicatedSoftmax().set_params(pretraining__updates=9, recipe="full")
    assert model.pretraining == replace(RECIPES["full"]["pretraining"], updates=9)


def test_settings_are_never_changed_in_place() -> None:
    shared = Pretraining(updates=8)
    one, other = (ReplicatedSoftmax(pretraining=shared) for _ in range(2))
    one.set_params(pretraining__updates=3)
    assert other.pretraining is shared
    assert shared.updates == 8
    with pytest.raises(FrozenInstanceError):
        shared.updates = 3  # type: ignore[misc]
    before = {name: asdict(phases["pretraining"]) for name, phases in RECIPES.items()}
    ReplicatedSoftmax(recipe="paper").set_params(pretraining__updates=3)
    assert before == {name: asdict(phases["pretraining"]) for name, phases in RECIPES.items()}


def test_what_is_not_there_is_refused() -> None:
    with pytest.raises(InvalidParameter, match=r"'recipe' parameter.*'quick' or 'full'.*'slow'"):
        ReplicatedSoftmax(recipe="slow").fit(corpus())
    with pytest.raises(InvalidParameter, match=r"no parameter 'pretraining__rate'.*learning_rate"):
        ReplicatedSoftmax().set_params(pretraining__rate=1)
    with pytest.raises(InvalidParameter, match=r"has none.*finetuning=Finetuning\(\), or a recipe"):
        ReplicatedSoftmax().set_params(finetuning__updates=3)
    with pytest.raises(InvalidParameter, match=r"'updates' parameter of Pretraining"):
        ReplicatedSoftmax().set_params(pretraining__updates=0)
    with pytest.raises(ValueError, match=r"Invalid parameter 'topics'"):
        ReplicatedSoftmax().set_params(topics=3)


@pytest.mark.filterwarnings("ignore::docboltz.errors.NoDensityWarning")
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_grid_search_over_parts_of_settings(n_jobs: int | None) -> None:
    grid = {"pretraining__updates": [2, 40], "n_components": [2, 3]}
    model = OverReplicatedSoftmax(random_state=0, device="cpu")
    search = GridSearchCV(model, grid, cv=2, n_jobs=n_jobs).fit(corpus(60))
    assert len(search.cv_results_["params"]) == 4
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    best = search.best_estimator_
    assert best.n_updates_ == search.best_params_["pretraining__updates"]
    assert model.pretraining is None


def test_parts_of_settings_in_a_pipeline() -> None:
    pipeline = make_pipeline(ReplicatedSoftmax(2))
    pipeline.set_params(replicatedsoftmax__pretraining__updates=3).fit(corpus())
    assert pipeline[-1].n_updates_ == 3
    assert "replicatedsoftmax__pretraining__momentum" in pipeline.get_params()
