"""Pipes, devices, links and folders where a file of docboltz's own should be: nothing waits."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import docboltz
from docboltz.corpus.corpus import load_matrix
from docboltz.corpus.split import Split
from docboltz.errors import DocboltzError, InvalidCorpus
from docboltz.experiments.record import read_records
from docboltz.storage import open_file, read_file, read_text
from tests.cli.conftest import Command
from tests.fuzz.test_manifests import ask, attempt


def pipe(path: Path) -> None:
    os.mkfifo(path)


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def folder(path: Path) -> None:
    path.mkdir()


def link_out(path: Path) -> None:
    secret = path.parent.parent / "secret"
    secret.write_text('{"secret": 1}')
    path.symlink_to(secret)


def loop(path: Path) -> None:
    path.symlink_to(path)


def empty(path: Path) -> None:
    path.touch()


def endless(path: Path) -> None:
    """A file that says it has a terabyte."""
    with path.open("wb") as stream:
        stream.truncate(1 << 40)


KINDS = [pipe, device, folder, link_out, loop, empty, endless]
OURS = [
    "model.json",
    "build-*/parameters.safetensors",
    "search",
    "search/store.json",
    "search/build-*",
    "search/build-*/*",
    "topics",
    "topics/topics.json",
    "topics/build-*/parameters.safetensors",
]


NEEDED = {"model.json", "build-*/parameters.safetensors"}


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs POSIX")
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("pattern", OURS)
def test_anything_for_a_file_of_a_model_is_refused_or_done_without(
    model: Path, pattern: str, kind: Callable[[Path], None]
) -> None:
    path = sorted(model.glob(pattern))[0]
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    kind(path)
    if pattern in NEEDED:
        with pytest.raises(DocboltzError):
            docboltz.open(model)
    if pattern.startswith("search"):
        with pytest.raises(DocboltzError):
            docboltz.open(model).store.verify()
    attempt(lambda: ask(model))
    if kind is link_out:
        assert (path.parent.parent / "secret").read_text() == '{"secret": 1}'


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_records_and_counts_that_are_no_files_are_refused(
    tmp_path: Path, kind: Callable[[Path], None]
) -> None:
    (tmp_path / "results" / "trials").mkdir(parents=True)
    kind(tmp_path / "results" / "trials" / "x.json")
    with pytest.raises(DocboltzError):
        read_records(tmp_path / "results")
    kind(tmp_path / "results" / "labels.json")
    with pytest.raises(DocboltzError):
        Split.load(tmp_path / "results")
    kind(tmp_path / "results" / "train.npz")
    with pytest.raises((OSError, ValueError)):
        load_matrix(tmp_path / "results" / "train.npz")


@pytest.mark.parametrize("kind", [pipe, device, folder, loop], ids=lambda kind: kind.__name__)
def test_only_files_are_opened(tmp_path: Path, kind: Callable[[Path], None]) -> None:
    kind(tmp_path / "x")
    with pytest.raises(OSError, match=r"only files|loop|Too many|symbolic"):
        open_file(tmp_path / "x")


def test_links_are_followed_only_where_that_is_meant(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    assert read_file(tmp_path / "b") == b"abc"
    with pytest.raises(OSError, match=r"symbolic|link"):
        read_file(tmp_path / "b", follow=False)
    with pytest.raises(OSError, match="more than 2 bytes"):
        read_file(tmp_path / "a", 2)
    with pytest.raises(OSError, match="null"):
        read_file("a\0b")


LISTS = {
    "delete": ("delete", "MODEL", "--file", "LIST"),
    "fit": ("fit", "CORPUS", "--out", "NEW", "--stop-words", "LIST"),
    "compare": ("compare", "CORPUS", "--out", "NEW", "--stop-words", "LIST"),
    "tune": ("tune", "CORPUS", "--stop-words", "LIST"),
}


@pytest.mark.parametrize("kind", [pipe, device, folder, loop], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("command", LISTS)
def test_a_list_without_end_does_not_fill_the_memory(
    docboltz: Command,
    model: Path,
    corpus: Path,
    tmp_path: Path,
    command: str,
    kind: Callable[[Path], None],
) -> None:
    kind(tmp_path / "list")
    names = {"MODEL": model, "CORPUS": corpus, "NEW": tmp_path / "new", "LIST": tmp_path / "list"}
    complaint = docboltz(*(names.get(each, each) for each in LISTS[command])).complaint
    assert str(tmp_path / "list") in complaint
    assert not (tmp_path / "new").exists()


def test_a_list_that_is_too_long_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("docboltz.storage.LARGEST", 1 << 20)
    endless(tmp_path / "list")
    with pytest.raises(InvalidCorpus, match=r"The ids in .* it has more than 1,048,576 bytes"):
        read_text(tmp_path / "list", "ids")


def test_an_archive_that_is_a_pipe_is_refused(docboltz: Command, tmp_path: Path) -> None:
    pipe(tmp_path / "20news-bydate.tar")
    said = docboltz("datasets", "20newsgroups", "--path", tmp_path / "20news-bydate.tar").complaint
    assert "it is a pipe" in said
