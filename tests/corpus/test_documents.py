"""What `read` gives: streams that can be gone through again, and options that a model saves."""

import io
import sys

import pyarrow
import pytest

from docboltz.corpus.readers import ReadOptions, read
from docboltz.errors import InvalidCorpus

from .packing import as_parquet


@pytest.fixture
def reviews(place):
    path = place / "reviews.csv"
    path.write_text("nr;title;body;stars\n1;good;ships;5\n2;bad;sails;1\n")
    return path


def test_each_pass_reads_anew(reviews):
    documents = read(reviews)
    assert list(documents) == list(documents)
    assert documents.report.documents == 2
    reviews.write_text("body\nother\n")
    assert [d.text for d in documents] == ["other"]
    assert documents.report.documents == 1


def test_standard_input_is_read_once(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"one\ntwo\n")))
    documents = read("-")
    assert len(list(documents)) == 2
    with pytest.raises(InvalidCorpus, match="only once"):
        list(documents)


def test_a_representation_of_one_line(reviews, place):
    (place / "b.csv").write_text("text\na\n")
    documents = read(str(reviews), text=["title", "body"], id="nr", label="stars")
    shown = f"Documents({str(reviews)!r}: text 'title' and 'body', id 'nr', label 'stars')"
    assert repr(documents) == shown
    assert repr(read([str(reviews)] * 3)) == f"Documents({str(reviews)!r} and 2 more)"


class TestSavedOptions:
    """A model reads new documents as it read those it learnt from."""

    SAVED = ReadOptions(text=("title", "body"), id="nr", label="stars", delimiter=";")

    def test_they_are_used_again(self, reviews):
        documents = list(read(reviews, options=self.SAVED))
        assert [(d.id, d.text, d.labels) for d in documents] == [
            ("1", "good\nships", ("5",)),
            ("2", "bad\nsails", ("1",)),
        ]
        again = read(reviews, options=self.SAVED)
        assert again.options == self.SAVED

    def test_what_is_given_counts_more(self, reviews):
        documents = read(reviews, text="body", label="title", options=self.SAVED)
        assert next(iter(documents)).labels == ("good",)
        assert documents.options == ReadOptions(text="body", id="nr", label="title", delimiter=";")

    @pytest.mark.parametrize("name", ["new.csv", "new.jsonl", "new.parquet"])
    def test_id_and_label_may_be_missing_and_that_is_reported(self, place, name):
        path = place / name
        if name.endswith("csv"):
            path.write_text("title;body\ngood;ships\n")
        elif name.endswith("jsonl"):
            path.write_text('{"title": "good", "body": "ships"}\n')
        else:
            table = pyarrow.table({"title": ["good"], "body": ["ships"]})
            path.write_bytes(as_parquet(table))
        documents = read(path, options=self.SAVED)
        assert [(d.id, d.text) for d in documents] == [("1", "good\nships")]
        assert documents.report.absent_columns == 2
        assert any("no id column 'nr'" in line for line in documents.report.problems())

    def test_a_missing_date_column_is_reported(self, place):
        for name, row in (("new.csv", "text\na\n"), ("new.jsonl", '{"text": "a"}\n')):
            (place / name).write_text(row)
            documents = read(place / name, options=ReadOptions(date="day"))
            assert [document.date for document in documents] == [""]
            assert any("no date column 'day'" in line for line in documents.report.problems())

    def test_a_missing_text_column_is_refused(self, place):
        (place / "new.csv").write_text("nr;body;stars\n1;ships;5\n")
        with pytest.raises(InvalidCorpus, match="no text column 'title'"):
            list(read(place / "new.csv", options=self.SAVED))

    def test_a_column_that_is_named_anew_must_be_there(self, place):
        for name, row in (("new.csv", "title;body\na;b\n"), ("new.jsonl", '{"text": "a"}\n')):
            (place / name).write_text(row)
            saved = ReadOptions(id="nr", label="stars")
            with pytest.raises(InvalidCorpus, match="no label column 'stars'"):
                list(read(place / name, label="stars", options=saved))

    def test_a_saved_format_yields_to_the_name_of_a_table(self, reviews, place):
        lines = place / "a.txt"
        lines.write_text("text;label\nships;a\n")
        saved = ReadOptions(format="lines")
        assert next(iter(read(reviews, options=saved))).text == "ships"
        assert len(list(read(lines, options=ReadOptions(format="csv")))) == 1
        assert len(list(read(reviews, format="lines", options=saved))) == 3

    def test_a_saved_delimiter_that_the_file_lacks_is_found_anew(self, place):
        (place / "new.csv").write_text("title,body\ngood,ships\n")
        documents = read(place / "new.csv", options=self.SAVED)
        assert next(iter(documents)).text == "good\nships"
        assert "commas" in documents.report.summary()[0]

    def test_a_saved_header_can_be_taken_back(self, reviews):
        saved = ReadOptions(header=False, quotes=False)
        assert len(list(read(reviews, options=saved))) == 3
        assert len(list(read(reviews, header=True, options=saved))) == 2
