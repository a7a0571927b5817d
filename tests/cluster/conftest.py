"""One Ray on this machine for all tests that need it, and a small collection in three files."""

from __future__ import annotations

import logging
import os
import pickle
import random
import warnings
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from docboltz.cluster import connection, counting, training
from docboltz.cluster.training import SharedCounts

THEMES = (
    ("ship", "ships", "sea", "port", "sail", "sailing", "wave", "harbour"),
    ("bread", "butter", "oven", "ovens", "flour", "yeast", "bake", "baking"),
    ("stock", "stocks", "bond", "bonds", "market", "price", "trade", "bank"),
)


def write_files(folder: Path, n_files: int = 3, n_documents: int = 80) -> str:
    """Files of texts with ids, labels and dates, one of them without a document; their glob."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = random.Random(0)
    schema = pa.schema([(name, pa.string()) for name in ("id", "text", "label", "date")])
    for i in range(n_files):
        rows = []
        for j in range(n_documents if i != 1 else 0):
            theme = rng.randrange(3)
            text = " ".join(rng.choices(THEMES[theme], k=8)) if j % 20 else "the"
            about = {"label": f"theme {theme}", "date": f"2013-08-{1 + j % 28:02d}"}
            rows.append({"id": f"{i}/{j}", "text": text, **about})
        table = pa.Table.from_pylist(rows, schema=schema)
        parquet.write_table(table, folder / f"{i:03d}.parquet")
    return str(folder / "*.parquet")


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_files(tmp_path_factory.mktemp("collection"))


@pytest.fixture(scope="session")
def cluster() -> Iterator[None]:
    """Ray with two processors, whatever the machine has; verbs find it joined."""
    ray = pytest.importorskip("ray", reason="needs docboltz[ray]")
    pytest.importorskip("ray.train.torch", reason="needs docboltz[ray]")
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    for attempt in range(2):
        try:
            ray.init(
                address="local",
                num_cpus=2,
                include_dashboard=False,
                object_store_memory=100 << 20,
                log_to_driver=False,
                logging_level=logging.ERROR,
            )
            break
        except Exception as error:  # Ray waits for thirty seconds, which a busy machine may take
            ray.shutdown()
            if attempt:
                pytest.skip(f"Ray does not start here: {error}")
    yield
    ray.shutdown()


def without_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks of a cluster are called in this process, with what another one would get."""

    def run_tasks(function: Any, arguments: Any, *_: Any, **__: Any) -> list[Any]:
        return [function(*pickle.loads(pickle.dumps(given))) for given in arguments]

    def train(estimator: Any, counts: Any, workers: int) -> Any:
        shared = pickle.loads(pickle.dumps(SharedCounts.of(counts)))
        with warnings.catch_warnings(action="ignore"):  # those of workers are not shown
            estimator.fit_keeping_checkpoint(shared.shard(0, 1))
        return estimator

    monkeypatch.setattr(counting, "run_tasks", run_tasks)
    monkeypatch.setattr(connection, "run_tasks", run_tasks)
    monkeypatch.setattr(training, "train", train)
    monkeypatch.setattr(connection, "joined", lambda *_: nullcontext())


def ray_processes(name: str) -> list[int]:
    """Processes of the cluster that was started here whose title has that name in it."""
    found, waiting = [], [os.getpid()]
    while waiting:
        folder = Path("/proc", str(waiting.pop()))
        try:
            title = (folder / "cmdline").read_bytes().decode(errors="replace")
            for task in (folder / "task").iterdir():
                waiting += map(int, (task / "children").read_text().split())
        except OSError:  # it has ended
            continue
        if title.startswith("ray::") and name in title:
            found.append(int(folder.name))
    return found
