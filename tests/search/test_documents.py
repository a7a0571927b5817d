from __future__ import annotations

import mmap
import threading
import weakref
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from docboltz.corpus.document import Document
from docboltz.search import documents as module
from docboltz.search.documents import (
    DOCUMENTS as LINES,
)
from docboltz.search.documents import (
    RECORD,
    RECORDS,
    DocumentWriter,
    StoredDocuments,
    _hashed,
    is_text,
)

DOCUMENTS = [
    Document("", ""),
    Document("a/b.txt", "Two\nlines and a\ttab", ("sci.space", "alt.atheism")),
    Document("Ωμέγα 𝄞", "naïve café \x00 🛰️", ("日本語", "")),
    *(Document(f"id {i}", "word " * i, ("same",) * (i % 3), f"20{i + 10}") for i in range(18)),
    Document(', "labels": [', '{"text": "no"}, "text": "', (', "date": "',), "2013-08-11T10:20:00"),
    Document("\\", ', "date": "', ('"', "\\"), "2013-08-11"),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with DocumentWriter(tmp_path) as writer:
        for begin, end in ((0, 1), (1, 1), (1, 13), (13, 23)):
            writer.append(DOCUMENTS[begin:end])
    return tmp_path


def test_documents_come_back_as_they_went_in(folder: Path) -> None:
    documents = StoredDocuments(folder, 23)
    assert documents.take(np.arange(23)) == DOCUMENTS
    assert documents.take(np.array([22, 0, 13, 0])) == [
        DOCUMENTS[22],
        DOCUMENTS[0],
        DOCUMENTS[13],
        DOCUMENTS[0],
    ]
    assert documents.take(np.array([], int)) == []


def test_ids_are_found(folder: Path) -> None:
    documents = StoredDocuments(folder, 23)
    assert [documents.row_of(each.id) for each in DOCUMENTS] == list(range(23))
    assert documents.row_of("id") is None
    assert documents.row_of("\udcff") is None


def test_looking_up_many_ids_does_not_keep_them_all(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some at a time, of a stream that comes once; an id may come twice, and nobody have it."""
    monkeypatch.setattr(module, "IDS_AT_ONCE", 2)
    documents = StoredDocuments(folder, 23)
    alive: weakref.WeakSet[Any] = weakref.WeakSet()

    class Id(str):
        __slots__ = ("__weakref__",)

    def ids() -> Iterator[str]:
        for row in (5, 22, 0, 5, 9, 5):
            alive.add(id := Id(DOCUMENTS[row].id))
            yield id
            del id
            assert len(alive) <= 4
        yield from ("nobody", "\udcff")

    assert documents.rows_of(ids()).tolist() == [0, 5, 9, 22]
    assert documents.rows_of([]).tolist() == documents.rows_of(["nobody"]).tolist() == []


def test_pages_of_many_documents_do_not_stay_in_memory(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = StoredDocuments(folder, len(DOCUMENTS))
    given_back: list[int] = []
    monkeypatch.setattr(stored, "_lines", SimpleNamespace(madvise=given_back.append))
    monkeypatch.setattr(module, "KEPT_DOCUMENTS", 2)
    stored.take(np.arange(2))
    assert not given_back
    stored.take(np.arange(3))
    assert given_back == [mmap.MADV_DONTNEED]


def test_a_file_that_was_removed_is_still_read(folder: Path) -> None:
    documents = StoredDocuments(folder, 23)
    for name in (LINES, RECORDS):
        (folder / name).unlink()
    assert documents.take(np.array([3])) == [DOCUMENTS[3]]


def test_threads_may_share_it(folder: Path) -> None:
    documents = StoredDocuments(folder, 23)
    right: list[int] = []

    def look_up(i: int) -> None:
        row = documents.row_of(DOCUMENTS[i].id)
        if documents.take(np.array([row, i])) == [DOCUMENTS[i]] * 2:
            right.append(i)

    threads = [threading.Thread(target=look_up, args=(i % 23,)) for i in range(92)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(right) == 92


@pytest.mark.parametrize("name", [LINES, RECORDS])
def test_damage_is_found(folder: Path, name: str) -> None:
    data = bytearray((folder / name).read_bytes())
    data[22] ^= 0xFF  # in the first line, and in where the second one ends
    (folder / name).write_bytes(data)
    with pytest.raises(ValueError, match=r"was changed|does not hold"):
        StoredDocuments(folder, 23).take(np.arange(23))
    with pytest.raises(ValueError, match=r"was changed|does not hold"):
        StoredDocuments(folder, 23).labels_and_dates()


@pytest.mark.parametrize("row", [0, 11, 22])
@pytest.mark.parametrize("end", [0, -1, 1, 2**40, -(2**63)])
def test_ends_that_do_not_rise_to_the_last_are_refused(folder: Path, row: int, end: int) -> None:
    """As another byte in the index makes them, which a search would meet by chance."""
    records = np.fromfile(folder / RECORDS, RECORD)
    if (row, end) == (0, 1):
        return  # which may be a line; its checksum tells
    records["end"][row] = end
    (folder / RECORDS).write_bytes(records.tobytes())
    with pytest.raises(ValueError, match="does not hold 23 documents"):
        StoredDocuments(folder, 23)


@pytest.mark.parametrize(
    "line",
    [
        b"no JSON",
        b"[]",
        b'{"id": "a", "labels": ["x"], "date": ""}',
        b'{"id": "a", "labels": ["x"], "text": "t"}',
        b'{"id": "a", "labels": ["x"], "date": null, "text": "t"}',
        b'{"id": "a", "labels": ["x"], "date": "\\udcff", "text": "t"}',
        b'{"id": "a", "labels": ["x"], "date": "", "text": null}',
        b'{"id": "a", "labels": null, "date": "", "text": "t"}',
        b'{"id": "a", "labels": "x", "date": "", "text": "t"}',
        b'{"id": "a", "labels": [1], "date": "", "text": "t"}',
        b"\xff",
    ],
)
def test_lines_of_other_things_are_refused(folder: Path, line: bytes) -> None:
    """Even with a checksum that fits."""
    (folder / LINES).write_bytes(line)
    record = (len(line), _hashed("a"), zlib.crc32(line))
    (folder / RECORDS).write_bytes(np.array([record], RECORD).tobytes())
    documents = StoredDocuments(folder, 1)
    with pytest.raises((ValueError, KeyError, TypeError)):
        documents.take(np.array([0]))
    with pytest.raises((ValueError, KeyError, TypeError)):
        documents.row_of("a")
    with pytest.raises((ValueError, KeyError, TypeError)):
        documents.labels_and_dates()


@pytest.mark.parametrize("id", [b"1", b'"\\udcff"'])
def test_ids_that_are_no_text_are_refused(folder: Path, id: bytes) -> None:
    line = b'{"id": %b, "labels": ["x"], "date": "", "text": "t"}' % id
    (folder / LINES).write_bytes(line)
    record = (len(line), _hashed("a"), zlib.crc32(line))
    (folder / RECORDS).write_bytes(np.array([record], RECORD).tobytes())
    with pytest.raises(ValueError, match="other things"):
        StoredDocuments(folder, 1).take(np.array([0]))


def test_labels_and_dates_of_all_are_read_at_once(folder: Path) -> None:
    labels, dates = StoredDocuments(folder, 23).labels_and_dates()
    assert labels == [each.labels for each in DOCUMENTS]
    assert dates == [each.date for each in DOCUMENTS]
    same = [each for each in labels if each == ("same",)]
    assert len({id(each) for each in same}) == 1  # not once for every document


def test_what_a_later_version_adds_to_a_line_is_passed_over(folder: Path) -> None:
    line = b'{"id": "a", "labels": ["x"], "date": "", "text": "t", "colour": "red"}\n'
    (folder / LINES).write_bytes(line)
    record = (len(line), _hashed("a"), zlib.crc32(line))
    (folder / RECORDS).write_bytes(np.array([record], RECORD).tobytes())
    assert StoredDocuments(folder, 1).take(np.array([0])) == [Document("a", "t", ("x",))]


def test_a_number_of_documents_that_does_not_fit_is_refused(folder: Path) -> None:
    for n in (22, 24):
        with pytest.raises(ValueError, match=f"does not hold {n} documents"):
            StoredDocuments(folder, n)


def test_ids_of_the_same_hash_are_told_apart(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_hashed", lambda id: 7)
    (other := tmp_path / "other").mkdir()
    with DocumentWriter(other) as writer:
        writer.append(DOCUMENTS)
    documents = StoredDocuments(other, 23)
    assert [documents.row_of(each.id) for each in DOCUMENTS] == list(range(23))
    assert documents.row_of("id") is None
    asked = [DOCUMENTS[7].id, DOCUMENTS[3].id, "id"]
    assert documents.rows_of(asked).tolist() == [3, 7]


def test_half_a_surrogate_pair_is_no_text() -> None:
    assert is_text("𝄞")
    assert not is_text("\udcff")
    assert not is_text(b"bytes")
