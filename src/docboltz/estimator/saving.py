"""A fitted estimator as plain arrays and settings, and back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from docboltz.errors import InvalidModelFile, is_whole
from docboltz.model.latent_words import (
    FixedLatentWords,
    LatentWords,
    LatentWordsUpTo,
    ProportionalLatentWords,
)
from docboltz.storage import Arrays
from docboltz.training.finetune import Finetuning
from docboltz.training.pretrain import Pretraining
from docboltz.training.validation import Validation

if TYPE_CHECKING:
    from docboltz.estimator.base import TopicModel

Model = TypeVar("Model", bound="TopicModel")

POLICIES: dict[str, Callable[..., LatentWords]] = {
    policy.__name__: policy
    for policy in (FixedLatentWords, ProportionalLatentWords, LatentWordsUpTo)
}

SETTINGS: dict[str, type[Any]] = {
    "pretraining": Pretraining,
    "finetuning": Finetuning,
    "validation": Validation,
}
"""Parameters of a model that are settings of their own."""


def policy_to_dict(policy: LatentWords) -> dict[str, Any]:
    """Describe a policy by plain values.

    >>> policy_to_dict(FixedLatentWords(100))
    {'policy': 'FixedLatentWords', 'm': 100}
    """
    return {"policy": type(policy).__name__, **vars(policy)}


def policy_from_dict(description: dict[str, Any]) -> LatentWords:
    """Make the policy that `policy_to_dict` described.

    >>> policy_from_dict({"policy": "LatentWordsUpTo", "n_max": 300})
    LatentWordsUpTo(n_max=300)
    """
    settings = dict(description)
    return POLICIES[settings.pop("policy")](**settings)


def describe(model: TopicModel) -> tuple[Arrays, dict[str, Any]]:
    """Take a fitted model apart: arrays for safetensors, settings for JSON."""
    arrays: Arrays = {
        "components": model.components_,
        "intercept_visible": model.intercept_visible_,
        "intercept_hidden": model.intercept_hidden_,
        "word_frequency": model.word_frequency_,
    }
    settings = {
        "model": type(model).__name__,
        "parameters": plain_parameters(model),
        "latent_words": policy_to_dict(model.latent_words_),
        "updates": model.n_updates_,
        "history": model.history_,
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


def restore(kinds: list[type[Model]], arrays: Arrays, settings: Any, *, device: str) -> Model:
    """Put a saved model of one of the given classes together again."""
    try:
        return _restored({kind.__name__: kind for kind in kinds}, arrays, settings, device)
    except InvalidModelFile:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InvalidModelFile(
            f"The saved model does not hold what this version of docboltz needs "
            f"({type(error).__name__}: {error}). It may come from a newer one: upgrade docboltz."
        ) from error


def _restored(
    kinds: dict[str, type[Model]], arrays: Arrays, settings: dict[str, Any], device: str
) -> Model:
    if settings["model"] not in kinds:
        raise InvalidModelFile(
            f"This is a saved {settings['model']}, not a {' or '.join(kinds)}. Use "
            f"docboltz.load, or {settings['model']}.load if the class is your own."
        )
    params = dict(settings["parameters"])
    if isinstance(params.get("latent_words"), dict):
        params["latent_words"] = policy_from_dict(params["latent_words"])
    for name, kind in SETTINGS.items():
        if params.get(name) is not None:  # models saved before there was such a thing lack it
            params[name] = kind(**params[name])
    model = kinds[settings["model"]](**params, device=device)
    F, K = arrays["components"].shape
    model.components_ = np.ascontiguousarray(_checked(arrays, "components", (F, K)).T).T
    model.intercept_visible_ = _checked(arrays, "intercept_visible", (K,))
    model.intercept_hidden_ = _checked(arrays, "intercept_hidden", (F,))
    if "word_frequency" in arrays:
        model.word_frequency_ = _checked(arrays, "word_frequency", (K,))
    else:  # a model saved before it was kept: its word biases began there
        share = np.exp(model.intercept_visible_ - model.intercept_visible_.max())
        model.word_frequency_ = share / share.sum()
    model.latent_words_ = policy_from_dict(settings["latent_words"])
    model.n_updates_ = int(settings["updates"])
    model.history_ = settings.get("history", [])
    model.n_features_in_ = K
    if "feature_names" in settings:
        names = np.array(settings["feature_names"], dtype=object)
        if names.shape != (K,):
            raise ValueError(f"{len(names)} feature names for {K} features")
        model.feature_names_in_ = names
    # Not the stream that drew the initial weights, and another one after every further update.
    seed = model.random_state
    model._rng = np.random.RandomState(None if seed is None else [seed, model.n_updates_])
    return model


def _checked(arrays: Arrays, name: str, shape: tuple[int, ...]) -> NDArray[np.float32]:
    """An array of the expected kind, with nothing in it that training cannot have made."""
    array = arrays[name]
    if array.shape != shape or array.dtype != np.float32 or not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite float32 of shape {shape}")
    return array
