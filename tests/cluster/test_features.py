"""Features by parts: what one process writes, once for every document, whoever dies."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

import docboltz
from docboltz.corpus.corpus import Corpus
from docboltz.errors import InvalidParameter, NoDocuments
from docboltz.feature_files import opened, save_features_on_cluster, stamp_of_file
from docboltz.text_model import TextModel
from tests.cluster.conftest import ray_processes, without_ray, write_files


@pytest.fixture(scope="module")
def model(files: str, tmp_path_factory: pytest.TempPathFactory) -> TextModel:
    folder = tmp_path_factory.mktemp("fitted") / "model"
    return TextModel.fit(
        docboltz.read(files), folder=folder, units=4, updates=30, min_df=1, device="cpu"
    )


@pytest.fixture(name="without_ray")
def _without_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    without_ray(monkeypatch)


def saved(model: TextModel, files: str, out: Path, **how: Any) -> Corpus:
    settings: dict[str, Any] = {"wide": False, "inference": None, "verbose": False}
    settings |= {"replace": False, **how}
    documents = model.read(files)
    return save_features_on_cluster(model, documents, out, ray="local", device="cpu", **settings)


def test_ray_writes_what_one_process_writes(
    model: TextModel, files: str, cluster: None, tmp_path: Path
) -> None:
    model.save_features(model.read(files), tmp_path / "alone.parquet")
    found = model.save_features(model.read(files), tmp_path / "parts", ray="local")
    assert (len(found), found.n_empty) == (160, 8)
    alone, parts = (parquet.read_table(tmp_path / name) for name in ("alone.parquet", "parts"))
    assert alone.equals(parts)
    names = sorted(file.name for file in (tmp_path / "parts").iterdir())
    assert names == [f"part-{i:05d}.parquet" for i in range(2)]


@pytest.mark.usefixtures("without_ray")
@pytest.mark.parametrize("how", [{"wide": True}, {"inference": "mean_field"}], ids=str)
def test_columns_and_inference_are_as_asked_for(
    model: TextModel, files: str, tmp_path: Path, how: dict[str, Any]
) -> None:
    saved(model, files, tmp_path / "parts", **how)
    model.save_features(model.read(files), tmp_path / "alone.parquet", **how)
    alone, parts = (parquet.read_table(tmp_path / name) for name in ("alone.parquet", "parts"))
    assert alone.equals(parts)


@pytest.mark.usefixtures("without_ray")
def test_only_what_is_missing_or_other_is_inferred_again(model: TextModel, tmp_path: Path) -> None:
    files, out = write_files(tmp_path / "in"), tmp_path / "out"
    saved(model, files, out)
    before = {file: file.stat().st_mtime_ns for file in out.iterdir()}
    again = saved(model, files, out)
    assert (len(again), again.n_empty) == (160, 8)
    assert before == {file: file.stat().st_mtime_ns for file in out.iterdir()}

    (out / "part-00001.parquet").unlink()  # it was never finished
    draft = out / ".part-00001-0123456789abcdef.parquet"
    draft.write_bytes(b"of a worker that died")
    assert len(saved(model, files, out)) == 160
    changed = {file.name for file in before if file.stat().st_mtime_ns != before[file]}
    assert changed == {"part-00001.parquet"}
    assert not draft.exists()

    last = tmp_path / "in" / "002.parquet"
    parquet.write_table(parquet.read_table(last).slice(0, 10), last)  # it has changed
    before = {file: file.stat().st_mtime_ns for file in out.iterdir()}
    assert len(saved(model, files, out)) == 90
    changed = {file.name for file in before if file.stat().st_mtime_ns != before[file]}
    assert changed == {"part-00001.parquet"}

    stamps = {stamp_of_file(file) for file in before}
    saved(model, files, out, inference="mean_field")
    assert stamps.isdisjoint(stamp_of_file(file) for file in before)


@pytest.mark.usefixtures("without_ray")
def test_what_would_be_read_as_features_too_is_refused(
    model: TextModel, files: str, tmp_path: Path
) -> None:
    (tmp_path / "part-00003.parquet").write_bytes(b"of a larger collection")
    with pytest.raises(InvalidParameter, match=r"holds 'part-00003.parquet'"):
        saved(model, files, tmp_path)


@pytest.mark.usefixtures("without_ray")
def test_a_file_of_somebody_else_is_replaced_only_if_asked(
    model: TextModel, files: str, tmp_path: Path
) -> None:
    other = tmp_path / "part-00000.parquet"
    other.write_bytes(b"of another program")
    with pytest.raises(InvalidParameter, match=r"not one of docboltz's.*replace=True"):
        saved(model, files, tmp_path)
    assert other.read_bytes() == b"of another program"
    saved(model, files, tmp_path, replace=True)
    assert stamp_of_file(other)


@pytest.mark.usefixtures("without_ray")
def test_files_without_a_document_are_refused(model: TextModel, tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("")
    with pytest.raises(NoDocuments):
        saved(model, str(tmp_path / "empty.jsonl"), tmp_path / "out")


def test_a_model_that_is_not_saved_is_refused(tmp_path: Path, files: str) -> None:
    model = TextModel.fit(["a ship at sea", "a ship", "bread"], units=2, updates=2, min_df=1)
    with pytest.raises(InvalidParameter, match="not saved"):
        model.save_features(docboltz.read(files), tmp_path / "out", ray="local")


def test_a_model_that_was_replaced_is_refused(model: TextModel) -> None:
    with pytest.raises(InvalidParameter, match="replaced"):
        opened(TextModel, Path(str(model.path)), "other", "cpu")


@pytest.mark.slow
def test_a_worker_that_is_killed_leaves_nothing_out_and_nothing_twice(
    model: TextModel, cluster: None, tmp_path: Path
) -> None:
    files, out = write_files(tmp_path / "in", n_files=40, n_documents=3000), tmp_path / "out"
    killed = []

    def kill() -> None:
        while len(list(out.glob("part-*"))) < 3:
            time.sleep(0.02)
        killed.extend(ray_processes("infer")[:1])
        os.kill(killed[0], signal.SIGKILL)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    found = model.save_features(model.read(files), out, ray="local")
    killer.join(timeout=10)
    assert killed
    assert len(found) == 39 * 3000
    model.save_features(model.read(files), tmp_path / "alone.parquet")
    alone, parts = parquet.read_table(tmp_path / "alone.parquet"), parquet.read_table(out)
    assert alone.equals(parts)
    assert len(list(out.iterdir())) == 39
