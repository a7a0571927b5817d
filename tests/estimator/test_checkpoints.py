"""Training that is stopped, killed or taken up again."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_validate

import docboltz
from docboltz import Finetuning, OverReplicatedSoftmax, Pretraining, ReplicatedSoftmax, Validation
from docboltz.errors import (
    CheckpointWarning,
    InvalidModelFile,
    InvalidParameter,
    TrainingDiverged,
)
from docboltz.training.graphs import Replay
from docboltz.training.trainer import AT_ONCE, Trainer
from tests.test_laws import corpus
from tests.training.test_validation import of_many_kinds

UPDATES = 130
RUN = UPDATES + 60
"""Updates of both phases: of each of two trials, and of the run on all documents."""


def model(checkpoint: Path | None, **changes: object) -> OverReplicatedSoftmax:
    settings: dict = {
        "pretraining": Pretraining(updates=UPDATES, more_steps_every=50),
        "finetuning": Finetuning(updates=60, rungs=16, bridge=4, batch_size=32),
        "validation": Validation(share=0.2, strengths=(1, 2), tolerance=0.9),
        "random_state": 0,
        "device": "cpu",
        "checkpoint": checkpoint,
    }
    return OverReplicatedSoftmax(4, **(settings | changes))


def stop_after(monkeypatch: pytest.MonkeyPatch, updates: int) -> None:
    """Press Ctrl-C during an update, counted over all phases."""
    real, made = Replay.__call__, []

    def replay(self: Replay, key: tuple[object, ...], function: Callable[[], None]) -> None:
        real(self, key, function)
        made.extend([1] * key[-1])  # updates done at once
        if len(made) - key[-1] < updates <= len(made):
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Replay, "__call__", replay)


def assert_same_bits(a: OverReplicatedSoftmax, b: OverReplicatedSoftmax) -> None:
    assert np.array_equal(a.components_, b.components_)
    assert np.array_equal(a.intercept_visible_, b.intercept_visible_)
    assert a.history_ == b.history_
    assert a.n_updates_ == b.n_updates_
    assert a.looks_ == b.looks_


@cache
def never_stopped(device: str) -> OverReplicatedSoftmax:
    return model(None, device=device).fit(of_many_kinds(200, 30, seed=0).numpy())


@pytest.mark.parametrize("updates", [1, 131, RUN, RUN + 100, 3 * RUN - 5])
def test_a_stopped_fit_goes_on_to_the_same_bits(
    tmp_path, monkeypatch, updates: int, device: str
) -> None:
    X, folder = of_many_kinds(200, 30, seed=0).numpy(), tmp_path / "run"
    expected = never_stopped(device)
    with monkeypatch.context() as patch:
        stop_after(patch, updates)
        stopped = model(folder, device=device)
        with pytest.raises(KeyboardInterrupt, match=r"The same call goes on from .*run\."):
            stopped.fit(X)
    at_once = 1 if device == "cpu" else AT_ONCE
    assert 0 <= stopped.n_updates_ - (updates - 1) % RUN - 1 < at_once
    assert np.isfinite(stopped.transform(X)).all(), "what was learnt until then is there"
    assert_same_bits(model(folder, device=device).fit(X), expected)
    assert not folder.exists(), "a finished run needs no checkpoint"


def test_without_a_seed_the_checkpoint_has_one(tmp_path, monkeypatch) -> None:
    X = corpus(100)
    with monkeypatch.context() as patch:
        stop_after(patch, 50)
        with pytest.raises(KeyboardInterrupt):
            model(tmp_path / "run", random_state=None).fit(X)
    fitted = model(tmp_path / "run", random_state=None).fit(X)
    assert fitted.n_updates_ == UPDATES + 60


def test_a_killed_fit_goes_on_to_the_same_bits(tmp_path, device: str) -> None:
    """kill -9 at whatever moment: what is on disk is whole, and goes on to the same bits."""
    X, folder = corpus(200), tmp_path / "run"
    long = {"pretraining": Pretraining(updates=800, more_steps_every=200), "device": device}
    long["validation"] = None  # trials are stopped and taken up above
    program = (
        "import docboltz.training.run as run\n"
        "from docboltz import Pretraining\n"
        "from tests.estimator.test_checkpoints import corpus, model\n"
        "run.SAVE_SECONDS = 0.0\n"
        f"model({str(folder)!r}, **{long}).fit(corpus(200))\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program])
    until = time.monotonic() + 60
    while not (folder / "checkpoint.json").exists() and time.monotonic() < until:
        time.sleep(0.01)
    time.sleep(0.3)
    process.kill()
    process.wait()
    assert (folder / "checkpoint.json").exists(), "the run ended, or never began"
    saved = json.loads((folder / "checkpoint.json").read_text())["content"]["facts"]
    assert 0 < saved["update"] <= 800
    assert_same_bits(model(folder, **long).fit(X), model(None, **long).fit(X))


@pytest.fixture
def left(tmp_path, monkeypatch) -> Path:
    """A checkpoint left behind by a stopped fit."""
    with monkeypatch.context() as patch:
        stop_after(patch, 50)
        with pytest.raises(KeyboardInterrupt):
            model(tmp_path / "run").fit(corpus(100))
    return tmp_path / "run"


def test_a_torn_checkpoint_is_never_loaded(left: Path) -> None:
    (file,) = left.glob("build-*/*.safetensors")
    whole = file.read_bytes()
    for torn in (whole[: len(whole) // 2], whole[:-1] + bytes([whole[-1] ^ 1]), b""):
        file.write_bytes(torn)
        with pytest.raises(InvalidModelFile, match="remove the folder"):
            model(left).fit(corpus(100))
    file.write_bytes(whole)
    model(left).fit(corpus(100))


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"n_components": 5}, "n_components is"),
        ({"latent_words": 7}, "latent_words is"),
        ({"finetuning": None, "validation": None}, "finetuning, validation are"),
        ({"random_state": 1}, "random_state is"),
    ],
)
def test_a_checkpoint_of_other_settings_is_refused(left: Path, changes: dict, named: str) -> None:
    with pytest.raises(InvalidParameter, match=f"of another run: {named} not the same"):
        model(left).set_params(**changes).fit(corpus(100))
    assert left.exists()


def test_a_checkpoint_of_other_documents_or_another_model_is_refused(left: Path) -> None:
    with pytest.raises(InvalidParameter, match="documents is not the same"):
        model(left).fit(corpus(101))
    settings = model(left).get_params(deep=False)
    del settings["latent_words"]
    other = ReplicatedSoftmax(**settings)
    with pytest.raises(InvalidParameter, match="of another run: model is not the same"):
        other.fit(corpus(100))


def test_how_a_run_is_shown_or_used_may_change(left: Path) -> None:
    model(left, verbose=True, inference="mean_field").fit(corpus(100))


def test_the_same_phases_by_another_name_are_the_same_run(left: Path) -> None:
    """What counts is how training goes, not whether a recipe or a parameter said so."""
    assert_same_bits(model(left, recipe="density").fit(corpus(100)), model(None).fit(corpus(100)))


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_clones_may_not_share_a_checkpoint(tmp_path, n_jobs: int | None) -> None:
    """One after the other, a clone would take up the state that another left; at the same time,
    they would overwrite each other's."""
    kept = model(tmp_path / "run")
    message = r"a clone of it would write to the same folder.*checkpoint=None"
    with pytest.raises(InvalidParameter, match=message):
        GridSearchCV(kept, {"n_components": [2, 3]}, cv=2, n_jobs=n_jobs).fit(corpus(60))
    with pytest.raises(InvalidParameter, match=message):
        cross_validate(kept, corpus(60), cv=2, n_jobs=n_jobs)
    assert not (tmp_path / "run").exists()
    clone(kept.set_params(checkpoint=None))


def test_a_checkpoint_and_a_model_are_not_taken_for_each_other(left: Path, tmp_path) -> None:
    with pytest.raises(InvalidModelFile, match="no docboltz model in"):
        docboltz.load(left)
    model(None).fit(corpus(100)).save(tmp_path / "model")
    with pytest.raises(InvalidParameter, match=r"a training checkpoint to .*holds other things"):
        model(tmp_path / "model").fit(corpus(100))
    docboltz.load(tmp_path / "model")


def test_a_folder_with_other_things_is_refused_before_training(tmp_path) -> None:
    (tmp_path / "letter.txt").write_text("dear reader")
    with pytest.raises(InvalidParameter, match="holds other things"):
        model(tmp_path).fit(corpus(100))
    with pytest.raises(InvalidParameter, match="'checkpoint' parameter of OverReplicatedSoftmax"):
        model(None).set_params(checkpoint=3).fit(corpus(100))


def test_only_what_is_ours_is_removed(left: Path) -> None:
    (left / "notes.txt").write_text("mine")
    model(left).fit(corpus(100))
    assert [file.name for file in left.iterdir()] == ["notes.txt"]


def test_a_state_that_cannot_be_saved_is_no_reason_to_stop(tmp_path, monkeypatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("docboltz.estimator.checkpoints.save_model", full)
    with pytest.warns(CheckpointWarning, match="could not be saved: .*No space left"):
        fitted = model(tmp_path / "run").fit(corpus(100))
    assert fitted.n_updates_ == UPDATES + 60


def test_fine_tuning_that_does_harm_leaves_the_pretrained_model(capsys) -> None:
    """Held-out documents compare the phases too; what they chose is learnt from all documents."""
    wild = Finetuning(updates=100, rungs=16, bridge=4, batch_size=32, learning_rate=1.0)
    validation = Validation(strengths=(1,), tolerance=0)
    X = of_many_kinds(200, 30, seed=0).numpy()
    fitted = model(None, finetuning=wild, validation=validation, verbose=True).fit(X)
    pretrained, tuned = fitted.looks_
    assert (pretrained.finetuning, tuned.finetuning) == (0, 100)
    assert pretrained.halves_found > tuned.halves_found
    before = model(None, finetuning=None, validation=None).fit(X)
    assert np.array_equal(fitted.components_, before.components_)
    assert fitted.finetuning_ is None
    assert "no fine-tuning, which does not help here" in capsys.readouterr().err


def test_divergence_keeps_the_last_good_state_and_removes_the_checkpoint(
    tmp_path, monkeypatch
) -> None:
    real, made = Trainer._step, []

    def step(self: Trainer, *args: object) -> None:
        real(self, *args)
        made.append(1)
        if len(made) == 120:
            self.parameters.W.fill_(float("nan"))

    monkeypatch.setattr(Trainer, "_step", step)
    broken = model(tmp_path / "run")
    with pytest.raises(TrainingDiverged, match="after update 100"):
        broken.fit(corpus(100))
    assert broken.n_updates_ == 100
    assert np.isfinite(broken.components_).all()
    assert not (tmp_path / "run").exists()
