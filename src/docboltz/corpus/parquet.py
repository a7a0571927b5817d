"""Parquet → rows, a few hundred at a time, and fewer where they are large.

A value of a column's dictionary stands in a file once and may be in each of its rows: a megabyte
unpacks to any size. How long such values are is looked up before the rows are read.
"""

from __future__ import annotations

import gzip
import shutil
import tempfile
from collections.abc import Iterator
from typing import IO, Any

from docboltz.corpus.columns import Columns
from docboltz.corpus.decoding import LONGEST, peek, too_long
from docboltz.corpus.report import ReadAs
from docboltz.corpus.rows import Row, TableFile, first_of
from docboltz.corpus.values import UNDECODABLE, column_values
from docboltz.errors import DocboltzError, InvalidCorpus, shown
from docboltz.progress import printable
from docboltz.storage import BUFFER

ROWS_AT_ONCE = 256
LARGEST_SPOOL = 1 << 35
"""Bytes of a Parquet file that is packed or comes through a pipe; a small one may have no end."""
_DAMAGED = (ValueError, LookupError, ArithmeticError, MemoryError, TypeError)
"""What pyarrow raises beside its own: a changed byte may make a name that is no text."""


def read_parquet(file: TableFile) -> Iterator[Row]:
    """The rows of a Parquet file."""
    import pyarrow

    with tempfile.TemporaryFile() as spool:
        source: Any = file.stream
        # gzip claims to seek, but starts again from the beginning each time.
        if isinstance(source.raw, gzip.GzipFile) or not source.seekable():
            # Parquet is read from its end: what cannot seek is spooled to disk first.
            _require_magic(file)
            source = spool
            _copy(file, spool)
        try:
            table = _Table(source)
            columns = file.find_columns(table.names, table.is_text, table.sample)
            file.report.read_as[ReadAs("Parquet", columns)] += 1
            for number, record in enumerate(table.records(columns.used), 1):
                if table.suspicious:
                    if any(value is UNDECODABLE for value in record.values()):
                        file.report.note("undecodable", f"{file.name}, row {number}")
                        continue
                    _require_short(record, columns, f"{file.name}, row {number},")
                yield Row(number, *columns.get(record), numbered=columns.id is None)
        except DocboltzError:
            raise
        except (pyarrow.ArrowException, *_DAMAGED) as error:
            reason = shown(printable(str(error)))[1:-1].strip().rstrip(".")
            raise InvalidCorpus(f"{file.name} is not a readable Parquet file: {reason}.") from error


def _require_magic(file: TableFile) -> None:
    if not peek(file.stream).startswith((b"PAR1", b"PARE")):
        raise InvalidCorpus(f"{file.name} is not a readable Parquet file: it begins otherwise.")


def _copy(file: TableFile, spool: IO[bytes]) -> None:
    """Copy what a file unpacks to, unless it is without end or leaves others no room."""
    room = min(LARGEST_SPOOL, shutil.disk_usage(tempfile.gettempdir()).free // 2)
    while data := file.stream.read(BUFFER):
        room -= spool.write(data)
        if room < 0:
            raise InvalidCorpus(
                f"{file.name} takes more than {spool.tell() / 1e9:,.1f} GB of temporary files: it "
                "is packed, or comes through a pipe.",
                hint="Unpack it to a .parquet file and read that.",
            )
    spool.seek(0)


def _require_short(record: dict[str, Any], columns: Columns, where: str) -> None:
    for name in columns.used:
        value = record.get(name)
        if isinstance(value, str | bytes | list) and len(value) > LONGEST:
            raise too_long(where)


class _Table:
    """An open Parquet file."""

    def __init__(self, source: Any) -> None:
        from pyarrow.parquet import ParquetFile

        self._file = ParquetFile(source, pre_buffer=False)
        self._schema = self._file.schema_arrow
        self.names: list[str] = self._schema.names
        self.suspicious = False
        """Rows that come now have to be looked at one by one."""
        texts = [name for name in dict.fromkeys(self.names) if self._is_string(name)]
        self._metadata = self._file.metadata
        self._require_columns()
        self._by_dictionary = ParquetFile(
            source, metadata=self._metadata, read_dictionary=texts, pre_buffer=False
        )
        leaves = self._file.schema
        self._paths: list[str] = [leaves.column(i).path for i in range(len(leaves))]

    def is_text(self, name: str) -> bool:
        """Whether a column may hold texts."""
        import pyarrow.types as types

        return self._is_string(name) or types.is_list(self._type(name))

    def sample(self, name: str) -> list[Any]:
        """The first values of a column."""
        values = (record[name] for record in self.records([name]))
        return first_of(values, lambda value: len(value) if isinstance(value, str) else 1)

    def records(self, names: list[str]) -> Iterator[dict[str, Any]]:
        """The rows, with those columns; of several with the same name the first."""
        for group in range(self._file.num_row_groups):
            n_rows = self._rows_at_once(group, names)
            for batch in self._file.iter_batches(n_rows, row_groups=[group], columns=names):
                pairs = zip(batch.schema.names[::-1], batch.columns[::-1], strict=True)
                columns = {name: column_values(column) for name, column in pairs}
                undecodable = any(values.count(UNDECODABLE) for values in columns.values())
                self.suspicious = undecodable or batch.nbytes > LONGEST
                for row in zip(*columns.values(), strict=True):
                    yield dict(zip(columns, row, strict=True))

    def _require_columns(self) -> None:
        """Of a column that is not in the schema pyarrow cannot be asked: it ends the process."""
        expected = self._metadata.num_columns
        for group in range(self._metadata.num_row_groups):
            found = self._metadata.row_group(group).num_columns
            if found != expected:
                raise ValueError(f"row group {group + 1} has {found} columns, not {expected}")

    def _rows_at_once(self, group: int, names: list[str]) -> int:
        """As many rows as memory has room for, were each value the longest of its dictionary.

        What is wrong with the metadata of a column is an error where rows are read, but ends the
        process where pyarrow is asked for the metadata itself: so a row is read first.
        """
        import pyarrow
        import pyarrow.compute as compute

        used = [i for i, path in enumerate(self._paths) if _is_within(path, names)]
        how = {"row_groups": [group], "columns": [self._paths[i] for i in used]}
        try:
            head = next(self._by_dictionary.iter_batches(1, **how), None)
        except (pyarrow.ArrowException, OSError):  # pyarrow makes no dictionary of beginnings
            next(self._file.iter_batches(1, **how), None)
            return ROWS_AT_ONCE // 64
        if head is None:
            return ROWS_AT_ONCE
        about = self._metadata.row_group(group)
        if any(_repeats_beginnings(about.column(i)) for i in used):
            return ROWS_AT_ONCE // 64
        longest = 1
        for column in head.columns:
            if isinstance(column, pyarrow.DictionaryArray) and _is_string(column.type):
                length = compute.max(compute.binary_length(column.dictionary)).as_py()
                longest = max(longest, length or 0)
        return max(1, min(ROWS_AT_ONCE, LONGEST // longest))

    def _is_string(self, name: str) -> bool:
        return _is_string(self._type(name))

    def _type(self, name: str) -> Any:
        return self._schema.field(self.names.index(name)).type


def _is_string(kind: Any) -> bool:
    import pyarrow.types as types

    if types.is_dictionary(kind):
        kind = kind.value_type
    return any(t(kind) for t in (types.is_string, types.is_large_string, types.is_string_view))


def _is_within(path: str, names: list[str]) -> bool:
    """Whether the path of a column is that of a field, or of a part of it."""
    return any(path == name or path.startswith(f"{name}.") for name in names)


def _repeats_beginnings(chunk: Any) -> bool:
    """Whether values begin as the one before, of any length, in a chunk that is not small."""
    large = chunk.total_uncompressed_size * ROWS_AT_ONCE > LONGEST
    return large and "DELTA_BYTE_ARRAY" in chunk.encodings
