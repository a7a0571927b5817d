"""Plain `fit` with 2, 4, 8 and 16 threads: how much faster, at which quality?

    python benchmarks/development.py --data FOLDER --out COUNTS
    python benchmarks/threads.py --counts COUNTS/20news-2000 --threads 2 4 8 16

Each fit of `OverReplicatedSoftmax()` is a process of its own on the CPU, with so many threads of
torch. Prints seconds of the fit, how many times faster it is than the first, MAP and P@10.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

CHILD = """
import json, sys, time
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from development import Split, features_scored
from docboltz import OverReplicatedSoftmax
split = Split.load(Path(sys.argv[2]))
model = OverReplicatedSoftmax(random_state=int(sys.argv[3]), device="cpu")
begin = time.perf_counter()
model.fit(split.learn.counts)
seconds = time.perf_counter() - begin
found = features_scored(model, split, "cpu", classify=False)
print(json.dumps({"seconds": seconds, **found}))
"""


def main() -> None:
    """Fit with every number of threads, and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--counts", type=Path, required=True, help="a collection's folder")
    parser.add_argument("--part", default="test", choices=["validation", "test"])
    parser.add_argument("--threads", type=int, nargs="+", default=[2, 4, 8, 16])
    parser.add_argument("--seeds", type=int, default=1)
    given = parser.parse_args()
    print(f"{os.cpu_count()} cores; {given.counts.name}\n\n| threads | seed | s | × | MAP | P@10 |")
    print("|---|---|---|---|---|---|")
    for seed in range(given.seeds):
        first = None
        for threads in given.threads:
            found = fitted(given.counts / given.part, threads, seed)
            first = first or found["seconds"]
            cells = [f"{found['seconds']:.1f}", f"{first / found['seconds']:.2f}"]
            cells += [f"{found[name]:.4f}" for name in ("MAP", "P@10")]
            print(f"| {threads} | {seed} | {' | '.join(cells)} |", flush=True)


def fitted(counts: Path, threads: int, seed: int) -> dict[str, float]:
    """What a fit with so many threads takes and is worth."""
    here = str(Path(__file__).parent)
    arguments = [sys.executable, "-c", CHILD, here, str(counts), str(seed)]
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    done = subprocess.run(arguments, env=environment, stdout=subprocess.PIPE, check=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


if __name__ == "__main__":
    main()
