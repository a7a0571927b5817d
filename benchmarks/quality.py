"""How good are the features? Retrieval and classification on test documents, several seeds.

python benchmarks/quality.py                          # all models, on the best device there is
python benchmarks/quality.py --only 20news-2000/default --device cpu
python benchmarks/quality.py --rcv1 FOLDER            # with Reuters: counts.npz and topics.npz
python benchmarks/quality.py --save FOLDER            # only count, for a machine without the texts
python benchmarks/quality.py --counts FOLDER          # on counts saved that way

20 Newsgroups is prepared as in the paper; Reuters is split at random, seed 0, with 2,579 documents
to test. Prints a Markdown table: mean ± standard deviation over seeds 0, 1, ….
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from docboltz import OverReplicatedSoftmax, Pretraining, ReplicatedSoftmax
from docboltz.evaluation.classification import FIXED_C
from docboltz.evaluation.suite import LabelledSplit, evaluate_features
from docboltz.reproduce.data import load_split, newsgroups_split, reuters_split, save_split


@dataclass(frozen=True)
class Task:
    """Documents to learn from and to test on."""

    name: str
    split: LabelledSplit


@dataclass(frozen=True)
class Trial:
    """A model and the task it is tried on."""

    name: str
    task: str
    n_topics: int
    latent: bool = True
    settings: dict[str, Any] = field(default_factory=dict)

    def model(self, seed: int, device: str) -> OverReplicatedSoftmax | ReplicatedSoftmax:
        """Make the estimator."""
        kind = OverReplicatedSoftmax if self.latent else ReplicatedSoftmax
        return kind(self.n_topics, random_state=seed, device=device, **self.settings)


FULL: dict[str, Any] = {"recipe": "full"}
M100 = {"latent_words": 100}
TRIALS = [
    Trial("20news-2000/default", "20news-2000", 128),
    Trial("20news-2000/ORS128", "20news-2000", 128, settings=M100 | FULL),
    Trial("20news-2000/ORS512", "20news-2000", 512, settings=M100 | FULL),
    Trial("20news-10000/ORS512-pretrained", "20news-10000", 512, settings=M100),
    Trial("20news-10000/ORS512", "20news-10000", 512, settings=M100 | FULL),
    Trial("rcv1v2-27k/ORS512-pretrained", "rcv1v2-27k", 512, settings=M100),
    Trial("rcv1v2-27k/ORS512", "rcv1v2-27k", 512, settings=M100 | FULL),
    Trial("20news-2000/ORS128-pretrained", "20news-2000", 128, settings=M100),
    Trial("20news-2000/ORS512-pretrained", "20news-2000", 512, settings=M100),
    Trial("20news-2000/RS128-pretrained", "20news-2000", 128, latent=False),
    Trial("20news-2000/RS128", "20news-2000", 128, latent=False, settings=FULL),
    Trial("20news-10000/ORS128-pretrained", "20news-10000", 128, settings=M100),
    Trial("20news-10000/ORS1024", "20news-10000", 1024, settings=M100 | FULL),
]


def main() -> None:
    """Train, measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--path", type=Path, help="20 Newsgroups here, not to be fetched")
    parser.add_argument("--rcv1", type=Path, help="folder with counts.npz and topics.npz")
    parser.add_argument("--save", type=Path, help="folder to save counts to, and no more")
    parser.add_argument("--counts", type=Path, help="folder with saved counts")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--only", default="", help="trials whose name contains this")
    arguments = parser.parse_args()
    if arguments.save is not None:
        for task in counted(arguments):
            save_split(task.split, arguments.save / task.name)
        return
    tasks = {task.name: task for task in counted(arguments)}
    device = "cuda" if arguments.device == "auto" and torch.cuda.is_available() else "cpu"
    device = device if arguments.device == "auto" else arguments.device
    hardware = torch.cuda.get_device_name() if device == "cuda" else "CPU"
    print(f"{hardware}, torch {torch.__version__}, {arguments.seeds} seeds\n")
    print("| model | retrieval MAP | P@10 | accuracy or classification MAP | training, s |")
    print("|---|---|---|---|---|")
    for trial in TRIALS:
        if arguments.only in trial.name and trial.task in tasks:
            warm_up(tasks[trial.task], trial, device)
            rows = [
                attempt(trial, tasks[trial.task], seed, device) for seed in range(arguments.seeds)
            ]
            print(f"| {trial.name} | {' | '.join(summary(rows))} |", flush=True)


def attempt(trial: Trial, task: Task, seed: int, device: str) -> list[float]:
    """One seed: the measures, and seconds of training."""
    model = trial.model(seed, device)
    begin = time.perf_counter()
    model.fit(task.split.train)
    seconds = time.perf_counter() - begin
    features, test_features = (model.transform(x) for x in (task.split.train, task.split.test))
    scores = evaluate_features(features, test_features, task.split, device=device, C=FIXED_C)
    measures = scores.mean_average_precision, scores.precision_at_10, scores.classification_score
    return [*measures, seconds]


def warm_up(task: Task, trial: Trial, device: str) -> None:
    """Compile kernels, which is done once and for all, before any clock runs."""
    if device != "cpu":
        settings = trial.settings | {"pretraining": Pretraining(updates=20, more_steps_every=5)}
        Trial(trial.name, trial.task, trial.n_topics, trial.latent, settings).model(0, device).fit(
            task.split.train[:600]
        )


def summary(rows: list[list[float]]) -> list[str]:
    """Mean ± standard deviation of each measure; mean of the seconds."""
    mean = np.mean(rows, 0)
    spread = np.std(rows, 0, ddof=1) if len(rows) > 1 else np.zeros(len(mean))
    cells = [f"{m:.4f} ± {s:.4f}" for m, s in zip(mean[:-1], spread[:-1], strict=True)]
    return [*cells, f"{mean[-1]:.1f}"]


# ---- data ----


def counted(arguments: argparse.Namespace) -> Iterator[Task]:
    """All tasks there are data for."""
    if arguments.counts is not None:
        for folder in sorted(arguments.counts.iterdir()):
            yield Task(folder.name, load_split(folder))
        return
    for words in (2000, 10_000):
        yield Task(f"20news-{words}", newsgroups_split(words, path=arguments.path))
    if arguments.rcv1 is not None:
        yield Task("rcv1v2-27k", reuters_split(arguments.rcv1))


if __name__ == "__main__":
    main()
