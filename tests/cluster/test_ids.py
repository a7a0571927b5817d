"""Ids that several documents have: one law for a stream, for counts in files and for features."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

import docboltz
from docboltz.cluster.counted import CountedCorpus, CountPart
from docboltz.cluster.features import FeaturesOfPart
from docboltz.cluster.ids import find_new_ids, rename
from docboltz.cluster.parts import Job, jobs_of
from docboltz.corpus.analysis import TextAnalysis
from docboltz.corpus.corpus import Vocabulary
from docboltz.corpus.report import ReadReport
from docboltz.text_model import TextModel
from tests.cluster.conftest import without_ray

Found = tuple[list[str], ReadReport]

COLLECTIONS = {
    "none is there twice": [["a", "b"], ["c"]],
    "twice in one file": [["a", "a"], ["b"]],
    "in two files": [["a"], ["b"], ["a"]],
    "first in one, then twice in another": [["a"], ["a", "a"]],
    "one that looks like a new one, before": [["a#2", "a"], ["a"]],
    "one that looks like a new one, after": [["a"], ["a"], ["a#2", "a#2"]],
    "new ones of new ones": [["a#2", "a#2"], ["a#2#2", "a"], ["a", "a"]],
    "a file of none": [["a"], [], ["a"]],
}


def write(folder: Path, collection: list[list[str]]) -> list[Path]:
    files = [folder / f"{i:02d}.jsonl" for i in range(len(collection))]
    for file, ids in zip(files, collection, strict=True):
        file.write_text("".join(json.dumps({"id": id, "text": "ship"}) + "\n" for id in ids))
    return files


def by_a_stream(files: list[Path], _: TextModel) -> Found:
    documents = docboltz.read(files, text="text", id="id")
    return [document.id for document in documents], documents.report


def by_parts(files: list[Path], model: TextModel, work: Callable[[Job], Any]) -> Any:
    documents = docboltz.read(files, text="text", id="id")
    jobs = jobs_of(documents.parts(), files[0].parent / work.__class__.__name__, "x")
    report = ReadReport()
    for job in jobs:
        work(job)
        report.add(job.part.documents.report)
    new_ids, met = find_new_ids([job.file for job in jobs])
    report.add(met)
    return [job.file for job in jobs], new_ids, report


def by_counts(files: list[Path], model: TextModel) -> Found:
    work = CountPart(TextAnalysis(), Vocabulary(["ship"]))
    made, new_ids, report = by_parts(files, model, work)
    sizes = [len(parquet.read_table(file)) for file in made]
    return list(CountedCorpus(made, sizes, work._vocabulary, new_ids).ids), report


def by_features(files: list[Path], model: TextModel) -> Found:
    path = Path(str(model.path))
    work = FeaturesOfPart(TextModel, path, model.fingerprint, "cpu", False, None)
    made, new_ids, report = by_parts(files, model, work)
    for file, new in zip(made, new_ids, strict=True):
        rename(file, new)
    return [id for file in made for id in parquet.read_table(file)["id"].to_pylist()], report


WAYS = {"counts": by_counts, "features": by_features}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> TextModel:
    folder = tmp_path_factory.mktemp("fitted") / "model"
    texts = ["a ship at sea", "a ship in port", "bread and butter"]
    return TextModel.fit(texts, folder=folder, units=2, updates=2, min_df=1, device="cpu")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", COLLECTIONS)
def test_an_id_that_is_taken_becomes_what_it_does_in_a_stream(
    way: str, name: str, model: TextModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_ray(monkeypatch)
    files = write(tmp_path, COLLECTIONS[name])
    ids, report = WAYS[way](files, model)
    expected, met = by_a_stream(files, model)
    assert ids == expected
    assert len(set(ids)) == len(ids)
    assert (report.duplicate_ids, report.first) == (met.duplicate_ids, met.first)


some_ids = st.lists(st.sampled_from(["a", "a#2", "b", "a#2#2", "a#3", "b#2", "a#", "#2", ""]))


@given(collection=st.lists(some_ids, min_size=1, max_size=4).filter(any))
def test_any_ids_become_what_they_do_in_a_stream(
    collection: list[list[str]], model: TextModel, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        without_ray(patch)
        files = write(tmp_path_factory.mktemp("ids"), collection)
        assert by_counts(files, model)[0] == by_a_stream(files, model)[0]


def test_a_file_that_is_not_made_again_follows_its_neighbours(
    model: TextModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The id that the first file had is free, then taken again; the second stays what it was."""
    without_ray(monkeypatch)
    for collection in ([["a"], ["a", "b"]], [["c"], ["a", "b"]], [["a"], ["a", "b"]]):
        files = write(tmp_path, collection)
        made = tmp_path / "FeaturesOfPart" / "part-00001.parquet"
        before = made.stat().st_mtime_ns if made.exists() else None
        assert by_features(files, model)[0] == by_a_stream(files, model)[0]
        now = made.stat().st_mtime_ns
        assert now != before
        assert by_features(files, model)[0] == by_a_stream(files, model)[0]
        assert made.stat().st_mtime_ns == now, "it had the right ids"


def test_fit_and_transform_on_a_cluster_name_documents_as_one_process_does(
    cluster: None, tmp_path: Path
) -> None:
    """Not by parts of the work, but by the verbs themselves."""
    files = write(tmp_path, [*COLLECTIONS["new ones of new ones"], ["b"] * 30])
    how: dict[str, Any] = {"units": 2, "updates": 2, "max_df": 1.0, "device": "cpu"}
    how["min_df"] = 1
    ids = []
    for name, ray in (("alone", None), ("cluster", "local")):
        fitted = TextModel.fit(
            docboltz.read(files, text="text", id="id"), folder=tmp_path / name, ray=ray, **how
        )
        out = tmp_path / (f"{name}-features" if ray else f"{name}.parquet")
        fitted.save_features(fitted.read(files), out, ray=ray)
        found = [document.id for document in fitted.store.documents(range(len(fitted.store)))]
        assert parquet.read_table(out)["id"].to_pylist() == found
        ids.append(found)
    assert ids[0] == ids[1]
    assert len(set(ids[0])) == 36
