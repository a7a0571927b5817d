"""CSV, JSON Lines, Parquet, lines and whole files → batches of rows, by Arrow."""

from __future__ import annotations

import csv
import io
import json
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from itertools import chain, dropwhile, islice
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.json
from pyarrow.parquet import ParquetFile

from docboltz.corpus.columns import (
    HEAD_ROWS,
    USUAL_NAMES,
    Choice,
    Columns,
    ReadOptions,
    find_columns,
    first_values,
    has_bytes,
    strings_in,
    valid_text,
)
from docboltz.corpus.reading import ReadAs, ReadReport
from docboltz.corpus.sources import LONGEST, TEXT_BLOCK, Source, Text, Unreadable, too_long
from docboltz.storage import BUFFER

ROWS = 1 << 14
"""Rows of a Parquet file that are read at once; fewer where their values may be long."""
FILES_AT_ONCE = 1000
"""Files of one document each that become a batch."""
LARGEST_SPOOL = 1 << 35
"""Bytes of a Parquet file that is compressed or comes through a pipe."""
LONGEST_SHARED = 1 << 20
"""Bytes that a text may share with the one before, where a Parquet file stores them so."""
LONGEST_HEADER = 1 << 24
"""Characters of a CSV file in which its header ends."""
MOST_COLUMNS = 100_000
"""Columns of a CSV file."""
MOST_NAMES = 1000
"""Fields of JSON Lines that are remembered from a block."""
DELIMITERS = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars"}

Batches = Iterator[tuple[pa.RecordBatch, Columns]]


@dataclass(frozen=True)
class Table:
    """A file that is read: how to read it, and where to report."""

    source: Source
    choice: Choice
    report: ReadReport

    def find(
        self, names: Sequence[str], sample: Callable[[str], Sequence[Any]], read_as: str
    ) -> Columns:
        """The columns to read; `sample` gives the first values of one."""
        columns = find_columns(names, sample, self.choice, self.source.name, self.report)
        self.report.read_as[ReadAs(read_as, columns)] += 1
        return columns

    def leave_out(self, place: str, reason: str) -> None:
        """Report a row that cannot be read."""
        self.report.note("malformed", f"{self.source.name}, {place}: {reason}")


def read_table(table: Table) -> Batches:
    """The rows of a file in batches, with the columns that hold what is read."""
    source, options = table.source, table.choice.options
    with source.open() as stream:
        if source.format == "parquet" or stream.peek(4).startswith(b"PAR1"):
            yield from _parquet(table, stream)
            return
        text = Text(stream, options.encoding, source.name, table.report)
        blocks = islice(dropwhile(bytes.isspace, text.blocks), 2)  # one may be a long header
        first = b"".join(blocks).decode()
        format = _format_of(first, source, options)
        readers = {"csv": _csv, "tsv": _csv, "jsonl": _json_lines, "lines": _lines}
        if first.strip():
            yield from readers[format](table, first, text)
        if text.error is not None:
            raise text.error


def read_whole_files(
    sources: Iterable[Source],
    choice: Choice,
    report: ReadReport,
    guard: Callable[[Source, ReadReport], AbstractContextManager[None]],
) -> Iterator[pa.RecordBatch]:
    """Files of one document each, by hundreds; the folder of each is its label."""
    rows, size = list[tuple[str, str, str]](), 0
    for source in sources:
        with guard(source, report), source.open() as stream:
            text = Text(stream, choice.options.encoding, source.name, report).whole()
            report.read_as[ReadAs("one document per file")] += 1
            path = valid_text(source.relative)
            folder = path.rpartition("/")[0] if source.folder else ""
            rows.append((path, text, folder))
            size += len(text)
        if size > TEXT_BLOCK or len(rows) >= FILES_AT_ONCE:
            yield _strings(("id", "text", "label"), rows)
            rows, size = [], 0
    if rows:
        yield _strings(("id", "text", "label"), rows)


def _strings(names: Sequence[str], rows: Sequence[tuple[str, ...]]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True) if rows else [()] * len(names)
    return pa.record_batch([pa.array(column, pa.string()) for column in columns], list(names))


def _format_of(head: str, source: Source, options: ReadOptions) -> str:
    """The format of a text, by its options, its name or its content."""
    start, columns = head.lstrip(), options.delimiter is not None or not options.header
    if columns and source.format in (None, "lines") and options.format is None:
        return "csv"
    if source.format is not None:
        return source.format
    if start.startswith("{") or (start.startswith("[") and start[1:].lstrip().startswith("{")):
        return "jsonl"
    for delimiter in DELIMITERS:
        names = [n.strip().strip('"').lower() for n in start.split("\n", 1)[0].split(delimiter)]
        if len(names) > 1 and any(name in USUAL_NAMES["text"] for name in names):
            return "csv"
    return "lines"


def _lines(table: Table, first: str, text: Text) -> Batches:
    """One document per line; blank lines are left out."""
    table.report.read_as[ReadAs("one document per line")] += 1
    for block in chain([first], map(bytes.decode, text.blocks)):
        lines = [(line.removesuffix("\r"),) for line in block.split("\n") if line.strip()]
        yield _strings(("text",), lines), Columns(("text",))


# ---- CSV ----


def _csv(table: Table, first: str, text: Text) -> Batches:
    """CSV, or TSV."""
    options, name = table.choice.options, table.source.name
    first = first.lstrip("\r\n")
    first_line = first.split("\n", 1)[0]
    delimiter = "\t" if table.source.format == "tsv" else max(DELIMITERS, key=first_line.count)
    if options.delimiter is not None and (
        "delimiter" in table.choice.asked or options.delimiter in first_line
    ):
        delimiter = options.delimiter
    names, sample, after = _first_rows(first, delimiter, options.quotes)
    if len(names) > MOST_COLUMNS:
        raise Unreadable(
            f"{name} has {len(names):,} columns.",
            hint=f"At most {MOST_COLUMNS:,} are read. Check the delimiter, or that lines end.",
        )
    first = first[after:] if options.header else first
    if options.header and not sample:
        if any("\n" in name for name in names):
            raise Unreadable(
                f"A quote in the header of {name} is never closed.",
                hint="If quotes are part of the text, set {quotes=False}.",
                settings=("quotes=False",),
            )
        return
    if not options.header:
        sample, names = [names, *sample], [str(i + 1) for i in range(len(names))]
        if options.text is None:
            sizes = [sum(len(row[i]) for row in sample if i < len(row)) for i in range(len(names))]
            longest = names[sizes.index(max(sizes))]
            choice = replace(table.choice, options=replace(options, text=longest))
            table = replace(table, choice=choice)
    places = {name: i for i, name in reversed(list(enumerate(names)))}
    columns = table.find(
        names,
        lambda column: [row[i] for row in sample if (i := places[column]) < len(row)],
        f"CSV ({DELIMITERS.get(delimiter, repr(delimiter))})",
    )

    own_names = [name if places[name] == i else f"\0{i}" for i, name in enumerate(names)]
    parse = pyarrow.csv.ParseOptions(
        delimiter=delimiter,
        quote_char='"' if options.quotes else False,
        newlines_in_values=options.quotes,
    )
    convert = pyarrow.csv.ConvertOptions(
        check_utf8=False,
        column_types=dict.fromkeys(own_names, pa.string()),
        strings_can_be_null=False,
        include_columns=columns.used,
    )
    row = int(options.header)
    for rows, odd, problem in _whole_rows(first, text, own_names, parse, convert):
        for each in odd:
            reason = f"{each.actual_columns} values instead of {each.expected_columns}"
            table.leave_out(f"row {row + each.number}", reason)
        row += len(rows) + len(odd)
        for batch in rows.to_batches():
            yield batch, columns
        if problem == "unclosed":
            table.report.note("unclosed", name)
        elif problem == "endless":
            raise Unreadable(
                f"{name} has a row of more than {LONGEST >> 20} MB: row {row + 1}.",
                hint="Perhaps a quote is never closed. If quotes are part of the text, set "
                "{quotes=False}.",
                settings=("quotes=False",),
            )


def _first_rows(text: str, delimiter: str, quotes: bool) -> tuple[list[str], list[list[str]], int]:
    """The first row of a CSV, some that follow, and where these begin."""
    lines = io.StringIO(text[:LONGEST_HEADER], newline="")
    quoting: Any = csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE
    rows = filter(None, csv.reader(lines, delimiter=delimiter, quoting=quoting))
    limit = csv.field_size_limit(LONGEST_HEADER)  # of the process: it is set back
    try:
        names, after = next(rows), lines.tell()
        return names, list(islice(rows, HEAD_ROWS)), after
    finally:
        csv.field_size_limit(limit)


def _whole_rows(
    first: str, text: Text, names: list[str], parse: Any, convert: Any
) -> Iterator[tuple[pa.Table, list[Any], str]]:
    """The rows of the file, those that do not fit, and what is wrong with the last of them.

    A block of lines may end within quotes. It does, if a row that is added to it is not read as a
    row; then it is read again with twice as many lines.
    """
    waiting, enough = b"", 0
    end = parse.delimiter * len(names)  # has one value more than fits
    for block in chain([first.encode()], text.blocks, [b""]):
        waiting += block
        if not waiting or (block and len(waiting) < enough):
            continue
        rows, odd, last = _csv_rows(waiting, names, parse, convert, end)
        if last is not None and last.text == end:
            yield rows, odd[:-1], ""
        elif block and len(waiting) < LONGEST:
            enough = 2 * len(waiting)
            continue
        else:
            rows, odd, last = _csv_rows(waiting, names, parse, convert, "")
            endless = "endless" if block else "unclosed" if text.error is None else ""
            cut = slice(0, -1) if block else slice(None)
            yield (rows[cut], odd, endless) if last is None else (rows, odd[cut], endless)
        waiting, enough = b"", 0


def _csv_rows(
    block: bytes, names: list[str], parse: Any, convert: Any, end: str
) -> tuple[pa.Table, list[Any], Any]:
    """The rows of a block with one more at its end, those that do not fit, and the last if so."""
    odd: list[Any] = []

    def leave_out(row: Any) -> str:
        odd.append(row)
        return "skip"

    parse.invalid_row_handler = leave_out
    data = block + (b"" if block.endswith(b"\n") else b"\n") + end.encode()
    reading = pyarrow.csv.ReadOptions(
        use_threads=False, block_size=len(data) + 1, column_names=names
    )
    rows = pyarrow.csv.read_csv(pa.BufferReader(data), reading, parse, convert)
    return rows, odd, odd[-1] if odd and odd[-1].number == len(rows) + len(odd) else None


# ---- JSON Lines ----


def _json_lines(table: Table, first: str, text: Text) -> Batches:
    """One JSON object, or string, per line.

    Arrow is fast, and Python reads the blocks that Arrow refuses, or in which a field appears that
    was not known. Both give the same documents.
    """
    if first.lstrip().startswith("["):
        raise Unreadable(
            f"{table.source.name} is one JSON array, not one JSON object per line.",
            hint="Convert it with: jq -c '.[]' in.json > out.jsonl",
        )
    found, names, late = ReadReport(), dict[str, None](), set[str]()
    columns = schema = None
    for block in chain([first.encode()], text.blocks):
        batch = None if schema is None else _by_arrow(block, schema, late)
        if batch is None:
            records = list(_records(block, table, text.lines - block.count(b"\n") + 1))
            new = {name: None for record in records for name in record}
            if columns is None:
                new |= dict.fromkeys(_met_later(table, new))
            names |= islice(new.items(), MOST_NAMES)
            if records and (columns is None or late & new.keys()):
                found, choice = ReadReport(), table.choice
                choice = choice if columns is None else choice.keeping(columns)
                sample = _values_of(records)
                columns = find_columns(list(names), sample, choice, table.source.name, found)
                late = columns.usual_for_others() - names.keys()
            if columns is not None:
                batch = _by_python(records, columns)
                schema = _schema_of(records, columns, late)
        if columns is not None and batch is not None:
            yield batch, columns
    table.report.add(found)
    table.report.read_as[ReadAs("JSON Lines", columns)] += 1


def _records(block: bytes, table: Table, first: int) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(block.decode().split("\n"), first):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            if line.count("[") + line.count("{") > 99:  # it may be too deep to write it later
                json.dumps([[[[[[[[record]]]]]]]])
        except (ValueError, RecursionError):
            table.leave_out(f"line {number}", "not valid JSON")
            continue
        if isinstance(record, dict):
            yield record
        elif isinstance(record, str):
            yield {"text": record}
        else:
            table.leave_out(f"line {number}", "not a JSON object")


def _values_of(records: Sequence[dict[str, Any]]) -> Callable[[str], list[Any]]:
    return lambda name: [record.get(name) for record in records]


def _met_later(table: Table, known: Iterable[str]) -> set[str]:
    """The named columns that are not known yet, but are somewhere in the file."""
    wanted, found = set(table.choice.options.columns).difference(known), set[str]()
    if wanted and table.source.is_local:
        with table.source.open() as stream:
            encoding = table.choice.options.encoding
            text = Text(stream, encoding, table.source.name, ReadReport())
            for block in text.blocks:
                found |= {name for name in wanted if json.dumps(name).encode() in block}
    return found


def _by_python(records: Sequence[dict[str, Any]], columns: Columns) -> pa.RecordBatch:
    """The values of every field as lists of strings."""
    values = _values_of(records)
    kind = pa.list_(pa.string())
    return pa.record_batch(
        {name: pa.array(map(strings_in, values(name)), kind) for name in columns.used}
    )


def _schema_of(
    records: Sequence[dict[str, Any]], columns: Columns, late: Iterable[str]
) -> pa.Schema | None:
    """The types of the fields for Arrow; None if it would spell a value in another way."""
    strings, values = pa.list_(pa.string()), _values_of(records)
    same = {pa.int64(): pa.int64(), strings: strings, pa.list_(pa.null()): strings}
    try:
        kinds = {name: pa.array(values(name)).type for name in columns.used}
    except (pa.ArrowException, UnicodeError, OverflowError):
        return None
    texts = {name: pa.string() for name in (*late, *columns.used)}
    same |= {pa.string(): pa.string(), pa.null(): pa.string()}
    known = all(kind in same for kind in kinds.values())
    return pa.schema({**texts, **{n: same[k] for n, k in kinds.items()}}) if known else None


def _by_arrow(block: bytes, schema: pa.Schema, late: Iterable[str]) -> pa.RecordBatch | None:
    """The fields of a block; None if it has to be read by Python."""
    lines = block.count(b"\n") + (not block.endswith(b"\n"))
    if not block.startswith(b"{") or block.count(b"\n{") + 1 != lines:
        return None  # not an object per line, which Arrow does not tell; a null would crash it
    try:
        table = pyarrow.json.read_json(
            pa.BufferReader(block),
            pyarrow.json.ReadOptions(use_threads=False, block_size=len(block) + 1),
            pyarrow.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
        )
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
    if len(table) != lines or any(table[name].null_count < lines for name in late):
        return None
    return table.combine_chunks().to_batches()[0]


# ---- Parquet ----


def _parquet(table: Table, stream: io.BufferedReader) -> Batches:
    """Parquet, which is read from its end: what cannot seek is copied to a temporary file."""
    with tempfile.TemporaryFile() as spool:
        source: Any = stream if stream.seekable() else _spooled(table, stream, spool)
        file = ParquetFile(source, buffer_size=BUFFER, pre_buffer=False)
        names = file.schema_arrow.names
        strings = [each.name for each in file.schema_arrow if not pa.types.is_primitive(each.type)]
        # A value stands in a dictionary once and may be in each row: a megabyte becomes any size.
        leaves = [file.schema.column(i).path for i in range(len(file.schema))]
        least, keys = (
            1,
            ParquetFile(source, buffer_size=BUFFER, pre_buffer=False, read_dictionary=leaves),
        )

        def rows_at_once(group: int, names: Sequence[str]) -> int:
            """As many as are small if they are like the mean, and like the first one."""
            about = file.metadata.row_group(group)
            first = islice(keys.iter_batches(1, row_groups=[group], columns=names), 1)
            sizes = [_longest(column) for row in first for column in row.columns]
            mean: int = about.total_byte_size // max(about.num_rows, 1)
            return max(1, min(ROWS, 2 * LONGEST // max(least, mean, *sizes)))

        def head(columns: Sequence[str]) -> list[pa.RecordBatch]:
            n = min(HEAD_ROWS, rows_at_once(0, columns)) if file.num_row_groups else 1
            return list(islice(keys.iter_batches(n, columns=columns), 1))

        try:
            head(strings)
        except OSError:  # each text is stored without what the last one shares
            least, keys = LONGEST_SHARED, file

        columns = table.find(
            names,
            lambda name: [v for batch in head([name]) for v in first_values(batch.column(0))],
            "Parquet",
        )
        for group in range(file.num_row_groups):
            rows = rows_at_once(group, columns.used)
            for batch in file.iter_batches(rows, row_groups=[group], columns=columns.used):
                if max(map(_longest, batch.columns), default=0) > LONGEST:
                    raise too_long(table.source.name)
                yield batch, columns


def _longest(array: pa.Array) -> int:
    """Bytes of the longest string of a column, also in lists and structs."""
    if pa.types.is_nested(array.type):
        inner = array.flatten() if pa.types.is_struct(array.type) else [array.values]
        return max(map(_longest, inner), default=0)
    values = getattr(array, "dictionary", array)
    if not has_bytes(values.type):
        return 0
    return pc.max(pc.binary_length(values.cast(pa.large_binary()))).as_py() or 0


def _spooled(table: Table, stream: io.BufferedReader, spool: Any) -> Any:
    room = min(LARGEST_SPOOL, shutil.disk_usage(tempfile.gettempdir()).free // 2)
    while data := stream.read(BUFFER):
        room -= spool.write(data)
        if room < 0:
            raise Unreadable(
                f"{table.source.name} takes more than {spool.tell() / 1e9:,.1f} GB of temporary "
                "files, as it is compressed or comes through a pipe.",
                hint="Decompress it to a .parquet file and read that.",
            )
    spool.seek(0)
    return spool
