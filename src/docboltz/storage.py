"""Saved models: one folder with `model.json` and a safetensors file. No pickle: no code is loaded.

The tensors' file carries its own SHA-256 in its name, and `model.json`, which names it, is replaced
last and in one step: whoever reads the folder, even after a crash in the middle of a save, finds
the old model or the new one, whole. `model.json` ends with a checksum of itself, so that a
truncated or edited model is refused instead of giving quietly different numbers.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from docboltz import __version__
from docboltz.errors import InvalidModelFile, InvalidParameter

FORMAT = "docboltz-model"
FORMAT_VERSION = 1
DESCRIPTION = "model.json"

Arrays = dict[str, NDArray[Any]]


def save_model(path: str | os.PathLike[str], arrays: Arrays, settings: dict[str, Any]) -> None:
    """Write arrays and JSON-able settings to the folder `path`; replace a model there."""
    from safetensors.numpy import save

    require_writable(path)
    folder = Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    # safetensors keeps the memory order, not the shape's: hand it row-major copies.
    data = save({name: np.ascontiguousarray(array) for name, array in arrays.items()})
    digest = hashlib.sha256(data).hexdigest()
    tensors = f"parameters-{digest[:16]}.safetensors"
    _write(folder / tensors, data)
    description = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "docboltz_version": __version__,
        "tensors": tensors,
        "tensors_sha256": digest,
        "settings": settings,
    }
    description["checksum"] = _checksum(description)
    text = json.dumps(description, indent=2, ensure_ascii=False)
    _write(folder / DESCRIPTION, text.encode())
    for old in folder.glob("parameters-*.safetensors"):
        if old.name != tensors:
            old.unlink(missing_ok=True)


def require_writable(path: str | os.PathLike[str]) -> None:
    """Say now, rather than after hours of training, that a model cannot be saved to `path`."""
    folder = Path(path)
    if folder.exists() and not folder.is_dir():
        raise InvalidParameter(f"Cannot save a model to {folder}: it is a file. Name a folder.")
    if folder.is_dir() and not (folder / DESCRIPTION).exists() and _foreign_files(folder):
        raise InvalidParameter(
            f"Cannot save a model to {folder}: the folder holds other things. Name a new folder, "
            "or one that holds a model already."
        )
    parent = next(f for f in (folder, *folder.absolute().parents) if f.exists())
    if not os.access(parent, os.W_OK):
        raise InvalidParameter(
            f"Cannot save a model to {folder}: no permission to write to {parent}. Name another "
            "folder."
        )


def fingerprint(path: str | os.PathLike[str]) -> str:
    """Return what tells a saved model from every other: the SHA-256 of its arrays."""
    return str(_read_description(Path(path))["tensors_sha256"])


def load_model(path: str | os.PathLike[str]) -> tuple[Arrays, dict[str, Any]]:
    """Read what `save_model` wrote: the arrays and the settings."""
    from safetensors.numpy import load

    folder = Path(path)
    description = _read_description(folder)
    file = folder / description["tensors"]
    if file.parent != folder:
        raise InvalidModelFile(f"{folder / DESCRIPTION} names a file outside its folder: {file}.")
    try:
        data = file.read_bytes()
    except OSError as error:
        raise InvalidModelFile(
            f"The model in {folder} is incomplete: {file.name} cannot be read ({error.strerror}). "
            "Copy the whole folder again, or train and save the model again."
        ) from error
    if hashlib.sha256(data).hexdigest() != description["tensors_sha256"]:
        raise InvalidModelFile(
            f"The model in {folder} is damaged: {file.name} ({len(data):,} bytes) is truncated or "
            "was changed after it was saved. Copy the whole folder again, or train and save again."
        )
    return load(data), description["settings"]


def _foreign_files(folder: Path) -> bool:
    """Tell whether a folder holds more than what an interrupted save leaves behind."""
    return any(not f.name.startswith(("parameters-", ".")) for f in folder.iterdir())


def _read_description(folder: Path) -> dict[str, Any]:
    """Read and check `model.json`."""
    file = folder / DESCRIPTION
    try:
        description = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidModelFile(
            f"There is no docboltz model in {folder}: {DESCRIPTION} cannot be read "
            f"({error.strerror}). Name the folder that save() wrote."
        ) from error
    except ValueError as error:
        raise InvalidModelFile(
            f"The model in {folder} is damaged: {DESCRIPTION} is not valid JSON ({error}). Copy "
            "the whole folder again, or train and save the model again."
        ) from error
    if not isinstance(description, dict) or description.get("format") != FORMAT:
        raise InvalidModelFile(f"{file} does not describe a docboltz model. Name another folder.")
    version = description.get("format_version")
    # A newer format may be laid out differently, so this comes before any look at the rest.
    if not isinstance(version, int) or version > FORMAT_VERSION:
        raise InvalidModelFile(
            f"The model in {folder} has format version {version}, written by docboltz "
            f"{description.get('docboltz_version')}; this is docboltz {__version__}, which reads "
            f"versions up to {FORMAT_VERSION}. Upgrade docboltz: pip install --upgrade docboltz"
        )
    if description.pop("checksum", None) != _checksum(description):
        raise InvalidModelFile(
            f"The model in {folder} is damaged: {DESCRIPTION} was changed after it was saved. Copy "
            "the whole folder again, or train and save the model again."
        )
    return description


def _checksum(description: dict[str, Any]) -> str:
    """SHA-256 of the description in one fixed spelling."""
    return hashlib.sha256(json.dumps(description, sort_keys=True).encode()).hexdigest()


def _write(file: Path, data: bytes) -> None:
    """Put `data` under the name `file` in one step: all of it is on disk before the name is."""
    temporary = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
    try:
        with temporary.open("xb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, file)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
