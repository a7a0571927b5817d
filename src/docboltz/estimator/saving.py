"""A fitted estimator as plain arrays and settings, and back."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from sklearn.utils import check_random_state

from docboltz.errors import InvalidModelFile
from docboltz.model.latent_words import LatentWords, policy_from_dict, policy_to_dict
from docboltz.storage import Arrays
from docboltz.training.pretrain import Pretraining

if TYPE_CHECKING:
    from docboltz.estimator.base import TopicModel

Model = TypeVar("Model", bound="TopicModel")


def describe(model: TopicModel) -> tuple[Arrays, dict[str, Any]]:
    """Take a fitted model apart: arrays for safetensors, settings for JSON."""
    arrays: Arrays = {
        "components": model.components_,
        "intercept_visible": model.intercept_visible_,
        "intercept_hidden": model.intercept_hidden_,
    }
    params = model.get_params(deep=False)
    del params["device"]  # belongs to the machine, not to the model
    if isinstance(params.get("latent_words"), LatentWords):
        params["latent_words"] = policy_to_dict(params["latent_words"])
    if model.pretraining is not None:
        params["pretraining"] = asdict(model.pretraining)
    if not isinstance(model.random_state, int):
        params["random_state"] = None  # a generator's state is of no use to a trained model
    settings = {
        "model": type(model).__name__,
        "parameters": {k: v.item() if isinstance(v, np.generic) else v for k, v in params.items()},
        "latent_words": policy_to_dict(model.latent_words_),
        "updates": model.n_updates_,
    }
    if hasattr(model, "feature_names_in_"):
        settings["feature_names"] = model.feature_names_in_.tolist()
    return arrays, settings


def restore(cls: type[Model], arrays: Arrays, settings: dict[str, Any], *, device: str) -> Model:
    """Put a model of class `cls`, or of the subclass that was saved, together again."""
    classes = {c.__name__: c for c in (cls, *cls.__subclasses__())}
    if settings["model"] not in classes:
        raise InvalidModelFile(
            f"This is a saved {settings['model']}, not a {cls.__name__}. Use docboltz.load, which "
            "reads every kind of model."
        )
    params = settings["parameters"]
    if isinstance(params.get("latent_words"), dict):
        params["latent_words"] = policy_from_dict(params["latent_words"])
    if params["pretraining"] is not None:
        params["pretraining"] = Pretraining(**params["pretraining"])
    model = classes[settings["model"]](**params, device=device)
    model.components_ = np.ascontiguousarray(arrays["components"].T).T
    model.intercept_visible_ = arrays["intercept_visible"]
    model.intercept_hidden_ = arrays["intercept_hidden"]
    model.latent_words_ = policy_from_dict(settings["latent_words"])
    model.n_updates_ = settings["updates"]
    model.n_features_in_ = model.components_.shape[1]
    if "feature_names" in settings:
        model.feature_names_in_ = np.array(settings["feature_names"], dtype=object)
    model._velocity, model._rng = None, check_random_state(model.random_state)
    return model
