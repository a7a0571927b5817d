"""Files with many documents → rows: CSV, TSV, JSON Lines, Parquet, one document per line."""

from __future__ import annotations

import csv
import io
import json
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice, zip_longest
from typing import Any, Literal, NamedTuple

from docboltz.corpus.columns import TEXT_NAMES, ColumnChoice, Columns
from docboltz.corpus.dates import DateReading, date_finder
from docboltz.corpus.decoding import Decoder, decoded_lines, looks_binary, peek
from docboltz.corpus.read_options import Format, ReadOptions
from docboltz.corpus.report import ReadAs, ReadReport
from docboltz.corpus.values import spelled_times
from docboltz.errors import InvalidCorpus

# Orange's .tab files: names, then types, then roles.
_ORANGE_TYPES = {
    "", "c", "continuous", "d", "discrete", "s", "string", "t", "time", "n", "numeric",
    "categorical", "text",
}  # fmt: skip
_DELIMITERS = ",\t;|"
ENOUGH_RECORDS = 1000
"""JSON records after which a named column must have been seen."""
ENOUGH_ROWS = 100
"""Rows after which it is known which columns hold dates, and without header which is the text."""


class Row(NamedTuple):
    """A document as a file gives it: its number in the file, and an id if the file has one."""

    number: int
    id: str | None
    text: str
    labels: tuple[str, ...]
    date: str | None = ""
    """None for a value that is no date."""


@dataclass(frozen=True)
class TableFile:
    """An open file, the name to call it in messages, how to read it, and where to report."""

    name: str
    stream: io.BufferedReader
    choice: ColumnChoice
    report: ReadReport

    @property
    def options(self) -> ReadOptions:
        """How to read it."""
        return self.choice.options

    def find_columns(
        self,
        names: list[str],
        is_text: Callable[[str], bool] = lambda name: True,
        sample: Callable[[str], Iterable[Any]] = lambda name: (),
    ) -> Columns:
        """The columns to read among those of the file; `sample` gives first values of one."""
        absent = partial(self.report.note, "absent_columns")
        return self.choice.find(names, self.name, is_text, absent, dates=date_finder(sample))

    def lines(self) -> Iterator[str | None]:
        """Decoded lines; None for one that is not text."""
        head = peek(self.stream)
        if self.options.encoding is None and looks_binary(head):
            raise InvalidCorpus(
                f"{self.name} does not look like text: it holds control characters. docboltz reads "
                "text, CSV, TSV, JSON Lines and Parquet, also as .gz, .xz or .zst.",
                hint="If it is text in a rare encoding, name it with {encoding}.",
                settings=("encoding",),
            )
        return decoded_lines(self.stream, Decoder(self.report, self.options.encoding, head))


def read_table(file: TableFile, format: Format | None) -> Iterator[Row]:
    """The rows of a file of that format, or of the one its first bytes tell."""
    found = format or sniff(file.name, peek(file.stream))
    if found in ("csv", "tsv"):
        return read_delimited(file, tabs=found == "tsv")
    readers = {"jsonl": read_json_lines, "parquet": read_parquet, "lines": read_lines}
    return readers[found](file)


def sniff(name: str, head: bytes) -> str:
    """The format of a file whose name does not tell."""
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if head.startswith(b"PAR1"):
        return "parquet"
    if start.startswith(b"{"):
        return "jsonl"
    if start.startswith(b"[") and start[1:].lstrip().startswith(b"{"):
        raise InvalidCorpus(
            f"{name} is one JSON array, and documents are read one by one.",
            hint="Make it JSON Lines: jq -c '.[]' in.json > out.jsonl",
        )
    first_line = start.split(b"\n", 1)[0].decode("utf-8", "replace").lower()
    for delimiter in _DELIMITERS:
        fields = [field.strip().strip('"') for field in first_line.split(delimiter)]
        if len(fields) > 1 and any(field in TEXT_NAMES for field in fields):
            return "tsv" if delimiter == "\t" else "csv"
    return "lines"


def read_lines(file: TableFile) -> Iterator[Row]:
    """One document per line; blank lines only separate."""
    file.report.read_as[ReadAs("one document per line")] += 1
    for number, line in enumerate(file.lines(), 1):
        if line is None:
            file.report.note("undecodable", f"{file.name}, line {number}")
        elif line and not line.isspace():
            yield Row(number, None, line, ())


def read_json_lines(file: TableFile) -> Iterator[Row]:
    """One JSON object (or string) per line."""
    lines = file.lines()
    ahead = list(islice(lines, ENOUGH_ROWS))
    columns = _JsonColumns(file, ahead)
    n_good = 0
    error: InvalidCorpus | None = None
    for number, line in enumerate(chain(ahead, lines), 1):
        where = f"{file.name}, line {number}"
        if line is None:
            file.report.note("undecodable", where)
            continue
        if not line or line.isspace():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as reason:
            error = error or InvalidCorpus(f"{where} is not JSON: {reason}.")
            file.report.note("malformed", f"{where}: not JSON")
            continue
        if isinstance(record, str):
            n_good += 1
            yield Row(number, None, record, ())
            continue
        if not isinstance(record, dict):
            error = error or InvalidCorpus(f"{where} is not a JSON object with a text.")
            file.report.note("malformed", f"{where}: not an object")
            continue
        try:
            row = Row(number, *columns.of(record).get(record))
        except InvalidCorpus as reason:
            error = error or reason
            file.report.note("malformed", f"{where}: no text column")
            continue
        n_good += 1
        if n_good == ENOUGH_RECORDS:
            columns.check_named()
        yield row
    if error is not None and n_good == 0:
        raise error
    if n_good < ENOUGH_RECORDS:
        columns.check_named()
    columns.report()


class _JsonColumns:
    """The columns of JSON records, which may differ from line to line.

    They are found once for each set of fields. A record may lack its id, label or date, but a
    column that was named and that no record has is a spelling mistake. The first lines tell which
    fields are dates.
    """

    def __init__(self, file: TableFile, first_lines: list[str | None]) -> None:
        self._file = file
        records = [record for line in first_lines if isinstance(record := _json(line), dict)]
        self._dates = date_finder(lambda name: [record.get(name) for record in records])
        self._known: dict[tuple[str, ...], Columns] = {}
        self._fields: dict[str, None] = {}

    def of(self, record: dict[str, Any]) -> Columns:
        fields = tuple(record)
        if fields not in self._known:
            texts = {name for name in fields if isinstance(record[name], str | list | None)}
            find, name = self._file.choice.find, self._file.name
            self._known[fields] = find(
                fields, name, texts.__contains__, dates=self._dates, lenient=True
            )
            self._fields.update(dict.fromkeys(fields))
        return self._known[fields]

    def check_named(self) -> None:
        if self._known:
            self._file.find_columns(list(self._fields))

    def report(self) -> None:
        """Say which fields were read, and which of any record were not."""
        found = self._known.values()
        text = tuple(dict.fromkeys(name for columns in found for name in columns.text))
        id, label = (
            next((name for columns in found if (name := getattr(columns, what))), None)
            for what in ("id", "label")
        )
        dated = (columns for columns in found if columns.date is not None)
        date, how = next(((each.date, each.dates) for each in dated), (None, DateReading()))
        used = {name for columns in found for name in columns.used}
        unused = tuple(name for name in self._fields if name not in used)
        read = Columns(text, id, label, None, unused, date, how) if found else None
        self._file.report.read_as[ReadAs("JSON Lines", read)] += 1


def _json(line: str | None) -> Any:
    """The value of a line, None if it has none."""
    try:
        return json.loads(line or "null")
    except (ValueError, RecursionError):
        return None


def read_delimited(file: TableFile, *, tabs: bool) -> Iterator[Row]:
    """CSV, or TSV, which is CSV with `tabs`."""
    csv.field_size_limit(2**31 - 1)
    options = file.options
    feed = _CsvFeed(file.lines())
    delimiter = _delimiter(file.choice, tabs, feed.first_line())
    quoting: Literal[0, 3] = csv.QUOTE_MINIMAL if options.quotes else csv.QUOTE_NONE
    rows = _csv_rows(csv.reader(feed, delimiter=delimiter, quoting=quoting), feed, file)
    ahead = list(islice(rows, ENOUGH_ROWS))
    if not ahead:
        return

    def sample(name: str) -> list[str]:
        at = names.index(name)
        return [fields[at] for _, fields in ahead if at < len(fields)]

    if options.header:
        names = ahead.pop(0)[1]
        if delimiter == "\t" and ahead and all(f.lower() in _ORANGE_TYPES for f in ahead[0][1]):
            del ahead[:2]
        columns = file.find_columns(names, sample=sample)
    else:
        sizes = [
            sum(map(len, fields)) for fields in zip_longest(*(f for _, f in ahead), fillvalue="")
        ]
        names = [str(i + 1) for i in range(len(sizes))]
        longest = names[sizes.index(max(sizes))]
        columns = file.find_columns(names, lambda name: name == longest, sample)
    file.report.read_as[ReadAs("CSV", columns, delimiter, options.header)] += 1
    for number, (line, fields) in enumerate(chain(ahead, rows), 1):
        if len(fields) > len(names):
            message = f"{len(fields)} fields for {len(names)} columns"
            file.report.note("malformed", f"{file.name}, line {line}: {message}")
            continue
        record = dict(zip(names, fields, strict=False))
        if not any(name in record for name in columns.text):
            file.report.note("malformed", f"{file.name}, line {line}: no text")
            continue
        yield Row(number, *columns.get(record))


def _delimiter(choice: ColumnChoice, tabs: bool, first_line: str) -> str:
    named = choice.options.delimiter
    if named is not None and ("delimiter" not in choice.saved or named in first_line):
        return named
    return "\t" if tabs else max(_DELIMITERS, key=first_line.count)


class _CsvFeed:
    """Hands decoded lines to csv.reader and remembers what it cannot tell about a row."""

    def __init__(self, lines: Iterator[str | None]) -> None:
        self._lines = lines
        self._ahead: list[str | None] = []
        self.undecodable = False
        self.n_quotes = 0

    def first_line(self) -> str:
        self._ahead = [next(self._lines, "")]
        return self._ahead[0] or ""

    def __iter__(self) -> Iterator[str]:
        for source in (iter(self._ahead), self._lines):
            for line in source:
                if line is None:
                    self.undecodable = True
                    yield "\n"
                elif "\r" in line:  # line ends of old Macintoshes
                    yield from (part + "\n" for part in line.split("\r"))
                else:
                    self.n_quotes += line.count('"')
                    yield line + "\n"


def _csv_rows(reader: Any, feed: _CsvFeed, file: TableFile) -> Iterator[tuple[int, list[str]]]:
    """Rows with the line each ends on; damaged rows are reported and passed over."""
    while True:
        before = reader.line_num
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            file.report.note("malformed", f"{file.name}, line {reader.line_num}: {error}")
            continue
        finally:
            bad, feed.undecodable = feed.undecodable, False
            n_quotes, feed.n_quotes = feed.n_quotes, 0
        if bad:
            file.report.note("undecodable", f"{file.name}, line {reader.line_num}")
        elif n_quotes % 2 and reader.line_num > before + 1:
            # The rest of the file went into one field; without a word, it would be one document.
            where = f"{file.name}, line {before + 1}"
            file.report.note(
                "malformed",
                f"{where}: its quote is never closed and swallows the lines up to "
                f"{reader.line_num}; if quotes are part of the texts, read without quotes",
            )
        elif any(fields):
            yield reader.line_num, fields


def read_parquet(file: TableFile) -> Iterator[Row]:
    """Parquet, a few hundred rows at a time."""
    import pyarrow
    import pyarrow.parquet

    with tempfile.TemporaryFile() as spool:
        source: Any = file.stream
        # gzip and xz claim to seek, but start again from the beginning each time.
        if not (isinstance(source.raw, io.FileIO) and source.seekable()):
            # Parquet is read from its end: what cannot seek is spooled to disk first.
            source = spool
            shutil.copyfileobj(file.stream, source)
            source.seek(0)
        try:
            table = pyarrow.parquet.ParquetFile(source, pre_buffer=False)
            schema = table.schema_arrow

            def sample(name: str) -> list[Any]:
                first = next(table.iter_batches(batch_size=ENOUGH_ROWS, columns=[name]), None)
                return [] if first is None else [record[name] for record in _records(first)]

            columns = file.find_columns(schema.names, lambda name: _is_text(schema, name), sample)
            file.report.read_as[ReadAs("Parquet", columns)] += 1
            batches = table.iter_batches(batch_size=256, columns=columns.used)
            for number, record in enumerate(chain.from_iterable(map(_records, batches)), 1):
                yield Row(number, *columns.get(record))
        except pyarrow.ArrowException as error:
            raise InvalidCorpus(f"{file.name} is not a readable Parquet file: {error}.") from error


def _records(batch: Any) -> Iterator[dict[str, Any]]:
    columns = [spelled_times(column).to_pylist() for column in batch.columns]
    return (dict(zip(batch.schema.names, row, strict=True)) for row in zip(*columns, strict=True))


def _is_text(schema: Any, name: str) -> bool:
    import pyarrow.types as types

    kind = schema.field(name).type
    if types.is_dictionary(kind):
        kind = kind.value_type
    tests = (types.is_string, types.is_large_string, types.is_string_view, types.is_list)
    return any(test(kind) for test in tests)
