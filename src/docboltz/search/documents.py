"""What to show of a hit: id, labels and text of each document, a line of JSON each.

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
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from docboltz.corpus.document import Document
from docboltz.search.words import Rows, mapped

DOCUMENTS = "documents.jsonl"
RECORDS = "documents.index"
RECORD = np.dtype([("end", "<i8"), ("id", "<u8"), ("checksum", "<u4")])
SURROGATE = re.compile("[\ud800-\udfff]")


def is_text(value: object) -> bool:
    """Tell whether it is a string UTF-8 can write; a file's name may hold half a surrogate pair."""
    return isinstance(value, str) and not SURROGATE.search(value)


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
            shown = {"id": document.id, "labels": document.labels, "text": document.text}
            line = json.dumps(shown, ensure_ascii=False).encode() + b"\n"
            self._lines.write(line)
            self._end += len(line)
            records.append((self._end, _hashed(document.id), zlib.crc32(line)))
        self._records.write(np.array(records, RECORD).tobytes())


class StoredDocuments:
    """Reads documents by row. Mapped at once, because a rebuild may remove the files later on.

    Whatever the files hold, a method gives an answer, or KeyError, TypeError or ValueError.
    """

    def __init__(self, folder: Path, n: int) -> None:
        """Of n documents."""
        self._records: NDArray[Any] = mapped(folder / RECORDS, RECORD)
        with open(folder / DOCUMENTS, "rb") as stream:
            self._lines = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        if len(self._records) != n:
            raise ValueError(f"{RECORDS} does not hold {n:,} documents")

    def take(self, rows: Rows) -> list[Document]:
        """The documents of these rows, in their order."""
        return [self._document(row) for row in rows.tolist()]

    def row_of(self, id: str) -> int | None:
        """The row of the document with this id, if there is one."""
        if not is_text(id):
            return None
        rows = np.flatnonzero(self._records["id"] == _hashed(id)).tolist()
        return next((row for row in rows if self._document(row).id == id), None)

    def save(self, folder: Path) -> None:
        """Write both files again."""
        (folder / DOCUMENTS).write_bytes(self._lines)
        (folder / RECORDS).write_bytes(self._records.tobytes())

    def _document(self, row: int) -> Document:
        begin, end = (int(self._records["end"][i]) if i >= 0 else 0 for i in (row - 1, row))
        line = self._lines[begin:end]
        if zlib.crc32(line) != self._records["checksum"][row]:
            raise ValueError(f"{DOCUMENTS} was changed after it was saved")
        saved = json.loads(line)
        id, labels, text = saved["id"], saved["labels"], saved["text"]
        if not (isinstance(labels, list) and all(map(is_text, (id, text, *labels)))):
            raise ValueError(f"{DOCUMENTS} holds other things than documents")
        return Document(id, text, tuple(labels))


def _hashed(id: str) -> int:
    return int.from_bytes(hashlib.blake2b(id.encode(), digest_size=8).digest(), "little")
