import json

import pyarrow
import pytest

from docboltz.corpus import readers, tables
from docboltz.corpus.rows import ENOUGH_ROWS
from docboltz.corpus.tables import sniff
from docboltz.errors import InvalidCorpus

from .packing import PACKERS, as_parquet


def read(path, content, **options):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    documents = readers.read(path, **options)
    return list(documents), documents.report


def as_tuples(documents):
    return [(d.id, d.text, d.labels) for d in documents]


class TestLines:
    def test_each_line_is_a_document_with_its_number(self, place):
        documents, _ = read(place / "a.txt", "first one\n\nthird\n")
        assert as_tuples(documents) == [("1", "first one", ()), ("3", "third", ())]

    def test_undecodable_lines_are_counted(self, place):
        documents, report = read(place / "a.txt", b"one\n" * 5000 + b"\x00\x01\nlast\n")
        assert len(documents) == 5001
        assert report.undecodable == 1
        assert "line 5001" in report.problems()[0]


class TestJsonLines:
    def test_lists_of_labels(self, place):
        lines = [
            {"id": 5, "text": "a b", "labels": ["x", "y"]},
            {"id": 6, "text": "c", "labels": []},
        ]
        documents, _ = read(place / "a.jsonl", "\n".join(map(json.dumps, lines)))
        assert as_tuples(documents) == [("5", "a b", ("x", "y")), ("6", "c", ())]

    def test_records_may_differ(self, place):
        content = '{"text": "a"}\n{"label": "x", "text": null}\n"just a string"\n'
        documents, report = read(place / "a.jsonl", content)
        assert as_tuples(documents) == [
            ("1", "a", ()),
            ("2", "", ("x",)),
            ("3", "just a string", ()),
        ]
        assert report.empty == 1

    def test_tokens_may_be_a_list(self, place):
        documents, _ = read(place / "a.jsonl", '{"tokens": [3, 1, 3]}\n')
        assert documents[0].text == "3 1 3"

    def test_bad_lines_are_counted(self, place):
        content = '{"text": "a"}\n{"text": \n[1]\n{"other": 1}\n{"text": "b"}\n'
        documents, report = read(place / "a.jsonl", content)
        assert [d.id for d in documents] == ["1", "5"]
        assert report.malformed == 3
        assert "line 2" in report.problems()[0]

    def test_no_good_line_is_an_error(self, place):
        with pytest.raises(InvalidCorpus, match=r"line 1 is not JSON"):
            read(place / "a.jsonl", "not\njson\n")
        with pytest.raises(InvalidCorpus, match=r"'x', 'y'"):
            read(place / "a.jsonl", '{"x": 1, "y": 2}\n')

    def test_a_named_column_that_no_record_has(self, place):
        with pytest.raises(InvalidCorpus, match="no label column 'tag'"):
            read(place / "a.jsonl", '{"text": "a", "kind": "x"}\n' * 2000, label="tag")

    def test_an_array_is_explained(self, place):
        with pytest.raises(InvalidCorpus, match="jq -c"):
            read(place / "a.json", '[\n {"text": "a"}\n]')


class TestDelimited:
    @pytest.mark.parametrize(
        ("name", "delimiter"), [("a.csv", ","), ("a.csv", ";"), ("a.tsv", "\t")]
    )
    def test_quotes_and_line_breaks(self, place, name, delimiter):
        content = f'id{delimiter}text{delimiter}label\n7{delimiter}"a ""b""\nc"{delimiter}x\n'
        documents, _ = read(place / name, content)
        assert as_tuples(documents) == [("7", 'a "b"\nc', ("x",))]

    def test_a_plain_and_an_orange_tab_file(self, place):
        documents, _ = read(place / "a.tab", "label\ttext\nx\tone two\n")
        assert as_tuples(documents) == [("1", "one two", ("x",))]
        orange = "Category\tText\nd\tstring\nclass\t\n\nx\tone two\n"
        documents, _ = read(place / "a.tab", orange)
        assert as_tuples(documents) == [("1", "one two", ("x",))]

    def test_without_a_header(self, place):
        documents, _ = read(
            place / "a.csv", "3,title,body text\n", header=False, text="3", label="1"
        )
        assert as_tuples(documents) == [("1", "body text", ("3",))]

    def test_without_a_header_the_longest_column_is_the_text(self, place):
        rows = "".join(f"{i},spam,some words number {i}\n" for i in range(300))
        documents, report = read(place / "a.csv", rows, header=False)
        assert as_tuples(documents)[299] == ("300", "some words number 299", ())
        assert report.summary() == [
            "Read as CSV (commas, no header): text '3', no id, no label; not used: '1', '2'"
        ]
        documents, _ = read(place / "a.csv", rows, header=False, id="1", label="2")
        assert as_tuples(documents)[299] == ("299", "some words number 299", ("spam",))

    @pytest.mark.parametrize("name", ["a.csv", "a.txt", "a"])
    def test_a_named_delimiter_makes_a_table(self, place, name):
        content = "nr^text, or so^label\n7^one, two^x\n"
        options = {"delimiter": "^", "text": "text, or so", "id": "nr"}
        documents, report = read(place / name, content, **options)
        assert as_tuples(documents) == [("7", "one, two", ("x",))]
        assert report.summary()[0].startswith("Read as CSV ('^'): text 'text, or so'")

    def test_a_delimiter_leaves_json_lines_alone(self, place):
        documents, _ = read(place / "a.jsonl", '{"text": "a"}', delimiter=";")
        assert as_tuples(documents) == [("1", "a", ())]

    def test_rows_that_do_not_fit_are_counted(self, place):
        documents, report = read(place / "a.csv", "label,text\nx,one\ny,two,three\nz\nw,four\n")
        assert [d.text for d in documents] == ["one", "four"]
        assert report.malformed == 2
        assert "line 3: 3 fields for 2 columns" in report.problems()[0]

    def test_an_open_quote_does_not_swallow_the_rest_in_silence(self, place):
        content = 'text\tlabel\none\tx\n"two\ty\n' + "three\tz\n" * 50
        documents, report = read(place / "a.tsv", content)
        assert [d.text for d in documents] == ["one"]
        assert "line 3: its quote is never closed" in report.problems()[0]
        documents, _ = read(place / "a.tsv", content, quotes=False)
        assert [d.text for d in documents[:2]] == ["one", '"two']
        assert len(documents) == 52

    @pytest.mark.parametrize(
        ("stray", "end"),
        [
            ('1,"hello\n2,world\n3,"foo"\n', 4),
            ('1,"hello\n2,world\n3,say "foo\n', 4),
            ('1,"hello\r2,world\r3,"foo"\r', 4),
            ('1,"hello\n2,"world"\n', 3),
        ],
    )
    def test_rows_that_a_stray_quote_joins_are_not_joined_in_silence(self, place, stray, end):
        content = f"id,text\n{stray}7,last\n"
        documents, report = read(place / "a.csv", content)
        assert [d.id for d in documents] == ["1", "7"]
        (said,) = report.problems()
        assert said.startswith("1 row of several lines may be rows that a stray quote has joined")
        assert f"a.csv, lines 2 to {end}; if quotes are part of the texts" in said
        documents, report = read(place / "a.csv", content, quotes=False)
        assert (len(documents), report.problems()) == (end, [])

    @pytest.mark.parametrize(
        "rows", ['1,"two\nlines"\n', '1,"a ""word""\nin quotes"\n', '1,5" pipe\n', '"1" b,c\n']
    )
    def test_rows_whose_quotes_are_in_order_have_no_remark(self, place, rows):
        _, report = read(place / "a.csv", f"id,text\n{rows}2,last\n")
        assert report.problems() == []

    def test_old_macintosh_lines_and_bom(self, place):
        documents, _ = read(place / "a.csv", "\ufefftext,label\rone,x\rtwo,y\r")
        assert as_tuples(documents) == [("1", "one", ("x",)), ("2", "two", ("y",))]

    def test_undecodable_rows_are_counted(self, place):
        content = b"text,label\n" + b"fine,x\n" * 20_000 + b"b\x00\x01,y\nlast,z\n"
        documents, report = read(place / "a.csv", content)
        assert (len(documents), report.undecodable) == (20_001, 1)

    def test_labels_cut_at_a_separator(self, place):
        documents, _ = read(place / "a.csv", "text,tags\na,x|y\n", label_separator="|")
        assert documents[0].labels == ("x", "y")

    def test_missing_column(self, place):
        with pytest.raises(InvalidCorpus, match=r"no text column 'body'.*'words', 'kind'"):
            read(place / "a.csv", "words,kind\na,b\n", text="body")

    def test_a_field_of_50_megabytes(self, place):
        documents, _ = read(place / "a.csv", "text,label\n" + "word " * 10_000_000 + ",x\n")
        assert len(documents[0].text) == 50_000_000


def test_fields_that_no_record_uses_are_named_once(place):
    records = [{"text": "a", "label": "x", "n": 1}, {"text": "b", "m": 2}, {"body": "c"}]
    _, report = read(place / "a.jsonl", "\n".join(map(json.dumps, records)))
    assert report.summary() == [
        "Read as JSON Lines: text 'text' and 'body', no id, label 'label'; not used: 'n', 'm'",
        "2 of 3 documents have no label",
    ]


class TestParquet:
    @pytest.fixture
    def table(self):
        return pyarrow.table(
            {
                "uid": list(range(1000)),
                "n": [1.5] * 1000,
                "body": ["some text"] * 999 + [None],
                "topics": [["a", "b"]] * 500 + [[]] * 500,
            }
        )

    @pytest.mark.parametrize("suffix", ["", ".gz", ".xz", ".bz2", ".zst"])
    def test_by_batches_with_lists_of_labels(self, place, table, suffix):
        pack = PACKERS.get(suffix[1:], bytes)
        documents, report = read(place / f"b.parquet{suffix}", pack(as_parquet(table)))
        assert (documents[0].id, documents[0].labels) == ("0", ("a", "b"))
        assert (len(documents), report.empty) == (1000, 1)

    def test_damaged_and_lacking(self, place, table):
        with pytest.raises(InvalidCorpus, match="not a readable Parquet"):
            read(place / "a.parquet", b"PAR1 but not really")
        (place / "b.parquet").write_bytes(as_parquet(table.select(["uid", "n"])))
        with pytest.raises(InvalidCorpus, match="'uid', 'n'"):
            list(readers.read(place / "b.parquet"))


@pytest.mark.parametrize(
    ("head", "format"),
    [
        (b"PAR1...", "parquet"),
        (b' {"text": 1}', "jsonl"),
        (b"id,Text,x\n1,2,3", "csv"),
        (b"label\ttext\n", "tsv"),
        (b"Once upon a time, there was text\n", "lines"),
        (b"", "lines"),
    ],
)
def test_formats_are_told_by_their_first_bytes(head, format):
    assert sniff("x", head) == format


class TestTitleAndKeep:
    ROWS = (("a", " Sea ", "Ann", "7"), ("b", "", "", "8"))

    @pytest.fixture(params=["csv", "tsv", "jsonl", "parquet"])
    def file(self, place, request):
        names = ["text", "headline", "Author", "n"]
        records = [dict(zip(names, row, strict=True)) for row in self.ROWS]
        path = place / f"a.{request.param}"
        if request.param == "jsonl":
            records[1] = {"text": "b", "Author": None, "n": 8}
            path.write_text("\n".join(map(json.dumps, records)))
        elif request.param == "parquet":
            path.write_bytes(as_parquet(pyarrow.Table.from_pylist(records)))
        else:
            mark = "," if request.param == "csv" else "\t"
            path.write_text("\n".join(map(mark.join, [names, *self.ROWS])))
        return path

    def test_they_are_read_from_every_format(self, file):
        documents = readers.read(file, title="headline", keep=("author", "n"))
        assert [(d.title, d.columns) for d in documents] == [
            ("Sea", {"author": "Ann", "n": "7"}),
            ("", {"author": "", "n": "8"}),
        ]
        (line,) = documents.report.summary()
        assert line.endswith("no label, title 'headline'; kept: 'Author', 'n'")

    def test_they_must_be_there(self, file):
        with pytest.raises(InvalidCorpus, match=r"no title column 'name'.*'headline'"):
            list(readers.read(file, title="name"))
        with pytest.raises(InvalidCorpus, match=r"no column 'url' to keep.*'headline'") as error:
            list(readers.read(file, keep="n,url"))
        assert error.value.settings == ("keep",)

    def test_saved_ones_may_be_missing(self, file):
        saved = readers.ReadOptions(title="name", keep=("n", "url"))
        documents = readers.read(file, options=saved)
        assert [(d.title, d.columns) for d in documents] == [
            ("", {"n": "7", "url": ""}),
            ("", {"n": "8", "url": ""}),
        ]
        assert documents.report.absent_columns == 2

    def test_values_of_json_that_are_no_strings(self, place):
        record = {"text": "a", "tags": ["é", 1], "by": {"name": "\ud800"}, "free": True}
        documents, _ = read(place / "a.jsonl", json.dumps(record), keep="tags,by,free")
        by = '{"name": "\\ud800"}'
        assert documents[0].columns == {"tags": '["é", 1]', "by": by, "free": "true"}


class TestDates:
    def test_a_date_column_is_found_in_every_format(self, place):
        days = ["2013-08-11", "soon", "", "2013-08-12 10:20"]
        days += ["2013-08-13"] * 10
        csv = "text,date\n" + "".join(f"a,{day}\n" for day in days)
        jsonl = "".join(json.dumps({"text": "a", "date": day or None}) + "\n" for day in days)
        parquet = as_parquet(pyarrow.table({"text": ["a"] * 14, "date": days}))
        for name, content in (("a.csv", csv), ("a.jsonl", jsonl), ("a.parquet", parquet)):
            documents, report = read(place / name, content)
            assert [d.date for d in documents][:4] == ["2013-08-11", "", "", "2013-08-12T10:20:00"]
            first, *problems = report.summary()
            assert first.endswith("text 'text', no id, no label, date 'date'")
            assert problems == [
                "1 value in place of a date is none (first: 2)",
                "1 of 14 documents has no date",
            ]
            assert json.loads(json.dumps(report.to_dict()))["invalid_dates"] == 1

    def test_a_column_without_dates_is_not_used(self, place):
        documents, report = read(place / "a.csv", "text,time,date\na,3:20,our first\n")
        assert documents[0].date == ""
        assert report.summary()[0].endswith("no label; not used: 'time', 'date'")
        documents, report = read(place / "a.csv", "text,date,year\na,our first,2013\n")
        assert documents[0].date == "2013"
        assert report.summary()[0].endswith("date 'year'; not used: 'date'")

    def test_a_named_column_may_hold_seconds_and_must_be_there(self, place):
        for name, content in (
            ("a.csv", "text,when\na,1376216400\n"),
            ("a.jsonl", '{"text": "a", "when": 1376216400}\n{"text": "b"}\n'),
        ):
            documents, report = read(place / name, content, date="When")
            assert documents[0].date == "2013-08-11T10:20:00"
            assert "date 'when'" in report.summary()[0]
            with pytest.raises(InvalidCorpus, match="no date column 'day'"):
                read(place / name, content, date="day")

    def test_the_order_of_day_and_month_is_said(self, place):
        content = "text,date\na,11/08/2013\n"
        documents, report = read(place / "a.csv", content)
        assert documents[0].date == "2013-11-08"
        assert "date 'date' (month first, as nothing tells)" in report.summary()[0]
        documents, report = read(place / "a.csv", content + "b,31/08/2013\n")
        assert documents[0].date == "2013-08-11"
        assert "date 'date' (day first)" in report.summary()[0]

    def test_a_value_that_contradicts_what_was_seen_first_is_reported(self, place):
        rows = ["a,11/08/2013"] * ENOUGH_ROWS + ["b,31/08/2013"]
        documents, report = read(place / "a.csv", "\n".join(["text,date", *rows]))
        assert documents[-1].date == ""
        assert report.invalid_dates == 1

    def test_a_table_without_header_names_its_columns_by_number(self, place):
        documents, _ = read(place / "a.csv", "2013-08-11,a long text\n", header=False, date="1")
        assert documents[0].date == "2013-08-11"

    def test_types_and_roles_of_orange_are_no_dates(self, place):
        content = "text\tdate\nstring\ttime\nmeta\tmeta\na b\t2013-08-11\n"
        documents, _ = read(place / "a.tab", content)
        assert [(d.text, d.date) for d in documents] == [("a b", "2013-08-11")]

    def test_times_of_parquet(self, place):
        moment = 1376216400_123456789
        kinds = {
            "nanoseconds": (moment, pyarrow.timestamp("ns"), "2013-08-11T10:20:00"),
            "zone": (moment // 10**9, pyarrow.timestamp("s", "Asia/Tokyo"), "2013-08-11T10:20:00"),
            "day": (15928, pyarrow.date32(), "2013-08-11"),
            "far": (10**15, pyarrow.timestamp("s"), ""),
        }
        for name, (value, kind, expected) in kinds.items():
            table = pyarrow.table({"text": ["a"], "date": pyarrow.array([value], kind)})
            (place / f"{name}.parquet").write_bytes(as_parquet(table))
            for source in (place / f"{name}.parquet", table):
                (document,) = readers.read(source, date="date")
                assert document.date == expected

    def test_an_empty_parquet_file_has_no_dates(self, place):
        empty = pyarrow.table(
            {"text": pyarrow.array([], "string"), "date": pyarrow.array([], "string")}
        )
        (place / "a.parquet").write_bytes(as_parquet(empty))
        with pytest.raises(InvalidCorpus, match="no documents"):
            list(readers.read(place / "a.parquet"))


class TestBounds:
    """A small file may hold a row that no memory does."""

    @pytest.fixture(autouse=True)
    def small(self, monkeypatch):
        monkeypatch.setattr(tables, "LONGEST", 5000)
        monkeypatch.setattr(tables, "MOST_VALUES", 100)
        monkeypatch.setattr(tables, "MOST_NAMES", 50)

    def test_a_quote_that_is_never_closed_ends_with_an_error(self, place):
        with pytest.raises(InvalidCorpus, match=r"a.csv, line \d+: a row has.*set quotes=False"):
            read(place / "a.csv", 'text,n\n"' + "words\n" * 2000)

    def test_a_row_of_nothing_but_delimiters(self, place):
        with pytest.raises(InvalidCorpus, match="more than 100 fields"):
            read(place / "a.csv", "text,n\n" + "," * 1000 + "\n")

    def test_rows_add_up_to_any_size(self, place):
        documents, _ = read(place / "a.csv", "text,n\n" + '"some, or\nmore",1\n' * 1000)
        assert len(documents) == 1000

    def test_a_record_of_too_many_values_is_malformed(self, place):
        content = '{"text": [' + "[]," * 200 + ' "a"]}\n{"text": "b"}\n'
        documents, report = read(place / "a.jsonl", content)
        assert [d.text for d in documents] == ["b"]
        assert report.malformed == 1

    def test_names_that_differ_from_line_to_line_are_not_all_kept(self, place, monkeypatch):
        kept = []
        of = tables._JsonColumns.of

        def spy(self, record):
            found = of(self, record)
            kept.append((len(self._known), len(self._fields)))
            return found

        monkeypatch.setattr(tables._JsonColumns, "of", spy)
        records = "".join(f'{{"text": "a", "name{i}": 1}}\n' for i in range(1000))
        documents, report = read(place / "a.jsonl", records)
        assert len(documents) == 1000
        assert max(known for known, _ in kept) < 20
        assert max(fields for _, fields in kept) < 20
        assert report.summary()[0].startswith("Read as JSON Lines: text 'text'")
