"""Files, folders or standard input → a stream of documents.

Nothing is held but the ids, which must differ. What cannot be read as a document is counted in a
`ReadReport`; only a collection without a single readable document is an error.
"""

from __future__ import annotations

import glob
import io
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from docboltz.corpus.columns import ColumnOptions
from docboltz.corpus.decoding import (
    COMPRESSIONS,
    MAGIC,
    Decoder,
    decompressed,
    looks_binary,
    open_bytes,
    peek,
    read_errors,
)
from docboltz.corpus.document import Document
from docboltz.corpus.report import ReadReport
from docboltz.corpus.tables import (
    Row,
    TableFile,
    TableOptions,
    read_delimited,
    read_json_lines,
    read_lines,
    read_parquet,
    sniff,
)
from docboltz.errors import InvalidCorpus, require

__all__ = ["FORMATS", "Document", "Format", "ReadReport", "read_documents"]

Format = Literal["files", "csv", "tsv", "jsonl", "parquet", "lines"]
FORMATS: tuple[Format, ...] = ("files", "csv", "tsv", "jsonl", "parquet", "lines")
"""`files`: every file is one document. `lines`: every line is."""

_BY_SUFFIX: dict[str, Format] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".txt": "lines",
    ".text": "lines",
}
_TABLES = {suffix for suffix, format in _BY_SUFFIX.items() if format != "lines"}
StrPath = str | os.PathLike[str]


def read_documents(
    paths: StrPath | Iterable[StrPath],
    *,
    format: Format | None = None,
    text: str | Sequence[str] | None = None,
    id: str | None = None,
    label: str | None = None,
    label_separator: str | None = None,
    encoding: str | None = None,
    header: bool = True,
    quotes: bool = True,
    report: ReadReport | None = None,
) -> Iterator[Document]:
    """Stream the documents of files, folders, globs or standard input ("-").

    The format follows from a file's name, or from its first bytes, unless `format` names it. In a
    folder every file is a document: its path is its id and its sub-folder its label (a folder of
    nothing but CSV, TSV, JSON Lines or Parquet files is read as these). `text`, `id` and `label`
    name columns; left out, they are found by usual names. Several text columns are joined. Labels
    may be lists, or one string cut at `label_separator`. For CSV and TSV, `header=False` says that
    there are no names (columns are "1", "2", …) and `quotes=False` that quotes are text.

    Documents without an id are numbered: by line or row, after the file's name if there are
    several. An id that is taken gets a suffix, "a#2". `report` fills up while the stream is read.

    Paths are checked at once; everything else as it comes.
    """
    known = " or ".join(FORMATS)
    require(format is None or format in FORMATS, "read_documents", "format", known, format)
    columns = ColumnOptions(text, id, label, label_separator)
    sources = _sources(paths, format)
    reader = _Reader(TableOptions(columns, encoding, header, quotes), report or ReadReport())
    return reader.stream(sources)


@dataclass(frozen=True)
class _Source:
    """A file, with the folder it was found in if it is one document of many there."""

    path: Path | None
    """None is standard input."""
    format: Format | None
    folder: Path | None = None

    @property
    def name(self) -> str:
        return "standard input" if self.path is None else str(self.path)


def _sources(paths: StrPath | Iterable[StrPath], format: Format | None) -> Iterator[_Source]:
    """Check that every path leads somewhere; go through folders later, as they are read."""
    given = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    if not given:
        raise InvalidCorpus("There are no paths to read. Name a file, a folder, a glob or '-'.")
    found: list[Path | None] = []
    for entry in (os.fspath(path) for path in given):
        path = Path(entry).expanduser()
        if entry == "-":
            found.append(None)
        elif path.exists():
            found.append(path)
        else:
            matches = sorted(glob.glob(str(path), recursive=True))
            if not matches:
                what = "Nothing matches" if glob.has_magic(entry) else "There is no file or folder"
                raise InvalidCorpus(f"{what} {entry!r}. The working folder is {os.getcwd()!r}.")
            found.extend(map(Path, matches))
    alone = len(found) == 1
    unnamed = all(p is not None and p.is_file() and not _suffix(p) for p in found)
    if format is None and unnamed and not alone:
        format = "files"  # many files of no known kind, like usr/share/doc/*/copyright, are texts
    if alone and found[0] is not None and found[0].is_dir():
        return _folder(found[0], format)
    return (source for path in found for source in _expand(path, format))


def _expand(path: Path | None, format: Format | None) -> Iterator[_Source]:
    if path is not None and path.is_dir():
        yield from _folder(path, format)
    elif path is None:
        yield _Source(None, format)
    else:
        yield _Source(path, format or _BY_SUFFIX.get(_suffix(path)))


def _folder(folder: Path, format: Format | None) -> Iterator[_Source]:
    tables = format is None and _holds_tables_only(folder)
    for path in _files(folder):
        if tables:
            yield _Source(path, _BY_SUFFIX[_suffix(path)])
        elif format in (None, "files"):
            yield _Source(path, "files", folder)
        else:
            yield _Source(path, format)


def _files(folder: Path) -> Iterator[Path]:
    """All files below a folder, in order, without hidden ones."""
    closed: list[OSError] = []
    for where, folders, names in os.walk(folder, onerror=closed.append):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(where, name) for name in sorted(names) if not name.startswith("."))
    # A folder that may not be listed is passed on as if it were a file: opening it is reported.
    yield from (Path(error.filename) for error in closed)


def _holds_tables_only(folder: Path) -> bool:
    empty = True
    for path in _files(folder):
        if _suffix(path) not in _TABLES:
            return False
        empty = False
    return not empty


def _suffix(path: Path) -> str:
    """The suffix that tells the format, below that of a compression."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in COMPRESSIONS:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


class _Reader:
    """Reads sources one after the other into one stream with one set of ids."""

    def __init__(self, options: TableOptions, report: ReadReport) -> None:
        self._options = options
        self._report = report
        self._taken: set[str] = set()
        self._next_suffix: dict[str, int] = {}

    def stream(self, sources: Iterator[_Source]) -> Iterator[Document]:
        # Numbers need no file name before them if there is only one file.
        first, second = next(sources, None), next(sources, None)
        name = ""
        for source in (s for group in ((first, second), sources) for s in group if s is not None):
            name = name or source.name
            prefix = "" if second is None else f"{source.name}:"
            for row in self._rows(source):
                identity = self._unique(row.id if row.id is not None else f"{prefix}{row.number}")
                self._report.documents += 1
                if not row.text or row.text.isspace():
                    self._report.note("empty", identity)
                yield Document(identity, row.text, row.labels)
        if self._report.documents == 0:
            found = "; ".join(self._report.problems()) or "nothing, or nothing but a heading"
            raise InvalidCorpus(f"There are no documents in {name or 'the folder'}: {found}.")

    def _rows(self, source: _Source) -> Iterator[Row]:
        try:
            if source.format == "files":
                yield from self._whole_file(source)
                return
            with self._open(source) as stream:
                yield from self._table(source, stream)
        except read_errors() as error:
            if source.folder is not None:
                self._report.note("unreadable", f"{source.name}: {error}")
                return
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise InvalidCorpus(
                f"{source.name} could not be read: {reason}. Check its permissions, and that it is "
                "complete if it is compressed."
            ) from error

    def _open(self, source: _Source) -> io.BufferedReader:
        if source.path is not None:
            return open_bytes(source.path)
        stdin = cast(io.BufferedReader, sys.stdin.buffer)
        stream: io.BufferedReader = io.BufferedReader(_Unclosed(stdin), 1 << 16)
        magic = peek(stream)[:6]
        suffix = next((suffix for start, suffix in MAGIC.items() if magic.startswith(start)), "")
        return decompressed(stream, suffix) if suffix else stream

    def _table(self, source: _Source, stream: io.BufferedReader) -> Iterator[Row]:
        file = TableFile(source.name, stream, self._report)
        format = source.format or sniff(source.name, peek(stream))
        if format == "jsonl":
            return read_json_lines(file, self._options)
        if format == "parquet":
            return read_parquet(file, self._options)
        if format == "lines":
            self._report.read_as["one document per line"] += 1
            return read_lines(file, self._options)
        return read_delimited(file, self._options, "\t" if format == "tsv" else None)

    def _whole_file(self, source: _Source) -> Iterator[Row]:
        self._report.read_as["one document per file"] += 1
        with self._open(source) as stream:
            # Whoever keeps films among texts should not have them loaded.
            binary = self._options.encoding is None and looks_binary(peek(stream))
            data = b"" if binary else stream.read()
        text = None if binary else Decoder(self._report, self._options.encoding).decode(data)
        if text is None:
            self._report.note("undecodable", source.name)
            return
        identity, label = source.name, ""
        if source.folder is not None and source.path is not None:
            relative = source.path.relative_to(source.folder)
            identity, label = relative.as_posix(), relative.parent.as_posix()
        yield Row(1, identity, text, (label,) if label not in ("", ".") else ())

    def _unique(self, identity: str) -> str:
        """The id itself if it is free, else with the first free suffix "#2", "#3", …"""
        if identity not in self._taken:
            self._taken.add(identity)
            return identity
        self._report.note("duplicate_ids", identity)
        number = self._next_suffix.get(identity, 2)
        while (renamed := f"{identity}#{number}") in self._taken:
            number += 1
        self._next_suffix[identity] = number + 1
        self._taken.add(renamed)
        return renamed


class _Unclosed(io.RawIOBase):
    """Reads from a stream that belongs to someone else and stays open."""

    def __init__(self, stream: io.BufferedReader) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read1(len(buffer))
        buffer[: len(data)] = data
        return len(data)
