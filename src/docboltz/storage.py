"""Saved models and checkpoints: arrays in a safetensors file, settings in JSON. No pickle."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from docboltz.bundles import Bundle, identity
from docboltz.errors import InvalidModelFile
from docboltz.files import StrPath

PARAMETERS = "parameters.safetensors"

MODEL = Bundle(
    noun="model",
    format="docboltz-model",
    version=4,
    manifest="model.json",
    files=(PARAMETERS,),
    remedy="Name a model's folder, copied whole; if it is one, make it again with {TextModel.fit}.",
    settings=("TextModel.fit",),
    also=("search", "topics", "map"),
    patience=60.0,
)
CHECKPOINT = Bundle(
    noun="training checkpoint",
    format="docboltz-checkpoint",
    version=2,
    manifest="checkpoint.json",
    files=(PARAMETERS,),
    remedy="To train from the start, remove the folder.",
    patience=60.0,
)

Arrays = dict[str, NDArray[Any]]


def save_model(
    path: StrPath, arrays: Arrays, settings: dict[str, Any], kind: Bundle = MODEL
) -> None:
    """Write arrays and JSON-able settings to the folder `path`; replace a model there."""
    kind.require_writable(path)
    with kind.saving(path) as build:
        (build.path / PARAMETERS).write_bytes(_packed(arrays))
        build.publish(settings)


def load_model(path: StrPath, kind: Bundle = MODEL) -> tuple[Arrays, dict[str, Any]]:
    """Read what `save_model` wrote: the arrays and the settings."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    for attempt in range(3):
        opened = kind.open(path)
        try:
            data = kind.read(opened, PARAMETERS)
            break
        except InvalidModelFile:  # perhaps replaced by a save since its manifest was read
            if attempt == 2 or kind.open(path).build == opened.build:
                raise
    try:
        return load(data), opened.content
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        raise kind.damaged(path, f"{PARAMETERS} is no safetensors file ({error})") from error


def require_parameters(arrays: Arrays) -> None:
    """Raise KeyError or ValueError unless these are what training makes: F units, K words."""
    F, K = arrays["components"].shape
    sizes: dict[str, tuple[int, ...]] = {"components": (F, K), "intercept_hidden": (F,)}
    sizes |= {"intercept_visible": (K,), "word_frequency": (K,)}
    for name, shape in sizes.items():
        array = arrays[name]
        fits = array.shape == shape and array.size and array.dtype == np.float32
        if not (fits and np.isfinite(array).all()):
            raise ValueError(f"{name} must be finite float32 of shape {shape}")
    if not (arrays["word_frequency"] > 0).all():
        raise ValueError("every word has a frequency above 0")


def fingerprint(path: StrPath) -> str:
    """Return what tells a saved model from every other: a hash of its arrays and its settings."""
    return MODEL.open(path).identity


def fingerprint_of(arrays: Arrays, settings: dict[str, Any]) -> str:
    """The fingerprint that a model will have when it is saved."""
    return identity(settings, {PARAMETERS: hashlib.sha256(_packed(arrays)).hexdigest()})


def _packed(arrays: Arrays) -> bytes:
    from safetensors.numpy import save

    # safetensors keeps the memory order, not the shape's: hand it row-major copies.
    data: bytes = save({name: np.ascontiguousarray(array) for name, array in arrays.items()})
    return data
