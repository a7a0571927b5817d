"""Fitting on a cluster ends as fitting alone does, whoever dies on the way."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import docboltz
from docboltz import fitting
from docboltz.cluster import training
from docboltz.errors import InvalidCorpus, InvalidParameter
from docboltz.fitting import checkpoint_folder
from docboltz.indexing import COUNTS, beside
from docboltz.storage import CHECKPOINT
from docboltz.text_model import TextModel
from tests.cluster.conftest import ray_processes, without_ray

SETTINGS: dict[str, Any] = {"units": 4, "updates": 60, "min_df": 1, "device": "cpu"}


def fitted(files: str, folder: Path, **settings: Any) -> TextModel:
    return TextModel.fit(docboltz.read(files), folder=folder, **{**SETTINGS, **settings})


def assert_same_collection(one: TextModel, other: TextModel) -> None:
    ids = [f"{i}/{j}" for i in (0, 2) for j in range(80)]
    for id in (ids[0], ids[79], ids[80], ids[-1]):
        assert one.document(id) == other.document(id)
    assert len(one.store) == len(other.store) == 160
    assert list(one.search("ships and bread", 5)) == list(other.search("ships and bread", 5))
    assert one.tree.n_topics == other.tree.n_topics


def test_one_worker_has_the_bits_of_a_fit_alone(files: str, cluster: None, tmp_path: Path) -> None:
    """The model is one and the same: weights, vocabulary, forms, units, how it was read."""
    alone = fitted(files, tmp_path / "alone")
    model = fitted(files, tmp_path / "cluster", ray="local")
    assert np.array_equal(alone.estimator.components_, model.estimator.components_)
    assert alone.fingerprint == model.fingerprint
    assert_same_collection(alone, model)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["alone", "cluster"]


@pytest.mark.slow
def test_a_worker_that_is_killed_changes_nothing(
    files: str, cluster: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "SAVE_SECONDS", 0.3)
    settings = {"updates": 4000, "ray": "local", "workers": 2}
    whole = fitted(files, tmp_path / "whole", **settings)
    checkpoint = checkpoint_folder(tmp_path / "killed")
    killed = []

    def kill() -> None:
        while not CHECKPOINT.exists(checkpoint):
            time.sleep(0.05)
        killed.extend(ray_processes("TrainWorker")[:1])
        os.kill(killed[0], signal.SIGKILL)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    model = fitted(files, tmp_path / "killed", **settings)
    killer.join(timeout=10)
    assert killed
    assert whole.fingerprint == model.fingerprint
    assert_same_collection(whole, model)


@pytest.mark.slow
def test_the_same_call_goes_on_after_ctrl_c(
    files: str, cluster: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counts and training are done, and are not done again."""
    out, written = tmp_path / "model", []

    def look() -> None:
        parts = sorted(beside(out, COUNTS).glob("*.arrow"))
        written.append([part.stat().st_mtime_ns for part in parts])

    def interrupted(*_: object) -> None:
        look()
        raise KeyboardInterrupt

    def finished(*arguments: Any) -> Any:
        look()
        return describe(*arguments)

    describe = fitting.describe
    monkeypatch.setattr(fitting, "describe", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fitted(files, out, ray="local")
    assert CHECKPOINT.exists(checkpoint_folder(out))
    with pytest.raises(InvalidParameter, match="interrupted training with other settings"):
        fitted(files, out, ray="local", updates=61)
    monkeypatch.setattr(fitting, "describe", finished)
    model = fitted(files, out, ray="local")
    assert len(written[0]) == 2
    assert written[0] == written[1]
    assert model.fingerprint == fitted(files, tmp_path / "alone").fingerprint
    assert sorted(path.name for path in tmp_path.iterdir()) == ["alone", "model"]


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("when", ["describe_units", "write_documents", "look_for_topics"])
def test_what_is_said_after_ctrl_c_is_true(
    files: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str, replace: bool
) -> None:
    """The same call goes on, or the model is there, can be indexed, and nothing lies beside it."""
    without_ray(monkeypatch)
    out = tmp_path / "model"
    before = fitted(files, out, updates=5).fingerprint if replace else None
    with monkeypatch.context() as patch:
        patch.setattr(fitting, when, interrupt)
        with pytest.raises(KeyboardInterrupt) as caught:
            fitted(files, out, ray="local", replace=replace)
    if when == "describe_units":
        model = fitted(files, out, ray="local", replace=replace)
    else:
        assert str(caught.value).startswith(f"the model in {out} is complete; to search")
        assert [path.name for path in tmp_path.iterdir()] == ["model"]
        model = TextModel.open(out)
        assert model.fingerprint != before
        model.index(docboltz.read(files))
    assert_same_collection(fitted(files, tmp_path / "alone"), model)


def test_a_count_of_one_machine_is_not_counted_twice_on_a_cluster(
    files: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_ray(monkeypatch)
    out, memory = tmp_path / "model", "docboltz.corpus.counting.MOST_HELD"
    with monkeypatch.context() as patch:
        patch.setattr(memory, 1)
        patch.setattr(fitting, "describe", interrupt)
        with pytest.raises(KeyboardInterrupt):
            fitted(files, out)
    assert list(beside(out, COUNTS).glob("part-*"))
    assert len(fitted(files, out, ray="local").store) == 160
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def interrupt(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def test_an_error_after_the_model_was_saved_says_so(
    files: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_ray(monkeypatch)

    def fail(*_: object, **__: object) -> None:
        raise InvalidCorpus("The disk is full.", hint="Free some space.")

    monkeypatch.setattr(fitting, "look_for_topics", fail)
    with pytest.raises(InvalidCorpus) as caught:
        fitted(files, tmp_path / "model", ray="local")
    assert caught.value.hint.startswith("Free some space. The model in ")
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_what_can_be_refused_is_refused_before_ray_starts(files: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match=r"'workers' parameter .* 1 without a cluster"):
        fitted(files, tmp_path / "model", workers=2)
    with pytest.raises(InvalidParameter, match=r"'folder' parameter .* all nodes"):
        TextModel.fit(docboltz.read(files), ray="local")
    with pytest.raises(InvalidParameter, match="'workers' parameter"):
        fitted(files, tmp_path / "model", ray="local", workers=0)
    with pytest.raises(InvalidCorpus, match="Only files can be read in parts"):
        TextModel.fit(["a text", "another"], ray="local", folder=tmp_path / "model")
    assert not list(tmp_path.iterdir())
