"""Outputs that are inputs, or no place for an output: nothing is lost."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import docboltz
import docboltz.fitting
from docboltz.errors import InvalidParameter
from docboltz.fitting import checkpoint_folder
from docboltz.storage import CHECKPOINT, MODEL, save_model
from tests.cli.conftest import SMALL, Command
from tests.hostile.trees import snapshot
from tests.text_models import TEXTS, fitted


def same(path: Path) -> Path:
    return path


def dotted(path: Path) -> Path:
    return path.parent / "." / path.name


def upward(path: Path) -> Path:
    (path.parent / "side").mkdir()
    return path.parent / "side" / ".." / path.name


def link(path: Path) -> Path:
    other = path.with_name(f"link{path.suffix}")
    other.symlink_to(path)
    return other


def link_to_link(path: Path) -> Path:
    other = path.with_name(f"second{path.suffix}")
    other.symlink_to(link(path))
    return other


def hard_link(path: Path) -> Path:
    other = path.with_name(f"hard{path.suffix}")
    os.link(path, other)
    return other


def through_a_linked_folder(path: Path) -> Path:
    folder = path.parent / "elsewhere"
    folder.symlink_to(path.parent, target_is_directory=True)
    return folder / path.name


ALIASES = [same, dotted, upward, link, link_to_link, hard_link, through_a_linked_folder]


@pytest.mark.parametrize("alias", ALIASES, ids=lambda alias: alias.__name__)
@pytest.mark.parametrize("side", ["input", "output"])
def test_transform_does_not_overwrite_its_input(
    docboltz: Command, model: Path, tmp_path: Path, alias: Callable[[Path], Path], side: str
) -> None:
    path = tmp_path / "texts.csv"
    path.write_text("id,text\n1,a goal\n2,butter and flour\n")
    before, other = path.read_bytes(), alias(path)
    read, out = (other, path) if side == "input" else (path, other)
    assert "is what is read" in docboltz("transform", model, read, "--out", out).complaint
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("pattern", "out"),
    [
        ("*.csv", "features.csv"),
        ("texts.*", "texts.npy"),
        ("**/*.csv", "deeper/still/features.csv"),
        ("**/*.csv", "features.csv"),
        ("*", "new/features.csv"),
        ("[t-z]*.csv", "./side/../x.csv"),
    ],
)
def test_features_are_not_written_where_the_next_run_reads_them(
    docboltz: Command,
    model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    pattern: str,
    out: str,
) -> None:
    (tmp_path / "in" / "side").mkdir(parents=True)
    (tmp_path / "in" / "texts.csv").write_text("id,text\n1,a goal\n2,butter and flour\n")
    (tmp_path / "link").symlink_to(tmp_path / "in")
    before = snapshot(tmp_path / "in")
    for folder in ("in", "link"):
        read, written = tmp_path / folder / pattern, tmp_path / "in" / out
        said = docboltz("transform", model, read, "--out", written).complaint
        assert "would be read the next time" in said
        monkeypatch.chdir(tmp_path / folder)
        assert "next time" in docboltz("transform", model, pattern, "--out", out).complaint
    said = docboltz("fit", tmp_path / "in" / "*", "--out", tmp_path / "in" / "m", *SMALL)
    assert "would be read the next time" in said.complaint
    assert snapshot(tmp_path / "in") == before


@pytest.mark.parametrize("out", ["features.npy", "deeper/features.csv", ".features.csv"])
def test_features_are_written_where_the_pattern_does_not_look(
    docboltz: Command, model: Path, tmp_path: Path, out: str
) -> None:
    (tmp_path / "texts.csv").write_text("id,text\n1,a goal\n2,butter and flour\n")
    command = "transform", model, tmp_path / "*.csv", "-q", "--out", tmp_path / out
    assert docboltz(*command) == (0, "", "")


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".npy"])
def test_features_do_not_replace_a_file_unasked(
    docboltz: Command, model: Path, corpus: Path, tmp_path: Path, suffix: str
) -> None:
    out = tmp_path / f"labels{suffix}"
    out.write_text("years of work")
    command = "transform", model, corpus, "-q", "--out", out
    assert "already. Name another one, or add --replace." in docboltz(*command).complaint
    assert out.read_text() == "years of work"
    assert docboltz(*command, "--replace") == (0, "", "")
    assert out.read_bytes() != b"years of work"


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".npy"])
def test_features_are_not_written_among_the_texts(
    docboltz: Command, model: Path, tmp_path: Path, suffix: str
) -> None:
    folder = tmp_path / "texts" / "deeper"
    folder.mkdir(parents=True)
    (folder / "a.txt").write_text("a goal")
    before = snapshot(tmp_path / "texts")
    out = folder / f"features{suffix}"
    assert "which is read" in docboltz("transform", model, tmp_path / "texts", "-o", out).complaint
    assert snapshot(tmp_path / "texts") == before


def test_python_does_not_overwrite_its_input_either(tmp_path: Path) -> None:
    path = tmp_path / "texts.csv"
    path.write_text("id,text\n1,hockey\n2,butter\n")
    before = path.read_bytes()
    with pytest.raises(InvalidParameter, match="is what is read"):
        fitted().save_features(docboltz.read(path), path)
    with pytest.raises(InvalidParameter, match="holds other things"):
        fitted(docboltz.read(path), folder=tmp_path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("out", ["features.csv", "search/features.csv", "topics/features.npy"])
def test_features_are_not_written_into_the_model(
    docboltz: Command, model: Path, corpus: Path, out: str
) -> None:
    before = snapshot(model)
    complaint = docboltz("transform", model, corpus, "--out", model / out).complaint
    assert "nothing was written" in complaint
    assert snapshot(model) == before


@pytest.mark.parametrize("out", ["", "model.json", "page.html", "search/store.json"])
def test_the_page_is_not_written_into_the_model(docboltz: Command, model: Path, out: str) -> None:
    before = snapshot(model)
    docboltz("explore", model, "--out", model / out, "-q").complaint  # noqa: B018
    assert snapshot(model) == before


def test_a_picture_is_not_written_into_the_model(docboltz: Command, model: Path) -> None:
    before = snapshot(model)
    assert "read" in docboltz("topics", model, "--out", model / "topics.png").complaint
    assert snapshot(model) == before


@pytest.mark.parametrize("command", ["fit", "compare"])
@pytest.mark.parametrize("out", ["", "inside"])
def test_results_are_not_written_among_the_texts(
    docboltz: Command, tmp_path: Path, command: str, out: str
) -> None:
    texts = tmp_path / "texts"
    texts.mkdir()
    for n, text in enumerate(TEXTS * 4):
        (texts / f"{n}.txt").write_text(text)
    before = snapshot(texts)
    docboltz(command, texts, "--out", texts / out, *SMALL).complaint  # noqa: B018
    assert snapshot(texts) == before


def test_a_collection_is_not_the_folder_its_model_is_in(docboltz: Command, model: Path) -> None:
    (model.parent / "a.txt").write_text("a goal")
    before = snapshot(model)
    assert "which is read" in docboltz("index", model, model.parent).complaint
    assert snapshot(model) == before


def test_a_model_is_not_trained_on_itself(docboltz: Command, model: Path) -> None:
    before = snapshot(model)
    assert docboltz("fit", model, "--out", model, "--replace", *SMALL).code == 2
    for file in ("search/store.json", "search/build-*/documents.sqlite"):
        (found,) = model.glob(file)
        assert docboltz("fit", found, "--out", model, "--replace", *SMALL).code == 2
    assert snapshot(model) == before


def test_a_dataset_is_not_written_over_itself(docboltz: Command, tmp_path: Path) -> None:
    path = tmp_path / "20news.tar"
    path.write_bytes(b"mine")
    docboltz("datasets", "20newsgroups", "--path", path, "--out", path).complaint  # noqa: B018
    assert path.read_bytes() == b"mine"


def test_a_device_is_not_replaced_by_a_file(docboltz: Command, model: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.html"
    os.mkfifo(pipe)
    assert "cannot be written" in docboltz("explore", model, "-o", pipe, "-q").complaint
    assert pipe.is_fifo()


# ---- fit --restart ----


def foreign_folder(folder: Path) -> None:
    folder.mkdir()
    (folder / "thesis.txt").write_text("years of work")


def foreign_manifest(folder: Path) -> None:
    folder.mkdir()
    (folder / "checkpoint.json").write_text('{"epoch": 7}')


def foreign_text(folder: Path) -> None:
    folder.mkdir()
    (folder / "checkpoint.json").write_text("not JSON")
    (folder / "thesis.txt").write_text("years of work")


def foreign_builds(folder: Path) -> None:
    build = folder / "build-0123456789abcdef"
    build.mkdir(parents=True)
    (build / "thesis.txt").write_text("years of work")
    (folder / "checkpoint.json").write_text("not JSON")


def another_model(folder: Path) -> None:
    fitted().save(folder)


def a_link_to_another_checkpoint(folder: Path) -> None:
    other = folder.parent / "other.checkpoint"
    save_model(other, {}, {"run": {}, "facts": {}}, CHECKPOINT)
    folder.symlink_to(other, target_is_directory=True)


def a_link_to_a_model(folder: Path) -> None:
    fitted().save(folder.parent / "other")
    folder.symlink_to(folder.parent / "other", target_is_directory=True)


FOREIGN = [
    foreign_folder,
    foreign_manifest,
    foreign_text,
    foreign_builds,
    another_model,
    a_link_to_another_checkpoint,
    a_link_to_a_model,
]


@pytest.mark.parametrize("make", FOREIGN, ids=lambda make: make.__name__)
def test_restart_removes_no_folder_that_is_not_its_checkpoint(
    docboltz: Command, corpus: Path, tmp_path: Path, make: Callable[[Path], None]
) -> None:
    out = tmp_path / "new"
    make(checkpoint_folder(out))
    before = snapshot(tmp_path)
    assert "checkpoint" in docboltz("fit", corpus, "--out", out, "--restart", *SMALL).complaint
    assert snapshot(tmp_path) == before


def test_restart_keeps_what_lies_beside_a_checkpoint(
    docboltz: Command, corpus: Path, tmp_path: Path
) -> None:
    out = tmp_path / "new"
    folder = checkpoint_folder(out)
    save_model(folder, {}, {"run": {}, "facts": {}}, CHECKPOINT)
    foreign_builds(folder / "deeper")
    (folder / "build-fedcba9876543210").mkdir()
    (folder / "build-fedcba9876543210" / "notes.txt").write_text("mine")
    kept = snapshot(folder / "deeper")
    docboltz("fit", corpus, "--out", out, "--restart", "-q", *SMALL)
    assert snapshot(folder / "deeper") == kept
    assert (folder / "build-fedcba9876543210" / "notes.txt").read_text() == "mine"
    assert not CHECKPOINT.exists(folder)


def test_topics_of_a_replaced_model_are_not_removed_through_a_link(
    docboltz: Command, model: Path, corpus: Path, tmp_path: Path
) -> None:
    shutil.move(model / "topics", tmp_path / "elsewhere")
    (model / "topics").symlink_to(tmp_path / "elsewhere")
    before = snapshot(tmp_path / "elsewhere")
    found = docboltz("fit", corpus, "--out", model, "--replace", "-q", *SMALL)
    assert (found.code, "is a link" in found.err) == (2, True)
    assert snapshot(tmp_path / "elsewhere") == before


# ---- places that cannot be written ----


@pytest.fixture
def no_training(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("it would train for hours first")

    monkeypatch.setattr(docboltz.fitting, "_train", refuse)


def _a_pipe(folder: Path) -> str:
    os.mkfifo(folder / "pipe")
    return str(folder / "pipe")


def _a_loop(folder: Path) -> str:
    (folder / "loop").symlink_to(folder / "loop")
    return str(folder / "loop")


PLACES: dict[str, Callable[[Path], str]] = {
    "no name": lambda folder: "",
    "under a file": lambda folder: str(folder / "corpus.jsonl" / "model"),
    "deep under a file": lambda folder: str(folder / "corpus.jsonl" / "a" / "b"),
    "a file": lambda folder: str(folder / "corpus.jsonl"),
    "a pipe": _a_pipe,
    "under a pipe": lambda folder: f"{_a_pipe(folder)}/model",
    "a loop of links": _a_loop,
    "under a loop": lambda folder: f"{_a_loop(folder)}/model",
    "a long name": lambda folder: str(folder / ("a" * 300)),
    "a name whose checkpoint's is too long": lambda folder: str(folder / ("a" * 250)),
    "no disk": lambda folder: "/proc/docboltz/model",
    "a device": lambda folder: "/dev/null",
    "under a device": lambda folder: "/dev/null/model",
}


@pytest.mark.usefixtures("no_training")
@pytest.mark.parametrize("place", PLACES)
def test_a_place_that_cannot_be_written_is_refused_before_training(
    docboltz: Command, corpus: Path, tmp_path: Path, place: str
) -> None:
    out = PLACES[place](tmp_path)
    before = snapshot(tmp_path)
    docboltz("fit", corpus, "--out", out, *SMALL).complaint  # noqa: B018
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("suffix", ["", "/features.csv"])
def test_features_go_nowhere_else_than_into_a_file(
    docboltz: Command, model: Path, corpus: Path, tmp_path: Path, place: str, suffix: str
) -> None:
    out = PLACES[place](tmp_path) + suffix
    if place.endswith("is too long") or out.startswith("/features"):
        return  # which is a fine place for features
    before = snapshot(tmp_path)
    docboltz("transform", model, corpus, "-q", "--out", out).complaint  # noqa: B018
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    "command", ["compare", "reproduce", "explore", "topics", "datasets"], ids=str
)
def test_other_outputs_are_refused_in_one_line(
    docboltz: Command, model: Path, corpus: Path, tmp_path: Path, command: str, place: str
) -> None:
    read = {"compare": [corpus], "explore": [model], "topics": [model], "datasets": ["docstrings"]}
    fine = ("a file", "a loop of links") if command in ("explore", "datasets") else ()
    if place in fine or place.endswith("is too long"):
        return  # which is a fine place for anything but a model
    out = PLACES[place](tmp_path)
    docboltz(command, *read.get(command, []), "--out", out).complaint  # noqa: B018


def test_a_model_that_cannot_be_saved_is_kept_elsewhere(
    docboltz: Command, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, save = tmp_path / "new", docboltz_save()

    def fail_there(path: Path, *arguments: object) -> None:
        if Path(path) == out:
            raise InvalidParameter("The disk is full.", hint="Free some space.")
        save(path, *arguments)

    monkeypatch.setattr("docboltz.fitting.save_model", fail_there)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    complaint = docboltz("fit", corpus, "--out", out, "-q", *SMALL).complaint
    (kept,) = tmp_path.glob("docboltz-*/new")
    assert f"The disk is full. Free some space. What was learnt is saved in {kept}" in complaint
    assert MODEL.exists(kept)
    found = docboltz("transform", kept, corpus, "--out", tmp_path / "features.npy", "-q")
    assert found.code == 0, found


def test_where_nothing_can_be_saved_the_checkpoint_stays(
    docboltz: Command, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise InvalidParameter("The disk is full.")

    monkeypatch.setattr("docboltz.fitting.save_model", fail)
    out = tmp_path / "new"
    complaint = docboltz("fit", corpus, "--out", out, "-q", *SMALL).complaint
    assert f"The state of training is in {checkpoint_folder(out)}" in complaint


def docboltz_save() -> Callable[..., None]:
    return save_model
