"""Data frames, columns and lists: whatever somebody may pass as texts."""

import datetime
from pathlib import Path

import numpy as np
import pandas
import pyarrow
import pytest

from docboltz.corpus.document import Document
from docboltz.corpus.reading import as_documents, read
from docboltz.errors import InvalidCorpus

COLUMNS = {
    "nr": [7, 8, 9],
    "price": [1.5, 2.5, 3.5],
    "body": ["ships", None, "sails"],
    "stars": [["a", "b"], [], ["b"]],
}
EXPECTED = [Document("7", "ships", ("a", "b")), Document("8", ""), Document("9", "sails", ("b",))]


class OnlyAStream:
    """A frame as polars and DuckDB have them: column names and Arrow's C stream."""

    def __init__(self, columns):
        self._table = pyarrow.table(columns)
        self.columns = self._table.column_names

    columns: tuple[str, ...] = ()

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


FRAMES = [pandas.DataFrame, pyarrow.table, pyarrow.RecordBatch.from_pydict, OnlyAStream]


@pytest.mark.parametrize("frame", FRAMES)
def test_columns_are_named_or_found(frame):
    documents = read(frame(COLUMNS), id="nr", label="stars")
    assert list(documents) == list(documents) == EXPECTED
    line, *others = documents.report.summary()
    assert line.endswith("text 'body', id 'nr', label 'stars'; not used: 'price'")
    assert others[1:] == ["1 of 3 documents has no label"]
    assert others[0].startswith("1 document has no text (first: The ")
    assert [d.id for d in as_documents(frame(COLUMNS), "fit")] == ["0", "1", "2"]
    with pytest.raises(InvalidCorpus, match="no id column 'key'"):
        list(read(frame(COLUMNS), id="key"))


@pytest.mark.parametrize("frame", FRAMES)
def test_titles_kept_columns_and_dates(frame):
    days = [datetime.datetime(2013, 8, 11, 10, 20), None, datetime.datetime(2013, 8, 12)]
    options = {"text": "nr", "title": "body", "keep": ("price", "body")}
    first, second, third = read(frame({**COLUMNS, "created_at": days}), **options)
    assert (first.title, first.columns) == ("ships", {"price": "1.5", "body": "ships"})
    assert (second.title, second.columns["body"]) == ("", "")
    assert [first.date, second.date, third.date] == ["2013-08-11T10:20:00", "", "2013-08-12"]


def test_the_index_of_pandas_holds_ids_unless_it_is_the_row_number():
    frame = pandas.DataFrame({"text": ["a", "b", "c"]})
    assert [d.id for d in read(frame)] == ["0", "1", "2"]
    assert [d.id for d in read(frame[frame.text != "b"])] == ["0", "2"]
    frame.index = pandas.Index(["x", "y", "z"], name="key")
    assert [d.id for d in read(frame)] == ["x", "y", "z"]
    frame["id"] = [7, 8, 9]
    assert [d.id for d in read(frame)] == ["7", "8", "9"]


@pytest.mark.parametrize("names", ["id", "nr", ["nr", "text"]])
def test_the_index_of_pandas_may_be_a_column_as_well(names):
    frame = pandas.DataFrame({"id": ["x", "y"], "nr": ["x", "y"], "text": ["a", "b"]})
    assert [d.id for d in read(frame.set_index(names, drop=False))] == ["x", "y"]


def test_whole_numbers_of_a_column_with_missing_values():
    numbers = [1376216400123, None, 7.5]
    frame = pandas.DataFrame({"text": list("abc"), "id": numbers, "label": numbers})
    assert [(d.id, d.labels) for d in read(frame)] == [
        ("1376216400123", ("1376216400123",)),
        ("1", ()),
        ("7.5", ("7.5",)),
    ]


def test_a_large_frame_is_read_in_parts(tmp_path):
    """Its texts begin two gigabytes into a column, of which most is a hole in a file."""
    begin, n = 1 << 31, 25_000
    with open(tmp_path / "texts", "wb") as file:
        file.seek(begin)
        file.write(b"words" * n)
    data = pyarrow.memory_map(str(tmp_path / "texts")).read_buffer()
    offsets = pyarrow.py_buffer(begin + 5 * np.arange(n + 1))
    column = pyarrow.LargeStringArray.from_buffers(n, offsets, data)
    sizes = [b.num_rows for b in read(pyarrow.table({"text": column})).batches()]
    assert sum(sizes) == n
    assert max(sizes) == 10_000
    long = pyarrow.table({"text": ["word " * 3_000_000] * 20})
    assert max(b.num_rows for b in read(long).batches()) <= 10


def test_columns_of_pandas():
    frame = pandas.DataFrame(
        {
            "text": pandas.Series(["a", pandas.NA], dtype="string"),
            "label": pandas.Categorical(["x", None]),
            "date": pandas.to_datetime(["2013-08-11", None]),
            "id": pandas.array([1, None], "Int64"),
        }
    )
    assert list(read(frame)) == [Document("1", "a", ("x",), "2013-08-11"), Document("1", "")]
    assert [d.text for d in read(pandas.DataFrame([["a", "b"]]), text="1")] == ["b"]


@pytest.mark.parametrize(
    "column", [["a", 1, ["b"]], [10**5000, "a"], ["\ud800", "a"], [1j, "a"], [object(), "a"]]
)
def test_a_column_of_several_types_is_refused(column):
    frame = pandas.DataFrame({"text": pandas.Series(column, dtype=object)})
    with pytest.raises(InvalidCorpus, match=r"The DataFrame could not be read: .*of one type"):
        list(read(frame))
    frame = pandas.DataFrame([["a", "b"]], columns=["text", "text"])
    with pytest.raises(InvalidCorpus, match="The DataFrame could not be read: Duplicate"):
        list(read(frame))


def test_a_frame_without_rows_or_texts():
    with pytest.raises(InvalidCorpus, match="There are no documents in a DataFrame"):
        list(read(pandas.DataFrame({"text": []})))
    with pytest.raises(InvalidCorpus, match="'price', 'stars'"):
        list(read(pandas.DataFrame({"price": [1.5], "stars": [2]})))


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
        np.array([b"ships", b"", b"sails"]),
        ["ships", float("nan"), "sails"],
        ["ships", pandas.NaT, Document("2", "sails")],
        [b"ships", pandas.NA, "sails"],
    ],
    ids=lambda column: type(column).__name__,
)
def test_texts_come_in_many_shapes(column):
    documents = list(as_documents(column, "fit"))
    assert documents == [Document("0", "ships"), Document("1", ""), Document("2", "sails")]
    assert all(type(d.text) is str for d in documents)


def test_documents_stay_as_they_are_but_for_dates():
    given = [
        Document("a", "ships", ("x",), "2013-08-11 10:20", "Ships", {"by": "Ann"}),
        Document("", "sails", date="soon"),
    ]
    documents = as_documents(given, "fit")
    assert list(documents) == [
        Document("a", "ships", ("x",), "2013-08-11T10:20:00", "Ships", {"by": "Ann"}),
        Document("1", "sails"),
    ]
    assert (documents.report.invalid_dates, documents.report.undated) == (1, 1)
    assert as_documents(documents, "fit") is documents


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("one text", "fit expects several texts; got str 'one text'"),
        (Path("a.txt"), "fit expects several texts"),
        ({"text": ["a"]}, "fit expects several texts; got dict"),
        (3, "fit expects several texts; got int 3"),
        (["a", 3], "fit expects texts; got int 3 at position 1"),
        ([["a"]], "fit expects texts; got list"),
        ([b"\xff"], "fit got bytes at position 0 that are not UTF-8"),
        ([], "There are no documents in a list"),
    ],
)
def test_what_is_not_texts_is_refused(texts, message):
    with pytest.raises(InvalidCorpus, match=message):
        list(as_documents(texts, "fit"))


def test_an_index_is_named_like_a_column():
    frame = pandas.DataFrame({"text": ["a", "b"]}, index=pandas.Index([7, 8], name="nr"))
    assert [document.id for document in read(frame, id="nr")] == ["7", "8"]
    dated = frame.set_index(pandas.DatetimeIndex(["2013-08-11", "2013-08-12"], name="when"))
    found = list(read(dated, date="when"))
    assert [document.date for document in found] == ["2013-08-11", "2013-08-12"]
    assert [document.id for document in found] == ["0", "1"]
