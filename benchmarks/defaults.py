"""Do the defaults hold? Every recipe on every development collection, several seeds.

    python benchmarks/development.py --data FOLDER --out COUNTS
    python benchmarks/defaults.py --counts COUNTS --validation      # to choose by
    python benchmarks/defaults.py --counts COUNTS                   # test documents, for the table
    python benchmarks/defaults.py --counts COUNTS --only dbpedia --recipes quick full --seeds 1

Prints Markdown tables: MAP, P@10 and accuracy of each recipe on each collection, means over the
seeds, and the mean and the worst difference between recipes. The classifiers' penalty is fixed.
"before" are the recipes as they were until November 2026, chosen with the test documents of
20 Newsgroups in view. `--workers 12` trains so many models at once, on a GPU under MPS.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections import defaultdict
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from development import features_scored, in_parallel, load_split
from docboltz import Finetuning, OverReplicatedSoftmax, Pretraining

MEASURES = ("MAP", "P@10", "accuracy")
BEFORE: dict[str, Any] = {"updates": 3000, "more_steps_every": 1000, "max_steps": 5, "averaged": 0}
RECIPES: dict[str, dict[str, Any]] = {
    "quick before": {"pretraining": Pretraining(weight_decay=0.8, sparsity=0.25, **BEFORE)},
    "quick": {"recipe": "quick"},
    "full": {"recipe": "full"},
    "full before": {
        "pretraining": Pretraining(weight_decay=1.2, sparsity=0.25, **BEFORE),
        "finetuning": Finetuning(),
    },
}
BESIDE = {"quick": "quick before", "full": "quick", "full before": "quick before"}
"""What each recipe is compared with."""


class Trial(NamedTuple):
    """A model to train."""

    collection: str
    recipe: str
    seed: int


def score(trial: Trial, *, counts: Path, part: str, units: int, device: str) -> dict[str, float]:
    """Train and measure."""
    split = load_split(counts, trial.collection, part)
    model = OverReplicatedSoftmax(
        units, random_state=trial.seed, device=device, **RECIPES[trial.recipe]
    )
    begin = time.perf_counter()
    model.fit(split.learn.counts)
    seconds = time.perf_counter() - begin
    return {**features_scored(model, split, device), "seconds": seconds}


Means = dict[tuple[str, str], dict[str, float]]
"""The mean of each measure over the seeds, for a collection and a recipe."""


def means(results: dict[Trial, dict[str, float]]) -> Means:
    """Average over the seeds."""
    found = defaultdict(list)
    for trial, measures in results.items():
        found[trial.collection, trial.recipe].append(measures)
    return {
        key: {name: float(np.mean([each[name] for each in all_of])) for name in all_of[0]}
        for key, all_of in found.items()
    }


def show(value: float) -> str:
    """A measure as tables have it."""
    return f"{value:.3f}".replace("0.", ".", 1)


def print_tables(found: Means, recipes: list[str]) -> None:
    """What each recipe comes to, then what it is worth beside another."""
    collections = list(dict.fromkeys(collection for collection, _ in found))
    print(f"\n| MAP P@10 accuracy | {' | '.join(recipes)} |\n|---|{'---|' * len(recipes)}")
    for name in collections:
        cells = [" ".join(show(found[name, r][m]) for m in MEASURES) for r in recipes]
        print(f"| {name} | {' | '.join(cells)} |")
    print("\n| difference | measure | mean | worst | where |\n|---|---|---|---|---|")
    for recipe, other in BESIDE.items():
        if recipe not in recipes or other not in recipes:
            continue
        for m in MEASURES:
            by = [found[name, recipe][m] - found[name, other][m] for name in collections]
            worst = int(np.argmin(by))
            row = f"{np.mean(by):+.4f} | {by[worst]:+.4f} | {collections[worst]}"
            print(f"| {recipe} − {other} | {m} | {row} |")


def main() -> None:
    """Train, measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--counts", type=Path, required=True, help="made by development.py")
    parser.add_argument("--validation", action="store_true", help="not the test documents")
    parser.add_argument("--only", nargs="*", default=[""], help="collections with this in the name")
    parser.add_argument("--recipes", nargs="*", default=list(RECIPES), choices=list(RECIPES))
    parser.add_argument("--units", type=int, default=128)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--records", type=Path, help="a file for all figures, one line a model")
    given = parser.parse_args()
    names = sorted(n for n in os.listdir(given.counts) if any(part in n for part in given.only))
    trials = [
        Trial(name, recipe, seed)
        for recipe in reversed(given.recipes)  # the longest first
        for name in names
        for seed in range(given.seeds)
    ]
    part = "validation" if given.validation else "test"
    train = partial(score, counts=given.counts, part=part, units=given.units, device=given.device)
    results: dict[Trial, dict[str, float]] = {}
    for trial, measures in in_parallel(train, trials, given.workers):
        results[trial] = measures
        line = {**trial._asdict(), **measures}
        print(json.dumps(line), flush=True)
        if given.records:
            with given.records.open("a") as file:
                file.write(json.dumps(line) + "\n")
    print_tables(means({t: results[t] for t in sorted(results)}), given.recipes)


if __name__ == "__main__":
    main()
