"""Arrays and strings in files, mapped into memory: the system reads what is looked at, and may drop
it again.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import tempfile
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.sparse import csr_array

BLOCK_ENTRIES = 1 << 22
"""Numbers that are copied at once."""
BLOCK_STRINGS = 16_384
"""Strings that are read at once."""
KEPT_LABELS = 1024
"""Sets of labels that are kept as tuples; documents in a row often have the same."""


def mapped(file: Path, dtype: DTypeLike) -> NDArray[Any]:
    """The numbers of a file that holds nothing else."""
    if not file.stat().st_size:  # which cannot be mapped
        return np.empty(0, dtype)
    return np.asarray(np.memmap(file, dtype, mode="r"))


def folder_of(array: NDArray[Any]) -> Path | None:
    """The folder of the file that an array is mapped from; None for one in memory."""
    found = _map_of(array)
    return None if found is None or found.filename is None else Path(found.filename).parent


def let_go(*arrays: NDArray[Any]) -> None:
    """Tell the system that the pages of mapped arrays are not needed for now.

    It would drop them by itself where memory is short; until then they would count as used.
    """
    for array in arrays:
        pages: Any = getattr(_map_of(array), "base", None)
        if hasattr(pages, "madvise"):
            pages.madvise(mmap.MADV_DONTNEED)


def give_back_freed() -> None:
    """Give back memory that was freed and that the C library keeps for later.

    Between blocks of changing sizes it finds no room in what it keeps, and takes more and more.
    Where it has no such call, nothing is done.
    """
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def _map_of(array: Any) -> np.memmap[Any, Any] | None:
    while array is not None and not isinstance(array, np.memmap):
        array = getattr(array, "base", None)
    return array


def as_float32(counts: csr_array) -> csr_array:
    """The same counts as float32; a copy of what is on disk is there too, without a name."""
    folder = folder_of(counts.data)
    if folder is None or counts.dtype == np.float32:
        return counts.astype(np.float32, copy=False)
    with tempfile.TemporaryFile(dir=folder if folder.is_dir() else None) as file:
        for begin in range(0, counts.nnz, BLOCK_ENTRIES):
            file.write(counts.data[begin : begin + BLOCK_ENTRIES].astype(np.float32).data)
        file.flush()
        data = np.asarray(np.memmap(file, np.float32, mode="r"))
    let_go(counts.data)
    floats = csr_array((data, counts.indices, counts.indptr), shape=counts.shape)
    floats.has_sorted_indices = counts.has_sorted_indices
    return floats


class StringFiles(NamedTuple):
    """Where strings are: UTF-8, one after the other, and where each of them ends."""

    text: str
    ends: str

    @classmethod
    def of(cls, name: str) -> StringFiles:
        """The two files of that name."""
        return cls(f"{name}.utf8", f"{name}.ends")

    def write(self, folder: Path, strings: Sequence[str]) -> None:
        """Write strings, half characters too."""
        encoded = [string.encode("utf-8", "surrogatepass") for string in strings]
        (folder / self.text).write_bytes(b"".join(encoded))
        ends = np.fromiter(accumulate(map(len, encoded)), "<i8", len(encoded))
        (folder / self.ends).write_bytes(ends.data)


class StoredStrings(Sequence[str]):
    """Strings of several folders, one folder after the other: read when they are asked for."""

    def __init__(self, folders: Sequence[Path], files: StringFiles) -> None:
        self._parts = [
            (mapped(folder / files.text, np.uint8), mapped(folder / files.ends, "<i8"))
            for folder in folders
        ]
        sizes = (len(ends) for _, ends in self._parts)
        self._first = [0, *accumulate(sizes)]
        """Number of each part's first string, and of the one after the last."""

    def __len__(self) -> int:
        return self._first[-1]

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[str, ...]: ...
    def __getitem__(self, index: int | slice) -> str | tuple[str, ...]:
        """One string, or those of a slice."""
        if isinstance(index, slice):
            rows = range(len(self))[index]
            if rows.step == 1:
                return tuple(self._between(rows.start, max(rows.start, rows.stop)))
            return tuple(self[row] for row in rows)
        row = range(len(self))[index]
        return next(self._between(row, row + 1))

    def __iter__(self) -> Iterator[str]:
        return self._between(0, len(self))

    def _between(self, begin: int, end: int) -> Iterator[str]:
        """The strings begin, begin + 1, …, end − 1."""
        while begin < end:
            part = bisect_right(self._first, begin) - 1
            stop = min(end, self._first[part + 1], begin + BLOCK_STRINGS)
            yield from _cut(*self._parts[part], begin - self._first[part], stop - self._first[part])
            begin = stop
            if begin == self._first[part + 1]:
                let_go(*self._parts[part])


def _cut(text: NDArray[np.uint8], ends: NDArray[np.int64], begin: int, end: int) -> list[str]:
    first = int(ends[begin - 1]) if begin else 0
    block = text[first : int(ends[end - 1])].tobytes()
    places = pairwise([0, *(ends[begin:end] - first).tolist()])
    if block.isascii():  # one letter is one byte: decoded as a whole
        whole = block.decode("ascii")
        return [whole[a:b] for a, b in places]
    return [block[a:b].decode("utf-8", "surrogatepass") for a, b in places]


class StoredLabels(Sequence[tuple[str, ...]]):
    """Labels of documents, kept as JSON."""

    def __init__(self, encoded: StoredStrings) -> None:
        self._encoded = encoded
        self._labels = lru_cache(KEPT_LABELS)(_labels)

    @staticmethod
    def encode(labels: Sequence[tuple[str, ...]]) -> list[str]:
        """What is kept of them."""
        dumps = lru_cache(KEPT_LABELS)(json.dumps)
        return [dumps(each) for each in labels]

    def __reduce__(self) -> Any:
        return StoredLabels, (self._encoded,)  # the kept ones are made anew

    def __len__(self) -> int:
        return len(self._encoded)

    @overload
    def __getitem__(self, index: int) -> tuple[str, ...]: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[tuple[str, ...], ...]: ...
    def __getitem__(self, index: int | slice) -> tuple[Any, ...]:
        """The labels of one document, or those of a slice."""
        if isinstance(index, slice):
            return tuple(map(self._labels, self._encoded[index]))
        return self._labels(self._encoded[index])

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        return map(self._labels, self._encoded)


def _labels(encoded: str) -> tuple[str, ...]:
    return tuple(json.loads(encoded))
