"""What bits and bytes lose of a search: MAP, P@10 and recall on every development collection.

    python benchmarks/development.py --data FOLDER --out COUNTS
    python benchmarks/bits.py --counts COUNTS [--only NAME] [--keep FOLDER]

Validation documents, drawn from the training part of each collection, ask for the others of that
part by features; what shares a label is relevant. Ways to rank: cosine of centred float32 features;
the same of features in steps of 1/255; Hamming distance of bits at .5 and at each feature's mean;
and the best of bits at the mean, so many of them, ranked by cosine before all others. Equal
distances count as in an exact search: the first row first.

Recall is the share of the ten best by features that are among so many candidates that
`docboltz.search.vectors.likely` finds by bits. The quick recipe, 128 units, seed 0. Features go to
the folder `--keep` for benchmarks/codes.py.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from development import Split, load_split
from docboltz import OverReplicatedSoftmax
from docboltz.search.vectors import codes_of, likely, unit_vectors

RERANKED = (200, 500, 1000)
WAYS = ("float32", "uint8", "bits .5", "bits mean", *(f"+ {n}" for n in RERANKED))
N_UNITS = 128
QUERIES_AT_ONCE = 100
K = 10

Floats = NDArray[np.float32]


def features_of(split: Split, keep: Path | None) -> list[Floats]:
    """Features of the documents that are learnt from and of those that ask."""
    if keep is not None and keep.exists():
        with np.load(keep) as kept:
            return [kept["learn"], kept["ask"]]
    model = OverReplicatedSoftmax(N_UNITS, random_state=0, device="cpu").fit(split.learn.counts)
    learn, ask = (model.transform(part.counts, "fast") for part in split)
    if keep is not None:
        keep.parent.mkdir(parents=True, exist_ok=True)
        np.savez(keep, learn=learn, ask=ask)
    return [learn, ask]


def scores(way: str, learn: Floats, ask: Floats) -> NDArray[np.float32]:
    """What documents are ranked by: (queries, documents)."""
    mean = learn.mean(0)
    if way in ("float32", "uint8"):
        if way == "uint8":
            learn, ask = (np.rint(x * 255) / np.float32(255) for x in (learn, ask))
        found: Floats = unit_vectors(ask, mean) @ unit_vectors(learn, mean).T
        return found
    limit = np.float32(0.5) if way == "bits .5" else mean
    one, other = (np.where(x > limit, 1, -1).astype(np.float32) for x in (ask, learn))
    return one @ other.T  # F less twice the distance


def reranked(exact: Floats, rough: Floats, n: int) -> Floats:
    """Scores that put the n best by bits first, by cosine, then the others, by bits."""
    moved = rough / N_UNITS - 10
    first = np.argsort(-rough, axis=1, kind="stable")[:, :n]
    np.put_along_axis(moved, first, np.take_along_axis(exact, first, 1), 1)
    return moved


def measure(split: Split, learn: Floats, ask: Floats) -> NDArray[np.float64]:
    """MAP and P@10 of every way: (2, WAYS)."""
    total, n = np.zeros((2, len(WAYS))), 0
    for begin in range(0, len(ask), QUERIES_AT_ONCE):
        part = slice(begin, begin + QUERIES_AT_ONCE)
        relevant = (split.ask.labels[part] @ split.learn.labels.T).toarray() > 0
        answered = relevant.any(1)
        n += int(answered.sum())
        ranks = np.arange(1, relevant.shape[1] + 1)
        ranked = {way: scores(way, learn, ask[part]) for way in WAYS[:4]}
        for n_first in RERANKED:
            ranked[f"+ {n_first}"] = reranked(ranked["float32"], ranked["bits mean"], n_first)
        for i, way in enumerate(WAYS):
            order = np.argsort(-ranked[way][answered], axis=1, kind="stable")
            hits = np.take_along_axis(relevant[answered], order, 1)
            precision = (hits.cumsum(1) / ranks * hits).sum(1) / hits.sum(1)
            total[0, i] += precision.sum()
            total[1, i] += hits[:, :K].mean(1).sum()
    return total / n


def recall(learn: Floats, ask: Floats) -> list[float]:
    """Share of the ten best that is found, by the number of candidates."""
    mean, nothing = learn.mean(0), np.zeros(len(learn), np.float32)
    X, queries = unit_vectors(learn, mean), unit_vectors(ask, mean)
    codes, found = codes_of(X), np.zeros(len(RERANKED))
    for query in queries:
        best = np.argsort(-(X @ query), kind="stable")[:K]
        for i, n in enumerate(RERANKED):
            found[i] += len(np.intersect1d(best, likely(codes, query, n, 1.0, nothing)))
    return (found / K / len(ask)).tolist()


def main() -> None:
    """Measure every collection, and print as it goes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--counts", type=Path, required=True, help="made by development.py")
    parser.add_argument("--only", action="append", help="name of a collection; may be repeated")
    parser.add_argument("--keep", type=Path, help="folder for features")
    given = parser.parse_args()
    recalls = "".join(f"{f'recall {n}':>13s}" for n in RERANKED)
    print(f"{'MAP / P@10':24s}" + "".join(f"{way:>15s}" for way in WAYS) + recalls)
    for name in sorted(os.listdir(given.counts)):
        if not (name in given.only if given.only else "-first" not in name):
            continue
        begin = time.perf_counter()
        split = load_split(given.counts, name, "validation")
        keep = None if given.keep is None else given.keep / f"{name}.npz"
        features = features_of(split, keep)
        measures = measure(split, *features)
        cells = "".join(f"{f'{a:.4f}/{b:.4f}':>15s}" for a, b in measures.T)
        cells += "".join(f"{share:13.4f}" for share in recall(*features))
        sizes = f"{name} ({len(features[0]):,})"
        print(f"{sizes:24s}{cells}   {time.perf_counter() - begin:.0f} s", flush=True)


if __name__ == "__main__":
    main()
