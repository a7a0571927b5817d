"""How a store is replaced in one step, whatever stops a build.

Each build writes a sub-folder of its own, and store.json, which names the one in use, is replaced
last. The folder holds the whole old store or the whole new one at any time. A store already open
goes on reading the files it opened.
"""

from __future__ import annotations

import os
import secrets
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from docboltz.errors import InvalidModelFile, InvalidParameter
from docboltz.search.manifest import BUILD, DOCUMENTS, FEATURES, MANIFEST, Manifest


@contextmanager
def new_build(folder: Path) -> Iterator[Path]:
    """A fresh sub-folder to write to. At the end all builds but the one in use are removed."""
    made_folder = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    build = folder / f"build-{secrets.token_hex(8)}"
    with _locked(folder):
        try:
            build.mkdir()
            yield build
        finally:
            _remove_unused(folder, build)
            if made_folder:
                with suppress(OSError):  # not empty: a success
                    folder.rmdir()


def publish(build: Path, manifest: Manifest) -> None:
    """Make a finished build the one in use. All of it is on the disk before store.json names it."""
    draft = build / MANIFEST
    draft.write_text(manifest.dump(), encoding="utf-8")
    for path in (build / FEATURES, build / DOCUMENTS, draft, build, build.parent):
        _sync(path)
    os.replace(draft, build.parent / MANIFEST)  # from here on the new store is the store
    _sync(build.parent)


@contextmanager
def writing_to(folder: Path) -> Iterator[None]:
    """Turn the system's refusal to write (no permission, no space) into a message for the user."""
    try:
        yield
    except OSError as error:
        raise InvalidParameter(
            f"The search index cannot be written to {folder}: {error.strerror or error}. "
            "Free some space or name another folder; an index that was there is still there."
        ) from error


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Refuse a second build at the same time, which would remove the files of the first.

    The lock is on the folder itself: nothing is left behind when the process ends.
    """
    if sys.platform == "win32":  # folders cannot be locked there
        yield
        return
    import fcntl

    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InvalidParameter(
                f"Another process is building the search index in {folder}. Wait for it to end, or "
                "name another folder."
            ) from None
        except OSError:
            pass  # some network file systems have no locks
        yield
    finally:
        os.close(descriptor)


def _remove_unused(folder: Path, own: Path) -> None:
    """Remove the old build, or `own` if it failed, and what killed builds left behind.

    Which one is in use is read from disk: an interrupt may come right after the replacement.
    """
    try:
        used = Manifest.load(folder).build
        builds = [path for path in folder.iterdir() if BUILD.fullmatch(path.name)]
    except (InvalidModelFile, OSError):  # none yet, or one this version cannot read
        used, builds = "", [own]
    for build in builds:
        if build.name != used:
            # Windows keeps a file that a reader has mapped; the next build will remove it.
            shutil.rmtree(build, ignore_errors=True)


def _sync(path: Path) -> None:
    """Have a file's content, or a folder's names, written to the disk itself."""
    if sys.platform == "win32":  # folders cannot be opened there
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
