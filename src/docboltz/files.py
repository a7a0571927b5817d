"""Files that docboltz writes: whole or not at all, on the disk itself, where they may be."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from docboltz.errors import InvalidCorpus, InvalidParameter

StrPath = str | os.PathLike[str]


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary path to write to; synced, it takes the place of `path` if all went well."""
    # Not by tempfile, whose files only their owner may read, which would outlive the renaming.
    temporary = path.with_name(f".{path.stem}-{secrets.token_hex(8)}{path.suffix}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.touch(exist_ok=False)
    except OSError as error:
        cached = path.is_relative_to(cache_folder())
        hint = "Set the environment variable DOCBOLTZ_CACHE to a folder that can be written."
        raise InvalidCorpus(
            f"{path} cannot be written: {error.strerror}.", hint=hint if cached else ""
        ) from error
    try:
        yield temporary
        sync(temporary)
        os.replace(temporary, path)
        sync(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a whole file in UTF-8, or nothing."""
    with replacing(path) as draft:
        draft.write_text(text, encoding="utf-8")


def sync(path: Path) -> None:
    """Have a file's content, or a folder's names, written to the disk itself."""
    if sys.platform == "win32":  # folders cannot be opened there
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sha256(path: Path) -> str:
    """The SHA-256 of a file's bytes, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def digest(value: Any) -> str:
    """SHA-256 of what JSON can hold, in one fixed spelling."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def cache_folder() -> Path:
    """$DOCBOLTZ_CACHE, or the platform's folder for caches."""
    from platformdirs import user_cache_path

    named = os.environ.get("DOCBOLTZ_CACHE")
    return Path(named).expanduser() if named else user_cache_path("docboltz", appauthor=False)


def require_writable(folder: StrPath, noun: str = "reports") -> None:
    """Say now, rather than after hours of work, that nothing can be written to `folder`."""
    path = Path(folder)
    if not os.fspath(folder) or "\0" in os.fspath(folder):
        raise InvalidParameter(f"Cannot write {noun} to {os.fspath(folder)!r}: name a folder.")
    parent = next(f for f in (path, *path.absolute().parents) if f.exists() or f.is_symlink())
    if not parent.is_dir():
        at = "it" if parent == path else f"{parent}"
        raise InvalidParameter(f"Cannot write {noun} to {path}: {at} is a file. Name a folder.")
    try:  # asking for the permission would not do: some places refuse all the same
        os.rmdir(tempfile.mkdtemp(prefix=".docboltz-", dir=parent))
    except OSError as error:
        raise InvalidParameter(
            f"Cannot write {noun} to {path}: {error.strerror} ({parent}).",
            hint="Name another folder.",
        ) from error
