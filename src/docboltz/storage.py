"""Saved models: one folder with `model.json` and a safetensors file. No pickle: no code is loaded.

Each save writes its arrays under a new name; `model.json`, which names them, is replaced last and
in one step. So whoever reads the folder finds the old model or the new one, whole, even after a
crash in the middle of a save or with several processes saving at once. `model.json` holds checksums
of the arrays and of itself: a truncated or edited model is refused instead of giving quietly
different numbers.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from docboltz import __version__
from docboltz.errors import InvalidModelFile, InvalidParameter

FORMAT = "docboltz-model"
FORMAT_VERSION = 1
DESCRIPTION = "model.json"
OURS = re.compile(r"\.?(parameters-[0-9a-f]{16}\.safetensors|model\.json)(\.[0-9a-f]{16})?")
"""Names of files this module writes, temporary ones included."""
STALE_SECONDS = 3600
"""Age at which an unnamed file of ours is the remains of a crash, not of a save under way."""
AGAIN = "Copy the whole folder again, or train and save the model again."

Arrays = dict[str, NDArray[Any]]


def save_model(path: str | os.PathLike[str], arrays: Arrays, settings: dict[str, Any]) -> None:
    """Write arrays and JSON-able settings to the folder `path`; replace a model there."""
    from safetensors.numpy import save

    require_writable(path)
    folder = Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    # safetensors keeps the memory order, not the shape's: hand it row-major copies.
    data = save({name: np.ascontiguousarray(array) for name, array in arrays.items()})
    tensors = f"parameters-{secrets.token_hex(8)}.safetensors"
    description = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "docboltz_version": __version__,
        "tensors": tensors,
        "tensors_sha256": hashlib.sha256(data).hexdigest(),
        "settings": settings,
    }
    description["checksum"] = _checksum(description)
    text = json.dumps(description, indent=2, ensure_ascii=False)
    try:
        _write(folder / tensors, data)
        replaced = _named_tensors(folder)
        _write(folder / DESCRIPTION, text.encode())
    except BaseException:
        (folder / tensors).unlink(missing_ok=True)
        raise
    if replaced is not None:
        (folder / replaced).unlink(missing_ok=True)
    _sweep(folder, keep=tensors)


def load_model(path: str | os.PathLike[str]) -> tuple[Arrays, dict[str, Any]]:
    """Read what `save_model` wrote: the arrays and the settings."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    folder = Path(path)
    description = _read_description(folder)
    try:
        data = (folder / description["tensors"]).read_bytes()
    except OSError as error:
        if _read_description(folder) != description:  # replaced by a save since it was read
            return load_model(path)
        raise InvalidModelFile(
            f"The model in {folder} is incomplete: {description['tensors']} cannot be read "
            f"({error.strerror}). {AGAIN}"
        ) from error
    if hashlib.sha256(data).hexdigest() != description["tensors_sha256"]:
        raise InvalidModelFile(
            f"The model in {folder} is damaged: {description['tensors']} ({len(data):,} bytes) is "
            f"truncated or was changed after it was saved. {AGAIN}"
        )
    try:
        return load(data), description["settings"]
    except SafetensorError as error:
        raise InvalidModelFile(f"The model in {folder} is damaged: {error}. {AGAIN}") from error


def require_writable(path: str | os.PathLike[str]) -> None:
    """Say now, rather than after hours of training, that a model cannot be saved to `path`."""
    folder = Path(path)
    if folder.exists() and not folder.is_dir():
        raise InvalidParameter(f"Cannot save a model to {folder}: it is a file. Name a folder.")
    if folder.is_dir() and _is_foreign(folder):
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


def holds_model(path: str | os.PathLike[str]) -> bool:
    """Tell whether there is a model, whole or not, that a save to `path` would replace."""
    return (Path(path) / DESCRIPTION).exists()


def remove_model(path: str | os.PathLike[str]) -> None:
    """Remove what `save_model` wrote, and the folder if nothing else is in it."""
    folder = Path(path)
    if not holds_model(folder):
        return
    for file in sorted(folder.iterdir(), key=lambda file: file.name != DESCRIPTION):
        if OURS.fullmatch(file.name):
            file.unlink(missing_ok=True)
    if not any(folder.iterdir()):
        folder.rmdir()


def fingerprint(path: str | os.PathLike[str]) -> str:
    """Return what tells a saved model from every other: a hash of its arrays and its settings."""
    description = _read_description(Path(path))
    del description["tensors"]  # saving the same model again gives its file another name
    return _checksum(description)


def _is_foreign(folder: Path) -> bool:
    """Tell whether a folder with things in it is anything but a model's."""
    try:
        description = json.loads((folder / DESCRIPTION).read_bytes())
    except FileNotFoundError:
        return any(not OURS.fullmatch(file.name) for file in folder.iterdir())
    except (OSError, ValueError, RecursionError):
        return True
    return not (isinstance(description, dict) and description.get("format") == FORMAT)


def _read_description(folder: Path) -> dict[str, Any]:
    """Read and check `model.json`."""
    file = folder / DESCRIPTION
    try:
        description = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidModelFile(
            f"There is no docboltz model in {folder}: {DESCRIPTION} cannot be read "
            f"({error.strerror}). Name a folder that 'docboltz fit' or save() wrote."
        ) from error
    except (ValueError, RecursionError) as error:
        raise InvalidModelFile(
            f"The model in {folder} is damaged: {DESCRIPTION} is not valid JSON ({error}). {AGAIN}"
        ) from error
    if not isinstance(description, dict) or description.get("format") != FORMAT:
        raise InvalidModelFile(f"{file} does not describe a docboltz model. Name another folder.")
    version = description.get("format_version")
    # A newer format may be laid out differently, so this comes before any look at the rest.
    if isinstance(version, int) and version > FORMAT_VERSION:
        raise InvalidModelFile(
            f"The model in {folder} has format version {version}, written by docboltz "
            f"{description.get('docboltz_version')}; this is docboltz {__version__}, which reads "
            f"versions up to {FORMAT_VERSION}. Upgrade docboltz: pip install --upgrade docboltz"
        )
    if description.pop("checksum", None) != _checksum(description):
        raise InvalidModelFile(
            f"The model in {folder} is damaged: {DESCRIPTION} was changed after it was saved. "
            f"{AGAIN}"
        )
    named = description.get("tensors")
    if not (isinstance(named, str) and OURS.fullmatch(named)):
        raise InvalidModelFile(f"{file} names a file that is not a model's: {named!r}. {AGAIN}")
    return description


def _named_tensors(folder: Path) -> str | None:
    """The arrays' file of the model now in the folder, if there is one."""
    try:
        return str(_read_description(folder)["tensors"])
    except InvalidModelFile:
        return None


def _sweep(folder: Path, *, keep: str) -> None:
    """Remove what crashed saves left behind."""
    oldest = time.time() - STALE_SECONDS
    for file in folder.iterdir():
        if OURS.fullmatch(file.name) and file.name not in (keep, DESCRIPTION):
            try:
                if file.stat().st_mtime < oldest:
                    file.unlink()
            except FileNotFoundError:
                pass  # another save was faster


def _checksum(description: dict[str, Any]) -> str:
    """SHA-256 of the description in one fixed spelling."""
    return hashlib.sha256(json.dumps(description, sort_keys=True).encode()).hexdigest()


def _write(file: Path, data: bytes) -> None:
    """Put `data` under the name `file` in one step: all of it is on disk before the name is."""
    temporary = file.with_name(f".{file.name}.{secrets.token_hex(8)}")
    try:
        with temporary.open("xb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, file)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
