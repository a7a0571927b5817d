"""Every file that docboltz writes or reads back.

Written whole or not at all, on the disk itself, and never over what is read. Read back only where
it is a file, and no more of it than docboltz would have written.
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import platform
import secrets
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from fnmatch import fnmatch
from glob import escape, has_magic
from pathlib import Path
from typing import Any, cast

from docboltz.errors import InvalidCorpus, InvalidParameter

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
