"""Run trials: what is done stays done, what failed is tried again.

With a GPU, several trials run at once in processes of their own: a model as small as the paper's
leaves most of a GPU idle. Under NVIDIA's Multi-Process Service they share it without waiting.
"""

from __future__ import annotations

import dataclasses
import os
import signal
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from functools import cache
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple

import torch
from joblib import cpu_count
from joblib.externals.loky import ProcessPoolExecutor
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # scikit-learn's

from docboltz.corpus.split import Split
from docboltz.device import choose_device
from docboltz.experiments.measuring import attempt, begin, hardware, parameters_of
from docboltz.experiments.record import Record, read_records
from docboltz.experiments.trial import Trial

Load = Callable[[str], Split]
"""Dataset → its documents."""
Log = Callable[[str], None]

WITHOUT_GPU = 0.25
"""Share of the helpers that begins with the trials that need no GPU."""
HELPER_DIED = "a helper process died, perhaps for want of memory; the same command tries again"


def no_log(message: str) -> None:
    """Keep silent."""


def run(
    trials: Sequence[Trial],
    load: Load,
    *,
    folder: Path | None = None,
    device: str = "auto",
    helpers: bool = False,
    verbose: bool = False,
    expected_seconds: Callable[[Trial], float] | None = None,
    log: Log = no_log,
) -> Iterator[Record]:
    """Give the record of every trial, those of `folder` that are done already first.

    A trial is done if its record is of the same settings, measures and documents. Records are
    written as they come; `load` is called once for each dataset. `helpers` are other processes on
    this machine's other cores that share a GPU.
    """
    load = cache(load)
    place = str(choose_device(device, "docboltz"))
    trials = list(dict.fromkeys(trials))
    kept = {} if folder is None else read_records(folder)
    done = [r for t in trials if (r := kept.get(t.name)) and _is_done(r, t, load)]
    left = [trial for trial in trials if trial not in {record.trial for record in done}]
    minutes = ""
    if expected_seconds is not None:
        minutes = f", about {sum(map(expected_seconds, left)) / 60:.0f} minutes"
    already = f"; {len(done)} done already" if done else ""
    log(f"{len(left)} trials on {hardware(place)}{minutes}{already}")
    yield from done
    if beside := helpers and place != "cpu":
        made = run_at_once(left, load, place)
    else:
        made = run_in_turn(left, load, place, verbose=verbose, log=log)
    for number, record in enumerate(made, 1):
        if folder is not None:
            record.write(folder)
        begun = f"[{number}/{len(left)}] {record.trial.title}:" if beside else " "
        log(f"{begun} {record.summary()}")
        yield record


def _is_done(record: Record, trial: Trial, load: Load) -> bool:
    if record.trial != trial or record.status != "done":
        return False
    # A recipe may have changed since, and so may documents.
    same = record.settings == parameters_of(trial.info.build(trial.settings, {}))
    return same and record.documents == load(trial.dataset).fingerprint


def run_in_turn(
    trials: Sequence[Trial], load: Load, device: str, *, verbose: bool = False, log: Log = no_log
) -> Iterator[Record]:
    """Run one trial after the other, here."""
    for number, trial in enumerate(trials, 1):
        log(f"[{number}/{len(trials)}] {trial.title} …")
        yield attempt(trial, load(trial.dataset), device, verbose=verbose)


# ---- helpers beside a GPU ----


class Task(NamedTuple):
    """Something for a helper to do: `do(*arguments)` is the trial's record."""

    trial: Trial
    do: Callable[..., Record]
    arguments: tuple[Any, ...]


def run_at_once(trials: Sequence[Trial], load: Load, device: str) -> Iterator[Record]:
    """Run trials in as many processes as there are other cores; all of them share the GPU."""
    n = max(2, cpu_count() - 1)
    on_gpu, others = deque[Task](), deque[Task]()
    for trial in trials:
        place, tasks = (device, on_gpu) if trial.info.on_device else ("cpu", others)
        tasks.append(Task(trial, attempt, (trial, load(trial.dataset), place)))
    others = deque(sorted(others, key=lambda task: (-task.trial.info.cost, -task.trial.units)))
    helpers = Helpers(n)
    try:
        while on_gpu or others or helpers.busy:
            helpers.take(others, max(1, round(WITHOUT_GPU * n)) if on_gpu else n)
            helpers.take(on_gpu, n)
            helpers.wait()
            yield from helpers.ready(load)
    except KeyboardInterrupt:  # it may have come at any time
        yield from helpers.ready(load, again=False)
        raise
    finally:
        helpers.end()


class Helpers:
    """Processes of one thread each. If one dies, what all of them did is done again, one by one."""

    def __init__(self, n: int) -> None:
        self._n = n
        self._busy: dict[Future[Record], Task] = {}
        self.pool = self._start()

    def _start(self) -> Any:
        # One of its own, not joblib's shared one, which anybody may replace.
        return ProcessPoolExecutor(self._n, initializer=_begin_helping, initargs=(os.getpid(),))

    @property
    def busy(self) -> bool:
        """Whether anything is being done, or is done and not fetched."""
        return bool(self._busy)

    def take(self, tasks: deque[Task], most: int) -> None:
        """Begin tasks until so many helpers are busy."""
        while tasks and len(self._busy) < most:
            task = tasks.popleft()
            self._busy[self._submit(task)] = task

    def wait(self) -> None:
        """Wait for one of them."""
        wait(self._busy, return_when=FIRST_COMPLETED)

    def ready(self, load: Load, *, again: bool = True) -> Iterator[Record]:
        """The records that are made; what a dead helper lost is made `again`."""
        lost = []
        for future in [future for future in self._busy if future.done()]:
            task = self._busy.pop(future)
            try:
                yield future.result()
            except BrokenProcessPool:
                lost.append(task)
        for task in lost if again else []:
            try:
                yield self._submit(task).result()
            except BrokenProcessPool:
                known = begin(task.trial, load(task.trial.dataset), "cpu")
                yield dataclasses.replace(known, status="failed", reason=HELPER_DIED)

    def _submit(self, task: Task) -> Future[Record]:
        try:
            future: Future[Record] = self.pool.submit(task.do, *task.arguments)
        except BrokenProcessPool:
            self.end()
            self.pool = self._start()
            future = self.pool.submit(task.do, *task.arguments)
        return future

    def end(self) -> None:
        """End the processes, whatever they are at."""
        self.pool.shutdown(kill_workers=True)


def _begin_helping(parent: int) -> None:
    Thread(target=_end_with, args=(parent,), daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal's Ctrl-C reaches all of its processes
    torch.set_num_threads(1)
    threadpool_limits(1)


def _end_with(parent: int) -> None:
    """End this process when its parent, which may be killed, is there no more."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)
