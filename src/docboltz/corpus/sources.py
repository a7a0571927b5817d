"""Paths, URLs, globs, folders and "-" → the files to read, each with the format its name tells."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from docboltz.corpus.decoding import COMPRESSIONS
from docboltz.corpus.locations import LocalPath, Location, locate
from docboltz.corpus.read_options import Format
from docboltz.errors import InvalidCorpus, shown
from docboltz.progress import printable

_BY_SUFFIX: dict[str, Format] = {
    ".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl",
    ".parquet": "parquet", ".pq": "parquet", ".txt": "lines", ".text": "lines",
}  # fmt: skip
_PATH_OF_URL = re.compile(r"[a-z][a-z0-9+.-]+:/[^/]")
_TABLES = {suffix for suffix, format in _BY_SUFFIX.items() if format != "lines"}


@dataclass(frozen=True)
class Source:
    """A file, with the folder it was found in if it is one document of many there."""

    location: Location | None
    """None is standard input."""
    format: Format | None
    folder: Location | None = None

    @property
    def name(self) -> str:
        """What to call it in messages."""
        return "standard input" if self.location is None else self.location.name

    @property
    def compression(self) -> str:
        """The suffix that names how it is compressed, or ""."""
        return "" if self.location is None else _suffixes(self.location)[1]


def find_locations(given: Iterable[str]) -> list[Location | None]:
    """Check that every path or URL leads somewhere, and follow globs; None is standard input."""
    found: list[Location | None] = []
    for entry in given:
        found.extend([None] if entry == "-" else _find(entry))
    if not found:
        raise InvalidCorpus(
            "There are no paths to read.", hint="Name a file, a folder, a URL, a glob or '-'."
        )
    return found


def local_patterns(given: Iterable[str]) -> list[Path]:
    """Those of the paths that stand for files of this machine by a pattern, such as *.csv."""
    found = [location for entry in given if isinstance(location := locate(entry), LocalPath)]
    return [Path(each.path) for each in found if glob.has_magic(each.path) and not each.kind()]


def _find(entry: str) -> list[Location]:
    location = locate(entry)
    try:
        if location.kind() is not None:
            return [location]
        if matches := list(location.matches()):
            return matches
    except OSError as error:
        reason = printable(error.strerror or str(error))
        raise InvalidCorpus(f"{shown(entry)} could not be read: {reason}.") from error
    what = "Nothing matches" if glob.has_magic(entry) else "There is no file or folder"
    raise InvalidCorpus(f"{what} {shown(entry)}.", hint=_where(entry))


def _where(entry: str) -> str:
    """What to know about a path that leads nowhere."""
    if _PATH_OF_URL.match(entry):
        return "A URL must be a string: pathlib makes one '/' of two."
    try:
        return f"The working folder is {os.getcwd()!r}."
    except OSError:
        return "The working folder was removed."


def find_sources(
    locations: list[Location | None], format: Format | None, *, weak: bool = False
) -> Iterator[Source]:
    """Go through files and folders, in order.

    A `weak` format, which nobody named for these files, yields to a name that tells a table.
    """
    kinds = [None if location is None else _kind(location) for location in locations]
    unnamed = all(
        location is not None and kind != "folder" and not _suffix(location)
        for location, kind in zip(locations, kinds, strict=True)
    )
    if format is None and unnamed and len(locations) > 1:
        format = "files"  # many files of no known kind, like usr/share/doc/*/copyright, are texts
    for location, kind in zip(locations, kinds, strict=True):
        if location is None:
            yield Source(None, format)
        elif kind == "folder":
            yield from _folder(location, format, weak)
        else:
            by_name = format is None or (weak and _suffix(location) in _TABLES)
            yield Source(location, _BY_SUFFIX.get(_suffix(location)) if by_name else format)


def _kind(location: Location) -> str | None:
    """File or folder; what cannot be known counts as a file: opening it tells why."""
    try:
        return location.kind()
    except OSError:
        return None


def _folder(folder: Location, format: Format | None, weak: bool) -> Iterator[Source]:
    open_question = format is None or (weak and format != "files")
    tables = open_question and all(_suffix(file) in _TABLES for file in folder.files())
    for file in folder.files():
        if tables and _suffix(file) in _TABLES:  # or it came since
            yield Source(file, _BY_SUFFIX[_suffix(file)])
        elif format in (None, "files"):
            yield Source(file, "files", folder)
        else:
            yield Source(file, format)


def _suffix(location: Location) -> str:
    """The suffix that tells the format, below that of a compression."""
    return _suffixes(location)[0]


def _suffixes(location: Location) -> tuple[str, str]:
    """The suffixes that tell format and compression, "" for none."""
    suffixes = ["", "", *location.suffixes]
    before, last = suffixes[-2:]
    return (before, last) if last in COMPRESSIONS else (last, "")
