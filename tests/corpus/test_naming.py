from docboltz.corpus.document import Document
from docboltz.corpus.naming import named, spelled
from docboltz.corpus.report import ReadReport
from docboltz.corpus.rows import Row
from docboltz.corpus.taken_ids import TakenIds


def test_rows_become_documents_whose_ids_differ():
    rows = [
        Row(1, "a", "sea", ("x",), "2013"),
        Row(2, "a", " ", (), None),
        Row(3, None, "b\udcff", ("\ud800",), title="\ud801", columns={"x": "\ud802"}),
        Row(4, None, "sky", (), numbered=True),
    ]
    report = ReadReport()
    found = list(named(spelled(rows, report), TakenIds(), report))
    assert found == [
        Document("a", "sea", ("x",), "2013"),
        Document("a#2", " "),
        Document("3", "b\\udcff", ("\\ud800",), "", "\\ud801", {"x": "\\ud802"}),
        Document("4", "sky"),
    ]
    assert (report.documents, report.unlabelled, report.undated) == (4, 2, 2)
    assert report.first == {"duplicate_ids": "a", "invalid_dates": "a#2", "empty": "a#2"}


def test_ids_differ_over_several_streams():
    report, taken = ReadReport(), TakenIds()
    streams = [[Row(1, "a", "x", ()), Row(2, "a", "x", ())], [Row(1, "a", "x", ())]]
    found = [[d.id for d in named(rows, taken, report)] for rows in streams]
    assert found == [["a", "a#2"], ["a#3"]]
