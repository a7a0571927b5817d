import contextlib
import gzip
import io
import lzma
import os
import sys
from pathlib import Path
from threading import Timer

import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

from docboltz.corpus.readers import Document, as_documents, read
from docboltz.corpus.taken_ids import TakenIds
from docboltz.errors import DocboltzError, InvalidCorpus, InvalidParameter

from .packing import PACKERS, as_parquet


def texts(paths, **options):
    return [d.text for d in read(paths, **options)]


@pytest.fixture
def stdin(monkeypatch):
    def give(data):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))

    return give


@pytest.fixture
def folder(place):
    root = place / "posts"
    for name, data in {
        "plain": b"no label",
        "sea/1": b"ships\nand sails",
        "sea/2.txt.gz": gzip.compress(b"packed"),
        "sky/deep/3": "Größe".encode("latin-1"),
        "sky/.hidden": b"hidden",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
    return root


def test_a_folder_has_a_document_per_file_and_a_label_per_folder(folder):
    assert list(read(folder)) == [
        Document("plain", "no label", ()),
        Document("sea/1", "ships\nand sails", ("sea",)),
        Document("sea/2.txt.gz", "packed", ("sea",)),
        Document("sky/deep/3", "Größe", ("sky/deep",)),
    ]


def test_binary_and_unreadable_files_of_a_folder_are_counted(folder):
    (folder / "film.mp4").write_bytes(bytes(range(256)) * 100)
    (folder / "broken.gz").write_bytes(gzip.compress(b"cut off here" * 100)[:30])
    (folder / "broken.zst").write_bytes(PACKERS["zst"](b"cut off here" * 100)[:-1])
    documents = read(folder)
    assert len(list(documents)) == 4
    report = documents.report
    assert (report.documents, report.undecodable, report.unreadable) == (4, 1, 2)


def test_a_folder_of_tables_is_read_as_tables(place):
    for i in range(2):
        (place / f"part-{i}.csv").write_text(f"text,label\nwords {i},x\n")
    documents = list(read(place))
    assert [d.text for d in documents] == ["words 0", "words 1"]
    assert documents[0].id.endswith("part-0.csv:1")
    assert len(list(read(place, format="files"))) == 2


@pytest.mark.parametrize(("suffix", "pack"), PACKERS.items())
def test_compressed_files_and_standard_input(place, stdin, suffix, pack):
    path = place / f"a.jsonl.{suffix}"
    path.write_bytes(pack(b'{"text": "one"}\n') + pack(b'{"text": "two"}\n'))
    assert texts(path) == ["one", "two"]
    stdin(path.read_bytes())
    assert texts("-") == ["one", "two"]
    assert not sys.stdin.closed


@pytest.mark.parametrize(
    "data", [b"one\ntwo\n", b'{"text": "one"}\n{"text": "two"}\n', b"text,label\none,x\ntwo,y\n"]
)
def test_standard_input_is_sniffed(stdin, data):
    stdin(data)
    assert texts("-") == ["one", "two"]


def test_parquet_from_standard_input(stdin):
    stdin(as_parquet(pyarrow.table({"text": ["one"]})))
    assert texts("-") == ["one"]


def test_several_paths_and_globs_in_order(place):
    for name in "bac":
        (place / f"{name}.txt").write_text(f"in {name}\n")
    assert texts(str(place / "*.txt")) == ["in a", "in b", "in c"]
    assert texts([place / "c.txt", place / "a.txt"]) == ["in c", "in a"]
    named = list(read([place / "c.txt", place / "a.txt"]))
    assert named[1].id == f"{place / 'a.txt'}:1"


def test_one_empty_file_among_others_is_no_error(place):
    (place / "a.txt").write_text("")
    (place / "b.txt").write_text("words\n")
    assert texts(str(place / "*.txt")) == ["words"]


def test_the_format_can_be_named(place):
    path = place / "a.txt"
    path.write_text("line 1\nline 2\n")
    assert texts(path, format="files") == ["line 1\nline 2\n"]
    assert texts(path) == ["line 1", "line 2"]
    with pytest.raises(InvalidParameter, match="format"):
        read(path, format="xml")


def test_taken_ids_get_a_suffix(place):
    path = place / "a.csv"
    path.write_text("id,text\na,1\na,2\na#2,3\na,4\n,5\n")
    stream = read(path)
    documents, report = list(stream), stream.report
    assert [d.id for d in documents] == ["a", "a#2", "a#2#2", "a#3", "5"]
    assert report.duplicate_ids == 3


@given(st.lists(st.sampled_from(["a", "b", "a#2", "3", ""]), min_size=1))
def test_ids_always_differ(tmp_path_factory, ids):
    path = tmp_path_factory.mktemp("ids") / "a.csv"
    path.write_text("id,text\n" + "".join(f"{i},x\n" for i in ids))
    found = [d.id for d in read(path)]
    assert len(found) == len(set(found)) == len(ids)


@pytest.mark.parametrize("name", ["a.txt", "a.csv", "a.parquet"])
def test_numbers_of_lines_and_rows_are_not_held(place, name, monkeypatch):
    held = []
    monkeypatch.setattr(TakenIds, "unique", lambda *given: held.append(given))
    data = as_parquet(pyarrow.table({"text": ["a", "b"]}))
    data = {"a.txt": b"a\nb\n", "a.csv": b"text,n\na,1\nb,2\n"}.get(name, data)
    (place / name).write_bytes(data)
    assert [d.id for d in read(place / name)] == ["1", "2"]
    assert not held


def test_the_same_file_twice_has_ids_that_differ(place):
    (place / "a.txt").write_text("a\nb\n")
    documents = list(read([place / "a.txt"] * 2))
    assert len({document.id for document in documents}) == 4


def test_nothing_is_read_before_it_is_asked_for(place):
    path = place / "a.txt"
    path.write_text("word\n" * 100_000)
    stream = iter(read(path))
    assert next(stream).text == "word"
    stream.close()


class TestStandardInput:
    def test_one_that_is_closed(self, monkeypatch):
        for closed in (None, io.TextIOWrapper(io.BytesIO())):
            if closed is not None:
                closed.close()
            monkeypatch.setattr(sys, "stdin", closed)
            with pytest.raises(InvalidCorpus, match="Standard input is closed"):
                list(read("-"))

    def test_one_that_does_not_wait_is_read_to_its_end(self, monkeypatch):
        reading, writing = os.pipe()
        os.set_blocking(reading, False)
        writer = Timer(0.1, lambda: (os.write(writing, b"one\ntwo\n"), os.close(writing)))
        with open(reading) as stdin:
            monkeypatch.setattr(sys, "stdin", stdin)
            writer.start()
            assert texts("-") == ["one", "two"]
        writer.join()

    def test_a_cut_stream_is_an_error(self, stdin):
        for pack in PACKERS.values():
            stdin(pack(b"words\n" * 1000)[:-1])
            with pytest.raises(InvalidCorpus, match="standard input could not be read"):
                list(read("-"))


class TestBadInput:
    def test_missing_file(self, place):
        with pytest.raises(InvalidCorpus, match="no file or folder"):
            read(place / "none.csv")  # at once, not when first read
        with pytest.raises(InvalidCorpus, match="Nothing matches"):
            read(str(place / "*.csv"))
        with pytest.raises(InvalidCorpus, match="no paths"):
            read([])

    @pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.txt", "a.txt.gz", "a", "a.parquet"])
    def test_empty_file(self, place, name):
        empty = gzip.compress(b"") if name.endswith("gz") else b""
        (place / name).write_bytes(empty)
        with pytest.raises(InvalidCorpus, match=r"no documents|not a readable"):
            list(read(place / name))

    def test_empty_folder(self, place):
        with pytest.raises(InvalidCorpus, match="no documents"):
            list(read(place))

    @pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.txt", "a.tsv", "a.bin"])
    def test_binary_junk(self, place, name):
        (place / name).write_bytes(bytes(range(256)) * 10)
        with pytest.raises(InvalidCorpus, match="does not look like text"):
            list(read(place / name))

    def test_junk_never_escapes_as_another_error(self, place):
        import random

        random.seed(0)
        for name in ("a.csv", "a.jsonl", "a.txt", "a.parquet", "a.gz", "a.xz", "a.zst", "a"):
            for size in (1, 10, 1000, 100_000):
                (place / name).write_bytes(random.randbytes(size))
                with contextlib.suppress(DocboltzError):
                    list(read(place / name))

    def test_unreadable_file(self, place, monkeypatch):
        path = place / "a.txt"
        path.write_text("words\n")

        def refuse(*args, **options):
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr("os.open", refuse)
        monkeypatch.setattr("fsspec.implementations.memory.MemoryFileSystem._open", refuse)
        with pytest.raises(InvalidCorpus, match=r"a.txt could not be read: Permission denied"):
            list(read(path))

    def test_damaged_compression(self, place):
        path = place / "a.txt.xz"
        path.write_bytes(lzma.compress(b"word\n" * 10_000)[:-20])
        with pytest.raises(InvalidCorpus, match="complete if it is compressed"):
            list(read(path))

    def test_a_document_that_is_too_long(self, place, monkeypatch):
        monkeypatch.setattr("docboltz.corpus.readers.LONGEST", 100)
        (place / "long").write_text("a" * 101)
        (place / "short").write_text("a" * 100)
        with pytest.raises(InvalidCorpus, match="long is longer than"):
            list(read(place / "long", format="files"))
        documents = read(place)
        assert [d.id for d in documents] == ["short"]
        assert documents.report.unreadable == 1

    def test_too_many_labels(self, place, monkeypatch):
        monkeypatch.setattr("docboltz.corpus.columns.MOST_LABELS", 10)
        (place / "a.csv").write_text("text,label\na," + "x;" * 11 + "\n")
        with pytest.raises(InvalidCorpus, match="more than 10 labels"):
            list(read(place / "a.csv", label_separator=";"))

    def test_a_url_that_pathlib_has_spoilt(self):
        with pytest.raises(InvalidCorpus, match="A URL must be a string"):
            read(Path("s3://bucket/a.csv"))

    def test_one_document_of_50_megabytes(self, place):
        path = place / "a.txt"
        path.write_text("word " * 10_000_000)
        assert [len(t) for t in texts(path)] == [50_000_000]


def test_raw_newsgroups(shared_data, tmp_path):
    import tarfile

    with tarfile.open(shared_data / "20news-bydate.tar.xz") as archive:
        members = [m for m in archive if m.name.startswith("20news-bydate-test/sci.")]
        archive.extractall(tmp_path, members, filter="data")
    stream = read(tmp_path / "20news-bydate-test")
    documents, report = list(stream), stream.report
    assert {d.labels for d in documents} == {
        ("sci.crypt",), ("sci.electronics",), ("sci.med",), ("sci.space",),
    }  # fmt: skip
    assert len(documents) + report.undecodable == 1579
    assert report.undecodable <= 2


def test_the_report_says_how_things_were_read(place):
    (place / "a.csv").write_text("kind;sentence\nx;one\ny;two\n")
    (place / "b.txt").write_text("one\ntwo\n")
    documents = read([place / "a.csv"], text="sentence")
    list(documents)
    assert documents.report.summary() == [
        "Read as CSV (semicolons): text 'sentence', no id, no label; not used: 'kind'"
    ]
    documents = read(place / "b.txt")
    list(documents)
    assert documents.report.summary() == ["Read as one document per line"]


def test_several_files_of_no_known_kind_are_a_document_each(place):
    for name in ("a", "b"):
        (place / name).mkdir()
        (place / name / "copyright").write_text("first line\nsecond line\n")
    stream = read(str(place / "*" / "copyright"))
    documents, report = list(stream), stream.report
    assert [d.text for d in documents] == ["first line\nsecond line\n"] * 2
    assert report.summary() == ["Read 2 files as one document per file"]
    assert len(list(read(place / "a" / "copyright"))) == 2


def test_half_characters_are_spelled_out(place):
    file = place / "broken.jsonl"
    file.write_text(r'{"id": "\udcff.txt", "text": "caf\u00e9 \ud83d", "labels": ["\ude00"]}')
    (document,) = read(file)
    assert document.id == r"\udcff.txt"
    assert document.text == r"café \ud83d"
    assert document.labels == (r"\ude00",)


def test_files_are_told_from_others_by_name_size_and_time(tmp_path, stdin):
    (tmp_path / "deep").mkdir()
    for name in ("a.txt", "deep/b.txt"):
        (tmp_path / name).write_text("ships\nsails\n")
    first = read(tmp_path).identity()
    assert first == read(tmp_path).identity() != read(tmp_path, encoding="latin-1").identity()
    assert read(tmp_path / "a.txt").identity() != first
    (tmp_path / "deep" / "b.txt").write_text("ships\n")
    assert read(tmp_path).identity() not in (first, None)
    stdin(b"ships")
    assert read(["-", tmp_path / "a.txt"]).identity() is None
    assert as_documents(["ships"], "test").identity() is None
