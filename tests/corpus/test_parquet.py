"""Parquet is read by so many rows as memory has room for."""

import pyarrow
import pyarrow.parquet
import pytest

from docboltz.corpus import parquet
from docboltz.corpus.readers import read
from docboltz.errors import InvalidCorpus

from .packing import PACKERS, as_parquet


@pytest.fixture
def batches(monkeypatch):
    """How many rows were read at a time."""
    sizes = []
    found = parquet._Table._rows_at_once

    def spy(self, group, names):
        sizes.append(found(self, group, names))
        return sizes[-1]

    monkeypatch.setattr(parquet._Table, "_rows_at_once", spy)
    monkeypatch.setattr(parquet, "LONGEST", 1 << 20)
    return sizes


def shared(text, n_rows):
    """Rows that all have one text, which their file holds once."""
    indices = pyarrow.array([0] * n_rows, "int32")
    return pyarrow.table({"text": pyarrow.DictionaryArray.from_arrays(indices, [text])})


def test_rows_that_share_a_long_text_are_read_few_at_a_time(place, batches):
    (place / "a.parquet").write_bytes(as_parquet(shared("word " * 60_000, 40)))
    assert (place / "a.parquet").read_bytes().__sizeof__() < 1_000_000
    assert len(list(read(place / "a.parquet"))) == 40
    assert batches == [3]


def test_sizes_that_a_file_claims_are_not_believed(place, batches):
    data = as_parquet(shared("word " * 60_000, 40))
    size = pyarrow.parquet.read_metadata(pyarrow.BufferReader(data)).row_group(0).total_byte_size
    groups = [2 * size >> shift & 127 for shift in (0, 7, 14)]
    written = bytes([groups[0] | 128, groups[1] | 128, groups[2]])  # as Thrift does
    assert data.count(written) > 1
    (place / "a.parquet").write_bytes(data.replace(written, b"\x82\x80\x00"))
    assert len(list(read(place / "a.parquet"))) == 40
    assert batches == [3]


@pytest.mark.parametrize("name", ["text", "a.text"])
def test_a_name_with_a_dot_is_bounded_too(place, batches, name):
    table = shared("word " * 60_000, 40).rename_columns([name])
    (place / "a.parquet").write_bytes(as_parquet(table))
    assert len(list(read(place / "a.parquet", text=name))) == 40
    assert batches == [3]


@pytest.mark.parametrize("claimed", [True, False])
def test_texts_that_begin_as_the_one_before_are_read_few_at_a_time(place, batches, claimed):
    table = pyarrow.table({"text": [("word " * 200)[:i] for i in range(1000)]})
    how = {"use_dictionary": False, "column_encoding": "DELTA_BYTE_ARRAY", "store_schema": False}
    data = as_parquet(table, **how)
    if not claimed:
        said = b"\x19\x25\x06\x0e\x19\x18\x04text"  # two encodings, the second is this one
        assert data.count(said) == 1
        data = data.replace(said, b"\x19\x25\x06\x00\x19\x18\x04text")
    (place / "a.parquet").write_bytes(data)
    assert len(list(read(place / "a.parquet"))) == 1000
    assert set(batches) == {parquet.ROWS_AT_ONCE // 64}


def test_short_texts_are_read_many_at_a_time(place, batches):
    (place / "a.parquet").write_bytes(as_parquet(shared("word", 400), row_group_size=300))
    assert len(list(read(place / "a.parquet"))) == 400
    assert batches == [parquet.ROWS_AT_ONCE] * 2


def test_a_text_beyond_the_longest_is_an_error(place, batches):
    (place / "a.parquet").write_bytes(as_parquet(shared("word " * 300_000, 2)))
    with pytest.raises(InvalidCorpus, match=r"a.parquet, row 1, is longer than"):
        list(read(place / "a.parquet"))


def test_invalid_utf8_is_reported_by_row(place):
    column = pyarrow.array([b"good", b"\xff", None], "binary").view("string")
    (place / "a.parquet").write_bytes(as_parquet(pyarrow.table({"text": column})))
    documents = read(place / "a.parquet")
    assert [(d.id, d.text) for d in documents] == [("1", "good"), ("3", "")]
    assert documents.report.undecodable == 1
    assert "a.parquet, row 2" in documents.report.problems()[0]


def test_of_columns_with_the_same_name_the_first_is_read_and_that_is_said(place):
    table = pyarrow.Table.from_arrays([["first"], ["second"]], ["text", "text"])
    (place / "a.parquet").write_bytes(as_parquet(table))
    (place / "a.csv").write_text("text,text\nfirst,second\n")
    for source in (place / "a.parquet", place / "a.csv", table):
        documents = read(source)
        assert [d.text for d in documents] == ["first"]
        assert documents.report.repeated_columns == 1
        assert "the first was read" in documents.report.problems()[0]


@pytest.mark.parametrize("packing", sorted(PACKERS))
@pytest.mark.parametrize("limit", ["for all files", "of the disk"])
def test_a_packed_file_does_not_fill_the_disk(place, monkeypatch, packing, limit):
    small = as_parquet(shared("word", 3))
    (place / f"a.parquet.{packing}").write_bytes(PACKERS[packing](small))
    (place / f"b.parquet.{packing}").write_bytes(PACKERS[packing](small + bytes(1 << 24)))
    if limit == "of the disk":
        usage = parquet.shutil.disk_usage("/")._replace(free=1 << 21)
        monkeypatch.setattr(parquet.shutil, "disk_usage", lambda path: usage)
    else:
        monkeypatch.setattr(parquet, "LARGEST_SPOOL", 1 << 20)
    assert len(list(read(place / f"a.parquet.{packing}"))) == 3
    with pytest.raises(InvalidCorpus, match=r"0\.0 GB of temporary files.* Unpack it to a \.parq"):
        list(read(place / f"b.parquet.{packing}"))
