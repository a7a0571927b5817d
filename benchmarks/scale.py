"""How time and memory grow with the number of documents: read, counted, trained, indexed, searched.

    python benchmarks/scale.py --documents 100000 1000000 10000000 --folder SCRATCH
    python benchmarks/scale.py --documents 100000 1000000 --picture docs/lab/scale.svg

Documents are synthetic: 5 to 15 words each, 100 themes over Zipf-like words, in eight Parquet files
with ids. Every size is fitted by `TextModel.fit` (recipe "quick"), transformed into a Parquet file
and searched, each in a process of its own whose memory, with that of its workers, is looked at
twenty times a second: all that is resident, mapped files included, and that part alone which the
system could not drop; of a fit also step by step. 10,000,000 documents take about 20 GB of disk.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

FILES, THEMES, WORDS, THEME_WORDS = 8, 100, 40_000, 2000
BLOCK = 250_000
QUERIES = 20

# What runs in each process. Progress bars have titles: the time between them is that of a step.
CHILD = """
import contextlib, json, pathlib, sys, time
from docboltz import progress
shown, took = progress.progress_bar, {}
@contextlib.contextmanager
def timed(label, unit, *, shown):
    begin = time.perf_counter()
    pathlib.Path(sys.argv[2]).write_text(label)
    try:
        yield lambda done, total, note="": None
    finally:
        took[label] = took.get(label, 0) + time.perf_counter() - begin
        pathlib.Path(sys.argv[2]).write_text("")
progress.progress_bar = timed
import docboltz
from docboltz.text_model import TextModel
begin = time.perf_counter()
answer = {}
exec(sys.argv[1])
took["all"] = time.perf_counter() - begin
print(json.dumps({"took": took, **answer}))
"""
FIT = """
model = TextModel.fit(docboltz.read({files!r}, text="text", id="id"), folder={model!r},
                      language=None, verbose=True, max_words=5000)
answer = {{"documents": len(model.store)}}
"""
TRANSFORM = """
model = docboltz.open({model!r})
model.save_features(model.read({files!r}, text="text", id="id"), {out!r})
"""
SEARCH = """
model = docboltz.open({model!r})
queries = {queries!r}
model.search(queries[0])
each = {{}}
for by in ("features", "words", "both"):
    times = []
    for query in queries:
        start = time.perf_counter()
        model.search(query, 10, by=by)
        times.append(time.perf_counter() - start)
    each[by] = 1000 * sorted(times)[len(times) // 2]
answer = {{"milliseconds": each, "store": repr(model.store)}}
"""


class Memory(NamedTuple):
    """Most memory of a process and its children at any time, in GB."""

    resident: float
    """With files that are mapped."""
    own: float
    """Without them."""


def main() -> None:
    """Measure every size, print a table and draw it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--folder", type=Path, default=Path("scale-data"), help="for scratch files")
    parser.add_argument("--picture", type=Path, help="draw time and memory into this file")
    parser.add_argument("--keep", action="store_true", help="do not remove models and documents")
    given = parser.parse_args()
    rows = []
    for n in given.documents:
        folder = given.folder / str(n)
        files, queries = make_documents(n, folder / "documents")
        rows.append(measure(n, folder, files, queries))
        print(json.dumps(rows[-1]), flush=True)
        if not given.keep:
            shutil.rmtree(folder)
    print_table(rows)
    if given.picture:
        draw(rows, given.picture)


def make_documents(n: int, folder: Path) -> tuple[list[str], list[str]]:
    """Write them, unless they are there; give the files, and some queries."""
    import pyarrow as pa
    from pyarrow import parquet

    folder.mkdir(parents=True, exist_ok=True)
    schema = pa.schema([("id", pa.string()), ("text", pa.string())])
    files = [folder / f"part-{i}.parquet" for i in range(FILES)]
    rng = np.random.default_rng(0)
    for i, file in enumerate(files):
        rng = np.random.default_rng([n, i])
        if file.exists():
            continue
        draft = file.with_suffix(".draft")
        with parquet.ParquetWriter(draft, schema) as writer:
            for begin, texts in blocks(n // FILES, rng):
                numbers = np.arange(begin, begin + len(texts)) + i * (n // FILES)
                ids = pa.array([f"doc-{number}" for number in numbers.tolist()])
                writer.write_table(pa.Table.from_arrays([ids, texts], schema=schema))
        draft.rename(file)
    queries = [text.as_py() for _, texts in blocks(QUERIES, rng) for text in texts]
    return [str(file) for file in files], queries


def blocks(n: int, rng: np.random.Generator) -> Iterator[tuple[int, Any]]:
    """Texts, some at a time, with the number of the first."""
    import pyarrow as pa
    import pyarrow.compute as pc

    syllables = [c + v for c in "bdfgklmnprstvz" for v in "aeiou"]
    made = (a + b + c for a in syllables for b in syllables for c in syllables)
    words = pa.array([word for word, _ in zip(made, range(WORDS), strict=False)])
    order = np.random.default_rng(1)
    common = order.permutation(WORDS)
    themes = np.stack([order.permutation(WORDS)[:THEME_WORDS] for _ in range(THEMES)])
    for begin in range(0, n, BLOCK):
        lengths = rng.integers(5, 16, size=min(BLOCK, n - begin))
        total = int(lengths.sum())
        theme = np.repeat(rng.integers(THEMES, size=len(lengths)), lengths)
        # Zipf's law by inversion: rank r with a density like 1/(r + 1).
        rank = (WORDS ** rng.random(total) - 1).astype(np.int64)
        own = (THEME_WORDS ** rng.random(total) - 1).astype(np.int64)
        drawn = np.where(rng.random(total) < 0.6, themes[theme, own], common[rank])
        ends = pa.array(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32))
        yield (
            begin,
            pc.binary_join(pa.ListArray.from_arrays(ends, words.take(pa.array(drawn))), " "),
        )


def measure(n: int, folder: Path, files: list[str], queries: list[str]) -> dict[str, Any]:
    """Fit, transform and search, and what each took."""
    model, out = folder / "model", folder / "features.parquet"
    shutil.rmtree(model, ignore_errors=True)
    out.unlink(missing_ok=True)
    names = {"files": files, "model": str(model), "out": str(out), "queries": queries}
    found: dict[str, Any] = {"documents": n}
    for step, program in (("fit", FIT), ("transform", TRANSFORM), ("search", SEARCH)):
        answer, memory = run(program.format(**names), folder / "step")
        whole = memory.pop("all")
        found[step] = {**answer, "GB": whole.resident, "GB own": whole.own, "GB by step": memory}
    found["GB on disk"] = size_of(model) / 1e9
    return found


def run(program: str, step: Path) -> tuple[dict[str, Any], dict[str, Memory]]:
    """Run it in a process of its own; give what it prints, and its memory at most, step by step.

    The process keeps the name of the step it is at in the file `step`.
    """
    step.touch()
    command = [sys.executable, "-c", CHILD, program, str(step)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    peak = {"all": Memory(0.0, 0.0)}
    done = threading.Event()

    def watch() -> None:
        while not done.wait(0.05):
            now = [amount / 1e9 for amount in memory_of(process.pid)]
            for name in ("all", step.read_text() or "between"):
                peak[name] = Memory(*map(max, now, peak.get(name, now)))

    watcher = threading.Thread(target=watch)
    watcher.start()
    printed, _ = process.communicate()
    done.set()
    watcher.join()
    if process.returncode:
        raise SystemExit(f"a step ended with {process.returncode}")
    return json.loads(printed.splitlines()[-1]), peak


def memory_of(pid: int) -> tuple[float, float]:
    """Bytes of a process and all it started: resident, and without mapped files. Linux only."""
    resident = own = 0
    waiting = [pid]
    while waiting:
        try:
            folder = Path("/proc", str(waiting.pop()))
            status = (folder / "status").read_text()
            for task in (folder / "task").iterdir():
                waiting += map(int, (task / "children").read_text().split())
        except OSError:  # it has ended
            continue
        sizes = dict(line.split(":", 1) for line in status.splitlines() if line.startswith("Rss"))
        kilobytes = {name: int(value.split()[0]) for name, value in sizes.items()}
        resident += 1024 * sum(kilobytes.values())
        own += 1024 * (kilobytes.get("RssAnon", 0) + kilobytes.get("RssShmem", 0))
    return resident, own


def size_of(folder: Path) -> int:
    """Bytes of all files below a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


STEPS = {
    "count": "Reading",
    "train": "Pretraining",
    "index": "Indexing",
    "topics": "Finding topics",
}


def seconds_of(row: dict[str, Any]) -> dict[str, float]:
    """Seconds of each step."""
    took = row["fit"]["took"]
    steps = {name: took.get(label, 0.0) for name, label in STEPS.items()}
    steps["rest of fit"] = took["all"] - sum(steps.values())
    return {**steps, "transform": row["transform"]["took"]["all"]}


def print_table(rows: list[dict[str, Any]]) -> None:
    """Time, rate and memory by size."""
    print(f"\n{os.cpu_count()} cores\n")
    sizes = [f"{row['documents']:,}" for row in rows]
    print(f"| documents | {' | '.join(sizes)} |\n|---|{'---|' * len(rows)}")
    for step in seconds_of(rows[0]):
        cells = []
        for row in rows:
            taken = seconds_of(row)[step]
            rate = (
                f" ({row['documents'] / taken:,.0f}/s)"
                if step in ("count", "index", "transform")
                else ""
            )
            cells.append(f"{taken:,.1f} s{rate}")
        print(f"| {step} | {' | '.join(cells)} |")
    for step in ("fit", "transform", "search"):
        cells = [f"{row[step]['GB']:.2f} GB ({row[step]['GB own']:.2f})" for row in rows]
        print(f"| peak memory of {step} (without mapped files) | {' | '.join(cells)} |")
    for name, label in STEPS.items():
        each = [row["fit"]["GB by step"].get(label, Memory(0.0, 0.0)) for row in rows]
        cells = [f"{memory.resident:.2f} GB ({memory.own:.2f})" for memory in each]
        print(f"| — at {name} | {' | '.join(cells)} |")
    for by in ("features", "words", "both"):
        cells = [f"{row['search']['milliseconds'][by]:.1f} ms" for row in rows]
        print(f"| a search by {by} | {' | '.join(cells)} |")
    cells = [f"{row['GB on disk']:.2f} GB" for row in rows]
    print(f"| on disk | {' | '.join(cells)} |")


def draw(rows: list[dict[str, Any]], file: Path) -> None:
    """Time and memory against the number of documents, both axes logarithmic."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    n = [row["documents"] for row in rows]
    for step in seconds_of(rows[0]):
        left.loglog(n, [max(seconds_of(row)[step], 0.01) for row in rows], marker="o", label=step)
    left.loglog(n, [x / n[-1] * seconds_of(rows[-1])["count"] for x in n], "k:", label="linear")
    left.set(xlabel="documents", ylabel="seconds")
    for step in ("fit", "transform", "search"):
        right.loglog(n, [row[step]["GB"] for row in rows], marker="o", label=step)
    right.axhline(3, color="black", linestyle=":", label="3 GB")
    right.set(xlabel="documents", ylabel="GB of memory at most")
    for axes in (left, right):
        axes.legend(fontsize=7)
        axes.grid(alpha=0.3)
    figure.savefig(file)


if __name__ == "__main__":
    main()
