"""Data frames, columns and lists: whatever somebody may pass as texts."""

import datetime
from pathlib import Path

import numpy as np
import pandas
import pyarrow
import pytest

from docboltz.corpus.readers import Document, ReadOptions, as_documents, read
from docboltz.errors import InvalidCorpus

COLUMNS = {
    "nr": [7, 8, 9],
    "price": [1.5, 2.5, 3.5],
    "body": ["ships", None, "sails"],
    "stars": [["a", "b"], [], ["b"]],
}
EXPECTED = [
    Document("7", "ships", ("a", "b")),
    Document("8", ""),
    Document("9", "sails", ("b",)),
]


def polars_frame(columns):
    return pytest.importorskip("polars").DataFrame(columns)


def arrays_in_pandas(columns):
    """As pandas reads lists from Parquet."""
    return pandas.DataFrame({**columns, "stars": [np.array(v, object) for v in columns["stars"]]})


FRAMES = [pandas.DataFrame, arrays_in_pandas, pyarrow.table, polars_frame]


@pytest.mark.parametrize("frame", FRAMES)
def test_columns_of_frames_are_named_or_found(frame):
    documents = read(frame(COLUMNS), id="nr", label="stars")
    assert list(documents) == list(documents) == EXPECTED
    (line, *others) = documents.report.summary()
    assert line.endswith("text 'body', id 'nr', label 'stars'; not used: 'price'")
    assert others == [
        "1 document has no text (first: 8)",
        "1 of 3 documents has no label",
    ]


@pytest.mark.parametrize("frame", FRAMES)
def test_titles_and_columns_of_frames(frame):
    options = {"text": "nr", "title": "body", "keep": ("price", "stars", "body")}
    first, second, _ = read(frame(COLUMNS), **options)
    assert first.title == "ships"
    assert first.columns == {"price": "1.5", "stars": '["a", "b"]', "body": "ships"}
    assert (second.title, second.columns["body"]) == ("", "")


def test_titles_and_columns_of_documents_stay():
    given = Document("1", "a", title="A", columns={"by": "Ann"})
    assert list(as_documents([given], "fit")) == [given]


@pytest.mark.parametrize("frame", FRAMES)
def test_a_frame_among_texts_is_read_as_a_frame(frame):
    assert [d.text for d in as_documents(frame(COLUMNS), "fit")] == ["ships", "", "sails"]
    assert [d.id for d in as_documents(frame(COLUMNS), "fit")] == ["0", "1", "2"]


@pytest.mark.parametrize("frame", [pandas.DataFrame, pyarrow.table, polars_frame])
def test_a_frame_without_a_text_column_lists_its_columns(frame):
    with pytest.raises(InvalidCorpus, match="'price', 'stars'"):
        list(read(frame({"price": [1.5], "stars": [2]})))


def test_pandas_names_may_be_numbers_or_the_same_twice():
    frame = pandas.DataFrame([["a", "b"], ["c", "d"]])
    assert [d.text for d in read(frame, text="1")] == ["b", "d"]
    frame.columns = ["text", "text"]
    assert [d.text for d in read(frame)] == ["a", "c"]


def test_a_column_of_missing_texts_in_pandas():
    frame = pandas.DataFrame({"text": pandas.Series(["a", pandas.NA], dtype="string")})
    assert [d.text for d in read(frame)] == ["a", ""]


TEXTS = ["ships", None, "sails"]


@pytest.mark.parametrize(
    "column",
    [
        TEXTS,
        tuple(TEXTS),
        iter(TEXTS),
        pandas.Series(TEXTS),
        pandas.Series(TEXTS, dtype="string"),
        pandas.Series(TEXTS, dtype="category"),
        pyarrow.array(TEXTS),
        pyarrow.chunked_array([TEXTS]),
        np.array(TEXTS, dtype=object),
        np.array(["ships", "", "sails"]),
        np.array([b"ships", b"", b"sails"]),
        ["ships", float("nan"), "sails"],
        ["ships", np.float32("nan"), "sails"],
        ["ships", pandas.NaT, Document("2", "sails")],
        [b"ships", pandas.NA, "sails"],
    ],
    ids=lambda column: type(column).__name__,
)
def test_texts_come_in_many_shapes(column):
    documents = list(as_documents(column, "fit"))
    assert documents == [Document("0", "ships"), Document("1", ""), Document("2", "sails")]
    assert all(type(d.text) is str for d in documents)


def test_a_polars_column():
    series = pytest.importorskip("polars").Series(TEXTS)
    assert [d.text for d in as_documents(series, "fit")] == ["ships", "", "sails"]


def test_lists_can_be_gone_through_twice_and_readers_pass_as_they_are(tmp_path):
    documents = as_documents(["a", "b"], "fit")
    assert list(documents) == list(documents)
    assert documents.options == ReadOptions()
    (tmp_path / "a.txt").write_text("word\n")
    stream = read(tmp_path / "a.txt")
    assert as_documents(stream, "fit") is stream


def test_ids_of_a_mixed_stream_differ():
    mixed = ["a", Document("2", "b"), "c", Document("2", "d")]
    assert [d.id for d in as_documents(mixed, "fit")] == ["0", "2", "2#2", "2#3"]


def test_half_characters_among_texts_are_spelled_out():
    (document,) = as_documents(["caf\u00e9 \ud83d"], "fit")
    assert document.text == r"café \ud83d"


@pytest.mark.parametrize("texts", ["some text", b"some text", Path("a.csv")])
def test_one_text_is_not_several(texts):
    with pytest.raises(InvalidCorpus, match=r"TextModel\.fit .*docboltz\.read") as error:
        as_documents(texts, "TextModel.fit")
    assert "list of texts" in error.value.hint


@pytest.mark.parametrize("texts", [{"text": ["a"]}, 3, None])
def test_what_holds_no_texts(texts):
    with pytest.raises(InvalidCorpus, match="expects texts"):
        as_documents(texts, "fit")


@pytest.mark.parametrize("value", [3, 2.5, ["a"], {"text": "a"}, np.array([1, 2]), True])
def test_what_is_no_text_is_named_with_its_position(value):
    with pytest.raises(InvalidCorpus, match=f"{type(value).__name__} .* at position 1"):
        list(as_documents(["a", value], "fit"))


def test_bytes_that_are_no_utf_8():
    with pytest.raises(InvalidCorpus, match=r"position 1 that are not UTF-8: .* at byte 2"):
        list(as_documents(["a", b"ab\xff"], "fit"))


def test_no_texts_at_all():
    with pytest.raises(InvalidCorpus, match="no documents in a list"):
        list(as_documents([], "fit"))


def test_polars_lazy_frames_are_refused():
    polars = pytest.importorskip("polars")
    for take in (read, lambda frame: as_documents(frame, "fit")):
        with pytest.raises(InvalidCorpus, match="LazyFrame"):
            take(polars.LazyFrame(COLUMNS))


def test_a_record_batch_is_a_frame_too():
    batch = pyarrow.RecordBatch.from_pydict(COLUMNS)
    assert list(read(batch, id="nr", label="stars")) == EXPECTED


def test_read_takes_neither_numbers_nor_lists_of_them():
    for source in (3, [3]):
        with pytest.raises(InvalidCorpus, match="takes paths or a data frame"):
            read(source)


@pytest.mark.parametrize("frame", [pandas.DataFrame, pyarrow.table, polars_frame])
def test_dates_of_frames_are_found(frame):
    days = [datetime.datetime(2013, 8, 11, 10, 20), None, datetime.datetime(2013, 8, 12)]
    documents = read(frame({"text": ["a", "b", "c"], "created_at": days}))
    expected = ["2013-08-11T10:20:00", "", "2013-08-12"]
    assert [document.date for document in documents] == expected
    assert "date 'created_at'" in documents.report.summary()[0]
    numbers = frame({"text": ["a", "b"], "date": [1.5, 2.5]})
    assert [document.date for document in read(numbers)] == ["", ""]


def test_dates_of_documents_are_brought_into_one_form():
    given = [Document("1", "a", date="2013-08-11 10:20"), Document("2", "b", date="soon"), "c"]
    documents = as_documents(given, "fit")
    assert [document.date for document in documents] == ["2013-08-11T10:20:00", "", ""]
    assert (documents.report.invalid_dates, documents.report.undated) == (1, 1)
