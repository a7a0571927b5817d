"""Which measure on held-out documents, without labels, goes with retrieval?

    python benchmarks/development.py --data FOLDER --out COUNTS
    python benchmarks/held_out_measures.py --counts COUNTS [--only dbpedia] [--workers 12]

On each development collection models are trained on the training part without its validation
documents: three strengths of weight decay, each pretrained and then matched, and four more numbers
of units. Of each the validation documents give measures without their labels (the share of
their halves that find the other half among the nearest, the mean reciprocal rank and the mean
logarithm of the rank of the other half, the perplexity of one half given the other) and with them
(MAP and P@10). Prints how the former go with the latter, as means over the collections of their
correlation within each; what the rule of `Validation` chooses; and the number of units that the
rule of `docboltz tune` chooses, beside the best.
"""

from __future__ import annotations

import argparse
import json
import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array

from development import features_scored, in_parallel, load_split
from docboltz import OverReplicatedSoftmax, Pretraining, Validation
from docboltz.experiments.tuning import TOLERANCE
from docboltz.inference import to_torch
from docboltz.search.vectors import unit_vectors
from docboltz.training.course import Look, choose
from docboltz.training.recipes import RECIPES
from docboltz.training.validation import HeldOut

WITHOUT_LABELS = ("halves_found", "reciprocal_rank", "log_rank", "perplexity")
WITH_LABELS = ("MAP", "P@10")
STRENGTHS = Validation().strengths
SIZES = (32, 64, 256, 512)


class Trial(NamedTuple):
    """A model to train."""

    collection: str
    units: int = 128
    strength: float = 1.0
    matching: int = 0


def measure(trial: Trial, *, counts: Path, device: str) -> dict[str, float]:
    """Train, and measure with labels and without; more is better in all measures."""
    split = load_split(counts, trial.collection, "validation")
    asked, known = split.ask.counts, split.learn.counts
    recipe = RECIPES["full"]
    usual = OverReplicatedSoftmax(1, pretraining=Pretraining(updates=1), device="cpu").fit(known)
    decay = trial.strength * (usual.pretraining_.weight_decay or 0)
    matched = recipe["matching"] if trial.matching else None
    model = OverReplicatedSoftmax(
        trial.units,
        pretraining=replace(recipe["pretraining"], weight_decay=decay),
        matching=matched and replace(matched, updates=trial.matching),
        random_state=0,
        device=device,
    ).fit(known)
    held, learnt = (to_torch(part.astype(np.float32)) for part in (asked, known))
    place, g = torch.device(device), torch.Generator().manual_seed(0)
    held_out = HeldOut(held, learnt, model.latent_words_, place, generator=g)
    found = held_out.measure(model._parameters())
    rank = ranks_of_halves(model, asked, known)
    return {
        "halves_found": found["halves_found"],
        "reciprocal_rank": float((1 / rank).mean()),
        "log_rank": -float(np.log(rank).mean()),
        "perplexity": -found["validation_perplexity"],
        **features_scored(model, split, device, classify=False),
    }


def ranks_of_halves(
    model: OverReplicatedSoftmax, asked: csr_array, known: csr_array
) -> NDArray[np.float64]:
    """The rank of each document's second half among all, by its first half."""
    one, other = asked.copy(), asked.copy()
    one.data = np.random.default_rng(0).binomial(asked.data, 0.5)
    other.data = asked.data - one.data
    both = (one.sum(1) > 0) & (other.sum(1) > 0)
    mean = model.transform(known).mean(0)
    first, second = (unit_vectors(model.transform(half[both]), mean) for half in (one, other))
    cosines = first @ second.T
    own = np.diag(cosines)[:, None]
    return np.asarray((cosines > own).sum(1) + ((cosines == own).sum(1) + 1) / 2)


Found = dict[Trial, dict[str, float]]


def print_correlations(found: Found, names: list[str]) -> None:
    """How measures without labels go with those that need them, over models of 128 units."""
    print("\n| mean (least) correlation | MAP | P@10 | MAP + P@10 |\n|---|---|---|---|")
    for measure in WITHOUT_LABELS:
        cells = []
        for wanted in (("MAP",), ("P@10",), WITH_LABELS):
            each = []
            for name in names:
                rows = [m for t, m in found.items() if t.collection == name and t.units == 128]
                x = [row[measure] for row in rows]
                y = [sum(row[w] for w in wanted) for row in rows]
                each.append(np.corrcoef(x, y)[0, 1])
            cells.append(f"{np.mean(each):.2f} ({min(each):.2f})")
        print(f"| {measure} | {' | '.join(cells)} |")


def print_choices(found: Found, names: list[str]) -> None:
    """What the rules choose, and what that costs."""
    print("\n| chosen | strength, updates | MAP P@10 | first, 128 units | MAP by units | tune |")
    print("|---|---|---|---|---|---|")
    for name in names:
        own = {t: m for t, m in found.items() if t.collection == name}
        looks = [
            Look(t.strength, 0, m["halves_found"], -m["perplexity"], t.matching)
            for t, m in own.items()
            if t.units == 128
        ]
        best = choose(sorted(looks, key=lambda k: (k.strength, k.matching)), Validation())
        chosen = own[Trial(name, 128, best.strength, best.matching)]
        first = own[Trial(name)]
        sizes = {t.units: m for t, m in own.items() if t.strength == 1 and not t.matching}
        enough = max(m["halves_found"] for m in sizes.values()) - TOLERANCE
        tuned = min(f for f, m in sizes.items() if m["halves_found"] >= enough)
        cells = [
            f"{best.strength:g}, {best.matching}",
            f"{chosen['MAP']:.3f} {chosen['P@10']:.3f}",
            f"{first['MAP']:.3f} {first['P@10']:.3f}",
            " ".join(f"{f}: {sizes[f]['MAP']:.3f}" for f in sorted(sizes)),
            str(tuned),
        ]
        print(f"| {name} | {' | '.join(cells)} |")


def main() -> None:
    """Train, measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--counts", type=Path, required=True, help="made by development.py")
    parser.add_argument("--only", default="", help="collections with this in their names")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--records", type=Path, help="a file for all figures, one line a model")
    given = parser.parse_args()
    names = sorted(name for name in os.listdir(given.counts) if given.only in name)
    lengths = (800, 200, 0)
    trials = [
        *(Trial(n, 128, s, u) for u in lengths for s in STRENGTHS for n in names),
        *(Trial(n, units) for units in reversed(SIZES) for n in names),
    ]
    train = partial(measure, counts=given.counts, device=given.device)
    found: Found = {}
    for trial, measures in in_parallel(train, trials, given.workers):
        found[trial] = measures
        if given.records:
            with given.records.open("a") as file:
                file.write(json.dumps({**trial._asdict(), **measures}) + "\n")
    print_correlations(found, names)
    print_choices(found, names)


if __name__ == "__main__":
    main()
