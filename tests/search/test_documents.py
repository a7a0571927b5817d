from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from docboltz.errors import InvalidModelFile
from docboltz.search import documents as module
from docboltz.search.documents import Documents, DocumentWriter, StoredDocument, is_text

DOCUMENTS = [
    StoredDocument("", (), ""),
    StoredDocument("a/b.txt", ("sci.space", "alt.atheism"), "Two\nlines and a\ttab"),
    StoredDocument("Ωμέγα 𝄞", ("日本語", ""), "naïve café \x00 🛰️"),
    *(StoredDocument(f"id {i}", ("same",) * (i % 3), "word " * i) for i in range(20)),
]


def opened(file: Path, n: int = 23) -> Documents:
    return Documents(file, n, InvalidModelFile)


@pytest.fixture(autouse=True)
def small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ROWS_PER_GROUP", 4)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "documents.parquet"
    writer = DocumentWriter(path)
    for begin, end in ((0, 1), (1, 1), (1, 13), (13, 23)):
        writer.append(DOCUMENTS[begin:end])
    writer.close()
    return path


def test_documents_come_back_as_they_went_in(file: Path) -> None:
    documents = opened(file)
    assert documents.take(np.arange(23)) == DOCUMENTS
    assert documents.take(np.array([22, 0, 13, 0])) == [
        DOCUMENTS[22],
        DOCUMENTS[0],
        DOCUMENTS[13],
        DOCUMENTS[0],
    ]
    assert documents.take(np.array([], int)) == []


def test_ids_are_found(file: Path) -> None:
    documents = opened(file)
    assert [documents.row_of(each.id) for each in DOCUMENTS] == list(range(23))
    assert documents.row_of("id") is None
    assert documents.row_of("\udcff") is None


def test_a_file_that_was_removed_is_still_read(file: Path) -> None:
    documents = opened(file)
    file.unlink()
    assert documents.take(np.array([3])) == [DOCUMENTS[3]]


def test_threads_may_share_it(file: Path) -> None:
    documents = opened(file)
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


def test_damage_is_found(file: Path) -> None:
    data = file.read_bytes()
    for place in (60, -2):  # in a page of ids, and in the footer
        damaged = bytearray(data)
        damaged[place] ^= 0xFF
        file.write_bytes(damaged)
        documents = opened(file)
        with pytest.raises(InvalidModelFile, match=r"documents\.parquet cannot be read"):
            documents.take(np.arange(23))
        with pytest.raises(InvalidModelFile, match=r"documents\.parquet cannot be read"):
            documents.row_of("a/b.txt")


@pytest.mark.parametrize(
    "columns",
    [
        {"id": ["a"], "labels": [["x"]]},
        {"id": ["a"], "labels": [["x"]], "text": [None]},
        {"id": ["a"], "labels": [None], "text": ["t"]},
        {"id": ["a"], "labels": ["x"], "text": ["t"]},
        {"id": [1], "labels": [["x"]], "text": ["t"]},
        {"id": ["a", "b"], "labels": [["x"]] * 2, "text": ["t"] * 2},
        {"id": pa.array([], pa.string()), "labels": pa.array([], pa.list_(pa.string()))},
    ],
    ids=["no text", "null text", "null labels", "flat labels", "number", "more", "empty"],
)
def test_a_parquet_file_of_other_things_is_refused(
    tmp_path: Path, columns: dict[str, object]
) -> None:
    file = tmp_path / "documents.parquet"
    pq.write_table(pa.table(columns), file)
    documents = opened(file, 1)
    with pytest.raises(InvalidModelFile, match="does not hold 1 documents"):
        documents.take(np.array([0]))
    with pytest.raises(InvalidModelFile, match="does not hold 1 documents"):
        documents.row_of("a")


def test_a_file_of_more_documents_is_refused(file: Path) -> None:
    with pytest.raises(InvalidModelFile, match="does not hold 22 documents"):
        opened(file, 22).row_of("id 19")


def test_an_abandoned_file_is_no_parquet(tmp_path: Path) -> None:
    path = tmp_path / "documents.parquet"
    writer = DocumentWriter(path)
    writer.append(DOCUMENTS)
    writer.abandon()
    path.unlink()


def test_half_a_surrogate_pair_is_no_text() -> None:
    assert is_text("𝄞")
    assert not is_text("\udcff")
    assert not is_text(b"bytes")
