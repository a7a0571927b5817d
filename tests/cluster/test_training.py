"""What each worker does, without Ray: a group of one process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array, vstack

import docboltz
from docboltz import OverReplicatedSoftmax, Pretraining
from docboltz.cluster import training
from docboltz.cluster.training import SharedCounts
from docboltz.corpus.analysis import TextAnalysis
from docboltz.corpus.counting import ABOUT, Parts
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
def counts(files: str, tmp_path: Path) -> csr_array:
    parts = Parts(None, tmp_path / "counts")
    parts.count(docboltz.read(files), TextAnalysis(), kept=ABOUT)
    parts.write()
    return parts.corpus(TextAnalysis(), (1, 1.0, None), lambda ids: ids).counts


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_shards_are_all_documents_in_order(counts: csr_array, size: int) -> None:
    shared = SharedCounts.of(counts)
    shards = [shared.shard(rank, size) for rank in range(size)]
    assert (vstack(shards) != counts).nnz == 0
    assert max(s.shape[0] for s in shards) - min(s.shape[0] for s in shards) <= 1


@pytest.mark.filterwarnings("ignore::docboltz.errors.EmptyDocumentsWarning")
def test_a_worker_trains_on_its_shard_and_the_first_saves(
    counts: csr_array, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "SAVE_SECONDS", run.SAVE_SECONDS)  # which the work sets
    monkeypatch.setattr("torch.set_num_threads", lambda n: None)
    config: dict[str, Any] = {"threads": 1, "on_gpus": False, "counts": SharedCounts.of(counts)}
    config |= {"out": tmp_path / "trained", "save_seconds": 60.0}
    with process_group(0, 1, tmp_path):
        assert training.work({**config, "estimator": model(tmp_path)}) is None
        other = training.work({**config, "estimator": model(tmp_path, updates=31)})
    alone = model(tmp_path / "alone")
    alone.fit(counts)
    trained = load(tmp_path / "trained", device="cpu")
    assert np.array_equal(alone.components_, trained.components_)
    assert CHECKPOINT.exists(tmp_path / "state"), "it stays until the model is safe"
    assert isinstance(other, OtherRun), "an error that would come again is not Ray's to see"
