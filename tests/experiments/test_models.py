"""The registry: what it says of a model is so."""

import numpy as np
import pytest

from docboltz.errors import InvalidParameter
from docboltz.experiments.models import MODELS, TRAININGS, Settings, choose_models
from docboltz.model.latent_words import LatentWordsUpTo, ProportionalLatentWords

PLACE = {"device": "cpu", "verbose": False}


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_models_are_what_the_registry_says(model):
    estimator = model.build(Settings(2, "quick", updates=2), PLACE)
    assert hasattr(estimator, "transform") == model.features
    assert hasattr(estimator, "perplexity") == model.density
    assert hasattr(estimator, "device") == model.on_device
    assert ("n_components" in estimator.get_params()) == model.sized
    assert (model.grouping is not None) == model.features
    if model.grouping == "own":
        counts = np.random.RandomState(0).randint(0, 3, (20, 6)) + np.eye(20, 6, dtype=int)
        assert estimator.fit(counts).transform(counts).min() >= 0


def test_updates_are_those_of_each_phase_and_sweeps_of_lda():
    few = Settings(2, "full", updates=7)
    ors, lda, docnade = (MODELS[n].build(few, PLACE) for n in ("ors", "lda", "docnade"))
    assert (ors.pretraining.updates, ors.matching.updates) == (7, 7)
    assert (lda.sweeps, docnade.updates) == (7, 7)
    usual = MODELS["ors"].build(Settings(2, "full"), PLACE)
    assert usual.finetuning == TRAININGS["full"].softmax["finetuning"]


def test_a_shorter_recipe_has_fewer_updates_and_its_schedules_too():
    usual, short = Settings(recipe="paper").training, Settings(recipe="paper", shorter=50).training
    for phase in ("pretraining", "finetuning"):
        one, other = usual.softmax[phase], short.softmax[phase]
        counted = {"updates", "halve_after", "more_steps_every"}
        for name, value in vars(one).items():
            assert getattr(other, name) == (value / 50 if name in counted else value)
    assert Settings(recipe="paper", shorter=10**9).training.softmax["pretraining"].updates == 1


def test_the_paper_fine_tunes_models_with_latent_words_alone():
    rs, ors = (MODELS[name].build(Settings(recipe="paper"), PLACE) for name in ("rs", "ors"))
    assert rs.finetuning is None
    assert ors.finetuning.chains == "data"
    assert rs.pretraining == ors.pretraining


def test_a_model_trained_for_density_is_trained_longer_than_others():
    usual, longer = (
        TRAININGS["full"].softmax["matching"],
        TRAININGS["density"].softmax["finetuning"],
    )
    assert longer.updates > 5 * usual.updates


@pytest.mark.parametrize("recipe", TRAININGS)
def test_a_recipe_makes_a_density_where_the_model_says_so(recipe):
    estimator = MODELS["rs"].build(Settings(2, recipe, updates=2), PLACE)
    fitted = estimator.fit(np.random.RandomState(0).randint(1, 3, (20, 6)))
    assert TRAININGS[recipe].makes_density == fitted.has_density_
    assert fitted.has_density_ == ("density" in recipe)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (0, 0),
        ("auto", "auto"),
        ("N", ProportionalLatentWords(1.0)),
        ("200-N", LatentWordsUpTo(200)),
    ],
)
def test_latent_words(given, expected):
    estimator = MODELS["ors"].build(Settings(2, latent_words=given), PLACE)
    assert estimator.latent_words == expected


@pytest.mark.parametrize(
    "wrong",
    [
        {"units": 0},
        {"units": 2.5},
        {"recipe": "slow"},
        {"updates": 0},
        {"seed": -1},
        {"shorter": 0},
        {"latent_words": "some"},
        {"latent_words": "-N"},
    ],
    ids=str,
)
def test_senseless_settings_are_refused(wrong):
    (name,) = wrong
    with pytest.raises(InvalidParameter, match=f"'{name}' parameter of Settings"):
        Settings(**wrong)


def test_unknown_models_are_refused():
    with pytest.raises(InvalidParameter, match=r"ors, rs, docnade.*Got \['bert'\]"):
        choose_models(["ors", "bert"])
    with pytest.raises(InvalidParameter, match="some of"):
        choose_models([])
