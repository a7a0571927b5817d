"""Exact search in a store against bare NumPy on the same vectors, in one run.

    python benchmarks/search.py [--documents 200000] [--features 128] [--repeat 60]

Bare NumPy is `q @ X.T` and `np.argpartition`, on the memory-mapped file and on a copy in memory. It
neither sorts its hits nor orders ties, which the store does. By both, queries are six words drawn
as in the documents, of which each has 60 of 10,000, common ones more often (Zipf's law).
Measurements alternate, so that whatever else the machine does hits all alike; medians are printed.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from docboltz.corpus.document import Document
from docboltz.search.growing import update_store
from docboltz.search.store import SearchStore
from docboltz.search.writer import Block, build_store

K = 10
N_WORDS = 10_000
SNIPPET = (
    "Orbits decay faster when the upper atmosphere swells with sunspots; operators raise them. "
)


def draw_words(n: int, length: int, rng: np.random.Generator) -> csr_array:
    """Counts of n documents of so many words by Zipf's law."""
    words = (N_WORDS ** rng.random(n * length)).astype(np.int64) - 1
    counts = csr_array((np.ones(n * length), words, np.arange(n + 1) * length), (n, N_WORDS))
    counts.sum_duplicates()
    return counts


def build(folder: Path, n: int, F: int, rng: np.random.Generator) -> float:
    """Write a store of n documents with features like a sigmoid's; return the seconds it took."""

    def blocks() -> Iterator[Block]:
        for start in range(0, n, 10_000):
            ids = [f"group-{i % 20}/{i:07d}" for i in range(start, min(n, start + 10_000))]
            features = rng.random((len(ids), F), np.float32)
            documents = [Document(id, f"{id} {SNIPPET * 2}", (id.split("/")[0],)) for id in ids]
            yield Block(features, draw_words(len(ids), 60, rng), documents)

    begin = time.perf_counter()
    build_store(folder, F, N_WORDS, blocks(), model="benchmark", mean=np.full(F, 0.5))
    return time.perf_counter() - begin


def seconds(call: Callable[[], object]) -> float:
    """How long one call takes."""
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def alternate(calls: dict[str, Callable[[], object]], repeat: int) -> dict[str, list[float]]:
    """Time all calls in turn, `repeat` times, after one round that is not counted."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for round_ in range(repeat + 1):
        for name, call in calls.items():
            took = seconds(call)
            if round_:
                times[name].append(took)
    return times


def bare(queries: Iterator[NDArray[np.float32]], X: NDArray[np.float32]) -> Callable[[], object]:
    """The least one can do in NumPy: one product, one partition."""

    def run() -> object:
        scores = next(queries) @ X.T
        return np.argpartition(scores, -K)[-K:]

    return run


def main() -> None:
    """Build, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=200_000)
    parser.add_argument("--features", type=int, default=128)
    parser.add_argument("--repeat", type=int, default=60)
    given = parser.parse_args()
    rng = np.random.default_rng(0)

    def queries() -> Iterator[NDArray[np.float32]]:
        while True:
            yield rng.random(given.features, np.float32)

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        built = build(folder, given.documents, given.features, rng)
        print(f"{given.documents:,} documents × {given.features} features, k = {K}")
        print(f"build                     {given.documents / built:12,.0f} documents/s")

        first = seconds(lambda: SearchStore.open(folder))
        opened = statistics.median(seconds(lambda: SearchStore.open(folder)) for _ in range(50))
        print(f"open                      {1e3 * opened:12.2f} ms (first {1e3 * first:.2f} ms)")

        store = SearchStore.open(folder)
        draw = queries()
        in_memory = np.array(store.features)
        asked = draw_words(512, 6, rng)
        calls = {
            "store": lambda: store.search(next(draw)[None], asked[[0]], K, by="features"),
            "both": lambda: store.search(next(draw)[None], asked[[rng.integers(512)]], K),
            "mapped": bare(draw, store.features),
            "memory": bare(draw, in_memory),
        }
        times = alternate(calls, given.repeat)
        one = {name: statistics.median(took) for name, took in times.items()}
        print(f"one query, by features    {1e3 * one['store']:12.2f} ms")
        for name, title in (("mapped", "memory-mapped"), ("memory", "in memory    ")):
            ratio = one["store"] / one[name]
            took = 1e3 * one[name]
            print(f"  NumPy, {title}    {took:12.2f} ms   store / NumPy = {ratio:.2f}")
        ratio = one["both"] / one["memory"]
        print(
            f"  by features and words   {1e3 * one['both']:12.2f} ms   both / NumPy = {ratio:.2f}"
        )

        batch = rng.random((512, given.features), np.float32)
        unit = (batch - 0.5) / np.linalg.norm(batch - 0.5, axis=1, keepdims=True)

        def bare_batch() -> object:
            for begin in range(0, len(unit), 64):  # 64 at a time, or the scores take 400 MB
                np.argpartition(unit[begin : begin + 64] @ in_memory.T, -K, axis=1)[:, -K:]
            return None

        batch_times = alternate(
            {
                "store": lambda: store.search(batch, asked, K, by="features"),
                "bare": bare_batch,
                "both": lambda: store.search(batch, asked, K),
            },
            max(3, given.repeat // 20),
        )
        many = {name: statistics.median(took) for name, took in batch_times.items()}
        print(
            f"{len(batch)} queries, store        {len(batch) / many['store']:12,.0f} queries/s   "
            f"store / NumPy in time = {many['store'] / many['bare']:.2f}"
        )
        print(
            f"  by features and words   {len(batch) / many['both']:12,.0f} queries/s   "
            f"both / NumPy in time = {many['both'] / many['bare']:.2f}"
        )
        for size in (2, 4, 16):
            took = statistics.median(
                seconds(lambda n=size: store.search(batch[:n], asked[:n], K, by="features"))
                for _ in range(9)
            )
            print(f"  {size:3d} queries at once      {size / took:12,.0f} queries/s")

        fresh = SearchStore.open(folder)
        picks = [rng.integers(given.documents, size=K) for _ in range(51)]
        first = seconds(lambda: fresh.documents(picks[0]))
        fetch = statistics.median(seconds(lambda p=p: fresh.documents(p)) for p in picks[1:])
        print(f"fetch {K} hits             {1e3 * fetch:12.2f} ms (first {1e3 * first:.2f} ms)")
        ids = [hit.id for hit in fresh.documents(picks[0])]
        first = seconds(lambda: fresh.row_of(ids[0]))
        look_up = statistics.median(seconds(lambda i=i: fresh.row_of(i)) for i in ids[1:])
        print(f"row of an id              {1e3 * look_up:12.2f} ms (first {1e3 * first:.2f} ms)")
        print(f"verify                    {1e3 * seconds(store.verify):12.2f} ms")

        new = [Document(f"new-{i}", SNIPPET) for i in range(1000)]
        features = rng.random((1000, given.features), np.float32)
        block = Block(features, draw_words(1000, 60, rng), new)
        ids = [document.id for document in new]
        for what, drop, blocks in (("append", [], [block]), ("delete", ids, [])):
            took = seconds(
                lambda d=drop, b=blocks: update_store(folder, model="benchmark", drop=d, blocks=b)
            )
            rate = given.documents / took
            print(f"{what} 1,000              {took:12.2f} s    {rate:,.0f} documents/s copied")


if __name__ == "__main__":
    main()
