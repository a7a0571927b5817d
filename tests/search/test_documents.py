from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

from docboltz.errors import InvalidModelFile
from docboltz.search import documents as module
from docboltz.search.documents import Documents, DocumentWriter, Hit, is_text

HITS = [
    Hit("", (), ""),
    Hit("a/b.txt", ("sci.space", "alt.atheism"), "Two\nlines and a\ttab"),
    Hit("Ωμέγα 𝄞", ("日本語", ""), "naïve café \x00 🛰️"),
    *(Hit(f"id {i}", ("same",) * (i % 3), "word " * i) for i in range(20)),
]


@pytest.fixture(autouse=True)
def small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ROWS_PER_GROUP", 4)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "documents.parquet"
    writer = DocumentWriter(path)
    for begin, end in ((0, 1), (1, 1), (1, 13), (13, 23)):
        writer.append(HITS[begin:end])
    writer.close()
    return path


def test_documents_come_back_as_they_went_in(file: Path) -> None:
    documents = Documents(file.parent, file)
    assert documents.take(np.arange(23)) == HITS
    assert documents.take(np.array([22, 0, 13, 0])) == [HITS[22], HITS[0], HITS[13], HITS[0]]
    assert documents.take(np.array([], int)) == []


def test_ids_are_found(file: Path) -> None:
    documents = Documents(file.parent, file)
    assert [documents.row_of(hit.id) for hit in HITS] == list(range(23))
    assert documents.row_of("id") is None
    assert documents.row_of("\udcff") is None


def test_a_file_that_was_removed_is_still_read(file: Path) -> None:
    documents = Documents(file.parent, file)
    file.unlink()
    assert documents.take(np.array([3])) == [HITS[3]]


def test_threads_may_share_it(file: Path) -> None:
    documents = Documents(file.parent, file)
    right: list[int] = []

    def look_up(i: int) -> None:
        row = documents.row_of(HITS[i].id)
        if documents.take(np.array([row, i])) == [HITS[i]] * 2:
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
        documents = Documents(file.parent, file)
        with pytest.raises(InvalidModelFile, match=r"documents\.parquet cannot be read"):
            documents.take(np.arange(23))
        with pytest.raises(InvalidModelFile, match=r"documents\.parquet cannot be read"):
            documents.row_of("a/b.txt")


def test_an_abandoned_file_is_no_parquet(tmp_path: Path) -> None:
    path = tmp_path / "documents.parquet"
    writer = DocumentWriter(path)
    writer.append(HITS)
    writer.abandon()
    path.unlink()


def test_half_a_surrogate_pair_is_no_text() -> None:
    assert is_text("𝄞")
    assert not is_text("\udcff")
    assert not is_text(b"bytes")
