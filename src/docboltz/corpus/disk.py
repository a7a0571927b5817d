"""Counts that are on disk: arrays mapped into memory, and parts of a collection in Arrow files.

The system reads what is looked at, and may drop it again.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import secrets
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.sparse import csr_array

from docboltz.storage import replacing

if TYPE_CHECKING:
    import pyarrow as pa

BLOCK_ENTRIES = 1 << 22
"""Numbers that are copied at once."""
BLOCK_ROWS = 1 << 16
"""Documents whose strings are read at once."""
STAMP, KNOWN = b"docboltz.stamp", b"docboltz.known"
"""Keys of metadata: what a file was made of, and what is known of a part's terms."""


def mapped(file: Path, dtype: DTypeLike) -> NDArray[Any]:
    """The numbers of a file that holds nothing else."""
    if not file.stat().st_size:  # which cannot be mapped
        return np.empty(0, dtype)
    return np.asarray(np.memmap(file, dtype, mode="r"))


def index_type(largest: int) -> type[np.int32] | type[np.int64]:
    """The type of numbers up to the largest."""
    return np.int32 if largest <= np.iinfo(np.int32).max else np.int64


def file_of(array: NDArray[Any]) -> Path | None:
    """The file that an array is mapped from; None for one in memory."""
    found = _map_of(array)
    return None if found is None or found.filename is None else Path(found.filename)


def drop_pages(*arrays: NDArray[Any]) -> None:
    """Tell the system that the pages of mapped arrays are not needed now, so that they are not
    counted as used memory."""
    for array in arrays:
        pages: Any = getattr(_map_of(array), "base", None)
        if hasattr(pages, "madvise"):
            pages.madvise(mmap.MADV_DONTNEED)


def trim_memory() -> None:
    """Give freed memory that Arrow and the C library keep back to the system, where possible."""
    if (arrow := sys.modules.get("pyarrow")) is not None:
        arrow.default_memory_pool().release_unused()
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def _map_of(array: Any) -> np.memmap[Any, Any] | None:
    while array is not None and not isinstance(array, np.memmap):
        array = getattr(array, "base", None)
    return array


def as_float32(counts: csr_array) -> csr_array:
    """The same counts as float32; a copy of what is on disk is on disk, in a file without name."""
    known = file_of(counts.data)
    if known is None or counts.dtype == np.float32:
        return counts.astype(np.float32, copy=False)
    with tempfile.TemporaryFile(dir=known.parent if known.parent.is_dir() else None) as file:
        for begin in range(0, counts.nnz, BLOCK_ENTRIES):
            file.write(counts.data[begin : begin + BLOCK_ENTRIES].astype(np.float32).data)
        file.flush()
        data = np.asarray(np.memmap(file, np.float32, mode="r"))
    drop_pages(counts.data)
    floats = csr_array((data, counts.indices, counts.indptr), shape=counts.shape)
    floats.has_sorted_indices = counts.has_sorted_indices
    return floats


class Column(Sequence[Any]):
    """A column of Arrow arrays as a sequence of Python's values; lists are tuples."""

    def __init__(self, chunks: pa.ChunkedArray) -> None:
        """Take the column of a table."""
        self._chunks = chunks

    def __len__(self) -> int:
        return len(self._chunks)

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Any, ...]: ...
    def __getitem__(self, index: int | slice) -> Any:
        """One value, or those of a slice."""
        rows = range(len(self))[index]
        if isinstance(rows, int):
            return _frozen(self._chunks[rows].as_py())
        if rows.step != 1 or not rows:
            return tuple(self[i] for i in rows)
        return tuple(map(_frozen, self._chunks.slice(rows.start, len(rows)).to_pylist()))

    def __iter__(self) -> Iterator[Any]:
        for begin in range(0, len(self), BLOCK_ROWS):
            known: dict[Any, Any] = {}  # equal values become one object
            yield from (known.setdefault(v, v) for v in self[begin : begin + BLOCK_ROWS])


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def write_part(
    file: Path,
    stamp: str,
    batches: Iterable[tuple[pa.RecordBatch, csr_array]],
    about: dict[str, Any],
) -> None:
    """Write batches of documents with their counts, and what is known of all of them together."""
    import pyarrow as pa

    def rows() -> Iterator[pa.RecordBatch]:
        for documents, counts in batches:
            for name, values in (("terms", counts.indices), ("counts", counts.data)):
                lists = pa.ListArray.from_arrays(pa.array(counts.indptr), pa.array(values))
                documents = documents.append_column(name, lists)
            yield documents

    known = {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in about.items()}
    table = pa.Table.from_batches(rows())
    table = table.replace_schema_metadata({STAMP: stamp, KNOWN: json.dumps(known)})
    with replacing(file) as draft, pa.ipc.new_file(draft, table.schema) as writer:
        writer.write_table(table)


class Part:
    """A file of counted documents that `write_part` has written."""

    def __init__(self, path: Path) -> None:
        import pyarrow as pa

        self.path = path
        with pa.memory_map(str(path)) as source:
            mapped_table: pa.Table = pa.ipc.open_file(source).read_all()
        self._mapped, self._metadata = mapped_table, mapped_table.schema.metadata

    @classmethod
    def find(cls, path: Path, stamp: str) -> Part | None:
        """The part in a file, if it can be read and has that stamp."""
        import pyarrow as pa

        try:
            found = cls(path) if path.is_file() else None
            return found if found and found.stamp == stamp else None
        except (pa.ArrowException, OSError, ValueError, KeyError, TypeError):
            return None

    def __len__(self) -> int:
        return len(self._mapped)

    def known(self) -> dict[str, Any]:
        """What is known of all of its documents together."""
        known: dict[str, Any] = json.loads(self._metadata[KNOWN])
        return known

    @property
    def stamp(self) -> str:
        """What tells the count that it is of from others."""
        stamp: str = self._metadata[STAMP].decode()
        return stamp

    @property
    def nnz(self) -> int:
        """Number of entries of the counts."""
        return sum(len(chunk.values) for chunk in self._mapped["terms"].chunks)

    def table(self, names: Sequence[str]) -> pa.Table:
        """Some columns, mapped."""
        return self._mapped.select(names)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """All columns, read a batch at a time: what is mapped counts as used memory."""
        import pyarrow as pa

        with pa.OSFile(str(self.path)) as source:
            reader = pa.ipc.open_file(source)
            for number in range(reader.num_record_batches):
                yield reader.get_batch(number)

    def matrices(self, n_columns: int) -> Iterator[csr_array]:
        """The counts, a batch at a time: (documents, n_columns)."""
        for batch in self.batches():
            lists, values = batch["terms"], batch["counts"].flatten()
            arrays = values.to_numpy(), lists.flatten().to_numpy(), lists.offsets.to_numpy()
            yield csr_array(arrays, shape=(len(batch), n_columns))


def joined_on_disk(
    blocks: Iterable[csr_array], n_rows: int, n_columns: int, most: int, folder: Path
) -> csr_array:
    """Matrices below each other as one on disk, which has at most so many entries."""
    whole = index_type(most)
    token = secrets.token_hex(8)
    data, indices = (folder / f"joined-{token}.{name}" for name in ("data", "indices"))
    starts, done = [np.zeros(1, whole)], 0
    try:
        with data.open("xb") as of_data, indices.open("xb") as of_indices:
            for block in blocks:
                of_data.write(block.data.astype("<i4", copy=False).data)
                of_indices.write(block.indices.astype(whole, copy=False).data)
                starts.append(block.indptr[1:].astype(whole) + done)
                done += block.nnz
    except BaseException:  # on a full disk, half of it would take the room of the next try
        data.unlink(missing_ok=True)
        indices.unlink(missing_ok=True)
        raise
    arrays = mapped(data, "<i4"), mapped(indices, whole), np.concatenate(starts)
    counts = csr_array(arrays, shape=(n_rows, n_columns))
    counts.has_sorted_indices = counts.has_canonical_format = True
    return counts
