"""Manifests and records that say anything, with checksums that fit: refused, or they work."""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import docboltz
from docboltz.errors import DocboltzError
from docboltz.estimator.models import load
from docboltz.experiments.record import read_records
from docboltz.experiments.report import write_report
from docboltz.storage import CHECKPOINT
from tests.experiments.records import good
from tests.fuzz.mutations import MUTATIONS, adopt, mutated, paths, seal
from tests.fuzz.runs import one_input
from tests.text_models import estimator, fitted

BUNDLES = ("model.json", "search/store.json", "topics/topics.json", "map/map.json")


def ask(folder: Path) -> None:
    """Everything that can be asked of a model."""
    model = docboltz.open(folder)
    repr(model)
    id = model.store.documents([0])[0].id
    for verb in (
        lambda: model.search("the goal of a match", 3),
        lambda: model.search("butter", 3, by="words"),
        lambda: model.similar(id, 3),
        lambda: model.words("oven bread", 3),
        lambda: model.units(2),
        lambda: model.topics(),
        lambda: model.topics(level=0),
        lambda: model.topics_by("label"),
        lambda: model.assign(["a goal", "butter"]),
        lambda: model.map(),
        lambda: model.place(["a goal"]),
        lambda: model.transform(["a goal"]),
        lambda: model.transform(["a goal"], "mean_field"),
        lambda: repr(model.estimator.get_params()),
        lambda: model.rename_topic(model.topics()[0].number, "new"),
        lambda: model.store.verify(),
    ):
        attempt(verb)


def attempt(verb: Callable[[], Any]) -> None:
    """Call it: an answer, or an error that is ours."""
    try:
        repr(verb())
    except DocboltzError as error:
        str(error).encode("utf-8", "backslashreplace")


@pytest.fixture(scope="module")
def whole(_fitted: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with documents, topics and a map."""
    folder = Path(shutil.copytree(_fitted, tmp_path_factory.mktemp("whole") / "model"))
    docboltz.open(folder).map()
    return folder


def spoil(folder: Path, name: str, mutation: str, every: int, use: Callable[[Path], Any]) -> None:
    """Make every place of a manifest wrong, or every so-manieth, each in a copy, and use that."""
    described = json.loads((folder / name).read_text("utf-8"))
    places = list(paths(described))[::every]
    faults = []
    for place in places:
        copy = Path(shutil.copytree(folder, folder.with_name("spoilt")))
        try:
            seal(copy / name, mutated(described, place, mutation))
            with one_input(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                attempt(lambda: use(copy))  # noqa: B023
        except Exception as error:  # everything else than a refusal
            faults.append(f"{place} {mutation}: {error!r}"[:300])
        finally:
            shutil.rmtree(copy, ignore_errors=True)  # training removes its checkpoint itself
    assert places
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("mutation", MUTATIONS)
@pytest.mark.parametrize("name", BUNDLES)
def test_a_manifest_that_says_anything_is_refused_or_works(
    whole: Path, name: str, mutation: str, fuzz_every: int
) -> None:
    def use(folder: Path) -> None:
        if name == "model.json":
            adopt(folder)
        ask(folder)
        load(folder)

    spoil(whole, name, mutation, fuzz_every, use)


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_a_checkpoint_that_says_anything_is_refused_or_works(
    tmp_path: Path, mutation: str, fuzz_every: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "checkpoint"
    with monkeypatch.context() as patch:
        patch.setattr(CHECKPOINT.__class__, "remove", lambda *_: None)
        fitted(model=estimator(checkpoint=folder))

    def use(copy: Path) -> None:
        fitted(model=estimator(checkpoint=copy))

    spoil(folder, CHECKPOINT.manifest, mutation, fuzz_every, use)


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_a_record_that_says_anything_is_refused_or_reported(
    tmp_path: Path, mutation: str, fuzz_every: int
) -> None:
    records, folder = good()[:4], tmp_path / "results"
    for record in records:
        record.write(folder)

    def use(copy: Path) -> None:
        read_records(copy)
        if fuzz_every == 1:
            write_report(copy)

    spoil(folder, f"trials/{records[0].trial.name}.json", mutation, fuzz_every, use)
