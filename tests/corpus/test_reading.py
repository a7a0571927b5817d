"""The same documents come from every format, compression, encoding and place."""

import csv
import gzip
import io
import json
import os
import sys
from threading import Timer

import fsspec
import pandas
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

from docboltz.corpus.columns import ReadOptions
from docboltz.corpus.document import Document
from docboltz.corpus.reading import as_documents, read
from docboltz.errors import InvalidCorpus, InvalidParameter, NoDocuments

from .packing import PACKERS, as_parquet

ROWS = [
    {"id": "a", "text": "Ships, at sea", "label": "x", "date": "2013-08-11", "title": "One"},
    {"id": "b", "text": 'a "quoted" Größe 🙂\non two lines', "label": "y", "date": "2013"},
    {"id": "c", "text": "", "label": "", "date": "2013-08-11T10:20:00Z", "title": " Three "},
    {"id": "d", "text": "null", "label": "x", "date": "", "title": ""},
]
COLUMNS = ["id", "text", "label", "date", "title"]
EXPECTED = [
    Document("a", "Ships, at sea", ("x",), "2013-08-11", "One"),
    Document("b", 'a "quoted" Größe 🙂\non two lines', ("y",), "2013"),
    Document("c", "", (), "2013-08-11T10:20:00", "Three"),
    Document("d", "null", ("x",)),
]


def as_csv(rows, delimiter=","):
    stream = io.StringIO()
    writer = csv.DictWriter(stream, COLUMNS, delimiter=delimiter)
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue().encode()


def as_json_lines(rows):
    return "\n".join(map(json.dumps, rows)).encode()


def as_table(rows):
    return pyarrow.table({name: [row.get(name, "") for row in rows] for name in COLUMNS})


FILES = {
    "a.csv": as_csv(ROWS),
    "b.csv": as_csv(ROWS, ";"),
    "c.csv": as_csv(ROWS, "|"),
    "a.tsv": as_csv(ROWS, "\t"),
    "a.jsonl": as_json_lines(ROWS),
    "a.parquet": as_parquet(as_table(ROWS)),
}


def texts(source, **options):
    return [document.text for document in read(source, **options)]


@pytest.fixture
def stdin(monkeypatch):
    def give(data):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))

    return give


class TestFormats:
    @pytest.mark.parametrize("name", FILES)
    def test_a_file_of_any_format_by_name_or_content(self, place, name):
        for path in (place / name, place / "data"):
            path.write_bytes(FILES[name])
            documents = read(path)
            assert list(documents) == EXPECTED
            assert documents.report.documents == 4
            assert documents.report.problems() == [
                f"1 document has no text (first: {path}, document 2)",
                "1 of 4 documents has no label",
                "1 of 4 documents has no date",
            ]

    @pytest.mark.parametrize("pack", PACKERS)
    @pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.parquet"])
    def test_compressed_files(self, place, name, pack):
        path = place / f"{name}.{pack}"
        path.write_bytes(PACKERS[pack](FILES[name]))
        assert list(read(path)) == EXPECTED

    @pytest.mark.parametrize("pack", PACKERS)
    def test_a_compressed_file_of_several_parts(self, place, pack):
        path = place / f"a.txt.{pack}"
        path.write_bytes(PACKERS[pack](b"one\n") + PACKERS[pack](b"two\n"))
        assert texts(path) == ["one", "two"]

    @pytest.mark.parametrize("frame", [pandas.DataFrame, pyarrow.Table.from_pandas])
    def test_frames(self, frame):
        assert list(read(frame(as_table(ROWS).to_pandas()))) == EXPECTED

    def test_lists_of_documents_and_of_texts(self):
        assert list(as_documents(EXPECTED, "fit")) == EXPECTED
        plain = as_documents((row["text"] for row in ROWS), "fit")
        assert [d.text for d in plain] == [row["text"] for row in ROWS]

    @pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32", "cp1252", "utf-16-le"])
    @pytest.mark.parametrize("name", ["a.csv", "a.jsonl"])
    def test_encodings(self, place, encoding, name):
        data = FILES[name].decode().replace("🙂", "é").replace("\\ud83d\\ude42", "é")
        (place / name).write_bytes(data.encode(encoding))
        named = None if encoding in ("utf-8-sig", "utf-16", "utf-32") else encoding
        expected = [Document(d.id, d.text.replace("🙂", "é"), d.labels) for d in EXPECTED]
        found = [Document(d.id, d.text, d.labels) for d in read(place / name, encoding=named)]
        assert found == expected

    def test_one_document_per_line(self, place):
        (place / "a.txt").write_bytes("first\r\n\n  \nthird 🙂\u2028, still\n".encode())
        assert [(d.id, d.text) for d in read(place / "a.txt")] == [
            ("0", "first"),
            ("1", "third 🙂\u2028, still"),
        ]
        assert len(texts(place / "a.txt", format="files")) == 1

    def test_a_mark_of_the_encoding_that_is_named(self, place):
        for encoding in ("utf-8", "UTF8", "utf-16-le"):
            (place / "a.csv").write_bytes("\ufefftext,n\nwords,1\n".encode(encoding))
            documents = read(place / "a.csv", encoding=encoding)
            assert [d.text for d in documents] == ["words"]
            assert "text 'text'" in documents.report.summary()[0]

    def test_a_format_that_is_unknown(self, place):
        (place / "a.txt").write_text("words\n")
        with pytest.raises(InvalidParameter, match="'format' parameter"):
            read(place / "a.txt", format="xml")

    @given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\r\0")), min_size=1))
    def test_any_texts_come_back_from_every_format(self, tmp_path_factory, values):
        folder = tmp_path_factory.mktemp("any")
        rows = [{"id": f"n{i}", "text": text} for i, text in enumerate(values)]
        (folder / "a.csv").write_bytes(as_csv(rows))
        (folder / "a.jsonl").write_bytes(as_json_lines(rows))
        (folder / "a.parquet").write_bytes(as_parquet(as_table(rows)))
        for name in ("a.csv", "a.jsonl", "a.parquet"):
            assert texts(folder / name, text="text", encoding="utf-8") == values


class TestFolders:
    @pytest.fixture
    def folder(self, place):
        root = place / "posts"
        for name, data in {
            "plain": b"no label",
            "sea/1": b"ships\nand sails",
            "sea/2.txt.gz": gzip.compress(b"packed"),
            "sky/deep/3": "Größe".encode(),
            "sky/.hidden": b"hidden",
        }.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes(data)
        return root

    def test_a_document_per_file_and_a_label_per_folder(self, folder):
        documents = read(folder)
        assert list(documents) == [
            Document("plain", "no label"),
            Document("sea/1", "ships\nand sails", ("sea",)),
            Document("sea/2.txt.gz", "packed", ("sea",)),
            Document("sky/deep/3", "Größe", ("sky/deep",)),
        ]
        assert documents.report.summary() == [
            "Read 4 files as one document per file",
            "1 of 4 documents has no label",
        ]

    @pytest.mark.parametrize("spelling", ["{}", "./{}", ".//{}", "{}/", "{}/.", "{0}/../{0}"])
    def test_a_folder_by_any_name(self, tmp_path, monkeypatch, spelling):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "texts/rec").mkdir(parents=True)
        (tmp_path / "texts/rec/b.txt").write_text("words")
        found = list(read(spelling.format("texts")))
        assert found == [Document("rec/b.txt", "words", ("rec",))]
        monkeypatch.chdir(tmp_path / "texts")
        assert list(read(".")) == found

    def test_files_that_cannot_be_read_are_counted(self, folder):
        (folder / "film.mp4").write_bytes(bytes(range(256)) * 100)
        (folder / "broken.gz").write_bytes(gzip.compress(b"cut off here" * 100)[:30])
        documents = read(folder)
        assert len(list(documents)) == 4
        assert documents.report.unreadable == 2

    def test_tables_are_read_as_tables(self, place):
        (place / "a.csv").write_bytes(FILES["a.csv"])
        (place / "b.jsonl").write_bytes(FILES["a.jsonl"])
        assert list(read(place)) == EXPECTED * 2
        assert len(texts(place, format="files")) == 2

    def test_several_files_without_a_known_suffix_are_a_document_each(self, place):
        for name in ("a", "b"):
            (place / name).write_text("first line\nsecond line\n")
        assert texts(f"{place}/*") == ["first line\nsecond line\n"] * 2
        assert len(texts(place / "a")) == 2


class TestPlaces:
    def test_paths_and_globs_in_order(self, place):
        for name in ("b.txt", "a.txt", "sub/c.txt"):
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_text(f"in {name}\n")
        assert texts(f"{place}/*.txt") == ["in a.txt", "in b.txt"]
        assert texts(f"{place}/**/c.txt") == ["in sub/c.txt"]
        assert texts([f"{place}/b.txt", f"{place}/a.txt"]) == ["in b.txt", "in a.txt"]
        assert [d.id for d in read([place / "a.txt"] * 2)] == ["0", "1"]

    def test_a_question_mark_is_part_of_a_name(self, tmp_path):
        (tmp_path / "what?.csv").write_text("text,n\nwords,1\n")
        assert texts(f"{tmp_path}/what?.csv") == texts(f"{tmp_path}/*.csv") == ["words"]
        documents = read(tmp_path / "what?.csv")
        assert documents.sources[0].format == "csv"

    def test_urls_of_this_machine_and_of_a_store(self, tmp_path, monkeypatch):
        (tmp_path / "a b.txt").write_text("words\n")
        monkeypatch.setenv("HOME", str(tmp_path))
        for source in (f"file://{tmp_path}/a b.txt", f"file://{tmp_path}/*.txt", "~/a b.txt"):
            assert texts(source) == ["words"]
        system = fsspec.filesystem("memory")
        system.pipe_file("/reading/a.txt", b"other words\n")
        documents = read([tmp_path / "a b.txt", "memory://reading/a.txt"])
        assert [d.text for d in documents] == ["words", "other words"]
        assert set(documents.paths) == {tmp_path / "a b.txt"}
        system.rm("/reading", recursive=True)

    @pytest.mark.parametrize("data", [*FILES.values(), *map(gzip.compress, FILES.values())])
    def test_standard_input_is_told_by_its_content(self, stdin, data):
        stdin(data)
        assert list(read("-")) == EXPECTED
        assert not sys.stdin.closed

    @pytest.mark.parametrize("pack", PACKERS)
    def test_standard_input_may_be_compressed(self, stdin, pack):
        stdin(PACKERS[pack](b"one\ntwo\n"))
        assert texts("-") == ["one", "two"]

    def test_standard_input_that_does_not_wait_is_read_to_its_end(self, monkeypatch):
        reading, writing = os.pipe()
        os.set_blocking(reading, False)
        writer = Timer(0.1, lambda: (os.write(writing, b"one\ntwo\n"), os.close(writing)))
        with open(reading) as stream:
            monkeypatch.setattr(sys, "stdin", stream)
            writer.start()
            assert texts("-") == ["one", "two"]
        writer.join()

    def test_standard_input_that_is_closed(self, monkeypatch):
        monkeypatch.setattr(sys, "stdin", None)
        with pytest.raises(InvalidCorpus, match="Standard input is closed"):
            list(read("-"))


class TestDocuments:
    @pytest.fixture
    def reviews(self, place):
        path = place / "reviews.csv"
        path.write_text("nr;title;body;stars\n1;good;ships;5\n2;bad;sails;1\n")
        return path

    SAVED = ReadOptions(text=("title", "body"), id="nr", label="stars", delimiter=";")

    def test_each_pass_reads_anew(self, reviews):
        documents = read(reviews)
        assert list(documents) == list(documents)
        assert documents.report.documents == 2
        reviews.write_text("body\nother\n")
        assert [d.text for d in documents] == ["other"]
        assert documents.report.documents == 1

    def test_a_representation_of_one_line(self, reviews):
        documents = read(str(reviews), text=["title", "body"], id="nr", label="stars")
        shown = f"Documents({str(reviews)!r}: text 'title' and 'body', id 'nr', label 'stars')"
        assert repr(documents) == shown
        assert repr(read([str(reviews)] * 3)) == f"Documents({str(reviews)!r} and 2 more)"

    def test_batches_may_leave_ids_to_others(self, reviews):
        (batch,) = read(reviews, id="nr").batches(numbered=False)
        assert batch["id"].to_pylist() == ["1", "2"]
        (batch,) = read(reviews).batches(numbered=False)
        assert batch["id"].to_pylist() == [None, None]
        (batch,) = read(reviews).batches()
        assert batch["id"].to_pylist() == ["0", "1"]

    def test_options_of_a_model_are_used_again(self, reviews):
        documents = read(reviews, options=self.SAVED)
        assert [(d.id, d.text, d.labels) for d in documents] == [
            ("1", "good\nships", ("5",)),
            ("2", "bad\nsails", ("1",)),
        ]
        assert documents.options == self.SAVED
        assert as_documents(read(reviews), "transform", self.SAVED).options == self.SAVED
        other = read(reviews, text="body", options=self.SAVED)
        assert next(iter(other)).text == "ships"

    def test_what_is_given_counts_more_than_what_is_saved(self, place):
        (place / "a.csv").write_text('nr,text\n7,"a, b"\n')
        saved = ReadOptions(header=False, quotes=False)
        for asked in (
            read(place / "a.csv", header=True, quotes=True, options=saved),
            read(place / "a.csv", header=True, quotes=True).completed(saved),
        ):
            assert [d.text for d in asked] == ["a, b"]
        assert next(iter(read(place / "a.csv").completed(saved))).text == "text"

    @pytest.mark.parametrize("name", ["new.csv", "new.jsonl", "new.parquet"])
    def test_columns_of_a_model_may_be_missing_but_not_the_text(self, place, name):
        path = place / name
        table = {"title": "good", "body": "ships"}
        data = f"{';'.join(table)}\n{';'.join(table.values())}\n".encode()
        data = json.dumps(table).encode() if name.endswith("jsonl") else data
        rows = pyarrow.Table.from_pylist([table])
        path.write_bytes(as_parquet(rows) if name.endswith("parquet") else data)
        documents = read(path, options=self.SAVED)
        assert [(d.id, d.text) for d in documents] == [("0", "good\nships")]
        assert documents.report.absent_columns == 2
        for options in ({"label": "stars"}, {"text": "story"}, {"keep": "url"}):
            with pytest.raises(InvalidCorpus, match=r"no .*column '(stars|story|url)'"):
                list(read(path, options=self.SAVED, **options))

    def test_ids_that_repeat(self, place):
        (place / "a.csv").write_text("id,text\na,1\nb,2\na,3\n")
        found, named = read(place / "a.csv"), read(place / "a.csv", id="id")
        ids = pyarrow.chunked_array([[document.id for document in found]])
        differing = pyarrow.chunked_array([["a", "b", "c"]])
        assert found.unique_ids(differing) == differing
        assert found.unique_ids(ids).to_pylist() == ["0", "1", "2"]
        assert found.report.problems()[0] == (
            "1 id occurs twice, so documents are numbered by row (first: 'a')"
        )
        with pytest.raises(InvalidCorpus, match="The id 'a' occurs more than once"):
            named.unique_ids(ids)

    def test_parts_hold_the_same_documents(self, place):
        for name, data in FILES.items():
            (place / name).write_bytes(data)
        whole = read(place)
        parts = whole.parts()
        assert [document for part in parts for document in part] == list(whole)
        assert len(parts) == len(FILES)
        report = parts[0].report
        for part in parts[1:]:
            report.add(part.report)
        assert report == whole.report

    def test_parts_keep_the_order_and_pass_over_bad_files(self, place):
        (place / "texts").mkdir()
        for name in ("a", "b"):
            (place / "texts" / name).write_text(f"in {name}")
        (place / "one.csv").write_text("text,n\nin one,1\n")
        (place / "bad.csv.gz").write_bytes(b"no such thing")
        paths = [place / "one.csv", place / "texts", place / "bad.csv.gz", place / "one.csv"]
        whole = read(paths)
        expected = ["in one", "in a", "in b", "in one"]
        assert [d.text for d in whole] == expected
        first, two, bad, last = whole.parts()
        assert [d.text for part in (first, two, last) for d in part] == expected
        with pytest.raises(NoDocuments, match="1 file could not be read"):
            list(bad)
        with pytest.raises(InvalidCorpus, match="could not be read: "):
            list(read(place / "bad.csv.gz").parts()[0])

    def test_many_small_files_are_one_part(self, place):
        for i in range(20):
            (place / f"{i}.md").write_text(f"text {i}")
        (part,) = read(place).parts()
        assert list(part) == list(read(place))
        with pytest.raises(InvalidCorpus, match="Only files can be read in parts"):
            read("-").parts()

    def test_a_file_that_was_changed_is_told_by_its_identity(self, place):
        (place / "a.txt").write_text("ships\n")
        first = read(place / "a.txt").identity()
        assert first == read(place / "a.txt").identity()
        (place / "a.txt").write_text("sails\n")
        assert read(place / "a.txt").identity() != first

    def test_files_are_told_from_others_by_name_size_and_time(self, tmp_path):
        for name in ("a.txt", "b.txt"):
            (tmp_path / name).write_text("ships\nsails\n")
        first = read(tmp_path).identity()
        assert first == read(tmp_path).identity() != read(tmp_path, encoding="latin-1").identity()
        (tmp_path / "b.txt").write_text("ships\n")
        assert read(tmp_path).identity() not in (first, None)
        assert read(["-", tmp_path / "a.txt"]).identity() is None
        assert as_documents(["ships"], "test").identity() is None

    def test_options_are_checked(self):
        for name, value in {
            "delimiter": ";;",
            "encoding": "utf-9",
            "label_separator": "",
            "id": "",
        }.items():
            with pytest.raises(InvalidParameter, match=f"'{name}' parameter of read must be"):
                ReadOptions(**{name: value})

    def test_nothing_to_read(self, place):
        (place / "a.csv").write_text("text,label\n")
        with pytest.raises(NoDocuments, match="empty, or has only a header"):
            list(read(place / "a.csv"))
        for source in ([], 3, [3], None):
            with pytest.raises(InvalidCorpus, match=r"no files|takes paths or a data frame"):
                read(source)
