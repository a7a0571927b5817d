import json

import pytest

from docboltz.corpus.read_options import ReadOptions
from docboltz.errors import InvalidParameter


def test_options_survive_json():
    options = ReadOptions(
        "csv",
        ("title", "body"),
        "nr",
        "stars",
        "day",
        "headline",
        ("author", "url"),
        "|",
        "latin-1",
        ";",
        header=False,
        quotes=False,
    )
    assert ReadOptions.from_dict(json.loads(json.dumps(options.to_dict()))) == options
    assert ReadOptions.from_dict({}) == ReadOptions()


@pytest.mark.parametrize("tab", ["tab", "\t", r"\t"])
def test_a_tab_has_a_name(tab):
    assert ReadOptions(delimiter=tab).delimiter == "\t"


def test_one_column_is_no_list_of_columns():
    assert ReadOptions(text=["body"]) == ReadOptions(text="body")
    assert ReadOptions(text=[]) == ReadOptions()


@pytest.mark.parametrize("keep", ["author, url", ["author", "url", "author"]])
def test_columns_to_keep_are_a_list_or_split_by_commas(keep):
    assert ReadOptions(keep=keep).keep == ("author", "url")
    assert ReadOptions(keep=()) == ReadOptions(keep=" ,") == ReadOptions()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("format", "xml"),
        ("format", ["csv"]),
        ("text", 3),
        ("text", ["a", None]),
        ("id", 1),
        ("label", b"x"),
        ("date", 2013),
        ("title", ["a"]),
        ("keep", 3),
        ("keep", ["a", None]),
        ("label_separator", ""),
        ("encoding", "utf-9"),
        ("encoding", "rot13"),
        ("encoding", "a\0b"),
        ("encoding", 8),
        ("delimiter", ";;"),
        ("delimiter", '"'),
        ("delimiter", ""),
        ("header", None),
        ("quotes", "no"),
    ],
)
def test_ill_typed_options_are_refused_by_name(name, value):
    with pytest.raises(InvalidParameter, match=f"The '{name}' parameter of read") as error:
        ReadOptions.from_dict({name: value})
    assert error.value.name == name


@pytest.mark.parametrize("given", [{"colour": 1}, ["format"], None, {1: 2}])
def test_unknown_options_are_refused(given):
    with pytest.raises(InvalidParameter):
        ReadOptions.from_dict(given)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "shift_jis", "latin-1"])
def test_encodings_that_python_knows(encoding):
    assert ReadOptions(encoding=encoding).encoding == encoding
