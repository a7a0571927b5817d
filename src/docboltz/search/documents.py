"""What to show of a hit: id, labels and text of each document, in a Parquet file.

The file is cut into row groups of equal size (but for the last), so that the group of a row is
known without a search. pyarrow takes 0.1 s to import and is imported when first needed.
"""

from __future__ import annotations

import mmap
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from docboltz.errors import InvalidModelFile
from docboltz.search.words import Rows

ROWS_PER_GROUP = 512  # a hit costs a row group: ten take 1 ms at 512 rows, 24 ms at 8,192
SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class StoredDocument:
    """What a store knows of a document besides its features and words."""

    id: str
    labels: tuple[str, ...]
    text: str
    """Its text, or the beginning of a long one."""


def is_text(value: object) -> bool:
    """Tell whether it is a string UTF-8 can write; a file's name may hold half a surrogate pair."""
    return isinstance(value, str) and not SURROGATE.search(value)


class DocumentWriter:
    """Writes documents in row groups; call `close`, or `abandon` if the file is not wanted."""

    def __init__(self, path: Path) -> None:
        import pyarrow.parquet as pq

        self._schema = _schema()
        self._parquet = pq.ParquetWriter(
            path,
            self._schema,
            compression="zstd",
            use_dictionary=["labels.list.element"],
            write_statistics=False,  # no query uses them, and they make the footer slow to read
            write_page_checksum=True,
        )
        self._waiting: list[StoredDocument] = []  # less than a row group

    def append(self, documents: list[StoredDocument]) -> None:
        """Add documents at the end."""
        self._waiting += documents
        full = len(self._waiting) // ROWS_PER_GROUP * ROWS_PER_GROUP
        if full:
            self._write(self._waiting[:full])
            del self._waiting[:full]

    def close(self) -> None:
        """Write the last row group and the footer."""
        if self._waiting:
            self._write(self._waiting)
        self._parquet.close()

    def abandon(self) -> None:
        """Give the file up; one that is closed stays as it is."""
        with suppress(OSError):  # a full disk has no room for the footer either
            self._parquet.close()

    def _write(self, documents: list[StoredDocument]) -> None:
        import pyarrow as pa

        columns = {name: [getattr(d, name) for d in documents] for name in self._schema.names}
        table = pa.table(columns, schema=self._schema)
        self._parquet.write_table(table, row_group_size=ROWS_PER_GROUP)


class Documents:
    """Reads documents by row. Mapped at once, because a rebuild may remove the file later on."""

    def __init__(self, file: Path, n: int, damaged: Callable[[str], InvalidModelFile]) -> None:
        """Of n documents; `damaged` makes the error for a file that cannot be read."""
        self._n, self._damaged, self._name = n, damaged, file.name
        with open(file, "rb") as stream:
            self._map = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)

    def take(self, rows: Rows) -> list[StoredDocument]:
        """The documents of these rows, in their order."""
        if not len(rows):
            return []
        with self._errors():
            size = self._metadata.row_group(0).num_rows
            groups, nth = np.unique(rows // size, return_inverse=True)
            table = self._open(self._metadata).read_row_groups(groups.tolist(), use_threads=False)
            # Not by take, for which pyarrow imports pandas where there is one: 0.1 s.
            places = (nth * size + rows % size).tolist()
            found = [table.slice(place, 1).to_pylist()[0] for place in places]
        return [StoredDocument(each["id"], tuple(each["labels"]), each["text"]) for each in found]

    def save(self, file: Path) -> None:
        """Write the whole file again."""
        file.write_bytes(self._map)

    def row_of(self, id: str) -> int | None:
        """The row of the document with this id, if there is one."""
        if not is_text(id):
            return None
        # In the column's own bytes: pyarrow.compute, or pandas for pa.scalar, take long to import.
        wanted, first = id.encode(), 0
        for chunk in self._ids.chunks:
            _, ends, data = chunk.buffers()
            ends = np.frombuffer(ends, np.int32)[chunk.offset : chunk.offset + len(chunk) + 1]
            rows = np.flatnonzero(np.diff(ends) == len(wanted))
            for place, byte in enumerate(wanted):
                rows = rows[np.frombuffer(data, np.uint8)[ends[rows] + place] == byte]
            if len(rows):
                return first + int(rows[0])
            first += len(chunk)
        return None

    @cached_property
    def _ids(self) -> Any:
        """All ids as one Arrow column, kept: 20 MB for a million of 16 letters."""
        with self._errors():
            return self._open(self._metadata).read(columns=["id"]).column("id")

    @cached_property
    def _metadata(self) -> Any:
        file = self._open()
        if not (file.schema_arrow.equals(_schema()) and file.metadata.num_rows == self._n):
            raise TypeError(f"it does not hold {self._n:,} documents")
        return file.metadata

    def _open(self, metadata: Any = None) -> Any:
        """A reader of one's own, as two threads must not share one; it takes 0.1 ms."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        source = pa.BufferReader(pa.py_buffer(self._map))
        return pq.ParquetFile(source, metadata=metadata, page_checksum_verification=True)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        import pyarrow as pa

        try:
            yield
        except (OSError, pa.ArrowException, KeyError, TypeError, IndexError) as error:
            raise self._damaged(f"{self._name} cannot be read ({error})") from error


def _schema() -> Any:
    """Columns of the file; none has a gap."""
    import pyarrow as pa

    label = pa.field("element", pa.string(), nullable=False)
    columns = {"id": pa.string(), "labels": pa.list_(label), "text": pa.string()}
    return pa.schema([pa.field(name, kind, nullable=False) for name, kind in columns.items()])
