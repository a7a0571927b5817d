"""Training by Ray Train: each worker on its own documents, one model in the end.

Workers meet as `docboltz.training.together` says. When one dies, Ray Train starts all of them anew,
and they go on from the checkpoint that worker 0 has left on shared storage.
"""

from __future__ import annotations

import secrets
import shutil
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from docboltz.cluster.connection import MOST_FAILURES, own_errors, processors_of_nodes
from docboltz.corpus.disk import file_of, mapped
from docboltz.errors import DocboltzError, InvalidParameter
from docboltz.estimator.base import TopicModel
from docboltz.estimator.models import load

SAVE_SECONDS = 60.0
"""Time between saves of the state: what is done again at most when a worker dies."""


class SharedCounts(NamedTuple):
    """Counts in files that all workers can read."""

    data: Path
    indices: Path
    starts: NDArray[Any]
    n_columns: int

    @classmethod
    def of(cls, counts: csr_array) -> SharedCounts:
        """The files of counts on disk."""
        data, indices = file_of(counts.data), file_of(counts.indices)
        assert data is not None and indices is not None  # noqa: PT018
        return cls(data, indices, counts.indptr, counts.shape[1])

    def shard(self, rank: int, size: int) -> csr_array:
        """Counts of one worker's documents: as many for each, in order."""
        n = len(self.starts) - 1
        starts = self.starts[n * rank // size : n * (rank + 1) // size + 1]
        own = slice(starts[0], starts[-1])
        data, indices = mapped(self.data, np.int32)[own], mapped(self.indices, starts.dtype)[own]
        return csr_array((data, indices, starts - starts[0]), (len(starts) - 1, self.n_columns))


def train(estimator: TopicModel, counts: csr_array, workers: int) -> TopicModel:
    """Fit the estimator, whose checkpoint all workers can write, to counts on shared storage.

    Ray is joined.
    """
    import ray
    from ray.train import FailureConfig, RunConfig, ScalingConfig
    from ray.train.torch import TorchConfig, TorchTrainer

    shared = SharedCounts.of(counts)
    notes, out = shared.data.with_name("ray"), shared.data.with_name("trained")
    gpus = int(ray.cluster_resources().get("GPU", 0))
    device = str(estimator.device)
    on_gpus = device.startswith("cuda") or (device == "auto" and gpus >= workers)
    threads = processors_per_worker(workers, processors_of_nodes())
    config = {"estimator": estimator, "counts": shared, "threads": threads, "on_gpus": on_gpus}
    trainer = TorchTrainer(
        work,
        train_loop_config={**config, "out": out, "save_seconds": SAVE_SECONDS},
        torch_config=TorchConfig(backend="nccl" if on_gpus else "gloo"),
        scaling_config=ScalingConfig(
            num_workers=workers, use_gpu=on_gpus, resources_per_worker={"CPU": threads}
        ),
        run_config=RunConfig(
            name=f"training-{secrets.token_hex(8)}",
            storage_path=str(notes),
            failure_config=FailureConfig(max_failures=MOST_FAILURES),
        ),
    )
    with own_errors(), _ctrl_c_as_usual():
        error = trainer.fit().return_value
    if error is not None:
        raise error
    trained = load(out, device=device)
    for folder in (notes, out):
        shutil.rmtree(folder, ignore_errors=True)
    return trained


def processors_per_worker(workers: int, nodes: list[int]) -> int:
    """The most processors that each of so many workers can have, a worker on one node.

    >>> processors_per_worker(3, [8, 4]), processors_per_worker(1, [2])
    (4, 2)
    """
    for each in range(max(nodes, default=0), 0, -1):
        if sum(node // each for node in nodes) >= workers:
            return each
    expected = f"at most {sum(nodes)}, the number of processors of the cluster"
    raise InvalidParameter(owner="TextModel.fit", name="workers", expected=expected, got=workers)


@contextmanager
def _ctrl_c_as_usual() -> Iterator[None]:
    """Ray Train ends the process on Ctrl-C, and goes on doing so when it is through."""
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    except SystemExit:
        raise KeyboardInterrupt from None
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, before)


def work(config: dict[str, Any]) -> DocboltzError | None:
    """What each worker does. An error that would come again is returned, not raised: for one that
    is raised Ray Train starts all workers anew."""
    import torch

    from docboltz.training import run
    from docboltz.training.together import Together

    run.SAVE_SECONDS = config["save_seconds"]
    torch.set_num_threads(config["threads"])  # Ray allows one, whatever a worker may use
    together = Together()
    estimator: TopicModel = config["estimator"]
    device = "cpu"
    if config["on_gpus"]:
        from ray.train.torch import get_device

        device = str(get_device())  # the worker's own
    estimator.set_params(device=device)
    try:
        counts = config["counts"].shard(together.rank, together.size)
        estimator.fit_keeping_checkpoint(counts, together)
        together.by_first(lambda: estimator.save(config["out"]))
    except DocboltzError as error:
        return error
    return None
