import datetime

import numpy as np
import pytest

from docboltz.corpus.columns import ColumnChoice, as_kept, as_labels, as_text
from docboltz.corpus.dates import DateReading
from docboltz.corpus.read_options import ReadOptions
from docboltz.errors import InvalidCorpus


def find_columns(names, options, where):
    return ColumnChoice(options).find(names, where)


NOTHING = ReadOptions()


def test_usual_names_are_found_in_any_case():
    columns = find_columns(["Doc_ID", "Category", "Text", "x"], NOTHING, "f.csv")
    assert (columns.text, columns.id, columns.label) == (("Text",), "Doc_ID", "Category")


def test_the_more_telling_name_wins():
    assert find_columns(["title", "abstract"], NOTHING, "f").text == ("abstract",)
    assert find_columns(["title", "id"], NOTHING, "f").text == ("title",)


def test_an_only_column_is_the_text():
    assert find_columns(["whatever"], NOTHING, "f").text == ("whatever",)


def test_named_columns_are_taken_and_joined():
    options = ReadOptions(text=("title", "abstract"), id="n", label="Topic")
    columns = find_columns(["n", "title", "abstract", "topic", "id"], options, "f")
    record = {"n": 7, "title": "A", "abstract": "b c", "topic": ["x", "y"], "id": "no"}
    assert columns.get(record) == ("7", "A\nb c", ("x", "y"), "", "", {})


def test_a_missing_column_lists_those_that_exist():
    with pytest.raises(InvalidCorpus, match=r"no label column 'tag'.*'words', 'kind'"):
        find_columns(["words", "kind"], ReadOptions(label="tag"), "f.csv")
    with pytest.raises(InvalidCorpus, match=r"usual name.*'a', 'b'"):
        find_columns(["a", "b"], NOTHING, "f.csv")


def test_the_first_column_with_a_usual_name_and_dates_is_taken():
    def dates(name, named):
        return DateReading(order="day") if named or name == "Year" else None

    def found(**options):
        names = ["text", "Date", "Year", "created"]
        return ColumnChoice(ReadOptions(**options)).find(names, "f", dates=dates)

    columns = found()
    assert (columns.date, columns.unused) == ("Year", ("Date", "created"))
    assert columns.used == ["text", "Year"]
    assert columns.get({"text": "a", "Year": "13/8/2013"})[3] == "2013-08-13"
    assert columns.get({"text": "a", "Year": "soon"})[3] is None
    assert str(columns).startswith(
        "text 'text', no id, no label, date 'Year' (day first); not used"
    )
    assert found(date="created").date == "created"
    assert found(label="year").date is None


@pytest.mark.parametrize(
    ("value", "text"),
    [("a", "a"), (None, ""), (float("nan"), ""), (3, "3"), (["a", 1], "a 1"), (b"a", "a")],
)
def test_texts_from_any_value(value, text):
    assert as_text(value) == text


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ("a", "a"),
        (" é ", " é "),
        (None, ""),
        (float("nan"), ""),
        (3, "3"),
        (1.5, "1.5"),
        (True, "true"),
        (["é", 1, None], '["é", 1, null]'),
        ({"a": {"b": 2}}, '{"a": {"b": 2}}'),
        (np.array([1, 2]), "[1, 2]"),
        (datetime.date(2013, 8, 11), "2013-08-11"),
        ([datetime.date(2013, 8, 11)], '["2013-08-11"]'),
    ],
)
def test_a_kept_value_is_a_string(value, kept):
    assert as_kept(value) == kept


def test_a_kept_value_that_json_cannot_hold_is_named():
    with pytest.raises(InvalidCorpus, match="type dict cannot be read as text"):
        as_kept({b"key": 1})


def test_a_title_that_is_not_the_text_is_found():
    columns = find_columns(["text", "Title", "x"], NOTHING, "f")
    assert (columns.title, columns.unused) == ("Title", ("x",))
    assert find_columns(["title", "headline"], NOTHING, "f").title is None  # it is the text
    options = ReadOptions(text=("title", "text"))
    assert find_columns(["text", "title"], options, "f").title is None


def test_a_named_title_is_not_the_text():
    columns = find_columns(["title", "story"], ReadOptions(title="title"), "f")
    assert (columns.text, columns.title) == (("story",), "title")


def test_kept_columns_may_be_used_for_more():
    columns = find_columns(["text", "URL", "by"], ReadOptions(keep="by,url"), "f")
    assert columns.used == ["text", "URL", "by"]
    assert str(columns) == "text 'text', id 'URL', no label; kept: 'by', 'URL'"
    record = {"text": "a", "URL": "u", "by": None}
    assert columns.get(record) == ("u", "a", (), "", "", {"by": "", "url": "u"})


@pytest.mark.parametrize(
    ("value", "separator", "labels"),
    [
        ("a;b", None, ("a;b",)),
        ("a; b;;a", ";", ("a", "b")),
        (["a", None, "b"], None, ("a", "b")),
        (None, None, ()),
        ("", ";", ()),
        (2, None, ("2",)),
    ],
)
def test_labels_from_any_value(value, separator, labels):
    assert as_labels(value, separator) == labels


def test_columns_that_might_hold_labels_are_named():
    columns = find_columns(["sentence", "pkg", "id"], ReadOptions(), "file")
    assert str(columns) == "text 'sentence', id 'id', no label; not used: 'pkg'"
    columns = find_columns(["text", "label", "pkg"], ReadOptions(), "file")
    assert str(columns) == "text 'text', no id, label 'label'; not used: 'pkg'"
