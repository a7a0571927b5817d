"""CSV, JSON Lines and Parquet: quotes, fields, types, and the borders of blocks."""

import csv
import datetime
import io
import json

import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

from docboltz.corpus.document import Document
from docboltz.corpus.reading import read
from docboltz.corpus.sources import TEXT_BLOCK
from docboltz.errors import InvalidCorpus

from .packing import as_parquet


def read_bytes(path, content, **options):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    documents = read(path, **options)
    return list(documents), documents.report


def texts(path, content, **options):
    return [document.text for document in read_bytes(path, content, **options)[0]]


class TestCsv:
    @pytest.mark.parametrize(
        ("content", "expected"),
        [
            ('text,n\n"two\nlines",1\nlast,2\n', ["two\nlines", "last"]),
            ('text,n\n"a ""word"", in",1\n', ['a "word", in']),
            ('text,n\n5" pipe,1\nlast,2\n', ['5" pipe', "last"]),
            ("text,n\r\na,1\r\nb,2\nc,3", ["a", "b", "c"]),
            ("\ufefftext,n\na,1\n", ["a"]),
            ("\n\ntext,n\n\na,1\n\n", ["a"]),
            ('"te\nxt",text\na,1\n', ["1"]),
            ("text,text\na,b\n", ["a"]),
            (",text,\n1,a,2\n", ["a"]),
            ("whatever\none\n", ["one"]),
        ],
    )
    def test_quotes_line_ends_and_headers(self, place, content, expected):
        assert texts(place / "a.csv", content) == expected

    def test_quotes_may_be_part_of_the_text(self, place):
        assert texts(place / "a.csv", 'text,n\n"a,1\nb",2\n', quotes=False) == ['"a', 'b"']

    def test_a_table_without_header(self, place):
        content = "7;a long text;x\n8;another text;y\n"
        documents, report = read_bytes(place / "a.csv", content, header=False, label="3")
        assert [(d.text, d.labels) for d in documents] == [
            ("a long text", ("x",)),
            ("another text", ("y",)),
        ]
        assert report.summary() == [
            "Read as CSV (semicolons): text '2', no id, label '3'; not used: '1'"
        ]

    @pytest.mark.parametrize("delimiter", [" ", "~", "tab"])
    def test_any_delimiter_if_it_is_named(self, place, delimiter):
        mark = "\t" if delimiter == "tab" else delimiter
        assert texts(place / "a", f"n{mark}text\n1{mark}a\n", delimiter=delimiter) == ["a"]

    @pytest.mark.parametrize("row", [0, 5, 40_000, 59_999])
    def test_rows_that_do_not_fit_are_left_out_and_named(self, tmp_path, row):
        rows = [f'{i},"text\n{i}"' for i in range(60_000)]
        rows[row] = "only one"
        documents, report = read_bytes(tmp_path / "a.csv", "id,text\n" + "\n".join(rows))
        assert len(documents) == 59_999
        place = f"{tmp_path / 'a.csv'}, row {row + 2}: 1 values instead of 2"
        assert report.problems() == [f"1 malformed row left out (first: {place})"]

    def test_values_of_many_lines_cross_the_borders_of_blocks(self, place):
        rows = [
            {"id": str(i), "text": ('line, "quoted"\n' * (i * 997 % 40_000 // 15)).strip()}
            for i in range(200)
        ]
        stream = io.StringIO()
        writer = csv.DictWriter(stream, ["id", "text"])
        writer.writeheader()
        writer.writerows(rows)
        assert len(stream.getvalue()) > 4 * TEXT_BLOCK
        documents, report = read_bytes(place / "a.csv", stream.getvalue())
        assert [{"id": d.id, "text": d.text} for d in documents] == rows
        assert (report.malformed, report.unclosed) == (0, 0)

    @given(st.lists(st.text(st.sampled_from('a ,"\n5'), max_size=9), min_size=1, max_size=9))
    def test_rows_are_those_of_the_csv_module(self, tmp_path_factory, texts_of_rows):
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerows([("id", "text"), *((str(i), t) for i, t in enumerate(texts_of_rows))])
        path = tmp_path_factory.mktemp("csv") / "a.csv"
        assert texts(path, stream.getvalue()) == texts_of_rows

    def test_a_value_that_is_longer_than_several_blocks(self, place):
        long = "word and\n" * (3 * TEXT_BLOCK // 9)
        found = texts(place / "a.csv", f'text,n\nfirst,1\n"{long}",2\nlast,3\n')
        assert found == ["first", long, "last"]

    def test_a_quote_that_is_never_closed_is_said(self, place):
        content = 'id,text\n1,fine\n2,"open\n3,more\n'
        documents, report = read_bytes(place / "a.csv", content)
        assert documents[0].text == "fine"
        assert report.unclosed == 1
        documents, report = read_bytes(place / "a.csv", content, quotes=False)
        assert [d.text for d in documents] == ["fine", '"open', "more"]
        assert report.problems() == []

    def test_a_block_that_ends_within_quotes_after_a_row_of_delimiters(self, place):
        many = "word and\n" * (3 * TEXT_BLOCK // 9)
        documents, report = read_bytes(place / "a.csv", f'n,text\n,,\n2,"{many}"\n3,last\n')
        assert [d.text for d in documents] == [many, "last"]
        assert (report.malformed, report.unclosed) == (1, 0)

    def test_many_columns(self, place):
        names = ",".join(f"c{i}" for i in range(99_999))
        assert texts(place / "a.csv", f"{names},text\n{'1,' * 99_999}words\n") == ["words"]
        with pytest.raises(InvalidCorpus, match="has 100,001 columns"):
            texts(place / "a.csv", f"{names},text,c\n{'1,' * 99_999}words,1\n")

    def test_the_csv_module_is_left_as_it_was(self, tmp_path):
        limit = csv.field_size_limit()
        assert texts(tmp_path / "a.csv", f"text\n{'word ' * limit}\n") == ["word " * limit]
        assert csv.field_size_limit() == limit

    @pytest.mark.parametrize("blank", ["\r", "\n", " \n"])
    @pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.txt"])
    def test_a_file_that_begins_with_many_blank_lines(self, tmp_path, blank, name):
        if name == "a.csv" and blank != "\r":
            blank = "\n"  # a blank is a name
        content = {"a.csv": "text\nhello\n", "a.jsonl": '{"text": "hello"}\n[]\n', "a.txt": "hello"}
        size = 18_000_000 if blank == "\r" else 3 * TEXT_BLOCK
        documents, report = read_bytes(tmp_path / name, blank * size + content[name])
        assert [d.text.strip() for d in documents] == ["hello"]
        if name == "a.jsonl":
            lines = (blank * size).count("\n")
            assert f"line {lines + 2}: not a JSON object" in report.first["malformed"]


class TestJsonLines:
    def test_values_of_any_type(self, place):
        records = [
            {"id": 5, "text": "a", "label": ["x", "y"]},
            {"id": "six", "text": ["b", None, 7], "label": "z"},
            {"id": 10**30, "text": 1.5, "label": []},
            {"text": {"deep": [1]}, "label": True},
            {"text": None, "label": None},
        ]
        documents, report = read_bytes(place / "a.jsonl", "\n".join(map(json.dumps, records)))
        assert [(d.id, d.text, d.labels) for d in documents] == [
            ("5", "a", ("x", "y")),
            ("six", "b 7", ("z",)),
            ("1" + "0" * 30, "1.5", ()),
            ("3", '{"deep": [1]}', ("true",)),
            ("4", "", ()),
        ]
        assert report.empty == 1

    def test_lines_that_are_no_objects(self, place):
        lines = ["", '{"text": "a"}', '{"text": ', "[1]", "null", "3", '"a string"', "{}"]
        lines += ['{"text": "b"} {"text": "c"}', '{"text": "d"}{', "{'text': 'e'}"]
        documents, report = read_bytes(place / "a.jsonl", "\n".join(lines))
        assert [d.text for d in documents] == ["a", "a string", ""]
        assert report.problems()[0] == (
            f"7 malformed rows left out (first: {place / 'a.jsonl'}, line 3: not valid JSON)"
        )

    ODD = (
        "null", "3", "[1]", '"words"', '{"text": "a"} null', '{"text": "a"} {"text": "b"}', "{}",
        '{"text": 5}', '{"text": "a", "text": "b"}', '{"text": "a", "label": ["x", null, 3]}',
        '{"text": "\\ud800"}', '{"text": "a", "label": 1e400}', '{"text": NaN}', '{"text": "a"',
        '{"text": "a", "id": 12345678901234567890}', "   ", '{"text": "a\tb"}', '{"text": "a"}x',
        '{"text": "a", "label": {"b": 1}}', '{"text": "a", "id": 1.0}', '{"text": "} null"}',
    )  # fmt: skip

    @pytest.mark.parametrize("odd", ODD)
    def test_an_odd_line_is_read_alike_at_the_start_and_after_the_first_block(self, tmp_path, odd):
        plain = '{"text": "words", "id": "n", "label": "x"}\n'
        many = plain * (5 * TEXT_BLOCK // 2 // len(plain))

        def found(content):
            documents, report = read_bytes(tmp_path / "a.jsonl", content, id="id", label="label")
            odd_ones = [(d.text, d.labels) for d in documents if d.text != "words" or d.id != "n"]
            return odd_ones, report.malformed, report.empty

        assert found(plain + odd + "\n" + many) == found(many + odd + "\n" + plain)

    @pytest.mark.parametrize("name", ["label", "title", "date", "id"])
    @pytest.mark.parametrize("named", [True, False])
    def test_a_field_that_first_appears_late_is_read(self, tmp_path, name, named):
        plain = '{"text": "words"}\n'
        lines = plain * (3 * TEXT_BLOCK // len(plain)) + json.dumps({"text": "a", name: "2013"})
        options = {name: name} if named else {}
        documents, _ = read_bytes(tmp_path / "a.jsonl", lines, **options)
        last = documents[-1]
        assert "2013" in (last.id, last.title, last.date, *last.labels)
        assert documents[0].id == "0"

    def test_a_late_field_does_not_change_what_was_found_before(self, tmp_path):
        plain = '{"text": "words", "date": "2013"}\n'
        other = '{"text": 7, "date": "soon", "label": "x"}\n'
        lines = plain * (2 * TEXT_BLOCK // len(plain)) + other * (2 * TEXT_BLOCK // len(other))
        documents, report = read_bytes(tmp_path / "a.jsonl", lines)
        assert documents[0] == Document("0", "words", (), "2013")
        assert documents[-1] == Document(str(len(documents) - 1), "7", ("x",))
        assert report.invalid_dates == 2 * TEXT_BLOCK // len(other)

    def test_names_that_differ_from_line_to_line(self, place):
        records = (f'{{"text": "a", "name{i}": 1}}' for i in range(20_000))
        documents, report = read_bytes(place / "a.jsonl", "\n".join(records))
        assert len(documents) == 20_000
        assert len(next(iter(report.read_as)).columns.unused) <= 1000

    def test_values_that_are_nested_too_deep_are_left_out(self, tmp_path):
        for depth in (100, *range(850, 1000)):
            deep = '{"text": "a", "label": ' + '{"b":' * depth + "1" + "}" * (depth + 1)
            documents, report = read_bytes(tmp_path / "a.jsonl", f'{deep}\n{{"text": "b"}}\n')
            assert [d.text for d in documents] == (["b"] if report.malformed else ["a", "b"])
            assert depth > 100 or not report.malformed

    def test_a_field_that_is_not_text_is_not_taken_for_one(self, place):
        content = '{"text": 7, "body": "words"}\n'
        assert texts(place / "a.jsonl", content) == ["words"]


class TestParquet:
    def test_types_of_text(self, place):
        for kind in ("large_string", "binary", "string_view"):
            values = pyarrow.array(["one", None], "string").cast(kind)
            data = as_parquet(pyarrow.table({"text": values}))
            assert texts(place / "a.parquet", data) == ["one", ""]

    def test_lists_structs_and_dictionaries(self, place):
        table = pyarrow.table(
            {
                "text": pyarrow.array(["a", "b"]).dictionary_encode(),
                "label": [["x", "y"], []],
                "n": [{"m": 1}, None],
            }
        )
        documents, _ = read_bytes(place / "a.parquet", as_parquet(table), keep="n")
        assert [(d.text, d.labels, d.columns) for d in documents] == [
            ("a", ("x", "y"), {"n": '{"m": 1}'}),
            ("b", (), {"n": ""}),
        ]

    def test_row_groups_of_any_size(self, place):
        table = pyarrow.table({"text": [str(i) for i in range(1000)]})
        for size in (1, 7, 2000):
            data = as_parquet(table, row_group_size=size)
            assert texts(place / "a.parquet", data) == [str(i) for i in range(1000)]

    def test_texts_that_share_their_beginnings(self, place):
        table = pyarrow.table({"text": ["word " * i for i in range(100)]})
        how = {"use_dictionary": False, "column_encoding": "DELTA_BYTE_ARRAY"}
        assert texts(place / "a.parquet", as_parquet(table, **how))[99] == "word " * 99

    @pytest.mark.parametrize("column", ["text", "label", "other"])
    @pytest.mark.parametrize("nested", [False, True])
    def test_rows_that_share_a_long_value_are_read_few_at_a_time(self, tmp_path, column, nested):
        indices = pyarrow.array([0] * 20, "int32")
        shared = pyarrow.DictionaryArray.from_arrays(indices, ["word " * 6_000_000])
        if nested:
            shared = pyarrow.ListArray.from_arrays(range(21), shared)
        data = as_parquet(pyarrow.table({"text": ["a"] * 20, column: shared}))
        (tmp_path / "a.parquet").write_bytes(data)
        sizes = [b.num_rows for b in read(tmp_path / "a.parquet", text="text").batches()]
        assert sum(sizes) == 20
        assert max(sizes) == (20 if column == "other" else 4)

    @pytest.mark.parametrize("kind", ["string", "string_view"])
    def test_long_values_after_a_short_one_are_read_few_at_a_time(self, tmp_path, kind):
        long = [f"{i} {'word ' * 3_000_000}" for i in range(20)]
        table = pyarrow.table({"text": pyarrow.array(["a", *long], kind)})
        data = as_parquet(table, use_dictionary=False, compression="zstd")
        (tmp_path / "a.parquet").write_bytes(data)
        sizes = [batch.num_rows for batch in read(tmp_path / "a.parquet").batches()]
        assert sum(sizes) == 21
        assert max(sizes) <= 10

    def test_bytes_that_are_not_utf8_are_replaced_and_counted(self, place):
        column = pyarrow.array([b"good", b"b\xffd", None], "binary").view("string")
        documents, report = read_bytes(
            place / "a.parquet", as_parquet(pyarrow.table({"text": column}))
        )
        assert [d.text for d in documents] == ["good", "b\ufffdd", ""]
        assert f"{place / 'a.parquet'}, document 1" in report.first["replaced"]


class TestDates:
    @pytest.mark.parametrize(
        ("value", "kind", "expected"),
        [
            (1376216400_123456789, pyarrow.timestamp("ns"), "2013-08-11T10:20:00"),
            (1376216400, pyarrow.timestamp("s", "Asia/Tokyo"), "2013-08-11T10:20:00"),
            (15928, pyarrow.date32(), "2013-08-11"),
            (10**15, pyarrow.timestamp("s"), ""),
            (1376216400, pyarrow.int64(), "2013-08-11T10:20:00"),
            (2013, pyarrow.int16(), "2013"),
            (1376216400.0, pyarrow.float64(), "2013-08-11T10:20:00"),
            (1376216400123.0, pyarrow.float64(), "2013-08-11T10:20:00"),
            (2013.0, pyarrow.float32(), "2013"),
        ],
    )
    def test_types_of_parquet_and_frames(self, place, value, kind, expected):
        table = pyarrow.table({"text": ["a"], "date": pyarrow.array([value], kind)})
        (place / "a.parquet").write_bytes(as_parquet(table))
        for source in (place / "a.parquet", table):
            assert [d.date for d in read(source, date="date")] == [expected]

    def test_other_values_are_counted_and_said(self, place):
        days = ["2013-08-11", "soon", "", "2013-08-12 10:20"]
        csv_file = "text,date\n" + "".join(f"a,{day}\n" for day in days)
        json_lines = "\n".join(json.dumps({"text": "a", "date": day}) for day in days)
        parquet = as_parquet(pyarrow.table({"text": ["a"] * 4, "date": days}))
        for name, data in (("a.csv", csv_file), ("a.jsonl", json_lines), ("a.parquet", parquet)):
            documents, report = read_bytes(place / name, data)
            assert [d.date for d in documents] == ["2013-08-11", "", "", "2013-08-12T10:20:00"]
            assert report.problems() == [
                "1 value is not a date by ISO 8601 or by date_format "
                f"(first: {place / name}, document 1)",
                "2 of 4 documents have no date",
            ]

    def test_a_format_of_ones_own(self, place):
        content = "text,when\na,11.08.2013\nb,2013-08-11\n"
        documents, report = read_bytes(
            place / "a.csv", content, date="when", date_format="%d.%m.%Y"
        )
        assert [d.date for d in documents] == ["2013-08-11", ""]
        assert report.invalid_dates == 1

    @given(st.datetimes(datetime.datetime(1000, 1, 1), datetime.datetime(2999, 12, 31)))
    def test_a_batch_of_dates_is_read_as_each_of_them(self, tmp_path_factory, moment):
        values = [moment.isoformat(), moment.date().isoformat(), f"{moment:%Y-%m-%d %H:%M}Z"]
        path = tmp_path_factory.mktemp("dates") / "a.csv"

        def dates(some):
            documents, _ = read_bytes(path, "\n".join(["text,date", *(f"a,{v}" for v in some)]))
            return [d.date for d in documents]

        assert dates(values) == [date for value in values for date in dates([value])]
