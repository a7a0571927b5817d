"""Saved models whose files are whole but whose content is not what it should be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import docboltz
from docboltz import OverReplicatedSoftmax, Pretraining, ReplicatedSoftmax
from docboltz.errors import InvalidModelFile
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
    "float64": lambda arrays, settings: arrays.update(intercept_hidden=np.zeros(4)),
    "shape": lambda arrays, settings: arrays.update(intercept_visible=np.zeros(3, np.float32)),
    "field": lambda arrays, settings: settings["parameters"]["pretraining"].update(new=1),
    "value": lambda arrays, settings: settings["parameters"]["pretraining"].update(updates=0),
    "policy": lambda arrays, settings: settings["latent_words"].update(policy="None"),
    "updates": lambda arrays, settings: settings.update(updates="many"),
    "names": lambda arrays, settings: settings.update(feature_names=["a"]),
}


@pytest.mark.parametrize("break_it", BREAKS.values(), ids=BREAKS)
def test_content_that_is_not_a_models_is_refused(
    fitted: Any, tmp_path: Path, break_it: Any
) -> None:
    arrays, settings = describe(fitted)
    arrays, settings = dict(arrays), dict(settings)
    break_it(arrays, settings)
    save_model(tmp_path / "model", arrays, settings)
    with pytest.raises(InvalidModelFile, match="does not hold what"):
        docboltz.load(tmp_path / "model")


def test_settings_that_are_no_mapping_are_refused(fitted: Any, tmp_path: Path) -> None:
    save_model(tmp_path / "model", describe(fitted)[0], [])  # type: ignore[arg-type]
    with pytest.raises(InvalidModelFile, match="does not hold what"):
        docboltz.load(tmp_path / "model")
