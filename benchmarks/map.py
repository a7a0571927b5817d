"""Which method lays out a map? t-SNE, UMAP and PaCMAP on the same features, measured in one run.

    python benchmarks/development.py --data FOLDER --out COUNTS
    python benchmarks/topics.py --counts COUNTS --features FOLDER     # keeps features there
    python benchmarks/map.py --features FOLDER
    python benchmarks/map.py --features FOLDER --placing              # of documents left out
    python benchmarks/map.py --features FOLDER --large 200000         # documents and neighbours

Needs the packages umap-learn and pacmap. Each method runs in a process of its own, as a person
meets it: with what it imports and compiles. Neighbours are those of search, by the cosine of
centred features; what is measured of them, on a sample of documents, are the 10 nearest.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import re
import resource
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from docboltz.layout.coordinates import interpolate, lay_out, principal_components
from docboltz.layout.neighbours import Neighbours, nearest, neighbours_within
from docboltz.search.vectors import unit_vectors

COLLECTIONS = ("bbc-news", "citeseer-m10", "20news-2000", "dblp")
K, SAMPLE = 10, 2000
Floats = NDArray[np.float32]


# ---- the methods ----


def principal(X: Floats) -> Floats:
    """Two principal components: what no method should fall behind."""
    return principal_components(X).astype(np.float32)


def docboltz(X: Floats) -> Floats:
    """What `model.map()` does."""
    return lay_out(X, seed=0, progress=lambda *_: None)


def opentsne(X: Floats) -> Floats:
    """t-SNE as openTSNE does it by default, on two cores."""
    from openTSNE import TSNE

    return np.array(TSNE(n_jobs=2, neighbors="exact", random_state=0).fit(X), np.float32)


def umap(X: Floats) -> Floats:
    """UMAP's defaults; a seed takes one core."""
    from umap import UMAP

    return np.array(UMAP(metric="cosine", random_state=0, n_jobs=1).fit_transform(X), np.float32)


def pacmap(X: Floats) -> Floats:
    """PaCMAP's defaults."""
    from pacmap import PaCMAP

    return np.array(PaCMAP(random_state=0).fit_transform(X), np.float32)


METHODS: dict[str, Callable[[Floats], Floats]] = {
    "principal components": principal,
    "docboltz (openTSNE)": docboltz,
    "openTSNE, defaults": opentsne,
    "UMAP": umap,
    "PaCMAP": pacmap,
}
PACKAGES = {"openTSNE": "openTSNE", "UMAP": "umap-learn", "PaCMAP": "pacmap"}


class Run(NamedTuple):
    """A map, and what it took."""

    positions: Floats
    seconds: float
    busy: float
    """Seconds of a core's time, which others on the machine hardly change."""
    megabytes: float
    """At most, above what the process had before."""


def run(method: str, X: Floats) -> Run:
    """In a process of its own, from the import on."""
    fresh = ProcessPoolExecutor(1, mp_context=get_context("spawn"))
    with fresh as pool:
        return pool.submit(_run, method, X).result()


def _run(method: str, X: Floats) -> Run:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begin, worked = time.perf_counter(), time.process_time()
    positions = METHODS[method](X)
    seconds, busy = time.perf_counter() - begin, time.process_time() - worked
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return Run(positions, seconds, busy, (peak - before) / 1024)


# ---- the measures ----


class Kept(NamedTuple):
    """How well a map keeps neighbours."""

    neighbours: float
    """Share of the nearest that are among the nearest on the map."""
    trustworthiness: float
    """1 less what the nearest on the map are too far in features, by ranks."""
    continuity: float
    """1 less what the nearest in features are too far on the map, by ranks."""


def measure(X: Floats, positions: Floats, rows: NDArray[np.int64]) -> Kept:
    """Venna & Kaski (2001), on some of the documents."""
    n = len(X)
    by_features, by_place, both = 0.0, 0.0, 0.0
    for i in rows:
        far = -(X @ X[i])
        apart = np.linalg.norm(positions - positions[i], axis=1)
        far[i] = apart[i] = -np.inf
        a, b = (np.argpartition(d, K)[: K + 1] for d in (far, apart))
        a, b = a[a != i], b[b != i]
        both += len(np.intersect1d(a, b)) / K
        by_features += sum(max(0, np.count_nonzero(far < far[j]) - K) for j in b)
        by_place += sum(max(0, np.count_nonzero(apart < apart[j]) - K) for j in a)
    scale = 2 / (len(rows) * K * (2 * n - 3 * K - 1))
    return Kept(both / len(rows), 1 - scale * by_features, 1 - scale * by_place)


def sampled(n: int) -> NDArray[np.int64]:
    """Documents to measure on."""
    return np.random.default_rng(0).choice(n, min(n, SAMPLE), replace=False)


def installed(package: str) -> tuple[float, list[str]]:
    """Megabytes of a package and of what it needs that docboltz does not; and the names of that."""
    own = _needed("docboltz")
    more = sorted((_needed(package) | {_canonical(package)}) - own)
    size = 0
    for name in more:
        for file in importlib.metadata.files(name) or []:
            path = Path(str(file.locate()))
            size += path.stat().st_size if path.is_file() else 0
    return size / 2**20, [name for name in more if name != _canonical(package)]


def _canonical(name: str) -> str:
    return re.sub("[-_.]+", "-", name).lower()


def _needed(package: str, seen: frozenset[str] = frozenset()) -> set[str]:
    found: set[str] = set()
    for line in importlib.metadata.requires(package) or []:
        name = _canonical(re.match(r"[\w.-]+", line).group())  # type: ignore[union-attr]
        if "extra ==" in line or name in seen | found:
            continue
        try:
            importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:  # of another platform
            continue
        found |= {name} | _needed(name, seen | found | {name})
    return found


# ---- what is printed ----


def compare(features: Path, names: list[str]) -> None:
    """All methods on all collections."""
    print(
        "| collection | method | neighbours kept | trustworthiness | continuity | s | busy | MB |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for name in names:
        X = load(features, name)
        for method in METHODS:
            made = run(method, X)
            kept = measure(X, made.positions, sampled(len(X)))
            figures = " | ".join(f"{value:.3f}" for value in kept)
            cost = f"{made.seconds:.1f} | {made.busy:.1f} | {made.megabytes:.0f}"
            print(f"| {name}, {len(X):,} | {method} | {figures} | {cost} |", flush=True)
    print("\n| package | version | licence | MB in all | needs |\n|---|---|---|---|---|")
    for name, package in PACKAGES.items():
        about = importlib.metadata.metadata(package)
        size, more = installed(package)
        licence = about.get("License-Expression") or str(about.get("License"))
        needs = ", ".join(more) or "nothing more"
        print(f"| {name} | {about['Version']} | {licence[:20]} | {size:.0f} | {needs} |")


def placing(features: Path, names: list[str]) -> None:
    """Documents that were left out of a map, placed among the others."""
    print("| collection | placed by | neighbours kept |\n|---|---|---|")
    for name in names:
        X = load(features, name)
        out = np.random.default_rng(1).choice(len(X), len(X) // 10, replace=False)
        new, known = X[out], np.delete(X, out, axis=0)
        positions = docboltz(known)
        nearby = nearest(new, known, K, np.arange(0))
        first = Neighbours(nearby.rows[:, :1], nearby.distances[:, :1])
        weights = 1 / np.maximum(nearby.distances, 1e-4) ** 2
        mean = (positions[nearby.rows] * weights[..., None]).sum(1) / weights.sum(1)[:, None]
        found = {"the nearest": (positions, interpolate(first, positions))}
        found["the mean of 10"] = positions, mean
        found["the median of 10 (docboltz)"] = positions, interpolate(nearby, positions)
        found["openTSNE"] = placed_by_opentsne(known, new)
        for how, (there, places) in found.items():
            near = cKDTree(there).query(places, K)[1]
            pairs = zip(near, nearby.rows, strict=True)
            kept = np.mean([len(np.intersect1d(a, b)) / K for a, b in pairs])
            print(f"| {name}, {len(out):,} of {len(X):,} | {how} | {kept:.3f} |", flush=True)


def placed_by_opentsne(known: Floats, new: Floats) -> tuple[Floats, Floats]:
    """A map of its own, and new ones by a descent with the others fixed: openTSNE's defaults."""
    from openTSNE import TSNE

    made = TSNE(n_jobs=2, neighbors="exact", random_state=0).fit(known)
    placed = np.array(made.transform(new), np.float32)  # moves the whole map: read that after it
    return np.array(made, np.float32), placed


def large(features: Path, n: int) -> None:
    """Many documents: those of dblp, drawn again and again and shaken a little."""
    X, random = load(features, "dblp"), np.random.default_rng(0)
    rows = random.integers(len(X), size=n)
    X = unit_vectors(X[rows] + random.normal(scale=0.02, size=(n, X.shape[1])), None)
    print(f"{n:,} documents, {X.nbytes / 2**20:.0f} MB of features")
    begin = time.perf_counter()
    found = neighbours_within(X, 45, seed=0)
    print(f"neighbours: {time.perf_counter() - begin:.0f} s", flush=True)
    some = sampled(n)
    exact = nearest(X[some], X, 45, some[:, None]).rows
    for k in (10, 45):
        pairs = zip(exact[:, :k], found.rows[some, :k], strict=True)
        share = np.mean([len(np.intersect1d(a, b)) / k for a, b in pairs])
        print(f"found of the {k} nearest: {share:.3f}")
    made = run("docboltz (openTSNE)", X)
    figures = ", ".join(f"{v:.3f}" for v in measure(X, made.positions, some[:500]))
    print(f"kept, trustworthiness, continuity: {figures}")
    print(f"whole map: {made.seconds:.0f} s, busy {made.busy:.0f} s, {made.megabytes:.0f} MB")


def load(features: Path, name: str) -> Floats:
    """Different unit vectors of a collection, as its search store would have them."""
    found = np.load(features / f"{name}-0.npy")
    return np.unique(unit_vectors(found, found.mean(axis=0)), axis=0)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--features", type=Path, required=True, help="kept by topics.py")
    parser.add_argument("--only", nargs="*", default=COLLECTIONS)
    parser.add_argument("--placing", action="store_true", help="only that")
    parser.add_argument("--large", type=int, help="only that, with so many documents")
    given = parser.parse_args()
    if given.large:
        large(given.features, given.large)
    elif given.placing:
        placing(given.features, given.only)
    else:
        compare(given.features, given.only)


if __name__ == "__main__":
    main()
