"""Where fetched data is kept, and how it gets there: whole and verified, or not at all."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

from docboltz.errors import InvalidCorpus


def cache_folder() -> Path:
    """$DOCBOLTZ_CACHE, or the platform's folder for caches."""
    if named := os.environ.get("DOCBOLTZ_CACHE"):
        return Path(named).expanduser()
    home = Path.home()
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = home / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")
    return base / "docboltz"


@contextlib.contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Give a temporary path to write to; it takes the place of `path` only if all went well."""
    # Not by tempfile, whose files only their owner may read, which would outlive the renaming.
    temporary = path.with_name(f".{path.stem}-{uuid.uuid4().hex}{path.suffix}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.touch(exist_ok=False)
    except OSError as error:
        hint = "Set the environment variable DOCBOLTZ_CACHE to a folder that can be written."
        raise InvalidCorpus(
            f"{path} cannot be written: {error.strerror}."
            + (f" {hint}" if path.is_relative_to(cache_folder()) else "")
        ) from error
    try:
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def sha256(path: Path) -> str:
    """The SHA-256 of a file's bytes, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
