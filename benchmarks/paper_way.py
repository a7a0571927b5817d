"""Which rates, weight decay and sparsity give the figures that the paper would have seen?

python benchmarks/paper_way.py --counts FOLDER [--shorter 10] [--out chosen.json]

The paper gives none of them. Each setting trains the three models of its Table 1 the paper's way,
in a tenth of its updates, on 20 Newsgroups and Reuters less 1,000 training documents each. Those of
the held-out documents whose length is a multiple of 10, up to 300 words, measure the perplexity the
paper's way: mean-field bound, log ζ by annealed importance sampling. The setting with the lowest
mean share of the unigram model's perplexity is chosen. No test document is looked at.

FOLDER is written by `docboltz reproduce --save-counts`.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from concurrent.futures import as_completed
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from joblib.externals.loky import ProcessPoolExecutor

from docboltz.device import choose_device
from docboltz.errors import DocboltzError
from docboltz.estimator.models import OverReplicatedSoftmax, ReplicatedSoftmax
from docboltz.experiments.datasets import REUTERS, Sources
from docboltz.experiments.measuring import _parameters
from docboltz.experiments.models import _shortened
from docboltz.experiments.table1 import _Draw
from docboltz.training.recipes import RECIPES

HELD_OUT, LONGEST, MULTIPLE = 1000, 300, 10
DATASETS = ("20news-2000", REUTERS)
MODELS = (0, 50, 100)
"""M; 0 is the Replicated Softmax."""
GRID: list[dict[str, Any]] = [
    *({"weight_decay": decay, "sparsity": 1.0} for decay in (0.3, 0.65, 1.3, 3.0)),
    {"weight_decay": 0.65, "sparsity": 0.1},
    {"weight_decay": 0.65, "sparsity": 1.0, "rate": 0.3},
    {"weight_decay": 0.65, "sparsity": 1.0, "tuning_rate": 2e-4},
]
"""`rate` is that of contrastive divergence, `tuning_rate` that of maximum likelihood; both are None
otherwise."""


def measure(dataset: str, m: int, setting: dict[str, Any], shorter: int, counts: Path) -> Any:
    """Share of the unigram model's perplexity of held-out documents, and seconds."""
    begin = time.perf_counter()
    documents = Sources(counts).load(dataset).train.counts
    order = np.random.default_rng(0).permutation(documents.shape[0])
    learnt, held = documents[np.sort(order[HELD_OUT:])], documents[np.sort(order[:HELD_OUT])]
    n = np.asarray(held.sum(axis=1)).reshape(-1)
    held = held[(n > 0) & (n <= LONGEST) & (n % MULTIPLE == 0)]
    phases: dict[str, Any] = dict(RECIPES["paper"])
    pretraining = replace(
        phases["pretraining"],
        weight_decay=setting["weight_decay"],
        sparsity=setting["sparsity"],
        learning_rate=setting.get("rate"),
    )
    tuning = replace(phases["finetuning"], learning_rate=setting.get("tuning_rate"))
    given = {
        "n_components": 128,
        "random_state": 0,
        "pretraining": _shortened(pretraining, shorter),
        "finetuning": _shortened(tuning, shorter) if m else None,
        "verbose": False,
    }
    kind = OverReplicatedSoftmax if m else ReplicatedSoftmax
    model = kind(**(given | {"latent_words": m} if m else given)).fit(learnt)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        draw = _Draw(model, held)
        d, where = np.unique(draw.d, return_inverse=True)
        zeta = model.log_zeta(d, method="ais", random_state=0).estimate[where]
    sums = draw.log_sums(_parameters(model, str(choose_device("auto", "paper_way"))), "bound", 0)[0]
    share = draw.perplexity(sums - zeta).value / model.unigram_perplexity(held)
    return share, time.perf_counter() - begin


def main() -> None:
    """Measure every setting, print a line for each, and say which is chosen."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--counts", type=Path, required=True)
    parser.add_argument("--shorter", type=int, default=10)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--processes", type=int, default=max(1, (os.cpu_count() or 2) - 1))
    given = parser.parse_args()
    cases = [(d, m, i) for i in range(len(GRID)) for d in DATASETS[::-1] for m in MODELS]
    cases = [case for case in cases if case[1] or "tuning_rate" not in GRID[case[2]]]
    begin, shares, seconds = time.perf_counter(), {}, 0.0
    with ProcessPoolExecutor(given.processes) as pool:
        futures = {
            pool.submit(measure, *case[:2], GRID[case[2]], given.shorter, given.counts): case
            for case in cases
        }
        for future in as_completed(futures):
            case = futures[future]
            try:
                shares[case], took = future.result()
            except DocboltzError as error:  # a rate may be too large
                shares[case], took = float("inf"), 0.0
                print(error)
            seconds += took
            print(f"{time.perf_counter() - begin:5.0f} s {case} {shares[case]:.4f}", flush=True)
            if given.out and (rows := _rows(shares)):
                best = min(rows, key=lambda i: np.mean(rows[i]))
                found = {"chosen": GRID[best], "rows": rows, "shorter": given.shorter}
                given.out.write_text(json.dumps(found), encoding="utf-8")
    rows = _rows(shares)
    best = min(rows, key=lambda i: np.mean(rows[i]))
    print(f"{len(cases)} models, {seconds:.0f} s together, {time.perf_counter() - begin:.0f} s")
    print("mean | 20 Newsgroups: RS, M = 50, M = 100 | Reuters: RS, M = 50, M = 100 | setting")
    for i, row in rows.items():
        shown = " ".join(f"{share:.3f}" for share in row)
        print(f"{np.mean(row):.4f} | {shown} | {GRID[i]}{' chosen' if i == best else ''}")


def _rows(shares: dict[tuple[str, int, int], float]) -> dict[int, list[float]]:
    """The settings of which all six models are measured, by number; so many shares of each."""
    known = dict(shares)
    for i, setting in enumerate(GRID):  # the Replicated Softmax is not tuned
        if "tuning_rate" in setting:
            usual = GRID.index({k: v for k, v in setting.items() if k != "tuning_rate"})
            known |= {(d, 0, i): shares[d, 0, usual] for d in DATASETS if (d, 0, usual) in shares}
    every = {i: [(d, m, i) for d in DATASETS for m in MODELS] for i in range(len(GRID))}
    return {i: [known[c] for c in cases] for i, cases in every.items() if known.keys() >= {*cases}}


if __name__ == "__main__":
    main()
