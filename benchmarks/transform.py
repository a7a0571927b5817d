"""Documents per second of transform() against scikit-learn's TruncatedSVD on the same counts.

Both turn sparse counts into 128 dense features, so the plain sparse product is the floor of both.
Measurements alternate in one run, so that a busy machine slows all alike; medians are compared.

    python benchmarks/transform.py                # 20 Newsgroups (fetched by pip, then cached)
    python benchmarks/transform.py --synthetic    # counts made here, no network
"""

from __future__ import annotations

import argparse
import platform
import statistics
import time
from collections.abc import Callable

import numpy as np
import torch
from scipy import sparse
from sklearn.decomposition import TruncatedSVD

from docboltz import OverReplicatedSoftmax, Pretraining
from docboltz.corpus.corpus import check_structure
from docboltz.corpus.datasets import load_dataset


def synthetic_counts(documents: int = 11_000, words: int = 2000) -> sparse.csr_array:
    """Counts with word frequencies after Zipf and log-normal lengths, like short posts."""
    rng = np.random.default_rng(0)
    frequency = 1 / np.arange(10, words + 10)
    lengths = rng.lognormal(4, 1, documents).astype(int).clip(1, 3000)
    drawn = rng.choice(words, lengths.sum(), p=frequency / frequency.sum())
    starts = np.concatenate([[0], lengths.cumsum()])
    counts = sparse.csr_array((np.ones(len(drawn), np.int32), drawn, starts), (documents, words))
    counts.sum_duplicates()
    return counts


def medians(jobs: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Median seconds of each job, taken in turns."""
    times: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(rounds + 1):
        for name, job in jobs.items():
            begin = time.perf_counter()
            job()
            times[name].append(time.perf_counter() - begin)
    return {name: statistics.median(t[1:]) for name, t in times.items()}  # the first warms up


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--synthetic", action="store_true", help="do not fetch 20 Newsgroups")
    parser.add_argument("--rounds", type=int, default=15)
    arguments = parser.parse_args()
    if arguments.synthetic:
        name, X = "synthetic", synthetic_counts()
    else:
        name, X = "20 Newsgroups", load_dataset("20newsgroups").counted().train.counts
    model = OverReplicatedSoftmax(
        128, pretraining=Pretraining(updates=10), random_state=0, device="cpu"
    ).fit(X[X.sum(axis=1) > 0])
    svd = TruncatedSVD(128, random_state=0).fit(X.astype(np.float32))
    weights = np.ascontiguousarray(model.components_.T)
    as_float = X.astype(np.float32)
    seconds = medians(
        {
            "docboltz, fast": lambda: model.transform(X),
            "TruncatedSVD": lambda: svd.transform(X),
            "TruncatedSVD, float32 counts": lambda: svd.transform(as_float),
            "bare product (scipy, one core)": lambda: as_float @ weights,
            "docboltz, check of structure": lambda: check_structure(X, "benchmark"),
        },
        arguments.rounds,
    )
    seconds |= medians(
        {"docboltz, mean field": lambda: model.transform(X[:2000], inference="mean_field")}, 1
    )
    print(
        f"{name}: {X.shape[0]:,} documents, {X.shape[1]:,} words, {X.nnz:,} entries, 128 features"
    )
    print(f"{platform.machine()}, {torch.get_num_threads()} threads, torch {torch.__version__}")
    best_svd = min(seconds["TruncatedSVD"], seconds["TruncatedSVD, float32 counts"])
    for job, taken in seconds.items():
        n = 2000 if "mean field" in job else X.shape[0]
        rate = n / taken
        ratio = rate * best_svd / X.shape[0]
        print(
            f"{job:32} {1000 * taken:8.1f} ms {rate:12,.0f} documents/s {ratio:7.2f} × TruncatedSVD"
        )
    share = seconds["docboltz, check of structure"] / seconds["docboltz, fast"]
    print(f"The check of structure takes {share:.2%} of the time of transform()")


if __name__ == "__main__":
    main()
