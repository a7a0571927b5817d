"""Do several workers train as good a model as one? One collection, several seeds.

    python benchmarks/development.py --data FOLDER --out COUNTS
    python benchmarks/workers.py --counts COUNTS/citeseer-m10

Each worker is a process with one thread and every n-th document; they meet by gloo. Prints MAP and
P@10 of each number of workers and seed, their means, and the time: of a fit, and of the sum of a
gradient over the workers.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from torch import distributed

from development import Split, features_scored
from docboltz import OverReplicatedSoftmax
from docboltz.training.together import Together


def work(
    rank: int, size: int, folder: str, counts: Path, recipe: str, units: int, seed: int
) -> None:
    """Train with the others; worker 0 measures and writes."""
    torch.set_num_threads(1)
    store = distributed.FileStore(f"{folder}/meeting", size)
    distributed.init_process_group("gloo", store=store, rank=rank, world_size=size)
    split, together = Split.load(counts), Together()
    model = OverReplicatedSoftmax(units, recipe=recipe, random_state=seed, device="cpu")  # type: ignore[arg-type]
    begin = time.perf_counter()
    model.fit_keeping_checkpoint(split.learn.counts[rank::size], together)
    seconds = time.perf_counter() - begin
    gradient, times = torch.zeros(model.components_.size + split.learn.counts.shape[1]), []
    for _ in range(50):
        begin = time.perf_counter()
        together.sum_(gradient)
        times.append(time.perf_counter() - begin)
    if rank == 0:
        found = features_scored(model, split, "cpu", classify=False)
        sum_ms = 1e3 * sorted(times)[len(times) // 2]
        found |= {"seconds": seconds, "updates": model.n_updates_, "sum_ms": sum_ms}
        Path(folder, "found").write_text(json.dumps(found))
    distributed.destroy_process_group()


def score(size: int, *settings: object) -> dict[str, float]:
    """Start the workers and wait."""
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        workers = [
            context.Process(target=work, args=(rank, size, folder, *settings))
            for rank in range(size)
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        found: dict[str, float] = json.loads(Path(folder, "found").read_text())
        return found


def main() -> None:
    """Train, measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--counts", type=Path, required=True, help="a collection's folder")
    parser.add_argument("--part", default="test", choices=["validation", "test"])
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--recipe", default="quick")
    parser.add_argument("--units", type=int, default=128)
    given = parser.parse_args()
    results: dict[int, list[dict[str, float]]] = {size: [] for size in given.workers}
    for seed in range(given.seeds):
        for size in given.workers:
            found = score(size, given.counts / given.part, given.recipe, given.units, seed)
            results[size].append(found)
            print(json.dumps({"workers": size, "seed": seed, **found}), flush=True)
    for size, each in results.items():
        cells = [
            f"{name} {np.mean(values):.4f} ({min(values):.4f} to {max(values):.4f})"
            for name in ("MAP", "P@10")
            for values in [[found[name] for found in each]]
        ]
        print(f"{size} worker(s): {', '.join(cells)}")


if __name__ == "__main__":
    main()
