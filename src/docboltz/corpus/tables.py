"""Files with many documents → rows: CSV, TSV, JSON Lines, Parquet, one document per line."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from itertools import chain, zip_longest
from typing import Any, Literal

from docboltz.corpus.columns import TEXT_NAMES, ColumnChoice, Columns
from docboltz.corpus.dates import date_finder
from docboltz.corpus.decoding import LONGEST, peek
from docboltz.corpus.parquet import read_parquet
from docboltz.corpus.read_options import Format
from docboltz.corpus.report import ReadAs
from docboltz.corpus.rows import Row, TableFile, first_of
from docboltz.errors import InvalidCorpus

# Orange's .tab files: names, then types, then roles.
_ORANGE_TYPES = {
    "", "c", "continuous", "d", "discrete", "s", "string", "t", "time", "n", "numeric",
    "categorical", "text",
}  # fmt: skip
_DELIMITERS = ",\t;|"
ENOUGH_RECORDS = 1000
"""JSON records after which a named column must have been seen."""
MOST_VALUES = 1 << 21
"""Fields of a row, or values of a JSON record. Each takes many times its bytes in memory."""
MOST_NAMES = 1 << 20
"""Characters of names of JSON fields that are remembered; each line may bring new ones."""


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
            yield Row(number, None, line, (), numbered=True)


def read_json_lines(file: TableFile) -> Iterator[Row]:
    """One JSON object (or string) per line."""
    lines = file.lines()
    ahead = first_of(lines, lambda line: len(line or ""))
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
            record = _parse(line)
        except ValueError as reason:
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
            file.report.note("malformed", f"{where}: no text")
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

    They are found once for each set of fields. A record may lack all but its text, but a column
    that was named and that no record has is a spelling mistake. The first lines tell which fields
    are dates.
    """

    def __init__(self, file: TableFile, first_lines: list[str | None]) -> None:
        self._file = file
        records = [record for line in first_lines if isinstance(record := _json(line), dict)]
        self._dates = date_finder(lambda name: [record.get(name) for record in records])
        self._known: dict[tuple[str, ...], Columns] = {}
        self._n_known = 0
        self._fields: dict[str, None] = {}
        self._n_fields = 0
        self._text: dict[str, None] = {}
        self._used: dict[str, None] = {}
        self._first: dict[str, Columns] = {}
        """The first columns that have an id, a label, a date, a title."""
        self._kept: dict[str, str | None] = {}

    def of(self, record: dict[str, Any]) -> Columns:
        fields = tuple(record)
        if fields not in self._known:
            texts = {name for name in fields if isinstance(record[name], str | list | None)}
            find, name = self._file.choice.find, self._file.name
            found = find(fields, name, texts.__contains__, dates=self._dates, lenient=True)
            self._remember(fields, found)
        return self._known[fields]

    def _remember(self, fields: tuple[str, ...], found: Columns) -> None:
        if self._n_known > MOST_NAMES:
            self._known, self._n_known = {}, 0
        self._known[fields] = found
        self._n_known += sum(map(len, fields)) + len(fields)
        if self._n_fields <= MOST_NAMES:
            self._fields.update(dict.fromkeys(fields))
            self._n_fields += sum(map(len, fields)) + len(fields)
            self._text.update(dict.fromkeys(found.text))
            self._used.update(dict.fromkeys(found.used))
            self._kept.update((name, column) for name, column in found.kept if column is not None)
        for what in ("id", "label", "date", "title"):
            if getattr(found, what) is not None:
                self._first.setdefault(what, found)

    def check_named(self) -> None:
        if self._known:
            self._file.find_columns(list(self._fields))

    def report(self) -> None:
        """Say which fields were read, and which of any record were not."""
        none = Columns((), None, None)
        id, label, date, title = (
            self._first.get(what, none) for what in ("id", "label", "date", "title")
        )
        unused = tuple(name for name in self._fields if name not in self._used)
        named = id.id, label.label, None, unused, date.date, date.dates, title.title
        read = Columns(tuple(self._text), *named, tuple(self._kept.items()))
        self._file.report.read_as[ReadAs("JSON Lines", read if self._known else None)] += 1


def _parse(line: str) -> Any:
    """The value of a line; ValueError if it has none, or one that is not for documents."""
    if len(line) > MOST_VALUES and sum(map(line.count, "[{,")) > MOST_VALUES:
        raise ValueError(f"it has more than {MOST_VALUES:,} values")
    try:
        return json.loads(line)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def _json(line: str | None) -> Any:
    """The value of a line, None if it has none."""
    try:
        return _parse(line or "null")
    except ValueError:
        return None


def read_delimited(file: TableFile, *, tabs: bool) -> Iterator[Row]:
    """CSV, or TSV, which is CSV with `tabs`."""
    csv.field_size_limit(2**31 - 1)
    options = file.options
    feed = _CsvFeed(file.lines(), file.name)
    delimiter = feed.delimiter = _delimiter(file.choice, tabs, feed.first_line())
    quoting: Literal[0, 3] = csv.QUOTE_MINIMAL if options.quotes else csv.QUOTE_NONE
    rows = _csv_rows(csv.reader(feed, delimiter=delimiter, quoting=quoting), feed, file)
    ahead = first_of(rows, lambda row: sum(map(len, row[1])))
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
    places = [(name, names.index(name)) for name in columns.used]
    for number, (line, fields) in enumerate(chain(ahead, rows), 1):
        if len(fields) > len(names):
            message = f"{len(fields)} fields for {len(names)} columns"
            file.report.note("malformed", f"{file.name}, line {line}: {message}")
            continue
        record = {name: fields[place] for name, place in places if place < len(fields)}
        if not any(name in record for name in columns.text):
            file.report.note("malformed", f"{file.name}, line {line}: no text")
            continue
        yield Row(number, *columns.get(record), numbered=columns.id is None)


def _delimiter(choice: ColumnChoice, tabs: bool, first_line: str) -> str:
    named = choice.options.delimiter
    if named is not None and ("delimiter" not in choice.saved or named in first_line):
        return named
    return "\t" if tabs else max(_DELIMITERS, key=first_line.count)


class _CsvFeed:
    """Hands decoded lines to csv.reader and remembers what it cannot tell about a row."""

    def __init__(self, lines: Iterator[str | None], name: str) -> None:
        self._lines = lines
        self._name = name
        self._ahead: list[str | None] = []
        self.delimiter = ","
        self.begin_row()

    def begin_row(self) -> None:
        """Forget about the row before."""
        self.undecodable = False
        self.n_quotes = 0
        self.lines: list[str] = []
        self._size = self._n_fields = 0

    def first_line(self) -> str:
        self._ahead = [next(self._lines, "")]
        return self._ahead[0] or ""

    def __iter__(self) -> Iterator[str]:
        for number, line in enumerate(chain(self._ahead, self._lines), 1):
            if line is None:
                self.undecodable = True
                yield "\n"
                continue
            # Old Macintoshes end lines with \r alone.
            for part in _parts(line) if "\r" in line else (line,):
                self.n_quotes += part.count('"')
                self._size += len(part) + 1
                if self._size > MOST_VALUES:
                    self._bound(part, number)
                self.lines.append(part + "\n")
                yield self.lines[-1]

    def is_joined(self) -> bool:
        """Whether a quoted field goes on after its end, which no writer of CSV lets it do.

        In a row of several lines, a stray quote has probably joined it with those after it.
        """
        try:
            list(csv.reader(self.lines, delimiter=self.delimiter, strict=True))
        except csv.Error:
            return True
        return False

    def _bound(self, line: str, number: int) -> None:
        """A row may have many lines if one of its quotes is never closed."""
        self._n_fields += line.count(self.delimiter)
        if self._size <= LONGEST and self._n_fields <= MOST_VALUES:
            return
        size = f"more than {MOST_VALUES:,} fields or {LONGEST >> 20} MB"
        raise InvalidCorpus(
            f"{self._name}, line {number}: a row has {size} up to here, which is no document.",
            hint="Perhaps a quote is never closed; if quotes are text, set {quotes=False}.",
            settings=("quotes=False",),
        )


def _parts(line: str) -> Iterator[str]:
    """What stands between line ends of old Macintoshes, one by one: there may be millions."""
    begin = 0
    while (end := line.find("\r", begin)) >= 0:
        yield line[begin:end]
        begin = end + 1
    yield line[begin:]


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
            bad, n_quotes = feed.undecodable, feed.n_quotes
            joined = len(feed.lines) > 1 and feed.is_joined()
            feed.begin_row()
        if bad:
            file.report.note("undecodable", f"{file.name}, line {reader.line_num}")
        elif n_quotes % 2 and fields and fields[-1].endswith("\n"):
            # The rest of the file went into one field; without a word, it would be one document.
            where = f"{file.name}, line {before + 1}"
            file.report.note(
                "malformed",
                f"{where}: its quote is never closed and swallows the lines up to "
                f"{reader.line_num}; if quotes are part of the texts, read without quotes",
            )
        elif any(fields):
            if joined:
                lines = f"{file.name}, lines {before + 1} to {reader.line_num}"
                quotes = "if quotes are part of the texts, read without quotes"
                file.report.note("joined", f"{lines}; {quotes}")
            yield reader.line_num, fields
