"""What a change costs: transform, training and search of two versions of docboltz, in turns.

    git worktree add ../before COMMIT
    python benchmarks/before_after.py ../before/src src

Both versions live in a process of their own, on one thread, and do each job alternately; what is
compared is processor time, which other programs on the machine disturb least. Prints the medians,
their ratio, and the ratio of the same version's odd and even rounds: that is the noise.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

JOBS = ("transform", "training", "search by features", "search by both", "transform 1 document")

CHILD = """
import json, sys, time, warnings
warnings.simplefilter("ignore")
import numpy as np, torch
from scipy import sparse
from docboltz import OverReplicatedSoftmax, Pretraining, TextModel
torch.set_num_threads(1)
rng = np.random.default_rng(0)
K, n = 2000, 11_000
f = 1 / np.arange(10, K + 10)
lengths = rng.lognormal(4, 1, n).astype(int).clip(1, 3000)
drawn = rng.choice(K, lengths.sum(), p=f / f.sum())
starts = np.concatenate([[0], lengths.cumsum()])
X = sparse.csr_array((np.ones(len(drawn), np.int32), drawn, starts), (n, K))
X.sum_duplicates()

def model(units, updates):
    settings = Pretraining(updates=updates)
    return OverReplicatedSoftmax(units, pretraining=settings, random_state=0, device="cpu")

fitted, some, one = model(128, 5).fit(X), X[:3000], X[:1]
texts = [" ".join(f"w{k}" for k in rng.choice(800, 30, p=f[:800] / f[:800].sum()))
         for _ in range(20_000)]
searched = TextModel.fit(texts, units=128, updates=20, min_df=1)
query = "w1 w5 w100 w77"
jobs = {
    "transform": (1, lambda: fitted.transform(X)),
    "training": (1, lambda: model(64, 60).fit(some)),
    "search by features": (20, lambda: searched.search(query, 10, by="features")),
    "search by both": (20, lambda: searched.search(query, 10)),
    "transform 1 document": (200, lambda: fitted.transform(one)),
}
print("ready", flush=True)
for line in sys.stdin:
    times, job = jobs[line.strip()]
    begin = time.process_time()
    for _ in range(times):
        job()
    print((time.process_time() - begin) / times, flush=True)
"""


class Version:
    """A process that has one version of docboltz."""

    def __init__(self, source: Path) -> None:
        environment = {**os.environ, "PYTHONPATH": str(source.resolve()), "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-c", CHILD]
        self._process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def line(self) -> str:
        """What it says next."""
        assert self._process.stdout is not None
        found = self._process.stdout.readline()
        if not found:
            raise SystemExit("a version ended early")
        return found

    def seconds(self, job: str) -> float:
        """What a job takes now."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{job}\n")
        self._process.stdin.flush()
        return float(json.loads(self.line()))


def main() -> None:
    """Measure in turns, and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("before", type=Path, help="the older version's src")
    parser.add_argument("after", type=Path, help="the newer version's src")
    parser.add_argument("--rounds", type=int, default=20)
    given = parser.parse_args()
    versions = [Version(given.before), Version(given.after)]
    for version in versions:
        while version.line() != "ready\n":
            pass
    print("| | before | after | ratio | odd to even rounds |\n|---|---|---|---|---|")
    for job in JOBS:
        times: list[list[float]] = [[], []]
        for _ in range(given.rounds + 1):
            for version, taken in zip(versions, times, strict=True):
                taken.append(version.seconds(job))
        kept = [taken[1:] for taken in times]  # the first warms up
        before, after = map(statistics.median, kept)
        noise = [statistics.median(t[::2]) / statistics.median(t[1::2]) for t in kept]
        cells = f"{1e3 * before:.3f} ms | {1e3 * after:.3f} ms | {after / before:.3f}"
        print(f"| {job} | {cells} | {noise[0]:.3f}, {noise[1]:.3f} |", flush=True)


if __name__ == "__main__":
    main()
