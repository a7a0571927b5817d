"""What each worker does, without Ray: a group of one process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import docboltz
from docboltz import OverReplicatedSoftmax, Pretraining
from docboltz.cluster import training
from docboltz.cluster.counted import CountedCorpus, CountPart
from docboltz.cluster.parts import jobs_of
from docboltz.corpus.analysis import TextAnalysis
from docboltz.corpus.counting import count
from docboltz.errors import OtherRun
from docboltz.estimator.models import load
from docboltz.storage import CHECKPOINT
from docboltz.training import run
from tests.training.workers import process_group


def model(folder: Path, updates: int = 30) -> OverReplicatedSoftmax:
    settings = Pretraining(updates=updates)
    return OverReplicatedSoftmax(
        4, pretraining=settings, random_state=0, device="cpu", checkpoint=folder / "state"
    )


@pytest.fixture
def corpus(files: str, tmp_path: Path) -> CountedCorpus:
    documents = docboltz.read(files)
    vocabulary = count(documents, TextAnalysis()).vocabulary
    jobs = jobs_of(documents.parts(), tmp_path / "counted", "")
    sizes = [CountPart(TextAnalysis(), vocabulary)(job).documents for job in jobs]
    return CountedCorpus([job.file for job in jobs], sizes, vocabulary)


@pytest.mark.filterwarnings("ignore::docboltz.errors.EmptyDocumentsWarning")
def test_a_worker_trains_on_its_shard_and_the_first_saves(
    corpus: CountedCorpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "SAVE_SECONDS", run.SAVE_SECONDS)  # which the work sets
    monkeypatch.setattr("torch.set_num_threads", lambda n: None)
    config: dict[str, Any] = {"corpus": corpus, "threads": 1, "on_gpus": False}
    config |= {"out": tmp_path / "trained", "save_seconds": 60.0}
    with process_group(0, 1, tmp_path):
        assert training.work({**config, "estimator": model(tmp_path)}) is None
        other = training.work({**config, "estimator": model(tmp_path, updates=31)})
    alone = model(tmp_path / "alone")
    alone.fit(corpus.counts[:])
    trained = load(tmp_path / "trained", device="cpu")
    assert np.array_equal(alone.components_, trained.components_)
    assert CHECKPOINT.exists(tmp_path / "state"), "it stays until the model is safe"
    assert isinstance(other, OtherRun), "an error that would come again is not Ray's to see"
