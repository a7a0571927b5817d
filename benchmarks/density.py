"""How many latent words, and how much training, for the best density? Held-out perplexity.

    python benchmarks/development.py --data FOLDER --out COUNTS
    python benchmarks/density.py --counts COUNTS --workers 8                    # M, to choose by
    python benchmarks/density.py --counts COUNTS --latent 20 --updates 25000 50000
    python benchmarks/density.py --counts COUNTS --latent 20 --decays 0.6 1.2 2.4
    python benchmarks/density.py --counts COUNTS --latent 20 --tuning-decays 1e-5 1e-4

Trains the recipe "density" on the training part of 20 Newsgroups (2,000 words) and of Reuters
without their validation documents, and prints the perplexity of 500 of these, of at most 1,000
words, by importance sampling, with the errors from documents, estimate and log ζ. M = 0 is the
Replicated Softmax.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from development import in_parallel, load_split
from docboltz import OverReplicatedSoftmax, ReplicatedSoftmax
from docboltz.training.recipes import RECIPES

COLLECTIONS = ("20news-2000", "reuters")
PREDICTED, LONGEST = 500, 1000


class Trial(NamedTuple):
    """A model to train."""

    collection: str
    latent_words: int
    decay: float
    tuning_decay: float
    updates: int
    seed: int


def measure(trial: Trial, *, counts: Path, units: int, device: str) -> dict[str, Any]:
    """Train, and predict documents that were not learnt from."""
    split = load_split(counts, trial.collection, "validation")
    recipe = RECIPES["density"]
    tuned = recipe["finetuning"]
    assert tuned is not None
    pace = trial.updates / tuned.updates  # the rate falls as slowly as training is long
    settings: dict[str, Any] = {
        "pretraining": replace(recipe["pretraining"], weight_decay=trial.decay),
        "finetuning": replace(
            tuned,
            updates=trial.updates,
            halve_after=max(1.0, pace * tuned.halve_after),
            weight_decay=trial.tuning_decay,
        ),
        "random_state": trial.seed,
        "device": device,
    }
    model: OverReplicatedSoftmax | ReplicatedSoftmax = ReplicatedSoftmax(units, **settings)
    if trial.latent_words:
        model = OverReplicatedSoftmax(units, latent_words=trial.latent_words, **settings)
    begin = time.perf_counter()
    model.fit(split.learn.counts)
    seconds = time.perf_counter() - begin
    asked = split.ask.counts
    short = np.flatnonzero(asked.sum(1) <= LONGEST)[:PREDICTED]
    found = model.perplexity(asked[short])
    errors = (found.documents_error, found.numerator_error, found.partition_error)
    return {"perplexity": found.value, "errors": errors, "seconds": seconds}


def main() -> None:
    """Train, measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--counts", type=Path, required=True, help="made by development.py")
    parser.add_argument("--collections", nargs="*", default=COLLECTIONS, choices=COLLECTIONS)
    parser.add_argument("--latent", nargs="*", type=int, default=[0, 5, 10, 20, 50])
    parser.add_argument("--decays", nargs="*", type=float, default=[1.2])
    parser.add_argument("--tuning-decays", nargs="*", type=float, default=[1e-5])
    parser.add_argument("--updates", nargs="*", type=int, default=[50_000])
    parser.add_argument("--units", type=int, default=128)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--device", default="auto")
    given = parser.parse_args()
    trials = [
        Trial(name, m, decay, tuning_decay, updates, seed)
        for updates in sorted(given.updates, reverse=True)  # the longest first
        for name in reversed(given.collections)
        for decay in given.decays
        for tuning_decay in given.tuning_decays
        for m in given.latent
        for seed in range(given.seeds)
    ]
    train = partial(measure, counts=given.counts, units=given.units, device=given.device)
    results = {}
    for trial, found in in_parallel(train, trials, given.workers):
        results[trial] = found
        print(json.dumps({**trial._asdict(), **found}), flush=True)
    errors = "± documents / estimate / log ζ"
    print(f"\n| collection | M | decay | in tuning | updates | seed | perplexity | {errors} |")
    print("|---|---|---|---|---|---|---|---|")
    for trial in sorted(results):
        value, parts = results[trial]["perplexity"], results[trial]["errors"]
        cells = [*map(str, trial), f"{value:.1f}", " / ".join(f"{e:.1f}" for e in parts)]
        print(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
