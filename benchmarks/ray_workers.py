"""Ray on this machine: is a model of two workers as good, what does the caller's process hold, and
what would a larger cluster do?

    python benchmarks/development.py --data FOLDER --out COUNTS
    python benchmarks/ray_workers.py quality --counts COUNTS/citeseer-m10
    python benchmarks/ray_workers.py memory --documents 100000 1000000 --folder SCRATCH
    python benchmarks/ray_workers.py parts --counts COUNTS/20news-10000

"quality" writes the documents of a collection to files and fits them by `TextModel.fit`, alone and
with `ray="local"` on one and on two workers: MAP and P@10 of each seed, and whether one worker has
the bits of the fit alone. "memory" fits synthetic documents of `scale.py` and looks at the peak
memory of the caller's process alone, and of all. "parts" measures what the time of a cluster is
made of: documents a processor reads a second, an update by the number of documents a worker takes,
and the sum of a gradient over two processes; and, to compare with what follows from these, an
update of one worker and of two.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from pyarrow import parquet
from torch import distributed

import docboltz
from development import Part, Split, features_scored
from docboltz import OverReplicatedSoftmax, Pretraining
from docboltz.cluster.counting import count_file
from docboltz.corpus.analysis import TextAnalysis
from docboltz.corpus.counting import WHOLE_DOCUMENTS, Parts
from docboltz.corpus.disk import Part as CountedPart
from docboltz.feature_files import infer
from docboltz.text_model import TextModel
from docboltz.training.together import Together
from scale import make_documents, memory_of

FILES = 4
FILES_OF_SCALE = 8
"""Into which `make_documents` divides its documents."""


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["quality", "memory", "parts"])
    parser.add_argument("--counts", type=Path, help="a collection's folder")
    parser.add_argument("--part", default="test", choices=["validation", "test"])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--units", type=int, default=128)
    parser.add_argument("--updates", type=int)
    parser.add_argument("--documents", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--folder", type=Path, default=Path("scale-data"), help="for scratch files")
    given = parser.parse_args()
    if given.what == "quality":
        quality(Split.load(given.counts / given.part), given)
    elif given.what == "memory":
        for n in given.documents:
            memory(n, given)
    else:
        rates(given.folder)
        parts(Split.load(given.counts / given.part), given.units)


# ---- as good? ----


def quality(split: Split, given: argparse.Namespace) -> None:
    """Fit alone, on one worker and on two; score each."""
    results: dict[str, list[dict[str, float]]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_files(split.learn, folder)
        for seed in range(given.seeds):
            fitted = {}
            for way, how in (
                ("alone", {}),
                ("1 worker", {"ray": "local"}),
                ("2 workers", {"ray": "local", "workers": 2}),
            ):
                begin = time.perf_counter()
                model = TextModel.fit(
                    docboltz.read(str(folder / "*.parquet")),
                    folder=folder / f"{way} {seed}",
                    analysis=TextAnalysis(None, pretokenised=True),
                    min_df=1,
                    max_df=1.0,
                    units=given.units,
                    updates=given.updates,
                    random_state=seed,
                    device="cpu",
                    **how,  # type: ignore[arg-type]
                )
                seconds = time.perf_counter() - begin
                order = [int(word[1:]) for word in model.vocabulary]
                own = Split(*(Part(p.counts[:, order], p.labels) for p in split))
                found = features_scored(model.estimator, own, "cpu", classify=False)
                fitted[way] = model
                results.setdefault(way, []).append(found)
                print(json.dumps({"way": way, "seed": seed, "seconds": seconds, **found}))
            same = fitted["alone"].fingerprint == fitted["1 worker"].fingerprint
            print(f"seed {seed}: one worker has the bits of the fit alone: {same}", flush=True)
    for way, each in results.items():
        for measure in ("MAP", "P@10"):
            values = [found[measure] for found in each]
            print(f"{way}: {measure} {np.mean(values):.4f} ({min(values):.4f}–{max(values):.4f})")


def write_files(documents: Part, folder: Path) -> None:
    """Counts as texts: word k is "wk", as often as it was counted."""
    bounds = np.linspace(0, documents.counts.shape[0], FILES + 1).astype(int)
    for i in range(FILES):
        counts = documents.counts[bounds[i] : bounds[i + 1]]
        texts = []
        for begin, end in zip(counts.indptr[:-1], counts.indptr[1:], strict=True):
            times = counts.data[begin:end].astype(int)
            texts.append(" ".join(f"w{k}" for k in np.repeat(counts.indices[begin:end], times)))
        parquet.write_table(pa.table({"text": texts}), folder / f"{i}.parquet")


# ---- what the caller's process holds ----


def memory(n: int, given: argparse.Namespace) -> None:
    """Fit and transform so many documents; the peak memory of this process, and of all."""
    files, _ = make_documents(n, given.folder / str(n) / "documents")
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    child = context.Process(target=watched_fit, args=(files, given.updates or 500, queue))
    child.start()
    print(json.dumps({"documents": n, **queue.get()}), flush=True)
    child.join()


def watched_fit(files: list[str], updates: int, queue: Any) -> None:
    """Fit and transform in a process that did nothing else before."""
    peak, done = {"driver": 0.0, "all": 0.0}, threading.Event()

    def watch() -> None:
        while not done.wait(0.05):
            rss = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
            peak["driver"] = max(peak["driver"], rss / 1e9)
            peak["all"] = max(peak["all"], memory_of(os.getpid())[0] / 1e9)

    watcher = threading.Thread(target=watch)
    watcher.start()
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        begin = time.perf_counter()
        model = TextModel.fit(
            docboltz.read(files, text="text", id="id"),
            folder=Path(folder, "model"),
            language=None,
            updates=updates,
            device="cpu",
            ray="local",
        )
        found["fit, s"] = time.perf_counter() - begin
        found["fit, GB of the driver"], found["fit, GB of all"] = peak["driver"], peak["all"]
        begin = time.perf_counter()
        model.save_features(model.read(files), Path(folder, "features"), ray="local")
        found["transform, s"] = time.perf_counter() - begin
    done.set()
    watcher.join()
    queue.put({**found, "GB of the driver": peak["driver"], "GB of all": peak["all"]})


# ---- what the time of a cluster is made of ----


def rates(folder: Path) -> None:
    """Documents a processor counts, joins and infers in a second, of the synthetic ones."""
    files, _ = make_documents(100_000, folder / "100000" / "documents")
    documents, analysis = docboltz.read(files[:1], text="text", id="id"), TextAnalysis(None)
    (part,) = documents.parts()
    found = {}

    def timed(name: str, function: Callable[[], Any]) -> Any:
        begin = time.process_time()
        made = function()
        found[f"{name}, documents/s"] = 100_000 / FILES_OF_SCALE / (time.process_time() - begin)
        return made

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "counts")
        how = 0, part, Path.cwd(), folder, analysis, None, WHOLE_DOCUMENTS
        files, _ = timed("count", lambda: count_file(*how))
        parts = Parts(None, folder)
        parts.files += map(CountedPart, files)
        limits = 2, 0.5, 5000
        timed("join", lambda: parts.corpus(analysis, limits, part.unique_ids))
        fit: Any = {"analysis": analysis, "updates": 20, "device": "cpu"}
        model = TextModel.fit(documents, folder=Path(name, "model"), **fit)
        corpus = model.count(documents)
        own = TextModel, Path(name, "model"), model.fingerprint, "cpu", False, None
        timed("infer", lambda: infer(corpus, Path(name, "part.parquet"), "", *own))
    print(json.dumps(found), flush=True)


def parts(split: Split, units: int) -> None:
    """Milliseconds of an update by documents of a worker, and of a sum by bytes.

    Processor time of one thread, and of sums the fastest tenth: other programs move these least.
    """
    K = split.learn.counts.shape[1]
    torch.set_num_threads(1)
    for batch in (1, 2, 8, 32, 128, 512):
        took = {}
        for updates in (1, 1 + max(20, 2000 // batch)):
            settings = Pretraining(updates=updates, batch_size=batch)
            model = OverReplicatedSoftmax(units, pretraining=settings, random_state=0, device="cpu")
            begin = time.process_time()
            model.fit(split.learn.counts)
            took[updates] = time.process_time() - begin
        (_, first), (most, last) = took.items()
        each = 1e3 * (last - first) / (most - 1)
        print(json.dumps({"documents": batch, "words": K, "update_ms": each}), flush=True)
    for floats in (K, units * K + K, 4 * (units * K + K)):
        took = in_processes(2, sum_gradients, floats)
        print(json.dumps({"bytes": 4 * floats, "sum_ms": took}), flush=True)
    for size in 3 * (1, 2):  # by turns: other programs disturb both
        took = in_processes(size, update_together, split.learn.counts, units)
        print(json.dumps({"workers": size, "documents": 128, "update_ms": took}), flush=True)


def in_processes(size: int, function: Callable[..., float], *arguments: Any) -> float:
    """What a function gives in the first of so many processes, which meet by gloo."""
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    with tempfile.TemporaryDirectory() as folder:
        given = [(rank, size, folder, queue, function, arguments) for rank in range(size)]
        workers = [context.Process(target=met, args=each) for each in given]
        for worker in workers:
            worker.start()
        found: float = queue.get()
        for worker in workers:
            worker.join()
    return found


def met(
    rank: int,
    size: int,
    folder: str,
    queue: Any,
    function: Callable[..., float],
    arguments: tuple[Any, ...],
) -> None:
    """Call a function with the others."""
    torch.set_num_threads(1)
    store = distributed.FileStore(f"{folder}/meeting", size)
    distributed.init_process_group("gloo", store=store, rank=rank, world_size=size)
    found = function(*arguments)
    if rank == 0:
        queue.put(found)
    distributed.destroy_process_group()


def sum_gradients(floats: int) -> float:
    """Milliseconds of a sum over two processes."""
    gradient, times = torch.zeros(floats), []
    for _ in range(200):
        begin = time.perf_counter()
        distributed.all_reduce(gradient)
        times.append(1e3 * (time.perf_counter() - begin))
    return sorted(times)[len(times) // 10]


def update_together(counts: Any, units: int) -> float:
    """Milliseconds, as a clock tells them, of an update on 128 documents that workers divide."""
    together, took = Together(), []
    for updates in (1, 51):
        settings = Pretraining(updates=updates, batch_size=128)
        model = OverReplicatedSoftmax(units, pretraining=settings, random_state=0, device="cpu")
        begin = time.perf_counter()
        model.fit_keeping_checkpoint(counts[together.rank :: together.size], together)
        took.append(1e3 * (time.perf_counter() - begin))
    return (took[1] - took[0]) / 50


if __name__ == "__main__":
    main()
