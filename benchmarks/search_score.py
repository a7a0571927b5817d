"""What words should count for in the score of a search: MAP and P@10 for a grid of weights.

    python benchmarks/development.py --data FOLDER --out COUNTS
    python benchmarks/search_score.py --counts COUNTS [--only NAME] [--device cuda] [--seeds 2]

A document's score is the cosine of centred features + λ · the cosine of tf-idf weights. Validation
documents, drawn from the training part of each collection, ask for the others of that part; test
documents play no role. A query is a whole document, or three or six of its words drawn at random;
what shares a label with it is relevant. Collections cut to their first words are left out. Prints a
row for each collection and kind of query, means over seeds 0, 1, …, and mean differences
to λ = 0 over collections: docboltz.search.interface.WORDS_PER_FEATURE_COSINE comes from them.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from development import Part, Split, load_split, shortened
from docboltz import OverReplicatedSoftmax
from docboltz.device import choose_device
from docboltz.search.vectors import unit_vectors
from docboltz.search.words import WordIndex

LAMBDAS = (0.0, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0)
WAYS = (*map("{:g}".format, LAMBDAS), "words", "uncentred")
QUERY_LENGTHS = {"document": None, "6 words": 6, "3 words": 3}
N_UNITS = 128
QUERIES_AT_ONCE = 250

Measures = NDArray[np.float64]
"""MAP and P@10 of each way: (2, WAYS)."""


def measure(model: OverReplicatedSoftmax, learn: Part, ask: Part, device: torch.device) -> Measures:
    """MAP and P@10 of every way, over the queries that have an answer."""

    def on_device(array: NDArray[np.float32]) -> torch.Tensor:
        return torch.from_numpy(array).to(device)

    index = WordIndex.of(learn.counts)
    words = index.vectors(ask.counts)
    features, questions = model.transform(learn.counts), model.transform(ask.counts)
    units = [
        [on_device(unit_vectors(each, mean)) for each in (features, questions)]
        for mean in (features.mean(0), None)
    ]
    total, n = torch.zeros(2, len(WAYS), dtype=torch.float64), 0
    for part in (slice(b, b + QUERIES_AT_ONCE) for b in range(0, len(questions), QUERIES_AT_ONCE)):
        features, uncentred = (asked[part] @ documents.T for documents, asked in units)
        shared = on_device(index.scores(words[part]))
        relevant = on_device((ask.labels[part] @ learn.labels.T).toarray().astype(np.float32)) > 0
        answered = relevant.any(1)
        n += int(answered.sum())
        ranks = torch.arange(1, relevant.shape[1] + 1, device=device)
        for way, scores in enumerate(
            [*(features + x * shared for x in LAMBDAS), shared, uncentred]
        ):
            order = scores[answered].argsort(dim=1, descending=True, stable=True)
            hits = torch.gather(relevant[answered], 1, order).double()  # (Q, n)
            precision = (hits.cumsum(1) / ranks * hits).sum(1) / hits.sum(1)
            total[0, way] += precision.sum().cpu()
            total[1, way] += hits[:, :10].mean(1).sum().cpu()
    return (total / n).numpy()


def trials(split: Split, seeds: int, device: torch.device) -> Iterator[tuple[str, Measures]]:
    """Each kind of query with its measures, seed by seed."""
    learn, ask = split
    for seed in range(seeds):
        model = OverReplicatedSoftmax(N_UNITS, random_state=seed, device=str(device))
        model.fit(learn.counts)
        rng = np.random.default_rng(seed)
        for kind, length in QUERY_LENGTHS.items():
            asked = ask.counts if length is None else shortened(ask.counts, length, rng)
            yield kind, measure(model, learn, Part(asked, ask.labels), device)


def main() -> None:
    """Try all, print as it goes, and print the means."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--counts", type=Path, required=True, help="made by development.py")
    parser.add_argument("--only", action="append", help="name of a collection; may be repeated")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--seeds", type=int, default=2)
    given = parser.parse_args()
    found: dict[str, dict[str, Measures]] = {kind: {} for kind in QUERY_LENGTHS}
    print(f"{'':34s}" + "".join(f"{way:>10s}" for way in WAYS))

    def show(kind: str, name: str, measures: Measures, form: str) -> None:
        for measure_name, row in zip(("MAP", "P@10"), measures, strict=True):
            cells = "".join(f"{value:{form}}" for value in row)
            print(f"{name:16s}{kind:12s}{measure_name:6s}{cells}", flush=True)

    device = choose_device(given.device, "search_score.py")
    for name in sorted(os.listdir(given.counts)):
        if name in given.only if given.only else "-first" not in name:
            split = load_split(given.counts, name, "validation")
            done = list(trials(split, given.seeds, device))
            for kind, of_kind in found.items():
                of_kind[name] = np.mean([each for what, each in done if what == kind], axis=0)
                show(kind, name, of_kind[name], "10.4f")
    for kind, of_kind in found.items():
        change = [measures - measures[:, :1] for measures in of_kind.values()]
        show(kind, "mean difference", np.mean(change, axis=0), "+10.4f")
    every = [m - m[:, :1] for of_kind in found.values() for m in of_kind.values()]
    show("all", "mean difference", np.mean(every, axis=0), "+10.4f")


if __name__ == "__main__":
    main()
