"""Folders that are saved and read back as a whole: atomic, synced, checksummed, locked, strict.

A saved model, a training checkpoint and a search store are each a *bundle*, a folder of this shape:

    model.json               the manifest: format, content, sizes and SHA-256 of the files, and a
                             checksum of itself
    build-0123456789abcdef/  the files, in a sub-folder of their own for each save

A save writes a new build and replaces the manifest, which names it, last and in one step. So a
folder holds the whole old bundle or the whole new one at any time, whatever stops a save, and what
was truncated or edited is refused instead of giving quietly different numbers. Nothing outside the
folder is read, whatever a manifest says.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import secrets
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from numpy.typing import NDArray

from docboltz.errors import InvalidModelFile, InvalidParameter, NoAnswer
from docboltz.files import (
    StrPath,
    digest,
    parse_json,
    read_file,
    require_writable,
    sha256,
    sync,
)

Loaded = TypeVar("Loaded")
LOCK = ".lock"
_BUILD = re.compile("build-[0-9a-f]{16}")
_SHA256 = re.compile("[0-9a-f]{64}")
_MALFORMED: tuple[type[Exception], ...] = (LookupError, TypeError, ValueError, AttributeError)
_MALFORMED += (ArithmeticError, RuntimeError)  # RuntimeError is torch's
"""What code that trusts a description runs into where there is no reason to.

Not MemoryError: a machine that is short of memory says nothing about what was saved."""


@dataclass(frozen=True)
class Fingerprint:
    """What tells one file from another, or from a damaged copy."""

    bytes: int
    sha256: str

    @classmethod
    def of(cls, file: Path) -> Fingerprint:
        """Read the whole file."""
        return cls(file.stat().st_size, sha256(file))


@dataclass(frozen=True)
class Opened:
    """A bundle's manifest, checked."""

    folder: Path
    build: str
    content: dict[str, Any]
    files: dict[str, Fingerprint]

    def file(self, name: str) -> Path:
        """Where a file of the bundle is: always below its folder."""
        return self.folder / self.build / name

    @property
    def identity(self) -> str:
        """What tells the bundle from every other: the same however often it is saved."""
        return identity(self.content, {name: f.sha256 for name, f in self.files.items()})


def identity(content: dict[str, Any], files: dict[str, str]) -> str:
    """The identity of a bundle of that content and files of those SHA-256."""
    return digest([content, files])


@dataclass(frozen=True)
class Bundle:
    """A kind of bundle."""

    noun: str
    """What messages call it."""
    format: str
    version: int
    manifest: str
    """Name of its manifest."""
    files: tuple[str, ...]
    """Names of its files; a manifest that names others is refused."""
    remedy: str
    """What to do about one that cannot be used."""
    settings: tuple[str, ...] = ()
    """What the remedy names in braces; see `docboltz.errors`."""
    also: tuple[str, ...] = ()
    """What else may lie in its folder."""
    patience: float = 0.0
    """Seconds to wait for another process that writes the same folder."""

    def exists(self, folder: StrPath) -> bool:
        """Tell whether there is one, whole or not, that a save to `folder` would replace."""
        return (Path(folder) / self.manifest).exists()

    def inside(self, folder: Path, name: str) -> Path:
        """Where one of this kind is in the folder of another; a link would lead out of it."""
        path = folder / name
        if path.is_symlink():
            raise self.unusable(path, "is a link")
        return path

    def open(self, folder: StrPath) -> Opened:
        """Read and check the manifest; the sizes of the files, not their content."""
        opened = self._manifest(Path(folder))
        while (fault := self._fault(opened)) is not None:
            before, opened = opened, self._manifest(Path(folder))
            if opened.build == before.build:  # else a save has replaced it, and removed its files
                raise self.damaged(folder, fault)
        return opened

    def load(self, folder: StrPath, make: Callable[[Opened], Loaded], checked: float) -> Loaded:
        """What `make` makes of the files, which a save may replace and remove meanwhile.

        The bytes of files up to a size, `checked`, are compared with the manifest.
        """
        for attempt in range(3):
            opened = self.open(folder)
            try:
                self.verify(opened, checked)
                return make(opened)
            except (OSError, InvalidModelFile) as error:
                if attempt < 2 and self.open(folder).build != opened.build:
                    continue
                if isinstance(error, InvalidModelFile):
                    raise
                raise self.unusable(folder, f"cannot be read ({error.strerror})") from error
        raise AssertionError

    def copy(
        self, opened: Opened, folder: StrPath, mapped: Mapping[str, NDArray[Any]] | None = None
    ) -> None:
        """Save the same to another folder; of bytes that are `mapped`, files may be gone."""
        with self.saving(folder) as build:
            for name, recorded in opened.files.items():
                with self._reading(opened, name) if mapped is None else nullcontext():
                    if mapped is None:
                        shutil.copyfile(opened.file(name), build.path / name)
                    else:
                        (build.path / name).write_bytes(mapped[name].data)
                if Fingerprint.of(build.path / name) != recorded:
                    raise self.damaged(opened.folder, f"{name} was changed after it was saved")
            build.publish(opened.content)

    def read(self, opened: Opened, name: str) -> bytes:
        """The bytes of a file, if they are those that were saved."""
        with self._reading(opened, name):
            data = read_file(opened.file(name), opened.files[name].bytes, follow=False)
        if hashlib.sha256(data).hexdigest() != opened.files[name].sha256:
            raise self.damaged(opened.folder, f"{name} was changed after it was saved")
        return data

    def verify(self, opened: Opened, most: float = math.inf) -> None:
        """Read all files, or those of at most so many bytes, and compare them with the manifest."""
        for name, recorded in opened.files.items():
            if recorded.bytes > most:
                continue
            with self._reading(opened, name):
                same = Fingerprint.of(opened.file(name)) == recorded
            if not same:
                raise self.damaged(opened.folder, f"{name} was changed after it was saved")

    def require_writable(self, folder: StrPath) -> None:
        """Say now, rather than after hours of work, that it cannot be saved to `folder`."""
        require_writable(folder, f"a {self.noun}")
        path = Path(folder)
        if path.is_dir() and self._is_foreign(path):
            raise InvalidParameter(
                f"Cannot write a {self.noun} to {path}: the folder holds other things.",
                hint=f"Name a new folder, or one that holds a {self.noun} already.",
            )

    @contextmanager
    def saving(self, folder: StrPath) -> Iterator[Build]:
        """A build to write files to and to publish. What is not published is removed."""
        path = Path(folder)
        made = not path.exists()
        try:
            path.mkdir(parents=True, exist_ok=True)
            with self.locked(path):
                before, build = self._builds(path), Build(self, path)
                try:
                    build.path.mkdir()
                    sync(path.parent)  # where a new folder got its name
                    yield build
                finally:
                    self._remove_unused(path, before, build.path)
                    if made and not self.exists(path):
                        with suppress(OSError):
                            (path / LOCK).unlink(missing_ok=True)
                            path.rmdir()
        except OSError as error:  # no permission, no space
            raise InvalidParameter(
                f"The {self.noun} cannot be written to {path}: {error.strerror or error}.",
                hint="Free some space or name another folder; one that was there is still there.",
            ) from error

    @contextmanager
    def locked(self, folder: StrPath) -> Iterator[None]:
        """Keep others from writing the folder: two saves at once would remove each other's files.

        Who has the lock may save: a thread takes it as often as it likes.
        """
        from filelock import FileLock, Timeout

        lock = FileLock(Path(folder) / LOCK, is_singleton=True)
        try:
            lock.acquire(timeout=self.patience)
        except Timeout:
            raise InvalidParameter(
                f"Another process is writing the {self.noun} in {os.fspath(folder)}.",
                hint="Wait for it to end, or name another folder.",
            ) from None
        except NotImplementedError:  # some network file systems have no locks
            yield
            return
        try:
            yield
        finally:
            lock.release()

    def remove(self, folder: StrPath) -> None:
        """Remove one that was saved, or half of one, and the folder if nothing else is in it."""
        path = Path(folder)
        if not path.is_dir() or self._is_foreign(path):
            return
        with self.locked(path):
            builds = self._builds(path)
            (path / self.manifest).unlink(missing_ok=True)
            for build in builds:
                shutil.rmtree(build, ignore_errors=True)
        (path / LOCK).unlink(missing_ok=True)
        if not any(path.iterdir()):
            path.rmdir()

    @contextmanager
    def trusting(self, folder: StrPath) -> Iterator[None]:
        """Make what goes wrong while a manifest's content is used the manifest's fault."""
        try:
            yield
        except (InvalidModelFile, NoAnswer):
            raise
        except _MALFORMED as error:
            cause = f"{type(error).__name__}: {error}"
            what = f"does not hold what this version of docboltz needs ({cause})"
            raise self.unusable(folder, what) from error

    def unusable(self, folder: StrPath, what: str) -> InvalidModelFile:
        """An error for a bundle that cannot be used."""
        problem = f"The {self.noun} in {os.fspath(folder)} {what}."
        return InvalidModelFile(problem, hint=self.remedy, settings=self.settings)

    def damaged(self, folder: StrPath, what: str) -> InvalidModelFile:
        """An error for a bundle that is not as it was saved."""
        return self.unusable(folder, f"is damaged: {what}")

    @contextmanager
    def _reading(self, opened: Opened, name: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            reason = f"{name} cannot be read ({error.strerror})"
            raise self.damaged(opened.folder, reason) from error

    def _manifest(self, folder: Path) -> Opened:
        content = self._described(folder / self.manifest)
        if not isinstance(content, dict) or content.pop("format", None) != self.format:
            raise self.damaged(folder, f"{self.manifest} does not describe a {self.noun}")
        version, writer = content.pop("version", None), content.pop("docboltz", None)
        if version != self.version:
            by = f", written by docboltz {writer}," if isinstance(writer, str) else ""
            other = f"has format {str(version)[:20]}{by}"
            error = self.unusable(folder, f"{other} and this docboltz reads format {self.version}")
            if isinstance(version, int) and version > self.version:
                error.hint = "Upgrade docboltz: pip install --upgrade docboltz"
            raise error
        if content.pop("checksum", None) != digest(content):
            raise self.damaged(folder, f"{self.manifest} was changed after it was saved")
        with self.trusting(folder):
            build, files = content["build"], content["files"]
            if not (_BUILD.fullmatch(build) and set(files) == set(self.files)):
                raise self.damaged(folder, f"{self.manifest} names files that are not its own")
            prints = {name: Fingerprint(**each) for name, each in files.items()}
            for name, each in prints.items():
                if type(each.bytes) is not int or not _SHA256.fullmatch(each.sha256):
                    raise self.damaged(folder, f"{self.manifest} says nothing sensible of {name}")
            if not isinstance(content["content"], dict):
                raise self.damaged(folder, f"{self.manifest} has no content")
            json.dumps(content["content"], ensure_ascii=False).encode()  # no half characters
            return Opened(folder, build, content["content"], prints)

    def _described(self, file: Path) -> Any:
        folder = file.parent
        try:
            return parse_json(read_file(file, follow=False))
        except OSError as error:
            raise InvalidModelFile(
                f"There is no docboltz {self.noun} in {folder}: {file.name} cannot be read "
                f"({error.strerror}).",
                hint=self.remedy,
                settings=self.settings,
            ) from error
        except ValueError as error:
            raise self.damaged(folder, f"{file.name} is not valid JSON ({error})") from error

    def _fault(self, opened: Opened) -> str | None:
        """What is wrong with the files; links lead out of the folder and are not followed."""
        for name, recorded in opened.files.items():
            try:
                build, file = os.lstat(opened.folder / opened.build), os.lstat(opened.file(name))
            except OSError:
                return f"{name} is missing"
            if not (stat.S_ISDIR(build.st_mode) and stat.S_ISREG(file.st_mode)):
                return f"{name} is not a plain file"
            if file.st_size != recorded.bytes:
                return f"{name} has {file.st_size:,} bytes instead of {recorded.bytes:,}"
        return None

    def _is_foreign(self, folder: Path) -> bool:
        """Tell whether a folder with things in it is anything but this kind's."""
        try:
            described = self._described(folder / self.manifest)
        except InvalidModelFile:
            names = {entry.name for entry in folder.iterdir()}
            ours = {build.name for build in self._builds(folder)} | ({LOCK} & names)
            damaged = {self.manifest} if ours else set()  # beside a build it was ours
            return bool(names - ours - damaged - {*self.also})
        return not (isinstance(described, dict) and described.get("format") == self.format)

    def _builds(self, folder: Path) -> list[Path]:
        """All builds of this kind: folders of such a name with no other files than builds have."""
        named, files = self._named(folder)
        found = [entry for entry in folder.iterdir() if _BUILD.fullmatch(entry.name)]
        real = [entry for entry in found if entry.is_dir() and not entry.is_symlink()]
        own = {entry: {*self.files, *(files if entry.name == named else ())} for entry in real}
        return [e for e in real if (own[e] | {self.manifest}).issuperset(os.listdir(e))]

    def _named(self, folder: Path) -> tuple[object, set[str]]:
        """The build that a manifest names, and its files: other ones in an earlier version."""
        try:
            described = self._described(folder / self.manifest)
        except InvalidModelFile:
            return None, set()
        if not isinstance(described, dict) or described.get("format") != self.format:
            return None, set()
        files = described.get("files")
        return described.get("build"), set(files) if isinstance(files, dict) else set()

    def _remove_unused(self, folder: Path, before: list[Path], own: Path) -> None:
        """Remove what was there before, or `own` if it failed, and what killed saves left behind.

        Which one is in use is read from disk: an interrupt may come right after the replacement.
        """
        try:
            used, builds = self._manifest(folder).build, [*before, own]
        except (InvalidModelFile, OSError):  # none yet, or one this version cannot read
            used, builds = "", [own]
        for build in builds:
            if build.name != used:
                # Windows keeps a file that a reader has mapped; the next save will remove it.
                shutil.rmtree(build, ignore_errors=True)


class Build:
    """A bundle in the making."""

    def __init__(self, kind: Bundle, folder: Path) -> None:
        self._kind, self._folder = kind, folder
        self.path = folder / f"build-{secrets.token_hex(8)}"
        """Where to write the files."""

    def publish(
        self, content: dict[str, Any], *, guard: AbstractContextManager[None] | None = None
    ) -> None:
        """Make this build the one in use: all of it is on the disk before the manifest names it.

        `guard` is held while that happens, and may still refuse.
        """
        from docboltz import __version__

        kind = self._kind
        files = {name: vars(Fingerprint.of(self.path / name)) for name in kind.files}
        described = {"build": self.path.name, "files": files, "content": content}
        head = {"format": kind.format, "version": kind.version, "docboltz": __version__}
        whole = {**head, **described, "checksum": digest(described)}
        draft = self.path / kind.manifest
        draft.write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        for path in (*(self.path / name for name in kind.files), draft, self.path, self._folder):
            sync(path)
        with guard or nullcontext():
            os.replace(draft, self._folder / kind.manifest)  # from here on this is the bundle
        sync(self._folder)
