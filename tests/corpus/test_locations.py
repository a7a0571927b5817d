"""Paths and URLs are opened alike, and only what is a file."""

import os
import pickle
import sys
import time
from threading import Thread

import fsspec
import pytest

from docboltz.corpus import locations
from docboltz.corpus.locations import locate
from docboltz.corpus.readers import read
from docboltz.errors import InvalidCorpus
from docboltz.storage import NotAFile


def texts(source, **options):
    return [document.text for document in read(source, **options)]


class TestUrls:
    def test_a_file_a_folder_and_a_pattern(self, place):
        for name in ("b.txt", "a.txt", "sub/c.txt", ".hidden", "sub/.hidden"):
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_text(f"in {name}\n")
        assert texts(f"{place}/a.txt") == ["in a.txt"]
        assert texts(f"{place}/*.txt") == ["in a.txt", "in b.txt"]
        assert texts(f"{place}/**/c.txt") == ["in sub/c.txt"]
        assert [(d.id, d.labels) for d in read(place)] == [
            ("a.txt", ()), ("b.txt", ()), ("sub/c.txt", ("sub",)),
        ]  # fmt: skip
        assert [d.id for d in read([f"{place}/b.txt", f"{place}/a.txt"])] == [
            f"{place}/b.txt:1",
            f"{place}/a.txt:1",
        ]

    def test_a_local_file_may_be_a_url(self, tmp_path):
        (tmp_path / "a b.txt").write_text("words\n")
        assert texts(f"file://{tmp_path}/a b.txt") == ["words"]
        assert texts(f"file://{tmp_path}/*.txt") == ["words"]

    def test_sizes_of_files_that_any_process_finds(self, tmp_path):
        (tmp_path / "a.txt").write_text("words\n")
        assert locate(str(tmp_path / "a.txt")).size() == 6
        fsspec.filesystem("memory").pipe("/sizes/a.txt", b"words\n")
        assert locate("memory://sizes/a.txt").size() is None

    def test_a_process_that_works_elsewhere_finds_a_relative_path(self, tmp_path, monkeypatch):
        (tmp_path / "here").mkdir()
        for name in "ab":
            (tmp_path / "here" / f"{name}.txt").write_text(f"{name}\n")
        monkeypatch.chdir(tmp_path / "here")
        whole = list(read(["a.txt", "b.txt"]))
        sent = pickle.dumps(read(["a.txt", "b.txt"]).parts())
        monkeypatch.chdir(tmp_path)
        parts = pickle.loads(pickle.dumps(pickle.loads(sent)))
        assert [document for part in parts for document in part.documents] == whole
        assert [document.id for document in whole] == ["a.txt:1", "b.txt:1"]
        place = parts[0].sources[0].location
        assert (place.kind(), place.size()) == ("file", 2)
        assert place.state()[0][0] == "a.txt"

    def test_home_is_where_it_is(self, tmp_path, monkeypatch):
        monkeypatch.setenv("HOME", str(tmp_path))
        (tmp_path / "a.txt").write_text("words\n")
        assert texts("~/a.txt") == ["words"]

    @pytest.mark.parametrize(
        ("url", "command"),
        [("s3://bucket/*.parquet", "pip install s3fs"), ("gs://b/a.csv", "pip install gcsfs")],
    )
    def test_a_missing_driver_is_named_with_the_command_that_installs_it(
        self, url, command, monkeypatch
    ):
        monkeypatch.setitem(sys.modules, command.rpartition(" ")[2], None)
        with pytest.raises(InvalidCorpus, match=command) as error:
            read(url)
        assert "\n" not in str(error.value)

    def test_a_driver_that_is_part_of_fsspec_is_an_extra_of_it(self):
        assert locations._driver("https") == "'fsspec[http]'"
        assert locations._driver("sftp") == "'fsspec[sftp]'"
        assert locations._driver("abfs") == "adlfs"

    def test_what_a_driver_raises_is_a_line(self, monkeypatch):
        def fail(*args, **options):
            raise RuntimeError("no\nnetwork \x1b[31m")

        monkeypatch.setattr("fsspec.implementations.memory.MemoryFileSystem.info", fail)
        with pytest.raises(InvalidCorpus, match="RuntimeError: no network") as error:
            read("memory://a.txt")
        assert str(error.value).isprintable()

    def test_a_url_that_breaks_off(self, place, monkeypatch):
        (place / "a.txt").write_text("words\n" * 100_000)
        reads = []

        def fail_soon(self, n=-1):
            reads.append(n)
            if len(reads) > 2:
                raise ConnectionResetError(104, "Connection reset by peer")
            return b"words\n" * 1000

        if not str(place).startswith("memory"):
            pytest.skip("files do not break off")
        monkeypatch.setattr(
            "fsspec.implementations.memory.MemoryFile.read", fail_soon, raising=False
        )
        with pytest.raises(InvalidCorpus, match="could not be read: Connection reset by peer"):
            texts(place / "a.txt")

    def test_a_store_that_fails_loses_no_file_of_a_folder_in_silence(self, place, monkeypatch):
        if not str(place).startswith("memory"):
            pytest.skip("this machine does not fail")
        for name in "ab":
            (place / name).write_text("words")

        def fail(*args, **options):
            raise TimeoutError("the store is away")

        documents = read(place)
        stream = iter(documents)
        assert next(stream).id == "a"
        with monkeypatch.context() as patch:
            patch.setattr("fsspec.implementations.memory.MemoryFileSystem._open", fail)
            with pytest.raises(InvalidCorpus, match="the store is away"):
                next(stream)
            patch.setattr("fsspec.implementations.memory.MemoryFileSystem.ls", fail)
            with pytest.raises(InvalidCorpus, match="cannot be listed: TimeoutError: the store"):
                texts(place)

    def test_a_path_is_named_in_the_shortest_way(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "sub").mkdir()
        for name in "ab":
            (tmp_path / "sub" / f"{name}.csv").write_text("text\nwords\n")
        assert [d.id for d in read("./sub//")] == ["sub/a.csv:1", "sub/b.csv:1"]
        assert [d.id for d in read(".", format="files")] == ["sub/a.csv", "sub/b.csv"]
        assert [d.id for d in read("sub/", format="files")] == ["a.csv", "b.csv"]

    def test_the_query_of_a_web_address_is_no_suffix(self):
        from fsspec.implementations.memory import MemoryFileSystem

        web = locations.RemotePath("https://host/a.csv.gz?key=x.txt", MemoryFileSystem())
        assert web.suffixes == [".csv", ".gz"]

    def test_new_files_of_a_store_are_seen(self, place):
        (place / "a.txt").write_text("one\n")
        documents = read(str(place))
        assert len(list(documents)) == 1
        (place / "b.txt").write_text("two\n")
        assert len(list(documents)) == 2


def test_a_changed_file_has_another_state(place):
    (place / "a.txt").write_text("one\n")
    (place / "b.txt").write_text("two\n")
    documents = read([f"{place}/a.txt", f"{place}", "-"])
    file, folder, stdin = documents.locations
    assert stdin is None
    before = file.state(), folder.state()
    assert (file.state(), folder.state()) == before
    assert [name for name, *_ in folder.state()] == [f"{place}/a.txt", f"{place}/b.txt"]
    time.sleep(0.01)
    (place / "a.txt").write_text("three\n")
    assert file.state() != before[0]
    assert folder.state() != before[1]


def test_paths_of_this_machine_are_told_apart(tmp_path):
    (tmp_path / "a.txt").write_text("one\n")
    fsspec.filesystem("memory").pipe_file("/docboltz-tests.txt", b"two\n")
    documents = read([tmp_path / "a.txt", "memory://docboltz-tests.txt"])
    assert documents.paths == (tmp_path / "a.txt",)
    assert [d.text for d in documents] == ["one", "two"]
    fsspec.filesystem("memory").rm("/docboltz-tests.txt")


class TestOnlyFiles:
    def test_a_pipe_alone_and_in_a_folder_does_not_hang(self, tmp_path):
        os.mkfifo(tmp_path / "a.txt")
        with pytest.raises(
            InvalidCorpus, match=r"a pipe, and only files.*program [|] docboltz fit -"
        ):
            texts(tmp_path / "a.txt")
        (tmp_path / "b").write_text("words")
        documents = read(tmp_path)
        assert [d.text for d in documents] == ["words"]
        assert "a.txt: it is a pipe" in documents.report.problems()[0]

    def test_a_pipe_in_a_folder_is_not_opened_at_all(self, tmp_path):
        os.mkfifo(tmp_path / "a")
        (tmp_path / "b").write_text("words")
        opened = []
        writer = Thread(
            target=lambda: opened.append(os.open(tmp_path / "a", os.O_WRONLY)), daemon=True
        )
        writer.start()  # it waits until somebody reads
        texts(tmp_path)
        time.sleep(0.05)
        assert not opened
        os.close(os.open(tmp_path / "a", os.O_RDONLY | os.O_NONBLOCK))
        writer.join()
        os.close(opened[0])

    def test_a_file_that_becomes_a_pipe_before_it_is_opened(self, tmp_path, monkeypatch):
        (tmp_path / "file").write_text("words\n")
        os.mkfifo(tmp_path / "a.txt")
        before = os.stat(tmp_path / "file")
        monkeypatch.setattr("os.stat", lambda path, **options: before)
        with pytest.raises(NotAFile, match="it is a pipe"):
            locate(str(tmp_path / "a.txt")).open()

    def test_process_substitution_is_told_about_standard_input(self):
        reading, writing = os.pipe()
        try:
            with pytest.raises(InvalidCorpus, match="read from '-'"):
                texts(f"/dev/fd/{reading}")
        finally:
            os.close(reading)
            os.close(writing)

    def test_nothing_stays_open(self, tmp_path):
        (tmp_path / "a.txt").write_text("words\n")
        os.mkfifo(tmp_path / "b")
        before = len(os.listdir("/proc/self/fd"))
        texts(tmp_path)
        with pytest.raises(InvalidCorpus):
            texts(tmp_path / "b")
        assert len(os.listdir("/proc/self/fd")) == before

    def test_a_file_that_vanishes_after_it_was_listed(self, tmp_path):
        for name in "ab":
            (tmp_path / name).write_text(f"in {name}")
        documents = read(tmp_path)
        stream = iter(documents)
        assert next(stream).text == "in a"
        (tmp_path / "b").unlink()
        assert list(stream) == []
        assert documents.report.unreadable == 1

    def test_a_folder_that_may_not_be_listed_is_reported(self, tmp_path, monkeypatch):
        (tmp_path / "closed").mkdir()
        (tmp_path / "a").write_text("words")
        scan = os.scandir

        def refuse(path):
            if str(path).endswith("closed"):
                raise PermissionError(13, "Permission denied", str(path))
            return scan(path)

        monkeypatch.setattr("os.scandir", refuse)
        documents = read(tmp_path)
        assert [d.text for d in documents] == ["words"]
        assert documents.report.unreadable == 1

    def test_a_working_folder_that_is_gone(self, tmp_path, monkeypatch):
        def gone():
            raise FileNotFoundError(2, "No such file or directory")

        monkeypatch.setattr("os.getcwd", gone)
        with pytest.raises(InvalidCorpus, match="was removed"):
            read("none.txt")
