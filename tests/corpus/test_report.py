import json

from docboltz.corpus.columns import Columns
from docboltz.corpus.report import ReadAs, ReadReport


def test_problems_name_the_first_place():
    report = ReadReport(documents=3)
    report.note("undecodable", "a.txt, line 2")
    report.note("undecodable", "a.txt, line 9")
    assert report.problems() == ["2 undecodable documents left out (first: a.txt, line 2)"]
    assert json.loads(json.dumps(report.to_dict()))["undecodable"] == 2


def test_nothing_to_say_when_all_went_well():
    assert ReadReport(documents=3).problems() == []


def test_the_summary_tells_how_and_what_is_odd():
    report = ReadReport(documents=5000, unlabelled=312)
    way = ReadAs("CSV", Columns(("body",), "nr", "stars", unused=("date", "shop")), ";")
    report.read_as[way] += 3
    report.encodings.update({"utf-8": 4000, "cp1252": 1000})
    assert report.summary() == [
        "Read 3 files as CSV (semicolons): text 'body', id 'nr', label 'stars'; "
        "not used: 'date', 'shop'",
        "Not everything is UTF-8; also read: cp1252",
        "312 of 5,000 documents have no label",
    ]
    (told,) = json.loads(json.dumps(report.to_dict()))["read_as"]
    assert (told["files"], told["delimiter"], told["header"]) == (3, ";", True)
    assert told["columns"]["unused"] == ["date", "shop"]


def test_labels_are_missed_only_where_others_have_one():
    assert ReadReport(documents=3, unlabelled=3).summary() == []


def test_reports_of_parts_add_up():
    one, other = ReadReport(documents=2), ReadReport(documents=3)
    one.note("malformed", "a.jsonl, line 3")
    other.note("malformed", "b.jsonl, line 1")
    other.note("empty", "7")
    other.encodings["latin-1"] += 1
    one.add(other)
    assert (one.documents, one.malformed, one.empty) == (5, 2, 1)
    assert one.first == {"malformed": "a.jsonl, line 3", "empty": "7"}
    assert one.encodings == {"latin-1": 1}
