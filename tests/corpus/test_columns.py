"""Which column holds what, and what values become."""

import pytest

from docboltz.corpus.columns import iso_date
from docboltz.corpus.reading import ReadReport, read
from docboltz.errors import InvalidCorpus


@pytest.fixture
def how(tmp_path):
    """How a CSV with such a header, and such a row, is read."""

    def found(header, row=None, **options):
        row = row or ",".join("words" for _ in header.split(","))
        (tmp_path / "a.csv").write_text(f"{header}\n{row}\n")
        documents = read(tmp_path / "a.csv", **options)
        list(documents)
        return documents.report.summary()[0].removeprefix("Read as CSV (commas): ")

    return found


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("Doc_ID,Category,Text,x", "text 'Text', id 'Doc_ID', label 'Category'; not used: 'x'"),
        ("title,abstract", "text 'abstract', no id, no label, title 'title'"),
        ("title,id", "text 'title', id 'id', no label"),
        ("whatever", "text 'whatever', no id, no label"),
        ("text,Review Date", "text 'text', no id, no label; not used: 'Review Date'"),
    ],
)
def test_columns_are_found_by_usual_names(how, header, expected):
    assert how(header) == expected


def test_a_date_column_is_found_if_it_has_dates(how):
    row = "words,our first,2013,soon"
    expected = "text 'text', no id, no label, date 'Year'; not used: 'Date', 'created'"
    assert how("text,Date,Year,created", row) == expected
    assert "date 'created'" in how("text,Date,Year,created", row, date="created")


def test_named_columns_are_taken_and_several_texts_joined(tmp_path):
    (tmp_path / "a.csv").write_text("n,title,abstract,topic,URL\n7,A,b,x|y|x,u\n8,,b,,\n9,,,,\n")
    documents = read(
        tmp_path / "a.csv",
        text=["Title", "abstract"],
        id="n",
        label="Topic",
        label_separator="|",
        keep="url,n",
    )
    assert [(d.id, d.text, d.labels, d.columns) for d in documents] == [
        ("7", "A\nb", ("x", "y"), {"url": "u", "n": "7"}),
        ("8", "b", (), {"url": "", "n": "8"}),
        ("9", "", (), {"url": "", "n": "9"}),
    ]
    assert documents.report.summary()[0].endswith(
        "text 'title' and 'abstract', id 'n', label 'topic'; kept: 'URL', 'n'"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"label": "tag"}, r"no label column 'tag'\. It has the columns 'words', 'kind'\..*label"),
        ({"text": "body"}, "no text column 'body'"),
        ({"keep": "url"}, "no column 'url'"),
    ],
)
def test_a_column_that_is_missing(how, options, message):
    with pytest.raises(InvalidCorpus, match=message):
        how("words,kind", **options)


def test_no_column_for_texts(how):
    message = "no column with a usual name for texts .*'price', 'kind'.*header=False"
    with pytest.raises(InvalidCorpus, match=message):
        how("price,kind")


def test_of_columns_with_one_name_the_first_is_read_and_that_is_said(tmp_path):
    (tmp_path / "a.csv").write_text("text,text,n,n\nfirst,second,1,2\n")
    documents = read(tmp_path / "a.csv")
    assert [d.text for d in documents] == ["first"]
    assert documents.report.repeated_columns == 1


@pytest.mark.parametrize(
    ("value", "date"),
    [
        ("2013", "2013"),
        ("2013.0", "2013"),
        ("2013-08", "2013-08"),
        ("2013-08-11", "2013-08-11"),
        (" 2013-08-11 10:20 ", "2013-08-11T10:20:00"),
        ("2013-08-11T10:20:30.5+02:00", "2013-08-11T08:20:30"),
        ("2013-08-11T00:00:00Z", "2013-08-11"),
        ("1376216400", "2013-08-11T10:20:00"),
        ("1376216400.5", "2013-08-11T10:20:00"),
        ("1376216400123", "2013-08-11T10:20:00"),
        ("", ""),
        ("soon", None),
        ("2013-13", None),
        ("2013-02-30", None),
        ("11/08/2013", None),
        ("12345678", None),
        ("٢٠١٣", None),
        ("0001-01-01T00:00:00+14:00", None),
        ("9" * 5000, None),
    ],
)
def test_dates_are_those_of_iso_8601_and_seconds_since_1970(value, date):
    assert iso_date(value) == date


def test_dates_by_a_format():
    assert iso_date("11. 8. 2013 10:20", "%d. %m. %Y %H:%M") == "2013-08-11T10:20:00"
    assert iso_date("2013", "%d.%m.%Y") is None


def test_reports_of_parts_add_up():
    one, other = ReadReport(documents=2), ReadReport(documents=3)
    one.note("malformed", "a.jsonl, line 3")
    other.note("malformed", "b.jsonl, line 1")
    other.note("empty", "7\x1b[31m" + "x" * 1000)
    one.add(other)
    assert (one.documents, one.malformed, one.empty) == (5, 2, 1)
    assert one.first["malformed"] == "a.jsonl, line 3"
    assert one.first["empty"].isprintable()
    assert len(one.first["empty"]) < 600
    assert ReadReport(documents=3, unlabelled=3).summary() == []
