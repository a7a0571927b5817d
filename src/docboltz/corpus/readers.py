"""Files, folders, URLs, standard input or data frames → a stream of documents.

Nothing is held but hashes of ids that a file gives, which must differ. What cannot be read as a
document is counted in a `ReadReport`; only a collection without a single readable document is an
error.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, groupby, islice
from pathlib import Path
from typing import Any, NamedTuple

from docboltz.corpus.columns import ColumnChoice
from docboltz.corpus.decoding import (
    LONGEST,
    READ_ERRORS,
    Decoder,
    compression,
    looks_binary,
    peek,
    require_mark,
    too_long,
    unpacked,
)
from docboltz.corpus.document import Document
from docboltz.corpus.frames import check_texts, is_frame, read_frame, read_texts
from docboltz.corpus.locations import LocalPath, Location, Unreachable
from docboltz.corpus.naming import named, spelled
from docboltz.corpus.read_options import Format, ReadOptions
from docboltz.corpus.report import ReadAs, ReadReport
from docboltz.corpus.rows import Row, TableFile
from docboltz.corpus.sources import Source, find_locations, find_sources, local_patterns
from docboltz.corpus.tables import read_table
from docboltz.corpus.taken_ids import TakenIds
from docboltz.errors import InvalidCorpus, NoDocuments, shown
from docboltz.progress import printable
from docboltz.storage import BUFFER, NotAFile, standard_input

PART_FILES = 1000
"""Files of a part that hold one document each."""


class Documents:
    """A stream of documents that can be gone through again; each time the source is read anew.

    What `docboltz.read` gives. `report` tells of the latest pass and fills up while it runs.
    """

    def __init__(
        self,
        name: str,
        rows: Callable[[ReadReport], Iterator[Row]],
        options: ReadOptions,
        read_with: Callable[[ReadOptions], Documents] | None = None,
        locations: Sequence[Location | None] = (),
        patterns: Sequence[Path] = (),
        parts: Callable[[], list[Part]] | None = None,
        tables: Callable[[], list[Part]] | None = None,
        ids_differ: bool = True,
    ) -> None:
        self.locations = tuple(locations)
        """Files, folders and URLs that are read; None is standard input."""
        self.options = options
        """How the source is read; a model saves it and reads new documents alike."""
        self.report = ReadReport()
        """What the latest pass met."""
        self._name = name
        self._rows = rows
        self._read_with = read_with
        self._patterns = patterns
        self._parts = parts
        self._tables = tables
        self._ids_differ = ids_differ
        self._asked: Documents | None = None

    def identity(self) -> list[Any] | None:
        """What tells the files that are read, as they are now, from others, and how they are read.

        None where nobody can tell: standard input, a list of texts.
        """
        if not self.locations or None in self.locations:
            return None
        try:
            known = [where.state() for where in self.locations if where is not None]
        except OSError:
            return None
        return [self.options.to_dict(), known]

    @property
    def paths(self) -> tuple[Path, ...]:
        """Those of them that are on this machine, where somebody might write over them.

        And patterns, such as *.csv, that they were found by.
        """
        local = (Path(where.path) for where in self.locations if isinstance(where, LocalPath))
        return (*local, *self._patterns)

    def completed(self, saved: ReadOptions) -> Documents:
        """The same source, read by saved options where nothing else was asked for."""
        if self._read_with is None or (found := self._read_with(saved)).options == self.options:
            return self
        found._asked = self  # whose report is looked at
        return found

    def parts(self) -> list[Part]:
        """The same documents by file, or by some hundred files that hold one each, for processes
        that share the work. Ids are as they are given: two documents may have one."""
        parts = None if self._parts is None else self._parts()
        if parts is None or any(source.location is None for p in parts for source in p.sources):
            raise InvalidCorpus(
                f"Only files can be read in parts, and {self._name} is none.",
                hint="Write the documents to files, Parquet say, and read those.",
            )
        return parts

    def tables(self) -> list[Part]:
        """The parts of a collection of tables, one for each; none if not all files are tables."""
        return [] if self._tables is None else self._tables()

    def rows(self, report: ReadReport) -> Iterator[Row]:
        """The documents as the source gives them: two may have one id."""
        return spelled(self._rows(report), report)

    def __iter__(self) -> Iterator[Document]:
        return self._stream(self.begin())

    def begin(self) -> ReadReport:
        """The report of a new pass, which whoever reads fills."""
        self.report = report = ReadReport()
        if self._asked is not None:
            self._asked.report = report
        return report

    def _stream(self, report: ReadReport) -> Iterator[Document]:
        yield from named(self.rows(report), TakenIds() if self._ids_differ else None, report)
        self.require_some(report)

    def require_some(self, report: ReadReport) -> None:
        """Raise NoDocuments if a whole pass has met none."""
        if report.documents == 0:
            empty = "it is empty" if self._read_with is None else "nothing, or only a heading"
            found = "; ".join(report.problems()) or empty
            raise NoDocuments(f"There are no documents in {self._name}: {found}.")

    def __repr__(self) -> str:
        given = self.options.given()
        columns = {k: v if isinstance(v, tuple) else (v,) for k, v in given.items()}
        shown = ", ".join(f"{k} {' and '.join(map(repr, v))}" for k, v in columns.items())
        return f"Documents({self._name}{': ' if shown else ''}{shown})"


def read(
    source: Any,
    *,
    text: str | Sequence[str] | None = None,
    id: str | None = None,
    label: str | None = None,
    date: str | None = None,
    title: str | None = None,
    keep: str | Sequence[str] | None = None,
    format: Format | None = None,
    label_separator: str | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    quotes: bool | None = None,
    options: ReadOptions | None = None,
) -> Documents:
    """Read the documents of files, folders, URLs, globs, standard input ("-") or a data frame.

    The format follows from a file's name, or from its first bytes, unless `format` names it. In a
    folder every file is a document: its path is its id and its sub-folder its label (a folder of
    nothing but CSV, TSV, JSON Lines or Parquet files is read as these). `text`, `id`, `label`,
    `date` and `title` name columns; left out, they are found by usual names. Several text columns
    are joined. Labels may be lists, or one string cut at `label_separator`. `keep` names further
    columns, as a list or split by commas: `Document.columns` has them as strings, "" for a missing
    value and JSON for a list or an object. For CSV and TSV, `delimiter` separates columns,
    `header=False` says that there are no names (columns are "1", "2", …, the longest is the text)
    and `quotes=False` that quotes are text. A data frame is one of pandas or polars, or a table of
    pyarrow.

    Dates are those of ISO 8601, of mail (RFC 2822), with names of months in English, 2013/08/11,
    11.08.2013, and 08/11/2013, whose order the first hundred values of a file tell: the month comes
    first unless one of them cannot be a month. Seconds or milliseconds since 1970 are dates in a
    column that was named, or is called like a timestamp. A column that was not named has dates
    only if nine tenths of its first hundred values are. Other values are reported.

    Documents without an id are numbered: by line or row, after the file's name if there are
    several. An id that is taken gets a suffix, "a#2".

    `options` are those of the documents that a model was trained on (`Documents.options`). What is
    given beside them counts more. New documents need the text columns named there, while others
    may be missing; that is reported.

    Paths are checked at once; everything else as it comes.

    >>> import pandas
    >>> documents = read(pandas.DataFrame({"nr": [7], "body": ["Ships at sea."]}), id="nr")
    >>> documents, [(document.id, document.text) for document in documents]
    (Documents(a DataFrame: id 'nr'), [('7', 'Ships at sea.')])
    """
    asked: dict[str, Any] = {}
    asked |= {"text": text or None, "id": id, "label": label, "date": date}
    asked |= {"title": title, "keep": keep or None, "label_separator": label_separator}
    asked |= {"format": format, "encoding": encoding, "delimiter": delimiter}
    asked |= {"header": header, "quotes": quotes}
    named = {name: value for name, value in asked.items() if value is not None}
    before = {} if options is None else options.given()
    choice = ColumnChoice(ReadOptions(**{**before, **named}), frozenset(before).difference(named))

    def read_with(saved: ReadOptions) -> Documents:
        return read(source if is_frame(source) else given, options=saved, **named)

    if is_frame(source):
        name, rows = f"a {type(source).__name__}", partial(read_frame, source, choice)
        return Documents(name, rows, choice.options, read_with)
    try:
        alone = isinstance(source, (str, os.PathLike))
        given = [os.fspath(path) for path in ([source] if alone else source)]
    except TypeError as error:
        raise InvalidCorpus(
            f"docboltz.read takes paths or a data frame; got {type(source).__name__}.",
            hint="A model's methods take lists and columns of texts as they are.",
        ) from error
    locations = find_locations(given)
    files = _Files(locations, choice)
    more = f" and {len(given) - 1:,} more" if len(given) > 1 else ""
    name, by_file = f"{shown(given[0])}{more}", (files.parts, files.tables)
    how = choice.options, read_with, locations, local_patterns(given)
    return Documents(name, files.rows, *how, *by_file)


def as_documents(texts: Any, owner: str, saved: ReadOptions | None = None) -> Documents:
    """Make documents of whatever holds texts; `owner` names the caller in messages.

    That is what `read` gives, a data frame, a column of one, or any iterable of strings, bytes
    (UTF-8) and documents. None and NaN are empty texts, which keep their place. Strings are
    numbered from "0". `saved` are reading options of a model, for what nothing was asked of.
    """
    if isinstance(texts, Documents):
        return texts if saved is None else texts.completed(saved)
    if is_frame(texts):
        return read(texts, options=saved)
    checked = check_texts(texts, owner)
    name = f"a {type(texts).__name__}"
    return Documents(name, lambda report: read_texts(checked, owner), ReadOptions())


class Part(NamedTuple):
    """Some files of a collection, and a stream of their documents that other processes can read."""

    sources: tuple[Source, ...]
    documents: Documents


class _Files:
    """Reads files one after the other."""

    def __init__(self, locations: list[Location | None], choice: ColumnChoice) -> None:
        self._locations = locations
        self._choice = choice
        self._stdin_used = False

    def rows(self, report: ReadReport) -> Iterator[Row]:
        sources = self._sources()
        # Numbers need no file name before them if there is only one file.
        ahead = [source for source in (next(sources, None), next(sources, None)) if source]
        return self._rows_of(chain(ahead, sources), len(ahead) > 1, report)

    def parts(self) -> list[Part]:
        return self._parts(list(self._sources()))

    def tables(self) -> list[Part]:
        sources = []
        try:
            for source in self._sources():
                if source.format == "files" or source.location is None:
                    return []  # a folder may hold millions: they are not looked through
                sources.append(source)
        except InvalidCorpus:  # who reads one by one learns of it where it happens
            return []
        return self._parts(sources)

    def _parts(self, sources: list[Source]) -> list[Part]:
        reader, parts = _Files([], self._choice), []
        for files, group in groupby(sources, key=lambda source: source.format == "files"):
            size = PART_FILES if files else 1
            while part := tuple(islice(group, size)):
                rows = partial(reader._rows_of, part, len(sources) > 1)
                name, options = repr(part[0].name), self._choice.options
                documents = Documents(name, rows, options, ids_differ=False)
                parts.append(Part(part, documents))
        return parts

    def _sources(self) -> Iterator[Source]:
        options = self._choice.options
        format, weak = options.format, "format" in self._choice.saved
        named = options.delimiter is not None and "delimiter" not in self._choice.saved
        if format is None and (named or not (options.header or "header" in self._choice.saved)):
            format, weak = "csv", True
        return find_sources(self._locations, format, weak=weak)

    def _rows_of(
        self, sources: Iterable[Source], several: bool, report: ReadReport
    ) -> Iterator[Row]:
        for source in sources:
            for row in self._read(source, report):
                if several and row.id is None:
                    identity = f"{source.location or source.name}:{row.number}"
                    row = row._replace(id=identity, numbered=False)
                yield row

    def _read(self, source: Source, report: ReadReport) -> Iterator[Row]:
        try:
            with (
                self._open(source) as packed,
                unpacked(packed, self._packing(source, packed)) as stream,
            ):
                if source.format == "files":
                    yield from self._whole_file(source, stream, report)
                else:
                    file = TableFile(source.name, stream, self._choice, report)
                    yield from read_table(file, source.format)
        except READ_ERRORS as error:
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            reason = printable(reason).strip().rstrip(".")
            if source.folder is not None and not isinstance(error, Unreachable):
                report.note("unreadable", f"{source.name}: {reason}")
                return
            hint = "Check its permissions, and that it is complete if it is compressed."
            if isinstance(error, NotAFile):
                hint = "What another program writes is read from '-': program | docboltz fit -"
            raise InvalidCorpus(f"{source.name} could not be read: {reason}.", hint=hint) from error

    def _open(self, source: Source) -> io.BufferedReader:
        if source.location is not None:
            return source.location.open()
        if self._stdin_used:
            raise InvalidCorpus(
                "Standard input can be read only once.",
                hint="Write it to a file, or keep its documents in a list.",
            )
        self._stdin_used = True
        return io.BufferedReader(_Unclosed(standard_input()), BUFFER)

    def _packing(self, source: Source, stream: io.BufferedReader) -> str:
        """How a source is compressed: its name tells, and standard input has none."""
        return source.compression if source.location is not None else compression(peek(stream))

    def _whole_file(
        self, source: Source, stream: io.BufferedReader, report: ReadReport
    ) -> Iterator[Row]:
        report.read_as[ReadAs("one document per file")] += 1
        encoding = self._choice.options.encoding
        # Whoever keeps films among texts should not have them loaded.
        binary = encoding is None and looks_binary(peek(stream))
        if encoding is not None:
            require_mark(encoding, peek(stream), source.name)
        data = b"" if binary else stream.read(LONGEST + 1)
        if len(data) > LONGEST:
            if source.folder is None:
                raise too_long(source.name)
            report.note("unreadable", f"{source.name}: longer than {LONGEST >> 20} MB")
            return
        text = None if binary else Decoder(report, encoding).decode(data)
        if text is None:
            report.note("undecodable", source.name)
            return
        identity, label = str(source.location or source.name), ""
        if source.folder is not None and source.location is not None:
            relative = source.location.relative_to(source.folder)
            identity, label = relative.as_posix(), relative.parent.as_posix()
        yield Row(1, identity, text, (label,) if label not in ("", ".") else ())


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
