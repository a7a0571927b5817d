"""What is not a file, cannot be opened, or leads nowhere: one line says so, and nothing waits."""

import os
import socket
import time
from threading import Thread

import pytest

from docboltz.corpus.reading import read
from docboltz.errors import DocboltzError, InvalidCorpus


def pipe(path):
    os.mkfifo(path)


def unix_socket(path):
    with socket.socket(socket.AF_UNIX) as opened:
        here = os.getcwd()
        os.chdir(path.parent)  # the path of a socket has at most 108 bytes
        try:
            opened.bind(path.name)
        finally:
            os.chdir(here)


def device(path):
    path.symlink_to("/dev/zero")


def link_to_nowhere(path):
    path.symlink_to("nowhere")


def link_to_itself(path):
    path.symlink_to(path.name)


@pytest.mark.parametrize("end", [".txt", ".csv", ".jsonl", ".parquet", ".txt.gz", ""])
@pytest.mark.parametrize("make", [pipe, unix_socket, device, link_to_nowhere, link_to_itself])
def test_what_is_not_a_file_alone_and_in_a_folder(tmp_path, make, end):
    make(tmp_path / f"a{end}")
    for source in (tmp_path / f"a{end}", f"{tmp_path}/a*"):
        with pytest.raises(InvalidCorpus, match=r"could not be read: .*(only files|No such|links)"):
            list(read(source))
    (tmp_path / "text").write_text("words")
    documents = read(tmp_path)
    assert [d.text for d in documents] == ["words"]
    assert documents.report.unreadable == 1
    assert f"a{end}: " in documents.report.first["unreadable"]


def test_a_pipe_is_told_about_standard_input(tmp_path):
    reading, writing = os.pipe()
    try:
        with pytest.raises(InvalidCorpus, match=r"read from '-': program \| docboltz fit -"):
            list(read(f"/dev/fd/{reading}"))
    finally:
        os.close(reading)
        os.close(writing)


def test_a_pipe_in_a_folder_is_not_opened_at_all(tmp_path):
    os.mkfifo(tmp_path / "a")
    (tmp_path / "b").write_text("words")
    opened = []
    writer = Thread(target=lambda: opened.append(os.open(tmp_path / "a", os.O_WRONLY)), daemon=True)
    writer.start()  # it waits until somebody reads
    list(read(tmp_path))
    time.sleep(0.05)
    assert not opened
    os.close(os.open(tmp_path / "a", os.O_RDONLY | os.O_NONBLOCK))
    writer.join()
    os.close(opened[0])


def test_nothing_stays_open(tmp_path):
    (tmp_path / "a.csv").write_text("text,n\nwords,1\n")
    (tmp_path / "b.txt.gz").write_bytes(b"no such thing")
    list(read(tmp_path / "a.csv"))  # which starts what Arrow keeps
    before = len(os.listdir("/proc/self/fd"))
    list(read(tmp_path / "a.csv"))
    next(iter(read(tmp_path / "a.csv")))
    with pytest.raises(InvalidCorpus):
        list(read(tmp_path / "b.txt.gz"))
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_file_that_vanishes_after_it_was_listed(tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.csv").write_text(f"text\nin {name}\n")
    documents = read(tmp_path)
    stream = iter(documents)
    assert next(stream).text == "in a"
    (tmp_path / "b.csv").unlink()
    assert list(stream) == []
    assert "b.csv: No such file" in documents.report.first["unreadable"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_files_and_folders_that_may_not_be_read(tmp_path):
    (tmp_path / "closed").mkdir(mode=0)
    (tmp_path / "a").write_text("words")
    (tmp_path / "b.txt").touch(mode=0)
    documents = read(tmp_path)
    assert [d.text for d in documents] == ["words"]
    assert documents.report.unreadable == 2
    with pytest.raises(InvalidCorpus, match=r"Permission denied\. Check its permissions"):
        list(read(tmp_path / "b.txt"))


@pytest.mark.parametrize(
    "path",
    [
        "", "a\0b", "no\nsuch\nfile", "\x1b[31mred", "a" * 5000, "\udcff", "[", "*" * 200 + "x",
        "~nobody-of-that-name/a.txt", "gopher://x/y", "memory://none/x.csv", "memory://none/*.csv",
        "zip://a::/dev/zero", "file:///none", "memory://\x1b[0m/\n",
    ],
)  # fmt: skip
def test_a_path_that_leads_nowhere_is_one_line(path):
    with pytest.raises(DocboltzError) as error:
        read(path)
    assert str(error.value).isprintable()


@pytest.mark.parametrize(
    "name",
    ["a\nb.csv", "\x1b]0;x\x07.csv", os.fsdecode(b"\xff.csv"), "'\".csv", "{a}.csv", "*.csv"],
)
def test_a_file_may_have_any_name(tmp_path, name):
    (tmp_path / name).write_text("text,n\nwords,1\n,2\n")
    documents = read(tmp_path / name)
    assert [d.text for d in documents] == ["words", ""]
    assert all(line.isprintable() for line in documents.report.summary())


def test_an_empty_folder(place):
    with pytest.raises(InvalidCorpus, match=r"There are no files in|no file or folder"):
        list(read(place / "empty"))


def test_a_driver_that_is_missing_is_named():
    with pytest.raises(InvalidCorpus, match=r"needs a package: .*gcsfs"):
        read("gs://bucket/a.csv")
