"""Files, folders, URLs, standard input, data frames and lists of texts → a stream of documents.

The stream is one of Arrow record batches with the columns id, text, labels, date, title and columns
(`columns.document_schema`). What cannot be read is counted in a `ReadReport`; only a collection
without a single document is an error.
"""

from __future__ import annotations

import copy
import lzma
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from functools import partial
from itertools import chain, groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from docboltz.corpus.columns import (
    Choice,
    Columns,
    Format,
    ReadOptions,
    as_documents_batch,
    document_schema,
    find_columns,
    first_values,
    iso_date,
    reported,
    valid_text,
)
from docboltz.corpus.document import Document
from docboltz.corpus.sources import LONGEST, Source, Unreadable, file_system, find_sources
from docboltz.errors import InvalidCorpus, NoDocuments, shown
from docboltz.progress import printable

if TYPE_CHECKING:
    import pyarrow as pa

AT_ONCE = 10_000
"""Documents of a list, or rows of a data frame, that become a batch."""
PART_FILES = 1000
"""Files of one document each that a process of a cluster reads at once."""
Read = Callable[[Choice, "ReadReport"], Iterator["pa.RecordBatch"]]


PROBLEMS = {
    "malformed": ("malformed row left out", "malformed rows left out"),
    "unreadable": ("file could not be read to its end", "files could not be read to their end"),
    "replaced": (
        "character is not valid in the encoding (UTF-8 by default) and was replaced",
        "characters are not valid in the encoding (UTF-8 by default) and were replaced",
    ),
    "unclosed": (
        "quote is never closed: the rest of its file was read as one value; if quotes are part of "
        "the text, read it without them (--no-quotes, quotes=False)",
        "quotes are never closed: the rest of their files was read as one value; if quotes are "
        "part of the text, read them without (--no-quotes, quotes=False)",
    ),
    "empty": ("document has no text", "documents have no text"),
    "repeated_ids": (
        "id occurs twice, so documents are numbered by row",
        "ids occur more than once, so documents are numbered by row",
    ),
    "invalid_dates": (
        "value is not a date by ISO 8601 or by date_format",
        "values are not dates by ISO 8601 or by date_format",
    ),
    "absent_columns": ("column of the training documents is missing", "columns are missing"),
    "repeated_columns": (
        "column name occurs twice; the first column was read",
        "column names occur more than once; the first column of each was read",
    ),
}
"""Each kind of problem, for one and for several of them."""
SHOWN = 3
"""Formats that a summary shows; a folder may hold files of many kinds."""
LONGEST_PLACE = 500
"""Characters that are kept of a place where a problem was met."""


@dataclass(frozen=True)
class ReadAs:
    """How a file or a data frame was read.

    >>> print(ReadAs("CSV", Columns(("body",), "nr", "stars", unused=("date", "shop"))))
    CSV: text 'body', id 'nr', label 'stars'; not used: 'date', 'shop'
    """

    format: str
    """In words, such as "CSV" or "one document per line"."""
    columns: Columns | None = None

    def __str__(self) -> str:
        return self.format if self.columns is None else f"{self.format}: {self.columns}"


@dataclass(slots=True)
class ReadReport:
    """Counts of what was met. Filled while documents are read."""

    documents: int = 0
    """Documents that were read, empty ones included."""
    empty: int = 0
    """Documents without text. They keep their place, so that rows match the input."""
    numbered: int = 0
    """Documents without an id of their own: the number of their row is their id."""
    unlabelled: int = 0
    """Documents without a label."""
    undated: int = 0
    """Documents without a date."""
    invalid_dates: int = 0
    """Documents whose value in the date column is not a date. They are read without one."""
    replaced: int = 0
    """Characters that are not valid in the encoding. U+FFFD replaces them."""
    malformed: int = 0
    """Rows left out because they are not what the format asks for."""
    unclosed: int = 0
    """Files in which a quote is never closed."""
    unreadable: int = 0
    """Files that could not be opened or are damaged. What comes before the damage is read."""
    repeated_ids: int = 0
    """Ids that occur more than once, where the id column was not asked for."""
    absent_columns: int = 0
    """Columns of the training documents, other than the text, that a file does not have."""
    repeated_columns: int = 0
    """Columns that are read and whose name another column has, too."""
    read_as: Counter[ReadAs] = field(default_factory=Counter)
    """How many files were read in which way."""
    first: dict[str, str] = field(default_factory=dict)
    """Where each kind of problem was met first."""

    def note(self, kind: str, where: str, times: int = 1) -> None:
        """Count a problem and keep the first place where it was met."""
        setattr(self, kind, getattr(self, kind) + times)
        more = "…" if len(where) > LONGEST_PLACE else ""
        self.first.setdefault(kind, printable(where[:LONGEST_PLACE]) + more)

    def note_rows(self, kind: str, place: str, rows: pa.Array | None, first: int) -> None:
        """Count a problem of rows; `rows` tells which of them have it."""
        import pyarrow.compute as pc

        if rows is not None and (times := pc.sum(rows).as_py()):
            self.note(kind, f"{place}, document {first + pc.index(rows, True).as_py()}", times)

    def count(self, documents: pa.RecordBatch, place: str, first: int) -> None:
        """Count documents, and what they do not have. A null date is a value that is not one."""
        import pyarrow.compute as pc

        ids, texts, labels, dates = (documents.column(i) for i in range(4))
        self.documents += len(texts)
        self.numbered += ids.null_count
        self.unlabelled += pc.sum(pc.equal(pc.list_value_length(labels), 0)).as_py() or 0
        self.undated += dates.null_count + (pc.sum(pc.equal(dates, "")).as_py() or 0)
        self.note_rows("empty", place, pc.equal(pc.utf8_trim_whitespace(texts), ""), first)
        self.note_rows("invalid_dates", place, pc.is_null(dates), first)

    def add(self, other: ReadReport) -> None:
        """Add what was met in documents that come after these."""
        for each in fields(self):
            own, more = getattr(self, each.name), getattr(other, each.name)
            setattr(self, each.name, {**more, **own} if each.name == "first" else own + more)

    def summary(self) -> list[str]:
        """The lines that a person should see before training: how it was read, what is odd."""
        ways = self.read_as.most_common(SHOWN)
        lines = [f"Read {'' if n == 1 else f'{n:,} files '}as {way}" for way, n in ways]
        if len(self.read_as) > SHOWN:
            lines.append(f"Read in {len(self.read_as) - SHOWN:,} more ways")
        return [*lines, *self.problems()]

    def problems(self) -> list[str]:
        """One sentence for each kind of problem.

        >>> report = ReadReport()
        >>> report.note("malformed", "a.jsonl, line 3: not JSON")
        >>> report.problems()
        ['1 malformed row left out (first: a.jsonl, line 3: not JSON)']
        """
        found = []
        for kind, (one, many) in PROBLEMS.items():
            if n := getattr(self, kind):
                where = f" (first: {self.first[kind]})" if kind in self.first else ""
                found.append(f"{n:,} {one if n == 1 else many}{where}")
        for n, what in ((self.unlabelled, "label"), (self.undated, "date")):
            if 0 < n < self.documents:
                have = "has" if n == 1 else "have"
                found.append(f"{n:,} of {self.documents:,} documents {have} no {what}")
        return found

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON can hold it."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        ways = [{**asdict(way), "files": n} for way, n in self.read_as.items()]
        return {**values, "read_as": ways}


class Documents:
    """A stream of documents that can be read again; each time the source is read anew.

    What `docboltz.read` returns. `report` describes the latest pass and fills up while it runs.
    """

    def __init__(
        self,
        name: str,
        batches: Read,
        choice: Choice,
        sources: Sequence[Source] = (),
        patterns: Sequence[str] = (),
    ) -> None:
        self.report = ReadReport()
        """What the latest pass met."""
        self.sources = tuple(sources)
        """Files that are read."""
        self._name, self._batches, self._choice = name, batches, choice
        self._patterns = tuple(patterns)
        self._original: Documents | None = None

    @property
    def options(self) -> ReadOptions:
        """How the source is read; a model saves it and reads new documents alike."""
        return self._choice.options

    @property
    def paths(self) -> tuple[Path, ...]:
        """Files, folders and globs of this machine that are read: nothing must be written there."""
        known = [*self._patterns, *(source.path for source in self.sources)]
        return tuple(Path(file_system(p)[1]) for p in known if p != "-" and not file_system(p)[0])

    def identity(self) -> list[Any] | None:
        """What tells the files, as they are now, from others, and how they are read.

        None where that cannot be known: standard input, a list of texts.
        """
        if not self.sources or any(source.path == "-" for source in self.sources):
            return None
        try:
            return [self.options.to_dict(), [source.state() for source in self.sources]]
        except OSError:
            return None

    def completed(self, saved: ReadOptions) -> Documents:
        """The same documents, read by saved options where nothing else was asked for."""
        found = copy.copy(self)
        asked = {name: getattr(self.options, name) for name in self._choice.asked}
        found._choice, found._original = Choice.of(asked, saved), self
        return found

    def parts(self) -> list[Documents]:
        """The same documents file by file, for processes that share the work."""
        if not self.sources or any(source.path == "-" for source in self.sources):
            raise InvalidCorpus(
                f"Only files can be read in parts, and {self._name} is not a file.",
                hint="Write the documents to files, such as Parquet, and read those.",
            )
        found, alone = list[Documents](), len(self.sources) == 1
        for whole, group in groupby(self.sources, key=lambda source: source.format == "files"):
            while some := list(islice(group, PART_FILES if whole else 1)):
                read_some = partial(_read_files, some, alone)
                found.append(Documents(repr(some[0].name), read_some, self._choice, some))
        return found

    def batches(self, numbered: bool = True) -> Iterator[pa.RecordBatch]:
        """Record batches of documents, with the columns of `columns.document_schema`.

        A document without an id has the number of its row; or null, if not `numbered`.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        self.report = report = ReadReport()
        if self._original is not None:
            self._original.report = report
        row = 0
        for batch in self._batches(self._choice, report):
            first, row = row, row + batch.num_rows
            if numbered and batch.column("id").null_count:
                numbers = pa.array(np.arange(first, row)).cast(pa.string())
                batch = batch.set_column(0, "id", pc.coalesce(batch.column("id"), numbers))
            if batch.num_rows:
                yield batch
        if not row:
            found = "; ".join(report.problems()) or "it is empty, or has only a header"
            raise NoDocuments(f"There are no documents in {self._name}: {found}.")

    def __iter__(self) -> Iterator[Document]:
        return chain.from_iterable(map(documents_of, self.batches()))

    def unique_ids(self, ids: pa.ChunkedArray) -> pa.ChunkedArray:
        """The ids, if all differ; else the numbers of rows, or an error if ids were asked for."""
        import pyarrow as pa
        import pyarrow.compute as pc

        distinct = pc.count_distinct(ids).as_py()
        if distinct == len(ids):
            return ids
        counted = pc.value_counts(ids)
        first = counted.filter(pc.greater(counted.field("counts"), 1))[0]["values"].as_py()
        if self._choice.options.id is not None:
            raise InvalidCorpus(
                f"The id {shown(first)} occurs more than once in {self._name}.",
                hint="Ids must differ. Name another column with {id}, or none: documents are then "
                "numbered.",
                settings=("id",),
            )
        self.report.note("repeated_ids", repr(first), len(ids) - distinct)
        self.report.numbered = len(ids)
        return pa.chunked_array([pa.array(np.arange(len(ids))).cast(pa.string())])

    def __repr__(self) -> str:
        given = self.options.given().items()
        listed = ((k, v if isinstance(v, tuple) else (v,)) for k, v in given)
        options = ", ".join(f"{k} {' and '.join(map(repr, v))}" for k, v in listed)
        return f"Documents({self._name}{': ' if options else ''}{options})"


def documents_of(batch: pa.RecordBatch) -> Iterator[Document]:
    """The documents of a record batch."""
    ids, texts, labels, dates, titles, columns = (each.to_pylist() for each in batch.columns)
    return map(Document, ids, texts, map(tuple, labels), dates, titles, map(dict, columns))


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
    date_format: str | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    quotes: bool | None = None,
    options: ReadOptions | None = None,
) -> Documents:
    """Read the documents of files, folders, URLs, globs, standard input ("-") or a data frame.

    Parameters
    ----------
    source : path, URL, glob or "-", or several of them; or a data frame of pandas, polars, DuckDB
        or pyarrow. In a folder every file is a document, whose path is its id and whose sub-folder
        is its label; a folder of nothing but tables is read as these.
    text, id, label, date, title : names of columns. Other columns are detected by common names.
        Several text columns are joined. Labels may be lists.
    keep : further columns, as a list or separated by commas: `Document.columns` has them as
        strings.
    format : "files", "csv", "tsv", "jsonl", "parquet" or "lines"; by default the file name, or the
        content, tells.
    label_separator : splits labels that are one string.
    date_format : format of dates as in `datetime.strptime`. By default dates are those of ISO 8601,
        or seconds since 1970. Other values are counted in the report.
    encoding : encoding of text files; UTF-8 by default. Bytes that are not in it are replaced.
    delimiter, header, quotes : for CSV and TSV: what separates columns; whether the first row names
        them (else they are "1", "2", … and the longest is the text); whether quotes around a value
        are not part of it.
    options : the options of a model's training documents (`Documents.options`), for all that is not
        given. Columns other than the text may be missing then; that is reported.

    Documents without an id have the number of their row, from 0, or the data frame's index.
    Paths are checked at once; everything else when documents are read.

    >>> import pandas
    >>> documents = read(pandas.DataFrame({"nr": [7], "body": ["Ships at sea."]}), id="nr")
    >>> documents, [(document.id, document.text) for document in documents]
    (Documents(a DataFrame: id 'nr'), [('7', 'Ships at sea.')])
    """
    given: dict[str, Any] = {"text": text or None, "id": id, "label": label, "date": date}
    given |= {"title": title, "keep": keep or None, "label_separator": label_separator}
    given |= {"date_format": date_format, "format": format, "encoding": encoding}
    given |= {"delimiter": delimiter, "header": header, "quotes": quotes}
    choice = Choice.of({k: v for k, v in given.items() if v is not None}, options)
    if is_frame(source):
        return Documents(f"a {type(source).__name__}", partial(_read_frame, source), choice)
    try:
        alone = isinstance(source, str | os.PathLike)
        paths = [os.fspath(path) for path in ([source] if alone else source)]
    except TypeError as error:
        raise InvalidCorpus(
            f"docboltz.read takes paths or a data frame; got {type(source).__name__}.",
            hint="A model's methods take lists and columns of texts as they are.",
        ) from error
    sources = find_sources(paths, choice.options.format)
    more = f" and {len(paths) - 1:,} more" if len(paths) > 1 else ""
    read_all = partial(_read_files, sources, len(sources) == 1)
    return Documents(f"{shown(paths[0])}{more}", read_all, choice, sources, paths)


def as_documents(texts: Any, owner: str, saved: ReadOptions | None = None) -> Documents:
    """Make documents of whatever holds texts; `owner` names the caller in messages.

    That is what `read` returns, a data frame, or a column, list or generator of strings, bytes
    (UTF-8) and `Document`s. None and NaN are empty texts. `saved` are options of a model.
    """
    if isinstance(texts, Documents):
        return texts if saved is None else texts.completed(saved)
    if is_frame(texts):
        return read(texts, options=saved)
    if isinstance(texts, str | bytes | os.PathLike | Mapping) or not isinstance(texts, Iterable):
        raise InvalidCorpus(
            f"{owner} expects several texts; got {type(texts).__name__} {shown(texts)}.",
            hint="Pass a list, a generator or a column of texts, or docboltz.read(path) for those "
            "of a file.",
        )
    return Documents(f"a {type(texts).__name__}", partial(_read_texts, texts, owner), Choice())


def is_frame(value: object) -> bool:
    """Whether a value is a table that other libraries can read by Arrow's C stream interface."""
    kind = type(value)
    table = any(hasattr(kind, name) for name in ("columns", "column_names", "schema"))
    return table and hasattr(kind, "__arrow_c_stream__")


def _read_files(
    sources: Sequence[Source], alone: bool, choice: Choice, report: ReadReport
) -> Iterator[pa.RecordBatch]:
    """The documents of files, one after the other. A bad file is an error if it is `alone`."""
    from docboltz.corpus.formats import Table, read_table, read_whole_files

    guard = partial(_passing_over, alone=alone)
    for whole, group in groupby(sources, key=lambda source: source.format == "files"):
        first = report.documents
        if whole:
            columns = Columns(("text",), "id", "label")
            for rows in read_whole_files(group, choice, report, guard):
                row = report.documents - first
                yield as_documents_batch(rows, columns, ReadOptions(), "files", report, row)
            continue
        for source in group:
            first, options = report.documents, choice.options
            with guard(source, report):
                for rows, columns in read_table(Table(source, choice, report)):
                    row = report.documents - first
                    yield as_documents_batch(rows, columns, options, source.name, report, row)


@contextmanager
def _passing_over(source: Source, report: ReadReport, *, alone: bool) -> Iterator[None]:
    """Report a damaged file and go on after it, unless nothing could be read at all."""
    import pyarrow as pa

    damage = (OSError, EOFError, ValueError, OverflowError, lzma.LZMAError, pa.ArrowException)
    before = report.documents
    try:
        yield
    except damage as error:
        done = report.documents - before
        nothing = alone and not done
        if isinstance(error, InvalidCorpus) and (nothing or not isinstance(error, Unreadable)):
            raise
        reason = getattr(error, "problem", "") or getattr(error, "strerror", None) or str(error)
        reason = printable(" ".join(reason.split()))[:500].rstrip(".")
        if nothing:
            hint = "Check that it is complete, and in the format that its name implies."
            if isinstance(error, PermissionError | UnicodeError):
                hint = "Check its permissions, or name its {encoding}."
            if "only files" in reason:
                hint = "What a program writes is read from '-': program | docboltz fit -"
            raise InvalidCorpus(
                f"{source.name} could not be read: {reason}.", hint=hint, settings=("encoding",)
            ) from error
        place = f" (after {done:,} documents)" if done else ""
        name = "" if source.name in reason else f"{source.name}: "
        report.note("unreadable", f"{name}{reason}{place}")


def _read_frame(frame: Any, choice: Choice, report: ReadReport) -> Iterator[pa.RecordBatch]:
    """The rows of a data frame. A pandas index that is not the row number holds ids."""
    import pyarrow as pa

    name, index = f"The {type(frame).__name__}", None
    try:
        if hasattr(frame, "reset_index") and not np.array_equal(frame.index, range(len(frame))):
            if not {*frame.index.names}.isdisjoint(frame.columns):  # names must differ
                frame = frame.rename_axis(index=[None] * frame.index.nlevels)
            frame = frame.reset_index()
            index = str(frame.columns[0])
        if index in (choice.options.id, choice.options.date):
            index = None  # it is named like any column
        columns = None
        for batch in chain.from_iterable(map(_in_parts, pa.RecordBatchReader.from_stream(frame))):
            rows, first = batch.rename_columns([*map(str, batch.schema.names)]), report.documents
            if columns is None:
                own = [column for column in rows.schema.names if column != index]
                name_it = "by docboltz.read(frame, text=…)"
                columns = find_columns(own, partial(_first_of, rows), choice, name, report, name_it)
                columns = replace(columns, id=columns.id or index)
                report.read_as[ReadAs(name.removeprefix("The "), columns)] += 1
            yield as_documents_batch(rows, columns, choice.options, name, report, first)
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
        if isinstance(error, InvalidCorpus):
            raise
        raise InvalidCorpus(
            f"{name} could not be read: {' '.join(str(error).split())}.",
            hint="A column must have values of one type, such as frame['text'].astype(str).",
        ) from error


def _in_parts(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Small parts of a batch: pandas gives a column of any size as one."""
    n = max(1, min(AT_ONCE, 2 * LONGEST * batch.num_rows // (batch.nbytes + 1)))
    return (batch[at : at + n] for at in range(0, batch.num_rows, n))


def _first_of(rows: pa.RecordBatch, name: str) -> list[Any]:
    return first_values(rows.column(rows.schema.names.index(name)))


def _read_texts(
    texts: Iterable[Any], owner: str, choice: Choice, report: ReadReport
) -> Iterator[pa.RecordBatch]:
    """The texts and documents of any iterable."""
    import pyarrow as pa

    values = iter(texts)
    while some := list(islice(values, AT_ONCE)):
        first = report.documents
        found = [
            value if isinstance(value, Document) else Document("", _as_text(value, i, owner))
            for i, value in enumerate(some, first)
        ]
        columns: list[list[Any]] = [
            [document.id or None for document in found],
            [document.text for document in found],
            [document.labels for document in found],
            [iso_date(document.date) for document in found],
            [document.title for document in found],
            [list(document.columns.items()) for document in found],
        ]
        kinds = document_schema().types
        arrays = [pa.array(c, kind) for c, kind in zip(columns, kinds, strict=True)]
        yield reported(arrays, f"the {type(texts).__name__}", report, first)


def _as_text(value: Any, position: int, owner: str) -> str:
    value = value.as_py() if hasattr(value, "as_py") else value
    if isinstance(value, str):
        return valid_text(value)
    no_number = isinstance(value, float | np.floating) and value != value
    if value is None or no_number or type(value).__name__ in ("NAType", "NaTType"):
        return ""
    if isinstance(value, bytes):
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError as error:
            raise InvalidCorpus(
                f"{owner} got bytes at position {position} that are not UTF-8: {error.reason}.",
                hint="Decode them first, as in data.decode('latin-1').",
            ) from error
    raise InvalidCorpus(
        f"{owner} expects texts; got {type(value).__name__} {shown(value)} at position {position}.",
        hint="Pass strings, or a table to docboltz.read with the name of its text column.",
    )
