"""Files and folders: written whole or not at all, and checked when they are read. Settings."""

from __future__ import annotations

import errno
import hashlib
import io
import json
import math
import os
import platform
import re
import secrets
import shutil
import stat
import sys
import tempfile
import time
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, fields, is_dataclass
from fnmatch import fnmatch
from functools import cache
from glob import escape, has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from docboltz.errors import InvalidCorpus, InvalidModelFile, InvalidParameter, NoAnswer

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_DIGITS = 12
"""Of a number that is typed."""


class ShortRepr:
    """Shows only what is not as it is by default. For dataclasses made with `repr=False`.

    >>> from docboltz import Pretraining
    >>> Pretraining(updates=500)
    Pretraining(updates=500)
    """

    def given(self) -> dict[str, Any]:
        """The settings that are not as they are by default."""
        values = ((field, getattr(self, field.name)) for field in fields(self))  # type: ignore[arg-type]
        return {field.name: value for field, value in values if value != field.default}

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={_short(value)}" for name, value in self.given().items())
        return f"{type(self).__name__}({shown})"


class SavedSettings(ShortRepr):
    """Settings that are kept with a model, as JSON."""

    @classmethod
    def from_dict(cls, saved: Any) -> Self:
        """The settings that were saved; InvalidParameter for anything else."""
        if not isinstance(saved, Mapping):
            raise InvalidParameter(f"{cls.__name__} is a mapping. Got {type(saved).__name__}.")
        unknown = sorted(map(repr, set(saved) - {field.name for field in fields(cls)}))  # type: ignore[arg-type]
        if unknown:
            raise InvalidParameter(
                f"{cls.__name__} has no settings {', '.join(unknown)}.",
                hint="If they come from a saved model, a newer version of docboltz saved it.",
            )
        # JSON knows no tuples.
        return cls(**{k: tuple(v) if isinstance(v, list) else v for k, v in saved.items()})


def typed(kind: Any, value: Any, place: str) -> Any:
    """A value of a type that a field of a dataclass has, from JSON; refused if it is of another.

    The one strict reader of what docboltz has written itself.
    """
    origin, of = typing.get_origin(kind), typing.get_args(kind)
    if kind is float and type(value) in (int, float) and math.isfinite(value):
        return float(value)
    if kind is not float and (kind is Any or type(value) is kind):
        return value
    if origin is typing.Literal and type(value) is str and value in of:
        return value
    if origin is types.UnionType:
        for one in of:
            with suppress(InvalidParameter):
                return typed(one, value, place)
    elif is_dataclass(kind) and isinstance(value, dict):
        build: Any = kind
        hints = _hints(build)
        if hints.keys() == value.keys():
            return build(**{k: typed(hints[k], v, f"{place}.{k}") for k, v in value.items()})
    elif origin is tuple and isinstance(value, list):
        kinds = of[:1] * len(value) if of[-1] is Ellipsis else of
        if len(kinds) == len(value):
            parts = enumerate(zip(kinds, value, strict=True))
            return tuple(typed(kind, part, f"{place}[{i}]") for i, (kind, part) in parts)
    elif origin is dict and isinstance(value, dict):
        return {k: typed(of[1], part, f"{place}.{k}") for k, part in value.items()}
    raise InvalidParameter(f"{place} is not as docboltz writes it")


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def strings(value: Any) -> tuple[str, ...]:
    """A list of strings, as JSON holds it; TypeError for anything else."""
    if not (isinstance(value, list | tuple) and all(isinstance(each, str) for each in value)):
        raise TypeError("a list of strings is needed")
    return tuple(value)


def whole_number(text: str) -> int | None:
    """The number that a text spells; None for anything else, and for more than anybody needs."""
    digits = text.strip()
    return int(digits) if digits.isdecimal() and len(digits) <= MOST_DIGITS else None


def _short(value: Any) -> str:
    many = isinstance(value, tuple) and len(value) > 9
    return f"<{len(value)} of them>" if many else repr(value)


StrPath = str | os.PathLike[str]

BUFFER = 1 << 16
"""Bytes that are read at a time."""
LARGEST_JSON = 1 << 28
"""Bytes of JSON that docboltz wrote; a vocabulary of a million words takes a tenth of it."""
LARGEST_TEXT = 1 << 28
"""Bytes of a list that somebody made, of ids say: ten million of them."""
JUST_MADE = 60.0
"""Seconds."""
_OTHER_KINDS = (
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISLNK, "a link"),
)


class NotAFile(OSError):
    """A pipe, a device or a folder where a file should be."""


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary path to write to; synced, it takes the place of `path` if all went well."""
    temporary = _draft(path)
    try:
        yield temporary
        sync(temporary)
        os.replace(temporary, path)
        sync(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def require_file(path: Path) -> None:
    """Say now, rather than after the work, that no file can be written there."""
    _draft(path).unlink()


def _draft(path: Path) -> Path:
    """An empty file beside `path`, if that may be written."""
    # Not by tempfile, whose files only their owner may read, which would outlive the renaming.
    token = secrets.token_hex(8)
    try:
        if path.exists() and not path.is_file():
            raise OSError(errno.EEXIST, "it is a folder, or no file at all")  # such as /dev/null
        temporary = path.with_name(f".{path.stem}-{token}{path.suffix}")
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.touch(exist_ok=False)
    except (OSError, ValueError) as error:  # a name with NUL, or no name
        cached = path.is_relative_to(cache_folder())
        hint = "Set the environment variable DOCBOLTZ_CACHE to a folder that can be written."
        raise InvalidCorpus(
            f"{path} cannot be written: {getattr(error, 'strerror', None) or error}.",
            hint=hint if cached else "",
        ) from error
    return temporary


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
    with open_file(path) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def open_file(path: StrPath, *, follow: bool = True) -> io.BufferedReader:
    """Open a file to read; OSError for anything else, and for a link that is not to be followed.

    A pipe would wait for ever and a device never end. The first look leaves these alone. What was
    opened is looked at again, as it may have changed since, and opened without waiting for the same
    reason.
    """
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
    if not follow:
        flags |= getattr(os, "O_NOFOLLOW", 0)
    try:
        _require_regular(os.stat(path, follow_symlinks=follow), path)
        descriptor = os.open(path, flags)
    except ValueError as error:  # a name with NUL
        raise OSError(errno.EINVAL, str(error), os.fspath(path)) from error
    try:
        _require_regular(os.fstat(descriptor), path)
        return io.BufferedReader(io.FileIO(descriptor), BUFFER)
    except BaseException:
        os.close(descriptor)
        raise


def _require_regular(status: os.stat_result, path: StrPath) -> None:
    if not stat.S_ISREG(status.st_mode):
        what = next((what for test, what in _OTHER_KINDS if test(status.st_mode)), "no file")
        reason = f"it is {what}, and only files are opened"
        raise NotAFile(errno.EINVAL, reason, os.fspath(path))


def standard_input() -> io.BufferedReader:
    """The bytes of standard input, which stays open."""
    if sys.stdin is None or sys.stdin.closed:
        raise InvalidCorpus("Standard input is closed.", hint="Name a file instead of '-'.")
    with suppress(OSError, ValueError):  # where a program left it so, no data would be its end
        os.set_blocking(sys.stdin.fileno(), True)
    return cast(io.BufferedReader, sys.stdin.buffer)


def read_text(path: StrPath, what: str) -> str:
    """The text of a file that an option names; "-" is standard input, and `what` it holds."""
    typed = os.fspath(path) == "-"
    try:
        with nullcontext(standard_input()) if typed else open_file(path) as stream:
            data = stream.read(LARGEST_TEXT + 1)
        if len(data) <= LARGEST_TEXT:
            return data.decode("utf-8-sig")
        reason = f"there are more than {LARGEST_TEXT >> 20} MB"
    except UnicodeDecodeError as error:
        reason = f"not UTF-8, {error.reason} at byte {error.start}"
    except OSError as error:
        reason = error.strerror or str(error)
    where = "standard input" if typed else os.fspath(path)
    raise InvalidCorpus(
        f"The {what} in {where} could not be read: {reason}.",
        hint="They have to be in a text file, in UTF-8, one a line; - is standard input.",
    )


def read_file(path: StrPath, most: int = LARGEST_JSON, *, follow: bool = True) -> bytes:
    """The bytes of a file; OSError for anything else, and for more than `most` of them."""
    with open_file(path, follow=follow) as stream:
        large = os.fstat(stream.fileno()).st_size > most
        data = b"" if large else stream.read(most + 1)
    if large or len(data) > most:
        raise OSError(errno.EFBIG, "larger than any of docboltz's", os.fspath(path))
    return data


def parse_json(data: bytes) -> Any:
    """What JSON says; ValueError for what is none, or is nested without end."""
    try:
        return json.loads(data)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def require_apart(out: StrPath, read: Iterable[StrPath | None]) -> None:
    """Refuse to write what is read, by whatever name, or into a folder that is read.

    Nor what a pattern that is read, such as *.csv, would match: it would be read the next time.
    """
    target = Path(out)
    for given in read:
        if given is None:
            continue
        source = Path(given)
        try:
            same = target.exists() and source.exists() and target.samefile(source)
            own, other = target.resolve(), source.resolve()
        except (OSError, ValueError, RuntimeError):  # what cannot be, whoever opens it says so
            continue
        if same or own == other:
            where = f"{target} is what is read"
        elif source.is_dir() and own.is_relative_to(other):
            where = f"{target} is in {source}, which is read"
        elif target.is_dir() and other.is_relative_to(own):
            where = f"{source}, which is read, is in {target}"
        elif has_magic(os.fspath(given)) and not source.exists() and _is_matched(own, other):
            where = f"{target} would be read the next time, as {source} matches it"
        else:
            continue
        raise InvalidParameter(f"{where}: nothing was written.", hint="Name another place.")


def _is_matched(path: Path, pattern: Path) -> bool:
    """Tell whether a pattern stands for a path, or for a folder it is in."""
    return any(_matches(each.parts, pattern.parts) for each in (path, *path.parents))


def _matches(path: Sequence[str], pattern: Sequence[str]) -> bool:
    """Tell whether `glob` would find a path by a pattern, both in parts."""
    if not (path and pattern):
        return not path and all(part == "**" for part in pattern)
    first, rest = pattern[0], pattern[1:]
    hidden = path[0].startswith(".") and not first.startswith(".")
    if first == "**":
        return _matches(path, rest) or (not hidden and _matches(path[1:], pattern))
    fits = path[0] == first or (fnmatch(path[0], first) and not hidden)
    return fits and _matches(path[1:], rest)


@contextmanager
def temporary_folder(name: str, place: Path | None = None) -> Iterator[Path]:
    """A new folder in `place`, removed in the end; with those that killed processes have left.

    A process holds its folder by a lock, which ends with it however that happens. Machines that
    share a disk may not see each other's locks: each looks at its own folders.
    """
    prefix = f"{name}-{platform.node()}-"
    for left in Path(place or tempfile.gettempdir()).glob(f"{escape(prefix)}*"):
        with suppress(OSError), _held(left) as abandoned:
            # One that was made this moment may not be held yet.
            if abandoned and time.time() - left.stat().st_mtime > JUST_MADE:
                shutil.rmtree(left, ignore_errors=True)
    new = tempfile.TemporaryDirectory(prefix=prefix, dir=place)
    with new as made, _held(Path(made), wait=True):  # somebody may look whether it was left
        yield Path(made)


@contextmanager
def _held(folder: Path, *, wait: bool = False) -> Iterator[bool]:
    """Hold a folder, as long as this process lives; False if it is held already."""
    try:
        import fcntl
    except ImportError:  # Windows removes nothing that was left
        yield False
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
            free = True
        except OSError:  # another's, or on a disk without locks
            free = False
        yield free
    finally:
        os.close(descriptor)


def digest(value: Any) -> str:
    """SHA-256 of what JSON can hold, in one fixed spelling."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def folder_above(path: Path) -> Path | None:
    """The nearest folder above a path that is there: what waits there is on the same disk."""
    return next((folder for folder in path.absolute().parents if folder.is_dir()), None)


def cache_folder() -> Path:
    """$DOCBOLTZ_CACHE, or the platform's folder for caches."""
    from platformdirs import user_cache_path

    named = os.environ.get("DOCBOLTZ_CACHE")
    return at_home(named) if named else user_cache_path("docboltz", appauthor=False)


def at_home(path: StrPath) -> Path:
    """The path, with the folder that ~ or ~user stands for."""
    try:
        return Path(path).expanduser()
    except (RuntimeError, ValueError) as error:  # nobody, or a name with NUL
        raise InvalidParameter(
            f"Nobody knows the home folder in {os.fspath(path)!r}.", hint="Name it in full."
        ) from error


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

Arrays = dict[str, Any]
"""NumPy arrays by name."""


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
    import numpy as np

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
    import numpy as np
    from safetensors.numpy import save

    # safetensors keeps the memory order, not the shape's: hand it row-major copies.
    data: bytes = save({name: np.ascontiguousarray(array) for name, array in arrays.items()})
    return data
