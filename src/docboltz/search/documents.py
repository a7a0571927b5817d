"""What to show of a hit: id, labels, date and text of each document, a line of JSON each.

A second file holds a record a document: where its line ends, a hash of its id to find it by, and a
checksum of the line. Both files are mapped, grow at their ends, and need nothing but NumPy: pyarrow
alone takes as long to import as a search.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import re
import zlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from docboltz.corpus.document import Document
from docboltz.corpus.stored import mapped
from docboltz.search.words import Rows

DOCUMENTS = "documents.jsonl"
RECORDS = "documents.index"
RECORD = np.dtype([("end", "<i8"), ("id", "<u8"), ("checksum", "<u4")])
KEPT_DOCUMENTS = 8192
"""In memory, of those that were read last: some 20 MB. The same ones are hits again and again."""
IDS_AT_ONCE = 65_536
"""Ids that are looked up at once."""
END_OF_NUMBERS = 10**18
"""An id of more digits is no number that others could go on from."""
SURROGATE = re.compile("[\ud800-\udfff]")


def is_text(value: object) -> bool:
    """Tell whether it is a string UTF-8 can write; a file's name may hold half a surrogate pair."""
    return isinstance(value, str) and not SURROGATE.search(value)


def next_number(ids: Iterable[str], least: int = 0) -> int:
    """The first number behind all ids that are numbers, and at least `least`.

    >>> next_number(["7", "d9", "008", "1e3"])
    9
    """
    numbers = (int(id) for id in ids if len(id) <= 18 and id.isascii() and id.isdigit())
    return max(least, 1 + max(numbers, default=-1))


class DocumentWriter(ExitStack):
    """Writes documents to a folder, one after the other: a context that closes its files."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._end = 0
        self._lines = self.enter_context((folder / DOCUMENTS).open("xb"))
        self._records = self.enter_context((folder / RECORDS).open("xb"))

    def append(self, documents: Iterable[Document]) -> None:
        """Add documents at the end."""
        records = []
        for document in documents:
            about = {"id": document.id, "labels": document.labels, "date": document.date}
            shown = {**about, "text": document.text}  # the text last: `labels_and_dates` skips it
            line = json.dumps(shown, ensure_ascii=False).encode() + b"\n"
            self._lines.write(line)
            self._end += len(line)
            records.append((self._end, _hashed(document.id), zlib.crc32(line)))
        self._records.write(np.array(records, RECORD).tobytes())

    def copy(self, stored: StoredDocuments, rows: Rows) -> None:
        """Add documents of another collection at the end, as they are there."""
        records, lines = stored.raw(rows)
        lengths = np.array([len(line) for line in lines], np.int64)
        records["end"] = self._end + np.cumsum(lengths)
        self._end += int(lengths.sum())
        self._lines.write(b"".join(lines))
        self._records.write(records.tobytes())


class StoredDocuments:
    """Reads documents by row. Mapped at once, because a rebuild may remove the files later on.

    Whatever the files hold, a method gives an answer, or KeyError, TypeError or ValueError.
    """

    def __init__(self, folder: Path, n: int) -> None:
        """Of n documents."""
        self._records: NDArray[Any] = mapped(folder / RECORDS, RECORD)
        with open(folder / DOCUMENTS, "rb") as stream:
            self._lines = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        ends = self._records["end"]
        rising = len(ends) == n and ends[0] > 0 and bool((ends[1:] > ends[:-1]).all())
        if not (rising and ends[-1] == len(self._lines)):
            raise ValueError(f"{RECORDS} does not hold {n:,} documents")
        # Of the maps alone: through `self` it would hold itself, and be freed late or never.
        self._document = lru_cache(KEPT_DOCUMENTS)(partial(_read, self._records, self._lines))

    def take(self, rows: Rows) -> list[Document]:
        """The documents of these rows, in their order."""
        found = [self._document(row) for row in rows.tolist()]
        if len(rows) > KEPT_DOCUMENTS and hasattr(self._lines, "madvise"):
            self._lines.madvise(mmap.MADV_DONTNEED)  # else most of the file would count as used
        return found

    def labels_and_dates(self) -> tuple[list[tuple[str, ...]], list[str]]:
        """The labels and the date of every document, in the order of the rows.

        Measured with texts of 150 and of 1,500 characters, on one core: 200,000 and 140,000
        documents a second.
        """
        labels: list[tuple[str, ...]] = []
        dates: list[str] = []
        known: dict[bytes, Any] = {}  # few distinct labels and days: each is parsed and kept once
        begin = 0
        for end, _, checksum in self._records.tolist():
            line = self._lines[begin:end]
            _check(line, checksum)
            # Quotes in a JSON string have a backslash before them: these are found nowhere else.
            middle, last = line.index(b', "date": "'), line.index(b', "text": "')
            own = line[line.index(b', "labels": [') + 12 : middle]
            date = line[middle + 10 : last]
            if own not in known:
                known[own] = tuple(_strings(json.loads(own)))
            labels.append(known[own])
            day = known.get(date)
            if day is None:
                (day,) = _strings([json.loads(date)])
                if len(day) <= len("2013-08-11"):  # times differ too much to be kept
                    known[date] = day
            dates.append(day)
            begin = end
        return labels, dates

    def row_of(self, id: str) -> int | None:
        """The row of the document with this id, if there is one."""
        if not is_text(id):
            return None
        rows = np.flatnonzero(self._records["id"] == _hashed(id)).tolist()
        return next((row for row in rows if self._document(row).id == id), None)

    def rows_of(self, ids: Iterable[str]) -> Rows:
        """Rows of the documents that have these ids, in order; ids that nobody has are no fault.

        Memory holds 16 bytes a document and some of the ids, however many there are.
        """
        order = np.argsort(self._records["id"])
        hashes, asked = self._records["id"][order], filter(is_text, ids)
        found = [order[:0]]
        while some := set(islice(asked, IDS_AT_ONCE)):
            own = np.unique(np.array([_hashed(id) for id in some], np.uint64))
            begins, ends = np.searchsorted(hashes, own), np.searchsorted(hashes, own, "right")
            spans = zip(begins[begins < ends], ends[begins < ends], strict=True)
            rows = np.concatenate([order[:0], *(order[begin:end] for begin, end in spans)])
            found.append(rows[np.array([id in some for id in self._ids(rows)], bool)])
        return np.unique(np.concatenate(found))

    def repeated(self) -> str | None:
        """An id that two documents have, if there is one."""
        hashes = np.sort(self._records["id"])
        twice = np.unique(hashes[1:][hashes[1:] == hashes[:-1]])
        if not len(twice):
            return None
        seen: set[str] = set()
        for id in self._ids(np.flatnonzero(np.isin(self._records["id"], twice))):
            if id in seen:
                return id
            seen.add(id)
        return None

    def raw(self, rows: Rows) -> tuple[NDArray[Any], list[bytes]]:
        """Records, a copy, and lines of these rows."""
        ends = self._records["end"]
        begins = np.where(rows > 0, ends[rows - 1], 0).tolist()
        spans = zip(begins, ends[rows].tolist(), strict=True)
        return self._records[rows], [self._lines[begin:end] for begin, end in spans]

    def _ids(self, rows: Rows) -> Iterator[str]:
        return (_read(self._records, self._lines, row).id for row in rows.tolist())

    def save(self, folder: Path) -> None:
        """Write both files again."""
        (folder / DOCUMENTS).write_bytes(self._lines)
        (folder / RECORDS).write_bytes(self._records.tobytes())


def _read(records: NDArray[Any], lines: mmap.mmap, row: int) -> Document:
    begin, end = (int(records["end"][i]) if i >= 0 else 0 for i in (row - 1, row))
    line = lines[begin:end]
    _check(line, records["checksum"][row])
    saved = json.loads(line)
    id, labels, date, text = (saved[name] for name in ("id", "labels", "date", "text"))
    _strings([id, date, text, *labels] if isinstance(labels, list) else labels)
    return Document(id, text, tuple(labels), date)


def _strings(values: Any) -> list[str]:
    if not (isinstance(values, list) and all(map(is_text, values))):
        raise ValueError(f"{DOCUMENTS} holds other things than documents")
    return values


def _check(line: bytes, checksum: int) -> None:
    if zlib.crc32(line) != checksum:
        raise ValueError(f"{DOCUMENTS} was changed after it was saved")


def _hashed(id: str) -> int:
    return int.from_bytes(hashlib.blake2b(id.encode(), digest_size=8).digest(), "little")
