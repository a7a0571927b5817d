"""Where documents are: on this machine, or wherever fsspec reaches; the same few verbs for both.

A URL such as s3://bucket/posts is opened by the driver that fsspec knows for it. Those of stores
are packages of their own, and whoever uses the store has them.
"""

from __future__ import annotations

import glob
import io
import os
import re
import stat
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePath, PurePosixPath
from typing import Any, Literal

from docboltz.errors import InvalidCorpus, shown
from docboltz.progress import printable
from docboltz.storage import BUFFER, at_home, open_file

Kind = Literal["file", "folder"]
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
_LOCAL = ("file://", "local://")


class Location(ABC):
    """A path or a URL, of a file or of a folder with files."""

    def __init__(self, path: str) -> None:
        self.path = path
        """As whoever opens it needs it."""

    def __str__(self) -> str:
        return self.path

    @property
    def name(self) -> str:
        """What to call it in messages."""
        return printable(str(self))

    @property
    def suffixes(self) -> list[str]:
        """Of its name, such as [".csv", ".gz"]."""
        return [suffix.lower() for suffix in PurePath(self.path).suffixes]

    @abstractmethod
    def kind(self) -> Kind | None:
        """What there is; None if nothing, OSError if it cannot be known."""

    @abstractmethod
    def matches(self) -> Iterable[Location]:
        """What it stands for if it is a pattern, such as *.csv."""

    @abstractmethod
    def open(self) -> io.BufferedReader:
        """The bytes of a file; OSError if there is none."""

    @abstractmethod
    def size(self) -> int | None:
        """Bytes of a file, None if nobody knows or other processes do not find it."""

    def files(self) -> Iterator[Location]:
        """All files below a folder, in order, without hidden ones.

        A folder that may not be listed is passed on as if it were a file: opening it is reported.
        """
        closed: list[OSError] = []
        for where, folders, names in self._walk(closed.append):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for name in sorted(name for name in names if name and not name.startswith(".")):
                yield self._at(f"{where.rstrip('/')}/{name}")
        yield from (self._at(str(error.filename or self.path)) for error in closed)

    def state(self) -> list[list[Any]]:
        """What tells the file, or those of the folder, from what they were; OSError if gone."""
        files = self.files() if self.kind() == "folder" else [self]
        return [[str(file), *file._mark()] for file in files]

    def relative_to(self, folder: Location) -> PurePosixPath:
        """The way to it from a folder."""
        return PurePosixPath(self.path.removeprefix(folder.path).lstrip("/"))

    @abstractmethod
    def _walk(
        self, on_error: Callable[[OSError], None]
    ) -> Iterator[tuple[str, list[str], list[str]]]:
        """Folders with the names of folders and files in each, as os.walk gives them."""

    @abstractmethod
    def _at(self, path: str) -> Location:
        """Another location of the same kind."""

    @abstractmethod
    def _mark(self) -> list[Any]:
        """What is another after a file was changed."""


class LocalPath(Location):
    """On this machine."""

    def __init__(self, path: str, folder: str = "") -> None:
        """`folder` is where the path begins, if that is not this process's working folder."""
        super().__init__(path)
        self._folder = folder

    def __reduce__(self) -> tuple[Any, ...]:
        """For another process, which may work in another folder; its name stays what it was."""
        begin = self._folder or ("" if os.path.isabs(self.path) else os.getcwd())
        return LocalPath, (self.path, begin)

    @property
    def _full(self) -> str:
        return os.path.join(self._folder, self.path)

    def kind(self) -> Kind | None:
        """What there is. Whatever is no folder counts as a file until it is opened."""
        try:
            return "folder" if stat.S_ISDIR(os.stat(self._full).st_mode) else "file"
        except (FileNotFoundError, NotADirectoryError, ValueError):  # a name with a NUL
            return None

    def matches(self) -> Iterable[Location]:
        """In the order of the alphabet."""
        try:
            return map(LocalPath, sorted(glob.glob(self.path, recursive=True)))
        except (ValueError, re.error, RecursionError):
            return ()

    def open(self) -> io.BufferedReader:
        """Only what is a file."""
        return open_file(self._full)

    def size(self) -> int:
        """By the file system."""
        return os.stat(self._full).st_size

    def _walk(
        self, on_error: Callable[[OSError], None]
    ) -> Iterator[tuple[str, list[str], list[str]]]:
        for where, folders, names in os.walk(self.path, onerror=on_error):
            yield Path(where).as_posix(), folders, names

    def _at(self, path: str) -> Location:
        return LocalPath(path)

    def _mark(self) -> list[Any]:
        found = os.stat(self._full)
        return [found.st_size, found.st_mtime_ns]


class Unreachable(OSError):
    """A store that fails: what comes after would be missing as well."""


class RemotePath(Location):
    """Wherever fsspec reaches; whatever a driver raises is an OSError here."""

    def __init__(self, path: str, system: Any) -> None:
        super().__init__(path)
        self._system = system

    def __str__(self) -> str:
        return str(self._system.unstrip_protocol(self.path))

    @property
    def suffixes(self) -> list[str]:
        """Of its name, without what a web address asks for after it."""
        path = self.path.partition("?")[0] if "://" in self.path else self.path
        return [suffix.lower() for suffix in PurePosixPath(path).suffixes]

    def kind(self) -> Kind | None:
        """What there is now: drivers remember what there was."""
        with _driver_errors():
            self._system.invalidate_cache()
            try:
                found = self._system.info(self.path)["type"]
            except FileNotFoundError:
                return None
        return "folder" if found == "directory" else "file"

    def matches(self) -> Iterable[Location]:
        """In the order of the alphabet."""
        with _driver_errors():
            return map(self._at, sorted(self._system.glob(self.path)))

    def open(self) -> io.BufferedReader:
        """By the driver."""
        with _driver_errors():
            return io.BufferedReader(_Driven(self._system.open(self.path, "rb")), BUFFER)

    def size(self) -> int | None:
        """By the driver; what is in the memory of this process is for nobody else."""
        with _driver_errors():
            return None if self._system.protocol == "memory" else self._system.size(self.path)

    def _walk(
        self, on_error: Callable[[OSError], None]
    ) -> Iterator[tuple[str, list[str], list[str]]]:
        try:
            with _driver_errors():
                yield from self._system.walk(self.path, on_error="raise")
        except OSError as error:  # what a store does not tell would be missing
            raise InvalidCorpus(
                f"{self.name} cannot be listed: {printable(str(error))}."
            ) from error

    def _at(self, path: str) -> Location:
        return RemotePath(path, self._system)

    def _mark(self) -> list[Any]:
        with _driver_errors():
            known = self._system.info(self.path)
            marks = [str(known.get(name)) for name in ("size", "ETag", "mtime", "LastModified")]
            return [str(self._system.ukey(self.path)), *marks]  # of a web address its name alone


class _Driven(io.RawIOBase):
    """A driver's file as Python's own kind of stream."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return bool(self._file.seekable())

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        with _driver_errors():
            return int(self._file.seek(offset, whence))

    def tell(self) -> int:
        return int(self._file.tell())

    def readinto(self, buffer: Any, /) -> int:
        with _driver_errors():
            data = self._file.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


@contextmanager
def _driver_errors() -> Iterator[None]:
    try:
        yield
    except (FileNotFoundError, PermissionError):
        raise
    except Exception as error:
        reason = getattr(error, "strerror", None) or f"{type(error).__name__}: {error}"
        raise Unreachable(reason) from error


def locate(written: str) -> Location:
    """What a path or URL leads to, whether there is something or not."""
    start = next((start for start in _LOCAL if written.startswith(start)), "")
    found = None if start else _URL.match(written)
    if found is None:
        path = written.removeprefix(start)
        path = str(at_home(path)) if path.startswith("~") else path
        return LocalPath(Path(path).as_posix() if path else path)
    import fsspec

    try:
        if "::" in written:  # a driver within another one, which may open what is no file
            raise ValueError("it has '::' in it")
        system, path = fsspec.core.url_to_fs(written)
    except ImportError as error:
        raise InvalidCorpus(
            f"{shown(written)} needs a package that is not installed.",
            hint=f"Install it: pip install {_driver(found[1])}",
        ) from error
    except Exception as error:
        raise InvalidCorpus(
            f"{shown(written)} cannot be opened: {printable(str(error))}.",
            hint="URLs are those that fsspec knows, such as s3://, gs://, abfs:// or https://.",
        ) from error
    return RemotePath(path, system)


def _driver(protocol: str) -> str:
    """The package that pip installs for a kind of URL."""
    from fsspec.registry import known_implementations

    package = str(known_implementations[protocol]["class"]).partition(".")[0]
    extra = {"https": "http"}.get(protocol, protocol)
    return package if package != "fsspec" else f"'fsspec[{extra}]'"
