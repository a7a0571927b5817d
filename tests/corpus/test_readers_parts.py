"""A collection read in parts is the collection read as a whole."""

import contextlib
import pickle

import pytest

from docboltz.corpus import readers
from docboltz.corpus.readers import read
from docboltz.corpus.report import ReadReport
from docboltz.errors import InvalidCorpus, NoDocuments


def in_parts(documents):
    """The documents of all parts, as another process would read them, and what was met."""
    found, report = [], ReadReport()
    for part in pickle.loads(pickle.dumps(documents.parts())):
        with contextlib.suppress(NoDocuments):
            found += part.documents
        report.add(part.documents.report)
    return found, report


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "a.csv").write_text("text,label\nsea,x\n,y\n", "utf-8")
    (tmp_path / "b.jsonl").write_text('{"text": "ship"}\nno json\n{"text": "sky"}\n', "utf-8")
    (tmp_path / "c.csv").write_text("text,label\n", "utf-8")
    (tmp_path / "d.csv").write_bytes("text;label\nGröße;z\n".encode("latin-1"))
    return tmp_path


def test_tables(folder):
    whole = read(folder)
    assert in_parts(whole) == (list(whole), whole.report)
    assert [len(part.sources) for part in whole.parts()] == [1, 1, 1, 1]


def test_one_file_needs_no_name_before_its_numbers(folder):
    whole = read(folder / "a.csv")
    assert in_parts(whole)[0] == list(whole)
    assert [document.id for document in whole] == ["1", "2"]


def test_files_that_are_documents_come_by_the_hundred(tmp_path, monkeypatch):
    monkeypatch.setattr(readers, "PART_FILES", 3)
    for number in range(7):
        (tmp_path / f"{number}.txt").write_text(f"text {number}")
    whole = read(tmp_path)
    assert in_parts(whole) == (list(whole), whole.report)
    assert [len(part.sources) for part in whole.parts()] == [3, 3, 1]


def test_what_is_no_file_has_no_parts():
    for source in ("-", ["-", __file__]):
        with pytest.raises(InvalidCorpus, match="Only files can be read in parts"):
            read(source).parts()
