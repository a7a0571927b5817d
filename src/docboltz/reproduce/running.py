"""Run trials, one file each: what is done stays done, what failed is tried again.

With a GPU, models that need none are trained in other processes meanwhile, and so are the features
of those that do judged: choosing the classifiers' penalty takes longer than training does.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import torch
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # scikit-learn's

from docboltz.device import choose_device
from docboltz.errors import InvalidParameter
from docboltz.evaluation.suite import LabelledSplit
from docboltz.files import replacing
from docboltz.reproduce.measuring import (
    DONE,
    FAILED,
    Record,
    attempt,
    begin,
    hardware,
    judge,
    train,
)
from docboltz.reproduce.models import KINDS, Effort
from docboltz.reproduce.trials import Trial

Load = Callable[[str], LabelledSplit]
Say = Callable[[str], None]

JUDGES = 0.25
"""Share of the cores that judge features; but for one, the others train models without a GPU."""
HELPER_DIED = "a helper process died, perhaps for want of memory; the same command tries again"


def read_records(folder: Path) -> dict[str, Record]:
    """What the files of a folder say, by the trials' names."""
    found = {}
    for file in sorted((folder / "trials").glob("[!.]*.json")):
        try:
            found[file.stem] = json.loads(file.read_text("utf-8"))
        except ValueError as error:
            raise InvalidParameter(
                f"{file} is not the record of a trial: {error}. Remove it to have it run anew."
            ) from error
        if found[file.stem].get("model") not in KINDS:
            raise InvalidParameter(
                f"{file} is of a model that this version of docboltz does not know."
            )
    return found


def require_effort(records: dict[str, Record], effort: Effort, folder: Path) -> None:
    """Refuse to mix trials of different effort in one folder."""
    others = {record["effort"] for record in records.values()} - {effort.name}
    if others:
        raise InvalidParameter(
            f"{folder} holds trials of a {others.pop()} run, and this is a {effort.name} one. "
            "Choose another folder with --out."
        )


def run_trials(
    trials: Sequence[Trial], folder: Path, load: Load, effort: Effort, *, device: str, say: Say
) -> None:
    """Run those trials that are not done yet; `load` gives the documents of a dataset."""
    place = str(choose_device(device, "docboltz reproduce"))
    records = read_records(folder)
    require_effort(records, effort, folder)
    left = [t for t in trials if records.get(t.name, {}).get("status") != DONE]
    seconds = sum(t.expected_seconds(effort, cuda=place != "cpu") for t in left)
    kept = f"; {len(trials) - len(left)} done already" if len(left) < len(trials) else ""
    say(f"{len(left)} trials on {hardware(place)}, about {seconds / 60:.0f} minutes{kept}")
    run = Run(folder, load, effort, say, len(left))
    if place == "cpu":
        for trial in left:
            run.keep(attempt(trial, run.documents(trial), effort, "cpu"))
    else:
        run_beside_gpu(left, run, place)


class Run:
    """What all trials of a run share."""

    def __init__(self, folder: Path, load: Load, effort: Effort, say: Say, n: int) -> None:
        self.effort = effort
        self._folder, self._load, self._say, self._n = folder, load, say, n
        self._kept = 0
        self._splits: dict[str, LabelledSplit] = {}

    def documents(self, trial: Trial) -> LabelledSplit:
        """The documents of a trial."""
        if trial.dataset not in self._splits:
            self._splits[trial.dataset] = self._load(trial.dataset)
        return self._splits[trial.dataset]

    def keep(self, record: Record) -> None:
        """Write down what became of a trial."""
        with replacing(self._folder / "trials" / f"{record['name']}.json") as draft:
            draft.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        self._kept += 1
        seconds = sum(record["seconds"].values())
        told = f"{record['name']}: {_in_short(record)} ({seconds:.0f} s)"
        self._say(f"[{self._kept}/{self._n}] {told}")


def run_beside_gpu(trials: Sequence[Trial], run: Run, device: str) -> None:
    """Train one model after the other on the GPU, and do all the rest on the other cores."""
    n_judges = max(1, round(JUDGES * n_cores()))
    pending: dict[Future[Record], Trial] = {}

    def keep_ready() -> None:
        for future in [future for future in pending if future.done()]:
            trial = pending.pop(future)
            try:
                record = future.result()
            except BrokenProcessPool:
                record = begin(trial, run.documents(trial), run.effort, device)
                record |= {"status": FAILED, "reason": HELPER_DIED}
            run.keep(record)

    with _helpers(n_judges) as judges, _helpers(max(1, n_cores() - n_judges - 1)) as trainers:
        try:
            others = [trial for trial in trials if not trial.kind.on_device]
            for trial in sorted(others, key=lambda t: -t.expected_seconds(run.effort, cuda=False)):
                task = trial, run.documents(trial), run.effort, "cpu"
                pending[_submit(trainers, attempt, *task)] = trial
            for trial in trials:
                if trial.kind.on_device:
                    split = run.documents(trial)
                    trained = train(trial, split, run.effort, device)
                    pending[_submit(judges, judge, *trained, split, run.effort, "cpu")] = trial
                keep_ready()
            while pending:
                wait(pending, return_when=FIRST_COMPLETED)
                keep_ready()
        finally:
            keep_ready()  # Ctrl-C may have come at any time


def n_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _submit(pool: Executor, do: Callable[..., Record], *task: Any) -> Future[Record]:
    """Give a task to the helpers; without them, one having died, do it here and now."""
    try:
        return pool.submit(do, *task)
    except BrokenProcessPool:
        done: Future[Record] = Future()
        done.set_result(do(*task))
        return done


@contextmanager
def _helpers(n: int) -> Iterator[Executor]:
    """So many processes of one thread each. An error ends them, and drops what they have to do."""
    pool = ProcessPoolExecutor(n, multiprocessing.get_context("spawn"), _begin_helping)
    try:
        yield pool
    except BaseException:
        for child in multiprocessing.active_children():
            child.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _begin_helping() -> None:
    Thread(target=_end_with_parent, daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal's Ctrl-C reaches all of its processes
    torch.set_num_threads(1)
    threadpool_limits(1)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)  # it was killed, and nobody waits for this process any more


def _in_short(record: Record) -> str:
    if record["status"] != DONE:
        return f"{record['status']}: {record['reason']}"
    said = []
    if "classification" in record:
        said.append(f"MAP {record['mean_average_precision']:.3f}")
        said.append(f"P@10 {record['precision_at_10']:.3f}")
        said.append(f"classification {record['classification']:.3f}")
    if "perplexity" in record:
        said.append(f"perplexity {record['perplexity']['value']:.0f}")
    return ", ".join(said)
