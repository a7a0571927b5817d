"""Saved models whose files are whole but whose content is not what it should be."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import docboltz
from docboltz import Finetuning, OverReplicatedSoftmax, Pretraining, ReplicatedSoftmax
from docboltz.errors import InvalidModelFile, InvalidParameter
from docboltz.estimator.models import assemble
from docboltz.estimator.saving import describe, policy_from_dict, policy_to_dict
from docboltz.model.latent_words import LatentWords
from docboltz.storage import save_model
from tests.test_laws import corpus


@pytest.fixture(scope="module")
def fitted() -> OverReplicatedSoftmax:
    return OverReplicatedSoftmax(4, pretraining=Pretraining(updates=5), random_state=0).fit(
        corpus()
    )


def test_policies_survive_a_round_trip(policy: LatentWords) -> None:
    assert policy_from_dict(policy_to_dict(policy)) == policy


def test_numpys_seed_is_kept(tmp_path: Path) -> None:
    model = ReplicatedSoftmax(4, pretraining=Pretraining(updates=5), random_state=np.int64(3))
    model.fit(corpus()).save(tmp_path / "model")
    assert docboltz.load(tmp_path / "model").random_state == 3


def test_the_wrong_class_is_refused_and_load_takes_any(fitted: Any, tmp_path: Path) -> None:
    fitted.save(tmp_path / "model")
    with pytest.raises(InvalidModelFile, match=r"a saved OverReplicatedSoftmax, not a Repl.*load"):
        ReplicatedSoftmax.load(tmp_path / "model")
    assert isinstance(docboltz.load(tmp_path / "model"), OverReplicatedSoftmax)


def test_a_class_of_ones_own_is_saved_and_loaded_by_itself(tmp_path: Path) -> None:
    class Mine(ReplicatedSoftmax):
        pass

    model = Mine(4, pretraining=Pretraining(updates=5), random_state=0).fit(corpus())
    model.save(tmp_path / "model")
    assert np.array_equal(Mine.load(tmp_path / "model").components_, model.components_)
    with pytest.raises(InvalidModelFile, match=r"Mine.load if the class is your own"):
        docboltz.load(tmp_path / "model")


def test_loading_on_a_named_device(fitted: Any, tmp_path: Path) -> None:
    fitted.save(tmp_path / "model")
    assert docboltz.load(tmp_path / "model", device="cpu").device == "cpu"


BREAKS = {
    "no settings": lambda arrays, settings: settings.clear(),
    "no arrays": lambda arrays, settings: arrays.clear(),
    "NaN": lambda arrays, settings: arrays.update(components=arrays["components"] * np.nan),
    "no units": lambda arrays, settings: arrays.update(components=arrays["components"][:0]),
    "float64": lambda arrays, settings: arrays.update(intercept_hidden=np.zeros(4)),
    "shape": lambda arrays, settings: arrays.update(intercept_visible=np.zeros(3, np.float32)),
    "share": lambda arrays, settings: arrays.update(word_frequency=np.zeros(30, np.float32)),
    "field": lambda arrays, settings: settings["parameters"]["pretraining"].update(new=1),
    "value": lambda arrays, settings: settings["parameters"]["pretraining"].update(updates=0),
    "policy": lambda arrays, settings: settings["latent_words"].update(policy="None"),
    "updates": lambda arrays, settings: settings.update(updates="many"),
    "history": lambda arrays, settings: settings.update(history=[{"update": [1]}]),
    "names": lambda arrays, settings: settings.update(feature_names=["a"]),
    "parameter": lambda arrays, settings: settings["parameters"].update(owner="me"),
    "recipe": lambda arrays, settings: settings["parameters"].update(recipe=["quick"]),
    "phase": lambda arrays, settings: settings["phases"].update(pretraining=None),
}


@pytest.mark.parametrize("break_it", BREAKS.values(), ids=BREAKS)
def test_content_that_is_not_a_models_is_refused(
    fitted: Any, tmp_path: Path, break_it: Any
) -> None:
    arrays, settings = describe(fitted)
    break_it(arrays, settings)
    save_model(tmp_path / "model", arrays, settings)
    with pytest.raises(InvalidModelFile, match=r"The model in .*model does not hold what"):
        docboltz.load(tmp_path / "model")


def test_settings_that_are_no_mapping_are_refused(fitted: Any, tmp_path: Path) -> None:
    save_model(tmp_path / "model", describe(fitted)[0], [])  # type: ignore[arg-type]
    with pytest.raises(InvalidModelFile, match="content is not as docboltz writes it"):
        docboltz.load(tmp_path / "model")


def places(value: Any, *above: Any) -> Iterator[tuple[Any, ...]]:
    """Where something stands in a description, however deep."""
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield (*above, key)
            yield from places(value[key], *above, key)


DEEP: list[Any] = []
for _ in range(50):
    DEEP = [DEEP]
REPLACEMENTS = [None, "x", -1, 2.5, True, 10**400, float("nan"), [], {}, DEEP, {"a": {"b": []}}]


def test_whatever_is_written_in_a_description_it_loads_or_is_refused(fitted: Any) -> None:
    """Every field taken away, or replaced by all kinds of things: nothing but InvalidModelFile, and
    what loads is a model that works."""
    arrays, settings = describe(fitted)
    outcomes = {True: 0, False: 0}
    for *above, last in places(settings):
        for replacement in ("missing", *REPLACEMENTS):
            changed = copy.deepcopy(settings)
            part = changed
            for key in above:
                part = part[key]
            if replacement == "missing":
                del part[last]
            else:
                part[last] = replacement
            try:
                model = assemble(arrays, changed, path="somewhere", device="cpu")
            except InvalidModelFile:
                outcomes[False] += 1
                continue
            outcomes[True] += 1
            assert model.transform(corpus()).shape == (60, 4)
            describe(model)
            repr(model)
    assert outcomes[False] > 100
    assert outcomes[True] > 10, "history and verbosity may be anything of their kind"


def test_the_recipe_and_the_phases_are_saved(tmp_path: Path) -> None:
    tuned = Finetuning(updates=2, rungs=8, bridge=2, sweeps=1)
    quick = {"pretraining": Pretraining(updates=5), "random_state": 0}
    for finetuning, recipe in (
        (None, "quick"),
        (tuned, "quick"),
        (tuned, "density"),
        (None, "full"),
    ):
        model = ReplicatedSoftmax(4, recipe=recipe, finetuning=finetuning, **quick).fit(corpus(150))
        model.save(tmp_path / "model")
        again = docboltz.load(tmp_path / "model")
        assert again.get_params() == model.set_params(device="auto").get_params()
        assert again.pretraining_ == model.pretraining_
        assert again.pretraining_.learning_rate is not None, "the one that was chosen"
        assert again.finetuning_ == model.finetuning_ == finetuning
        assert again.matching_ == model.matching_
        assert (again.matching_ is not None) == (recipe == "full")
        assert again.has_density_ == (finetuning is not None)


def test_what_could_not_be_loaded_is_not_saved(tmp_path: Path) -> None:
    model = ReplicatedSoftmax(4, pretraining=Pretraining(updates=5)).fit(corpus())
    with pytest.raises(InvalidParameter, match="'recipe' parameter"):
        model.set_params(recipe="slow").save(tmp_path / "model")
