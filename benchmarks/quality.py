"""How good are the features? Retrieval and classification on test documents, several seeds.

python benchmarks/quality.py                          # all models, on the best device there is
python benchmarks/quality.py --only 20news-2000 --device cpu
python benchmarks/quality.py --rcv1 FOLDER            # with Reuters: counts.npz and so on
python benchmarks/quality.py --counts FOLDER          # on counts: docboltz reproduce --save-counts
python benchmarks/quality.py --out FOLDER             # keeps records, and goes on with what is left

Prints a Markdown table: mean ± standard deviation over seeds 0, 1, …. The classifiers' penalty is
fixed.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from docboltz.experiments.datasets import REUTERS, Sources
from docboltz.experiments.models import Settings
from docboltz.experiments.running import run
from docboltz.experiments.summary import Results
from docboltz.experiments.trial import Measures, Trial

MODELS: list[tuple[str, str, Settings]] = [
    ("20news-2000", "ors", Settings(128, "quick")),
    ("20news-2000", "ors", Settings(128, "full", 100)),
    ("20news-2000", "ors", Settings(512, "full", 100)),
    ("20news-10000", "ors", Settings(512, "quick", 100)),
    ("20news-10000", "ors", Settings(512, "full", 100)),
    (REUTERS, "ors", Settings(512, "quick", 100)),
    (REUTERS, "ors", Settings(512, "full", 100)),
    ("20news-2000", "ors", Settings(128, "quick", 100)),
    ("20news-2000", "ors", Settings(512, "quick", 100)),
    ("20news-2000", "rs", Settings(128, "quick")),
    ("20news-2000", "rs", Settings(128, "full")),
    ("20news-10000", "ors", Settings(128, "quick", 100)),
    ("20news-10000", "ors", Settings(1024, "full", 100)),
]
SCORES = ("mean_average_precision", "precision_at_10", "classification")


def trials(n_seeds: int, only: str, sources: Sources) -> list[Trial]:
    """The seeds of one model after the other."""
    every = [
        Trial(model, Settings(s.units, s.recipe, s.latent_words, seed=seed), measures, dataset)
        for measures in [Measures(chooses_penalty=False)]
        for dataset, model, s in MODELS
        for seed in range(n_seeds)
    ]
    return [trial for trial in every if only in trial.name and sources.has(trial.dataset)]


def row(results: Results, trial: Trial) -> str:
    """Mean ± standard deviation of each measure; mean of the seconds."""
    key = trial.dataset, trial.variant, trial.units
    cells = [f"{trial.dataset} {trial.variant} {trial.units}"]
    for name in (*SCORES, "seconds.training"):
        stat = results.stat(*key, name)
        digits = 1 if name == "seconds.training" else 4
        cells.append("–" if stat is None else f"{stat.mean:.{digits}f}")
        if stat is not None and stat.n > 1 and digits == 4:
            cells[-1] += f" ± {stat.sd:.4f}"
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Train, measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--path", type=Path, help="20 Newsgroups here, not to be fetched")
    parser.add_argument("--rcv1", type=Path, help="folder with Reuters as counts")
    parser.add_argument("--counts", type=Path, help="folder with saved counts")
    parser.add_argument("--out", type=Path, help="folder for the records")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--only", default="", help="trials whose name contains this")
    given = parser.parse_args()
    sources = Sources(given.counts, given.path, given.rcv1)
    chosen = trials(given.seeds, given.only, sources)
    records = list(
        run(chosen, sources.load, folder=given.out, device=given.device, helpers=True, log=print)
    )
    print("\n| model | retrieval MAP | P@10 | accuracy or classification MAP | training, s |")
    print("|---|---|---|---|---|")
    results = Results(records)
    for trial in {(t.dataset, t.variant, t.units): t for t in chosen}.values():
        print(row(results, trial))


if __name__ == "__main__":
    main()
