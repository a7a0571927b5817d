"""Search over ten million documents: kernels for bits, and the store that uses them, in one run.

    python benchmarks/codes.py --kernels 1000000 10000000
    python benchmarks/bits.py --counts COUNTS --keep FEATURES
    python benchmarks/codes.py --counts COUNTS --features FEATURES [--documents 10000000]

The first prints milliseconds for the nearest k of all documents by the Hamming distance of 128 bits
to a query's, by NumPy's `bitwise_count` as `docboltz.search.vectors` has it, FAISS' IndexBinaryFlat
and USearch's exact search.

The second tiles a real collection: copies of its documents, with noise added to the logits of their
features. It builds a store of them and prints time and peak memory of that, memory of a process
that searches it, milliseconds a query, and, of documents held out as queries, the share of the ten
best that an exact search finds too, and P@10 by labels of both. FAISS' flat scan of the same
float32 vectors alternates with the store. Needs `pip install faiss-cpu usearch`.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from development import load_split
from docboltz.corpus.analysis import TextAnalysis
from docboltz.corpus.document import Document
from docboltz.search import store as searching
from docboltz.search.store import About, Block, Question, SearchStore, write_store
from docboltz.search.vectors import codes_of, likely, unit_vectors

F, K = 128, 10
BLOCK = 16_384
NOISE = 1.0
"""Standard deviation, of logits."""
Floats = NDArray[np.float32]


def milliseconds(calls: dict[str, Callable[[], object]], repeat: int) -> dict[str, list[float]]:
    """Medians of time by the clock, and of the processor: a busy machine makes them differ.

    The calls alternate, and the first round does not count.
    """
    times: dict[str, list[list[float]]] = {name: [] for name in calls}
    for round_ in range(repeat + 1):
        for name, call in calls.items():
            begin = time.perf_counter(), time.process_time()
            call()
            end = time.perf_counter(), time.process_time()
            if round_:
                times[name].append([1e3 * (b - a) for a, b in zip(begin, end, strict=True)])
    return {name: np.median(took, axis=0).tolist() for name, took in times.items()}


def kernels(n: int) -> None:
    """Time three ways to find the nearest codes."""
    import faiss
    from usearch.index import search as exact_search

    rng = np.random.default_rng(0)
    X = rng.normal(size=(BLOCK, F)).astype(np.float32)
    blocks = [
        codes_of(np.roll(X, 1 + int(rng.integers(BLOCK - 1)), axis=0) * rng.choice([-1, 1], F))
        for _ in range(0, n, BLOCK)
    ]
    codes = np.concatenate(blocks)
    n, rows = len(codes), codes.view(np.uint8).reshape(len(codes), F // 8)
    flat, nothing = faiss.IndexBinaryFlat(F), np.zeros(len(codes), np.float32)
    flat.add(rows)
    asked = codes_of(X[:1]).view(np.uint8)
    calls: dict[str, Callable[[], object]] = {}
    for k in (10, 1000):
        calls[f"NumPy, nearest {k}"] = lambda k=k: likely(codes, X[0], k, 1.0, nothing)
        calls[f"FAISS, nearest {k}"] = lambda k=k: flat.search(asked, k)
        calls[f"USearch, nearest {k}"] = lambda k=k: exact_search(
            rows, asked[0], k, "hamming", exact=True
        )
    for what, took in milliseconds(calls, 7).items():
        print(f"{n:>12,}  {what:24s}{took[0]:10.1f} ms{took[1]:10.1f} ms of CPU", flush=True)


def tiled(features: Floats, n: int) -> Iterator[tuple[NDArray[np.int64], Floats]]:
    """Which document each copy is of, and its noisy features, block by block."""
    logits = np.log(features.clip(1e-4, 1 - 1e-4)) - np.log1p(-features.clip(1e-4, 1 - 1e-4))
    for begin in range(0, n, BLOCK):
        own = np.arange(begin, min(begin + BLOCK, n)) % len(features)
        rng = np.random.default_rng(begin)
        noisy = logits[own] + NOISE * rng.standard_normal((len(own), F), np.float32)
        yield own, (1 / (1 + np.exp(-noisy))).astype(np.float32)


def texts(counts: csr_array) -> list[str]:
    """Texts that have each word, spelt by its column, so often."""
    counts = csr_array(counts)
    words = np.char.add("w", counts.indices.astype(str)).repeat(counts.data.astype(int))
    ends = np.cumsum(counts.sum(axis=1)).astype(int)
    return [" ".join(row) for row in np.split(words, ends[:-1])]


def questions(store: SearchStore, ask: Floats, counts: csr_array) -> list[Question]:
    """What documents ask with their features and their words."""
    terms = [Counter(text.split()) for text in texts(counts)]
    vectors = unit_vectors(ask, store.about.center)
    return [Question(vector, terms=own) for vector, own in zip(vectors, terms, strict=True)]


def build(folder: Path, counts: Path, name: str, features: Path, n: int) -> tuple[float, float]:
    """Write the store; seconds and peak memory (GB) of this process."""
    split = load_split(counts, name, "validation")
    with np.load(features) as kept:
        learn = kept["learn"]

    def blocks() -> Iterator[Block]:
        begin, spelt = 0, texts(split.learn.counts)
        for own, noisy in tiled(learn, n):
            documents = [Document(f"{begin + i:08d}", spelt[j]) for i, j in enumerate(own.tolist())]
            yield Block(noisy, split.learn.counts[own], documents)
            begin += len(own)

    begin = time.perf_counter()
    mean = tuple(learn.mean(0).tolist())
    about = About("m", F, split.learn.counts.shape[1], mean)
    write_store(folder, blocks(), TextAnalysis(pretokenised=True), about)
    took = time.perf_counter() - begin
    return took, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def memory() -> str:
    """Of this process: its own, and of files that are mapped."""
    lines = Path("/proc/self/status").read_text().splitlines()
    status = dict(line.split(":", 1) for line in lines)
    own, files = (int(status[name].split()[0]) / 1e3 for name in ("RssAnon", "RssFile"))
    return f"{own:,.0f} MB of its own, {files:,.0f} MB of files"


def precision(rows: NDArray[np.int64], split: Any, asked: NDArray[np.int64]) -> float:
    """Share of hits that share a label with their query."""
    labels, n = split.learn.labels, split.learn.labels.shape[0]
    relevant = [
        (labels[own % n] @ split.ask.labels[[i]].T).toarray().mean()
        for i, own in zip(asked, rows, strict=True)
    ]
    return float(np.mean(relevant))


def search(folder: Path, counts: Path, name: str, features: Path, queries: int) -> None:
    """Measure a store that was built."""
    import faiss

    split = load_split(counts, name, "validation")
    with np.load(features) as kept:
        ask = kept["ask"]
    searching.EXACT_DOCUMENTS = 0
    begin = time.perf_counter()
    store = SearchStore.open(folder)
    print(f"open {1e3 * (time.perf_counter() - begin):.0f} ms; {store!r}: {memory()}", flush=True)
    asked = np.random.default_rng(0).choice(len(ask), queries, replace=False)
    wanted = questions(store, ask[asked], split.ask.counts[asked])

    def by_bits(by: Any) -> NDArray[np.int64]:
        return np.concatenate([store.search([each], K, by).rows for each in wanted])

    found = {(by, n): by_bits(by) for by in ("features", "both") for n in (searching.CANDIDATES,)}
    print(f"after {2 * queries} queries: {memory()}", flush=True)
    for n in (300, 1000, 10_000):
        searching.CANDIDATES, before = n, searching.CANDIDATES
        found |= {(by, n): by_bits(by) for by in ("features", "both")}
        searching.CANDIDATES = before
    store.is_exact = True
    for by in ("features", "both"):
        exact = store.search(wanted, K, by).rows
        print(f"by {by}, exact: P@10 {precision(exact, split, asked):.4f}", flush=True)
        for (way, n), rows in sorted(found.items()):
            if way == by:
                pairs = zip(exact, rows, strict=True)
                shared = np.mean([len(np.intersect1d(*pair)) / K for pair in pairs])
                P = precision(rows, split, asked)
                print(f"by {by}, {n} candidates: recall {shared:.4f}, P@10 {P:.4f}", flush=True)
    store.is_exact = False
    flat = faiss.IndexFlatIP(F)
    for begin in range(0, len(store), 1 << 20):
        flat.add(np.asarray(store.features[begin : begin + (1 << 20)]))
    each = iter(wanted * 99)

    def one(by: Any) -> object:
        return store.search([next(each)], K, by)

    calls: dict[str, Callable[[], object]] = {
        f"store, by {by}": lambda by=by: one(by) for by in ("features", "both", "words")
    }
    calls["FAISS IndexFlatIP"] = lambda: flat.search(next(each).vector[None], K)
    took = milliseconds(calls, 9)
    for what, own in took.items():
        ratio = [a / b for a, b in zip(own, took["FAISS IndexFlatIP"], strict=True)]
        print(f"{what:24s}{own[0]:10.1f} ms a query, {ratio[0]:.2f} of FAISS")
        print(f"{'':24s}{own[1]:10.1f} ms of CPU,  {ratio[1]:.2f} of FAISS", flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kernels", type=int, nargs="+", default=[])
    parser.add_argument("--counts", type=Path, help="made by development.py")
    parser.add_argument("--features", type=Path, help="made by bits.py --keep")
    parser.add_argument("--name", default="dblp")
    parser.add_argument("--documents", type=int, default=10_000_000)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--folder", type=Path, help="for the store; one that is there is used")
    given = parser.parse_args()
    for n in given.kernels:
        kernels(n)
    if given.counts is None:
        return
    features = given.features / f"{given.name}.npz"
    with tempfile.TemporaryDirectory() as name:
        folder = given.folder or Path(name) / "store"
        what = (folder, given.counts, given.name, features)
        if not (folder / "store.json").exists():
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                took, peak = pool.apply(build, (*what, given.documents))
            rate = given.documents / took
            print(f"build {took:.0f} s, {rate:,.0f} documents/s, peak {peak:.2f} GB", flush=True)
        search(*what, given.queries)


if __name__ == "__main__":
    main()
