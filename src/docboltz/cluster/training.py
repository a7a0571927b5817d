"""Training by Ray Train: each worker on its own documents, one model in the end.

Workers meet as `docboltz.training.together` says. When one dies, Ray Train starts all of them anew,
and they go on from the checkpoint that worker 0 has left on shared storage.
"""

from __future__ import annotations

import secrets
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from docboltz.cluster.connection import own_errors, processors_of_nodes, processors_per_worker
from docboltz.cluster.counted import CountedCorpus
from docboltz.errors import DocboltzError, OtherRun
from docboltz.estimator.base import TopicModel
from docboltz.fitting import other_training

SAVE_SECONDS = 60.0
"""Time between saves of the state: what is done again at most when a worker dies."""
MOST_FAILURES = 10
"""Times that workers are replaced before training is given up: more is no accident."""


def train(
    estimator: TopicModel, corpus: CountedCorpus, workers: int, folder: Path, *, out: Path
) -> None:
    """Fit the estimator, whose checkpoint all workers can write, and save it to `out`.

    Ray is joined; its own notes go to `folder`.
    """
    import ray
    from ray.train import FailureConfig, RunConfig, ScalingConfig
    from ray.train.torch import TorchConfig, TorchTrainer

    gpus = int(ray.cluster_resources().get("GPU", 0))
    device = str(estimator.device)
    on_gpus = device.startswith("cuda") or (device == "auto" and gpus >= workers)
    threads = processors_per_worker(workers, processors_of_nodes())
    trainer = TorchTrainer(
        work,
        train_loop_config={
            "estimator": estimator,
            "corpus": corpus,
            "threads": threads,
            "on_gpus": on_gpus,
            "out": out,
            "save_seconds": SAVE_SECONDS,
        },
        torch_config=TorchConfig(backend="nccl" if on_gpus else "gloo"),
        scaling_config=ScalingConfig(
            num_workers=workers, use_gpu=on_gpus, resources_per_worker={"CPU": threads}
        ),
        run_config=RunConfig(
            name=f"training-{secrets.token_hex(8)}",
            storage_path=str(folder.absolute()),
            failure_config=FailureConfig(max_failures=MOST_FAILURES),
        ),
    )
    with own_errors(), _ctrl_c_as_usual():
        error = trainer.fit().return_value
    if isinstance(error, OtherRun):
        raise other_training(estimator, error) from error
    if error is not None:
        raise error


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
        counts = config["corpus"].shard(together.rank, together.size)
        estimator.fit_keeping_checkpoint(counts, together)
        together.by_first(lambda: estimator.save(config["out"]))
    except DocboltzError as error:
        return error
    return None
