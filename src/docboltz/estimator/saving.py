"""A fitted estimator as plain arrays and settings, and back."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from docboltz.errors import InvalidModelFile, is_whole, shown
from docboltz.estimator.settings import SETTINGS
from docboltz.model.latent_words import LatentWords, policy_from_dict, policy_to_dict
from docboltz.storage import MODEL, Arrays, require_parameters, typed
from docboltz.training.course import Look
from docboltz.training.finetune import Finetuning
from docboltz.training.matching import Matching
from docboltz.training.pretrain import Pretraining

if TYPE_CHECKING:
    from docboltz.estimator.base import TopicModel

Model = TypeVar("Model", bound="TopicModel")

PHASES = ("pretraining", "finetuning", "matching")


def describe(model: TopicModel) -> tuple[Arrays, dict[str, Any]]:
    """Take a fitted model apart: arrays for safetensors, settings for JSON."""
    model._check_parameters()  # what is saved has to load
    arrays: Arrays = {
        "components": model.components_,
        "intercept_visible": model.intercept_visible_,
        "intercept_hidden": model.intercept_hidden_,
        "word_frequency": model.word_frequency_,
    }
    phases = {name: getattr(model, f"{name}_") for name in PHASES}
    settings = {
        "model": type(model).__name__,
        "parameters": plain_parameters(model),
        "latent_words": policy_to_dict(model.latent_words_),
        "phases": {name: phase and asdict(phase) for name, phase in phases.items()},
        "updates": model.n_updates_,
        "history": model.history_,
        "looks": [asdict(look) for look in model.looks_],
    }
    if hasattr(model, "feature_names_in_"):
        settings["feature_names"] = model.feature_names_in_.tolist()
    return arrays, settings


def plain_parameters(model: TopicModel) -> dict[str, Any]:
    """The settings a model was made with, as JSON can hold them."""
    params = model.get_params(deep=False)
    for name in ("device", "checkpoint"):
        del params[name]  # belong to the machine, not to the model
    if isinstance(params.get("latent_words"), LatentWords):
        params["latent_words"] = policy_to_dict(params["latent_words"])
    for name in SETTINGS:
        if params[name] is not None:
            params[name] = asdict(params[name])
    if not is_whole(model.random_state):
        params["random_state"] = None  # a generator's state is of no use to a trained model
    return {k: v.item() if isinstance(v, np.generic) else v for k, v in params.items()}


def restore(
    kinds: list[type[Model]],
    arrays: Arrays,
    settings: dict[str, Any],
    *,
    path: str | os.PathLike[str],
    device: str,
) -> Model:
    """Put a model of one of the given classes together again, from what was saved in `path`.

    Whoever wrote the folder, it gives a model like any other or is refused.
    """
    with MODEL.trusting(path):
        by_name, name = {kind.__name__: kind for kind in kinds}, settings["model"]
        if name not in by_name:
            other = shown(name).strip("'")
            raise InvalidModelFile(
                f"This is a saved {other}, not a {' or '.join(by_name)}.",
                hint=f"Use docboltz.load, or {other}.load if the class is your own.",
            )
        model = by_name[name](**_parameters(settings["parameters"]), device=device)
        model._check_parameters()
        model.latent_words_ = policy_from_dict(settings["latent_words"])
        phases = settings["phases"]
        model.pretraining_ = Pretraining(**phases["pretraining"])
        tuned, matched = phases["finetuning"], phases["matching"]
        model.finetuning_ = None if tuned is None else Finetuning(**tuned)
        model.matching_ = None if matched is None else Matching(**matched)
        _require(is_whole(settings["updates"]) and settings["updates"] >= 0, "updates")
        _require(_is_history(settings["history"]), "history")
        model.n_updates_, model.history_ = settings["updates"], settings["history"]
        model.looks_ = [Look(**look) for look in settings["looks"]]
        require_parameters(arrays)
        model.components_ = np.ascontiguousarray(arrays["components"].T).T
        model.intercept_visible_ = arrays["intercept_visible"]
        model.intercept_hidden_ = arrays["intercept_hidden"]
        model.word_frequency_ = arrays["word_frequency"]
        model.n_features_in_ = len(model.word_frequency_)
        if "feature_names" in settings:
            names = typed(tuple[str, ...], settings["feature_names"], "feature_names")
            _require(len(names) == model.n_features_in_, "feature_names")
            model.feature_names_in_ = np.array(names, dtype=object)
        # Not the stream that drew the initial weights, and another after every further update.
        seed = model.random_state
        model._rng = np.random.RandomState(None if seed is None else [seed, model.n_updates_])
        return model


def _parameters(described: dict[str, Any]) -> dict[str, Any]:
    """Parameters of a model out of what JSON holds of them."""
    params = dict(described)
    if isinstance(params.get("latent_words"), dict):
        params["latent_words"] = policy_from_dict(params["latent_words"])
    for name, kind in SETTINGS.items():
        if params[name] is not None:
            params[name] = kind(**params[name])
    _require(params["random_state"] is None or is_whole(params["random_state"]), "random_state")
    return params


def _is_history(history: Any) -> bool:
    """Tell whether this is a list of what was seen on the way."""
    plain = str | int | float | None
    return isinstance(history, list) and all(
        isinstance(entry, dict) and all(isinstance(value, plain) for value in entry.values())
        for entry in history
    )


def _require(ok: object, name: str) -> None:
    if not ok:
        raise ValueError(f"{name} is not a model's")
