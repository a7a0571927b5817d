"""Do more temperatures or more chains let AIS find the modes it misses?

python benchmarks/temperatures.py --counts FOLDER [--shorter 50] [--out found.json]

The Over-Replicated Softmax with M = 50 is trained the paper's way on 20 Newsgroups, in a part of
its updates. log ζ(D) at a few lengths is estimated by AIS with 128 and 1,024 chains, and with 1,000
and 10,000 temperatures. Beside it stand annealing along length and the lower bound, which is
certain: the largest that any of these runs came by. Ten minutes on one thread of a CPU.

FOLDER is written by `docboltz reproduce --save-counts`.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
import torch

from docboltz.experiments.datasets import Sources
from docboltz.experiments.models import MODELS, Settings
from docboltz.sampling.ais import anneal_temperatures

DATASET, M = "20news-2000", 50
RUNS = ((128, 1000), (1024, 1000), (128, 10_000))
"""Chains and temperatures."""


def main() -> None:
    """Train, measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--counts", type=Path, required=True)
    parser.add_argument("--shorter", type=int, default=50, help="divide the paper's updates by it")
    parser.add_argument("--lengths", type=int, nargs="+", default=[80, 150, 250], help="D = N + M")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    torch.set_num_threads(1)
    settings = Settings(128, "paper", M, seed=0, shorter=given.shorter)
    begin = time.perf_counter()
    model = MODELS["ors"].build(settings, {"device": given.device, "verbose": False})
    model.fit(Sources(given.counts).load(DATASET).train.counts)
    updates = model.pretraining_.updates, model.finetuning_.updates
    seconds = {"training": time.perf_counter() - begin}
    print(f"{updates[0]:,} and {updates[1]:,} updates: {seconds['training']:.0f} s", flush=True)

    p = model._parameters()
    d = torch.tensor(given.lengths, dtype=torch.float64, device=p.W.device)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        along = model.log_zeta(given.lengths, random_state=0)
    known, bounds = {"along length": (along.estimate, along.error)}, [along.lower_bound]
    for chains, steps in RUNS:
        name, begin = f"{chains:,} chains, {steps:,} temperatures", time.perf_counter()
        generator = torch.Generator(p.W.device).manual_seed(0)
        found = anneal_temperatures(p, d, chains=chains, steps=steps, generator=generator)
        known[name] = found.estimate, found.error
        bounds.append(found.lower_bound)
        seconds[name] = time.perf_counter() - begin
        print(f"{name}: {seconds[name]:.0f} s", flush=True)

    lower = np.max(bounds, axis=0)
    print(f"{'D':>34}" + "".join(f"{length:>16,}" for length in given.lengths))
    print(f"{'lower bound':>34}" + "".join(f"{bound:16.2f}" for bound in lower))
    for name, (estimate, error) in known.items():
        shown = (f"{a:8.2f} ± {b:5.3f}" for a, b in zip(estimate, error, strict=True))
        print(f"{name:>34}" + "".join(f"{text:>16}" for text in shown))
    if given.out:
        values = {name: [part.tolist() for part in both] for name, both in known.items()}
        kept = {"d": given.lengths, "updates": updates, "seconds": seconds}
        text = json.dumps({**kept, "lower_bound": lower.tolist(), "log_zeta": values})
        given.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
