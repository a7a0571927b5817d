"""Workers that train together: as threads of one process, and as processes of their own."""

from __future__ import annotations

import pickle
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import Popen
from typing import Any, TypeVar

import torch
from torch import Tensor, distributed

from docboltz.training.together import Alone

T = TypeVar("T")


class Meeting:
    """A table at which all workers lay something down, and take it up."""

    def __init__(self, size: int) -> None:
        self.barrier, self.table = threading.Barrier(size, timeout=60), [b""] * size


class InThread(Alone):
    """A worker that is a thread. Like processes, workers share no memory: all is pickled."""

    def __init__(self, rank: int, meeting: Meeting) -> None:
        self.rank, self.size, self._meeting = rank, len(meeting.table), meeting

    def gather(self, value: Any) -> list[Any]:
        meeting = self._meeting
        meeting.table[self.rank] = pickle.dumps(value)
        meeting.barrier.wait()
        found = [pickle.loads(each) for each in meeting.table]
        meeting.barrier.wait()
        return found

    def sum_(self, tensor: Tensor) -> None:
        tensor.copy_(torch.stack(self.gather(tensor)).sum(0))

    def from_first(self, value: Any) -> Any:
        return self.gather(value)[0]


def in_threads(work: Callable[[Alone], T], size: int = 2) -> list[T]:
    """What each worker gets; the error of one that fails on its own, or of all."""
    meeting, found, errors = Meeting(size), {}, {}

    def one(rank: int) -> None:
        try:
            found[rank] = work(InThread(rank, meeting))
        except BaseException as error:
            errors[rank] = error
            if not isinstance(error, threading.BrokenBarrierError):
                meeting.barrier.abort()

    threads = [threading.Thread(target=one, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for error in sorted(errors.values(), key=lambda e: isinstance(e, threading.BrokenBarrierError)):
        raise error
    return [found[rank] for rank in range(size)]


@contextmanager
def process_group(rank: int, size: int, folder: Path) -> Iterator[None]:
    """A gloo group of processes that meet at a file."""
    store = distributed.FileStore(str(folder / "meeting"), size)
    distributed.init_process_group("gloo", store=store, rank=rank, world_size=size)
    try:
        yield
    finally:
        distributed.destroy_process_group()


def in_processes(module: str, size: int = 2) -> None:
    """Run a module's main in so many processes, which find rank, size and folder as arguments."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-W", "error", "-m", module]
        workers = [Popen([*command, str(rank), str(size), folder]) for rank in range(size)]
        try:
            codes = [worker.wait(timeout=300) for worker in workers]
        finally:
            for worker in workers:
                worker.kill()
                worker.wait()
    assert codes == [0] * size
