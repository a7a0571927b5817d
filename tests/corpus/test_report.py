import json

from docboltz.corpus.report import ReadReport


def test_problems_name_the_first_place():
    report = ReadReport(documents=3)
    report.note("undecodable", "a.txt, line 2")
    report.note("undecodable", "a.txt, line 9")
    assert report.problems() == ["2 undecodable documents left out (first: a.txt, line 2)"]
    assert json.loads(json.dumps(report.to_dict()))["undecodable"] == 2


def test_nothing_to_say_when_all_went_well():
    assert ReadReport(documents=3).problems() == []
