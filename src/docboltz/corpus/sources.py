"""Paths, globs, folders and "-" → the files to read, each with the format that its name tells."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from docboltz.corpus.decoding import COMPRESSIONS
from docboltz.corpus.read_options import Format
from docboltz.errors import InvalidCorpus
from docboltz.files import at_home

_BY_SUFFIX: dict[str, Format] = {
    ".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl",
    ".parquet": "parquet", ".pq": "parquet", ".txt": "lines", ".text": "lines",
}  # fmt: skip
_TABLES = {suffix for suffix, format in _BY_SUFFIX.items() if format != "lines"}


@dataclass(frozen=True)
class Source:
    """A file, with the folder it was found in if it is one document of many there."""

    path: Path | None
    """None is standard input."""
    format: Format | None
    folder: Path | None = None

    @property
    def name(self) -> str:
        """What to call it in messages."""
        return "standard input" if self.path is None else str(self.path)


def find_paths(given: Iterable[str]) -> list[Path | None]:
    """Check that every path leads somewhere, and follow globs; None is standard input."""
    found: list[Path | None] = []
    for entry in given:
        path = at_home(entry)
        if entry == "-":
            found.append(None)
        elif path.exists():
            found.append(path)
        else:
            matches = sorted(glob.glob(str(path), recursive=True))
            if not matches:
                what = "Nothing matches" if glob.has_magic(entry) else "There is no file or folder"
                raise InvalidCorpus(
                    f"{what} {entry!r}.", hint=f"The working folder is {os.getcwd()!r}."
                )
            found.extend(map(Path, matches))
    if not found:
        raise InvalidCorpus(
            "There are no paths to read.", hint="Name a file, a folder, a glob or '-'."
        )
    return found


def find_sources(
    paths: list[Path | None], format: Format | None, *, weak: bool = False
) -> Iterator[Source]:
    """Go through paths and folders, in order.

    A `weak` format, which nobody named for these files, yields to a name that tells a table.
    """
    unnamed = all(p is not None and p.is_file() and not _suffix(p) for p in paths)
    if format is None and unnamed and len(paths) > 1:
        format = "files"  # many files of no known kind, like usr/share/doc/*/copyright, are texts
    for path in paths:
        if path is None:
            yield Source(None, format)
        elif path.is_dir():
            yield from _folder(path, format, weak)
        else:
            by_name = format is None or (weak and _suffix(path) in _TABLES)
            yield Source(path, _BY_SUFFIX.get(_suffix(path)) if by_name else format)


def _folder(folder: Path, format: Format | None, weak: bool) -> Iterator[Source]:
    open_question = format is None or (weak and format != "files")
    tables = open_question and all(_suffix(path) in _TABLES for path in _files(folder))
    for path in _files(folder):
        if tables:
            yield Source(path, _BY_SUFFIX[_suffix(path)])
        elif format in (None, "files"):
            yield Source(path, "files", folder)
        else:
            yield Source(path, format)


def _files(folder: Path) -> Iterator[Path]:
    """All files below a folder, in order, without hidden ones."""
    closed: list[OSError] = []
    for where, folders, names in os.walk(folder, onerror=closed.append):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(where, name) for name in sorted(names) if not name.startswith("."))
    # A folder that may not be listed is passed on as if it were a file: opening it is reported.
    yield from (Path(error.filename) for error in closed)


def _suffix(path: Path) -> str:
    """The suffix that tells the format, below that of a compression."""
    compressed = path.suffix.lower() in COMPRESSIONS
    return (path.with_suffix("") if compressed else path).suffix.lower()
