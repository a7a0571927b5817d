"""What is written and read: files whole or not at all, folders with a manifest, saved settings.

A `Bundle` is a kind of folder: a manifest in JSON, and a build, which is a folder of files. A save
writes a new build and then replaces the manifest, so that readers find the old files or the new
ones. Whoever wrote a folder, what is read of it is bounded, checked and never run.
"""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import re
import secrets
import shutil
import stat
import sys
import tempfile
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from io import BufferedReader, FileIO
from pathlib import Path
from typing import Any, Self, TypeVar

from docboltz.errors import InvalidCorpus, InvalidModelFile, InvalidParameter, NoAnswer

StrPath = str | os.PathLike[str]
BUFFER = 1 << 16
"""Bytes that are read at a time."""
LARGEST = 1 << 28
"""Bytes of JSON that docboltz wrote, or of a list that somebody made: ten million ids."""
_KINDS = {"p": "a pipe", "s": "a socket", "d": "a folder", "l": "a link"}
"""Of what is no file, by the letter that `ls -l` shows; others are devices."""

# ---- files ----


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary path to write to; synced, it takes the place of `path` if all went well."""
    try:
        if path.exists() and not path.is_file():  # such as /dev/null
            raise OSError(errno.EEXIST, "it is a folder, or no file at all")
        # Not by tempfile, whose files only their owner may read, which would outlive the renaming.
        draft = path.with_name(f".{path.stem}-{secrets.token_hex(8)}{path.suffix}")
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.touch(exist_ok=False)
    except (OSError, ValueError) as error:  # a name with NUL, or no name
        hint = "Set the environment variable DOCBOLTZ_CACHE to a folder that can be written."
        raise InvalidCorpus(
            f"{path} cannot be written: {getattr(error, 'strerror', None) or error}.",
            hint=hint if path.is_relative_to(cache_folder()) else "",
        ) from error
    try:
        yield draft
        sync(draft)
        os.replace(draft, path)
        sync(path.parent)
    finally:
        draft.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a whole file in UTF-8, or nothing."""
    with replacing(path) as draft:
        draft.write_text(text, encoding="utf-8")


def sync(path: Path) -> None:
    """Have a file's content, or a folder's names, written to the disk itself."""
    if sys.platform != "win32":  # folders cannot be opened there
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def sha256(path: Path) -> str:
    """The SHA-256 of a file's bytes, in hexadecimal."""
    with open_file(path) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def open_file(path: StrPath, *, follow: bool = True) -> BufferedReader:
    """Open a file to read; OSError for anything else, and for a link that is not to be followed.

    A pipe would wait for ever and a device never end. One that takes the file's place after it was
    looked at is opened without waiting.
    """
    if "\0" in os.fspath(path):
        raise OSError(errno.EINVAL, "null character in its name", os.fspath(path))
    kind = stat.filemode(os.stat(path, follow_symlinks=follow).st_mode)[0]
    if kind != "-":
        reason = f"it is {_KINDS.get(kind, 'a device')}, and only files are opened"
        raise OSError(errno.EINVAL, reason, os.fspath(path))
    more = getattr(os, "O_NONBLOCK", 0) | (0 if follow else getattr(os, "O_NOFOLLOW", 0))
    file = FileIO(path, opener=lambda name, flags: os.open(name, flags | more))
    return BufferedReader(file, BUFFER)


def read_file(path: StrPath, most: int = LARGEST, *, follow: bool = True) -> bytes:
    """The bytes of a file; OSError for anything else, and for more than `most` of them."""
    with open_file(path, follow=follow) as stream:
        return _read(stream, most)


def _read(stream: BufferedReader, most: int) -> bytes:
    data = stream.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"it has more than {most:,} bytes")
    return data


def read_text(path: StrPath, what: str) -> str:
    """The text of a file that an option names; "-" is standard input, and `what` it holds."""
    try:
        with nullcontext(standard_input()) if str(path) == "-" else open_file(path) as stream:
            return _read(stream, LARGEST).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        no_text = isinstance(error, UnicodeDecodeError)
        reason = "it is not UTF-8" if no_text else getattr(error, "strerror", None) or error
        raise InvalidCorpus(
            f"The {what} in {path} could not be read: {reason}.",
            hint="They have to be in a text file, in UTF-8, one a line; - is standard input.",
        ) from error


def standard_input() -> BufferedReader:
    """The bytes of standard input, which stays open."""
    if sys.stdin is None or sys.stdin.closed:
        raise InvalidCorpus("Standard input is closed.", hint="Name a file instead of '-'.")
    with suppress(OSError, ValueError):  # where a program left it so, no data would be its end
        os.set_blocking(sys.stdin.fileno(), True)
    return typing.cast(BufferedReader, sys.stdin.buffer)


def parse_json(data: bytes) -> Any:
    """What JSON says; ValueError for what is none, or is nested without end."""
    try:
        return json.loads(data)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def digest(value: Any) -> str:
    """SHA-256 of what JSON can hold, in one fixed spelling."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


# ---- places ----


def require_apart(out: StrPath, read: Iterable[StrPath | None]) -> None:
    """Refuse to write what is read, by whatever name, or into a folder that is read.

    Nor what a pattern that is read, such as *.csv, would match: it would be read the next time.
    """
    target = Path(out)
    for source in [Path(each) for each in read if each is not None]:
        try:
            own, other, there = target.resolve(), source.resolve(), source.exists()
            found = {
                "is what is read": own == other or (there and own.exists() and own.samefile(other)),
                f"is in {source}, which is read": other.is_dir() and own.is_relative_to(other),
                f"holds {source}, which is read": own.is_dir() and other.is_relative_to(own),
                f"would be read the next time, as {source} matches it": not there
                and any(_matches(each, str(other)) for each in (own, *own.parents)),
            }
        except (OSError, ValueError, RuntimeError):  # what cannot be, whoever opens it says so
            continue
        for what, holds in found.items():
            if holds:
                raise InvalidParameter(
                    f"{target} {what}: nothing was written.", hint="Name another place."
                )


def _matches(path: Path, pattern: str) -> bool:
    """Tell whether a pattern, in which ** is any number of folders, stands for a path."""
    spelt = (pattern.replace("**/", "*/" * depth) for depth in range(len(path.parts)))
    return not path.name.startswith(".") and any(map(path.match, spelt))


def require_writable(folder: StrPath, noun: str = "reports") -> None:
    """Say now, rather than after hours of work, that nothing can be written to `folder`."""
    path = Path(folder)
    try:
        if not os.fspath(folder) or "\0" in os.fspath(folder):
            raise ValueError("that is no name of a folder")
        parent = next(f for f in (path, *path.absolute().parents) if f.exists() or f.is_symlink())
        # Asking for the permission would not do: some places refuse all the same.
        os.rmdir(tempfile.mkdtemp(prefix=".docboltz-", dir=parent))
    except NotADirectoryError as error:
        where = "it" if parent == path else parent
        raise InvalidParameter(
            f"Cannot write {noun} to {path}: {where} is a file.", hint="Name a folder."
        ) from error
    except (OSError, ValueError) as error:
        raise InvalidParameter(
            f"Cannot write {noun} to {path}: {getattr(error, 'strerror', None) or error}.",
            hint="Name another folder.",
        ) from error


def cache_folder() -> Path:
    """$DOCBOLTZ_CACHE, or the platform's folder for caches."""
    from platformdirs import user_cache_path

    named = os.environ.get("DOCBOLTZ_CACHE")
    return at_home(named) if named else user_cache_path("docboltz", appauthor=False)


def at_home(path: StrPath) -> Path:
    """The path, with the folder that ~ or ~user stands for."""
    try:
        return Path(path).expanduser()
    except (RuntimeError, ValueError) as error:  # no such user, or a name with NUL
        raise InvalidParameter(
            f"The home folder in {os.fspath(path)!r} is unknown.", hint="Write the path in full."
        ) from error


# ---- folders ----

Loaded = TypeVar("Loaded")
LOCK = ".lock"
_BUILD = re.compile("build-[0-9a-f]{16}")


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
    files: dict[str, Fingerprint]
    content: dict[str, Any]

    def file(self, name: str) -> Path:
        """Where a file of the bundle is: always below its folder."""
        return self.folder / self.build / name

    @property
    def identity(self) -> str:
        """What tells the bundle from every other: the same however often it is saved."""
        return digest([self.content, {name: file.sha256 for name, file in self.files.items()}])


@dataclass(frozen=True)
class Bundle:
    """A kind of folder that is written whole or not at all."""

    noun: str
    """What messages call it."""
    format: str
    version: int
    manifest: str
    """Name of its manifest."""
    files: tuple[str, ...]
    """Names of its files; a manifest that names others is refused."""
    remedy: str
    """What to do about one that cannot be used; settings are in braces, see `docboltz.errors`."""
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

    # ---- read ----

    def open(self, folder: StrPath, checked: float = 0) -> Opened:
        """Check the manifest, the sizes of the files, and the bytes of those of up to `checked`."""
        return self.load(folder, lambda opened: opened, checked)

    def load(self, folder: StrPath, make: Callable[[Opened], Loaded], checked: float = 0) -> Loaded:
        """What `make` makes of the files, once they are checked as by `open`.

        If a save replaces and removes them meanwhile, the new ones are taken.
        """
        opened = self._opened(Path(folder))
        try:
            self._check(opened, checked)
            return make(opened)
        except (OSError, InvalidModelFile) as error:
            if self._opened(Path(folder)).build != opened.build:
                return self.load(folder, make, checked)
            if isinstance(error, InvalidModelFile):
                raise
            raise self.unusable(folder, f"cannot be read ({error.strerror or error})") from error

    def _opened(self, folder: Path) -> Opened:
        saved = self._saved(folder)
        if (version := saved.get("version")) != self.version:
            newer = isinstance(version, int) and version > self.version
            raise self.unusable(
                folder,
                f"has format {str(version)[:20]}, written by docboltz "
                f"{str(saved.get('docboltz'))[:20]}, and this docboltz reads format {self.version}",
                "Upgrade docboltz: pip install --upgrade docboltz" if newer else "",
            )
        with self.trusting(folder):
            parts = {name: saved[name] for name in ("build", "files", "content")}
            if saved["checksum"] != digest(parts):
                raise self.unusable(folder, f"is damaged: {self.manifest} was changed")
            json.dumps(parts, ensure_ascii=False).encode()  # no half characters
            opened = Opened(
                folder,
                typed(str, parts["build"], "build"),
                typed(dict[str, Fingerprint], parts["files"], "files"),
                typed(dict, parts["content"], "content"),
            )
            if not _BUILD.fullmatch(opened.build) or set(opened.files) != set(self.files):
                raise ValueError("it names files that are not its own")
            return opened

    def _saved(self, folder: Path) -> dict[str, Any]:
        """What the manifest says, of whatever version."""
        try:
            saved = parse_json(read_file(folder / self.manifest, follow=False))
        except OSError as error:
            why = f"{self.manifest} cannot be read ({error.strerror})"
            why = why if folder.is_dir() else "it is not a folder"
            raise self._error(f"There is no docboltz {self.noun} in {folder}: {why}.") from error
        except ValueError as error:
            raise self.unusable(
                folder, f"is damaged: {self.manifest} is not valid JSON ({error})"
            ) from error
        if not isinstance(saved, dict) or saved.get("format") != self.format:
            raise self.unusable(
                folder, f"is damaged: {self.manifest} does not describe a {self.noun}"
            )
        return saved

    def _check(self, opened: Opened, checked: float) -> None:
        """Look for what is wrong with the files; links lead out of the folder, and are refused."""
        for name, recorded in opened.files.items():
            file, damaged = opened.file(name), f"is damaged: {name}"
            if not file.is_file() or file.is_symlink() or file.parent.is_symlink():
                raise self.unusable(opened.folder, f"{damaged} is missing or not a plain file")
            if (size := file.stat().st_size) != recorded.bytes:
                raise self.unusable(
                    opened.folder, f"{damaged} has {size:,} bytes instead of {recorded.bytes:,}"
                )
            if size <= checked and sha256(file) != recorded.sha256:
                raise self.unusable(opened.folder, f"{damaged} was changed after it was saved")

    @contextmanager
    def trusting(self, folder: StrPath) -> Iterator[None]:
        """Make what goes wrong while a manifest's content is used the manifest's fault.

        But not what is the machine's: no memory, or a disk that fails.
        """
        try:
            yield
        except (InvalidModelFile, NoAnswer, OSError, MemoryError):
            raise
        except Exception as error:
            cause = f"{type(error).__name__}: {error}"
            what = f"does not hold what this version of docboltz needs ({cause})"
            raise self.unusable(folder, what) from error

    def unusable(self, folder: StrPath, what: str, hint: str = "") -> InvalidModelFile:
        """An error for a bundle that cannot be used."""
        return self._error(f"The {self.noun} in {os.fspath(folder)} {what}.", hint)

    def _error(self, problem: str, hint: str = "") -> InvalidModelFile:
        return InvalidModelFile(
            problem, hint=hint or self.remedy, settings=re.findall(r"{(.+?)}", self.remedy)
        )

    # ---- written ----

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
                    self._remove_unused(path, [*before, build.path])
        except OSError as error:  # no permission, no space
            raise InvalidParameter(
                f"The {self.noun} cannot be written to {path}: {error.strerror or error}.",
                hint="Free some space or name another folder; one that was there is still there.",
            ) from error
        finally:
            if made and not self.exists(path):
                remove_empty(path)

    def locked(self, folder: StrPath) -> AbstractContextManager[None]:
        """Keep others from writing: two saves at once would remove each other's files."""
        return locked(folder, self.noun, self.patience)

    def copy(self, opened: Opened, folder: StrPath, data: Mapping[str, Any]) -> None:
        """Save the same to another folder, of the bytes of its files, which may be gone."""
        with self.saving(folder) as build:
            for name, recorded in opened.files.items():
                (build.path / name).write_bytes(data[name])
                if Fingerprint.of(build.path / name) != recorded:
                    raise self.unusable(opened.folder, f"is damaged: {name} was changed")
            build.publish(opened.content)

    def remove(self, folder: StrPath) -> None:
        """Remove one that was saved, or half of one, and the folder if nothing else is in it."""
        path = Path(folder)
        if path.is_dir() and not self._is_foreign(path):
            with self.locked(path):
                builds = self._builds(path)
                (path / self.manifest).unlink(missing_ok=True)
                self._remove_unused(path, builds)
            remove_empty(path)

    def _is_foreign(self, folder: Path) -> bool:
        """Tell whether a folder with things in it is anything but this kind's."""
        builds = [build.name for build in self._builds(folder)]
        ours = {LOCK, *self.also, *builds, *([self.manifest] if builds else [])}  # if damaged
        return self._used(folder) is None and not ours.issuperset(os.listdir(folder))

    def _used(self, folder: Path) -> object:
        """Name of the build that is in use, of whatever version; None if that cannot be read."""
        with suppress(InvalidModelFile):
            return self._saved(folder).get("build")
        return None

    def _builds(self, folder: Path) -> list[Path]:
        """The build in use, and folders of such a name with no other files than builds have."""
        used, own = self._used(folder), {*self.files, self.manifest}
        found = [e for e in folder.iterdir() if _BUILD.fullmatch(e.name) and not e.is_symlink()]
        return [e for e in found if e.name == used or (e.is_dir() and own >= {*os.listdir(e)})]

    def _remove_unused(self, folder: Path, builds: Iterable[Path]) -> None:
        """Remove builds that are not in use: of this save if it failed, of others before it.

        Which one is in use is read from disk: an interrupt may come right after the replacement.
        If that cannot be read, it may be any of them.
        """
        used = self._used(folder)
        if used is not None or not self.exists(folder):
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

        kind, draft = self._kind, self.path / self._kind.manifest
        files = {name: vars(Fingerprint.of(self.path / name)) for name in kind.files}
        saved = {"build": self.path.name, "files": files, "content": content}
        whole = {"format": kind.format, "version": kind.version, "docboltz": __version__}
        whole |= {**saved, "checksum": digest(saved)}
        draft.write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        for path in (*(self.path / name for name in kind.files), draft, self.path, self._folder):
            sync(path)
        with guard or nullcontext():
            os.replace(draft, self._folder / kind.manifest)  # from here on this is the bundle
        sync(self._folder)


@contextmanager
def locked(folder: StrPath, noun: str, patience: float) -> Iterator[None]:
    """Lock a folder; an error after so many seconds if another process has the lock.

    The process that has it may take it again, and a thread as often as it likes.
    """
    from filelock import FileLock, Timeout

    lock = FileLock(Path(folder) / LOCK, is_singleton=True)
    with ExitStack() as held:
        try:
            with suppress(NotImplementedError):  # some network file systems have no locks
                held.enter_context(lock.acquire(timeout=patience))
        except Timeout:
            raise InvalidParameter(
                f"Another process is writing the {noun} in {os.fspath(folder)}.",
                hint="Wait for it to end, or name another folder.",
            ) from None
        yield


def remove_empty(folder: Path) -> None:
    """Remove the lock of a folder that holds no bundle, and the folder if that was all."""
    with suppress(OSError):
        (folder / LOCK).unlink(missing_ok=True)
        folder.rmdir()


# ---- models ----

Arrays = dict[str, Any]
"""NumPy arrays by name."""
PARAMETERS = "parameters.safetensors"
MODEL = Bundle(
    noun="model",
    format="docboltz-model",
    version=4,
    manifest="model.json",
    files=(PARAMETERS,),
    remedy="Name a model's folder, copied whole; if it is one, make it again with {TextModel.fit}.",
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
    from safetensors.numpy import load

    data, settings = kind.load(
        path, lambda opened: (opened.file(PARAMETERS).read_bytes(), opened.content), math.inf
    )
    with kind.trusting(path):
        return load(data), settings


def require_parameters(arrays: Arrays) -> None:
    """Raise KeyError or ValueError unless these are what training makes: F units, K words."""
    import numpy as np

    F, K = arrays["components"].shape
    shapes: dict[str, tuple[int, ...]] = {"components": (F, K), "intercept_hidden": (F,)}
    shapes |= {"intercept_visible": (K,), "word_frequency": (K,)}
    for name, shape in shapes.items():
        array = arrays[name]
        fits = array.shape == shape and array.size and array.dtype == np.float32
        if not (fits and np.isfinite(array).all()):
            raise ValueError(f"{name} must be finite float32 of shape {shape}")
    if arrays["word_frequency"].min() <= 0:
        raise ValueError("every word has a frequency above 0")


def fingerprint(path: StrPath) -> str:
    """Return what tells a saved model from every other: a hash of its arrays and its settings."""
    return MODEL.open(path).identity


def fingerprint_of(arrays: Arrays, settings: dict[str, Any]) -> str:
    """The fingerprint that a model will have when it is saved."""
    return digest([settings, {PARAMETERS: hashlib.sha256(_packed(arrays)).hexdigest()}])


def _packed(arrays: Arrays) -> bytes:
    import numpy as np
    from safetensors.numpy import save

    # safetensors keeps the memory order, not the shape's: hand it row-major copies.
    return bytes(save({name: np.ascontiguousarray(array) for name, array in arrays.items()}))


# ---- settings ----


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
        given = ", ".join(
            f"{name}=<{len(v)} of them>" if isinstance(v, tuple) and len(v) > 9 else f"{name}={v!r}"
            for name, v in self.given().items()
        )
        return f"{type(self).__name__}({given})"


class SavedSettings(ShortRepr):
    """Settings that are kept with a model, as JSON."""

    @classmethod
    def from_dict(cls, saved: Any) -> Self:
        """The settings that were saved; InvalidParameter for anything else."""
        try:  # JSON knows no tuples
            return cls(**{k: tuple(v) if isinstance(v, list) else v for k, v in saved.items()})
        except (AttributeError, TypeError) as error:
            raise InvalidParameter(
                f"These are not settings of {cls.__name__}: {error}.",
                hint="If they come from a saved model, a newer version of docboltz saved it.",
            ) from error


_hints = cache(typing.get_type_hints)


def typed(kind: Any, value: Any, place: str) -> Any:
    """A value of a type that a field of a dataclass has, from JSON; refused if it is of another.

    The one strict reader of what docboltz has written itself.
    """
    if kind is Any or (type(value) is kind and kind is not float):
        return value
    if kind is float and type(value) in (int, float) and math.isfinite(value):
        return float(value)
    origin, of = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Literal and type(value) is str and value in of:
        return value
    if origin is types.UnionType:
        for one in of:
            with suppress(InvalidParameter):
                return typed(one, value, place)
    if isinstance(kind, type) and is_dataclass(kind) and isinstance(value, dict):
        hints, build = _hints(kind), typing.cast(Any, kind)
        if hints.keys() == value.keys():
            return build(**{k: typed(hints[k], v, f"{place}.{k}") for k, v in value.items()})
    if origin is tuple and isinstance(value, list) and (of[-1] is ... or len(of) == len(value)):
        kinds = zip(of[:1] * len(value) if of[-1] is ... else of, value, strict=True)
        return tuple(typed(k, part, f"{place}[{i}]") for i, (k, part) in enumerate(kinds))
    if origin is dict and isinstance(value, dict):
        return {k: typed(of[1], v, f"{place}.{k}") for k, v in value.items()}
    raise InvalidParameter(f"{place} is not as docboltz writes it")
