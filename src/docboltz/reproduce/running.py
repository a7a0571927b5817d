"""Run trials, one file each: what is done stays done, what failed is tried again."""

from __future__ import annotations

import json
import os
import platform
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_array, issparse

from docboltz import __version__
from docboltz.comparison.measuring import choose_to_predict, n_parameters
from docboltz.corpus.cache import written_whole
from docboltz.corpus.checks import check_counts
from docboltz.device import choose_device
from docboltz.errors import InvalidParameter
from docboltz.estimator.density import Perplexity, measure_perplexity
from docboltz.evaluation.by_length import ByLength
from docboltz.evaluation.retrieval import RECALL_POINTS
from docboltz.evaluation.suite import LabelledSplit, evaluate_features
from docboltz.inference import to_torch
from docboltz.likelihood import numerator
from docboltz.model.parameters import Parameters
from docboltz.reproduce.models import Effort, Unavailable, rehearsed
from docboltz.reproduce.trials import Trial

Record = dict[str, Any]
Load = Callable[[str], LabelledSplit]
Say = Callable[[str], None]

REHEARSAL_DOCUMENTS = 600
DONE, FAILED, SKIPPED = "done", "failed", "skipped"


def read_records(folder: Path) -> dict[str, Record]:
    """What the files of a folder say, by the trials' names."""
    found = {}
    for file in sorted((folder / "trials").glob("[!.]*.json")):
        try:
            found[file.stem] = json.loads(file.read_text("utf-8"))
        except ValueError as error:
            raise InvalidParameter(
                f"{file} is not the record of a trial: {error}. Remove it to have it run anew."
            ) from error
    return found


def require_effort(records: dict[str, Record], effort: Effort, folder: Path) -> None:
    """Refuse to mix trials of different effort in one folder."""
    others = {record["effort"] for record in records.values()} - {effort.name}
    if others:
        raise InvalidParameter(
            f"{folder} holds trials of a {others.pop()} run, and this is a {effort.name} one. "
            "Choose another folder with --out."
        )


def run_trials(
    trials: Sequence[Trial], folder: Path, load: Load, effort: Effort, *, device: str, say: Say
) -> None:
    """Run those trials that are not done yet; `load` gives the documents of a dataset."""
    place = choose_device(device, "docboltz reproduce").type
    records = read_records(folder)
    require_effort(records, effort, folder)
    left = [t for t in trials if records.get(t.name, {}).get("status") != DONE]
    seconds = sum(t.expected_seconds(effort, cuda=place == "cuda") for t in left)
    kept = f"; {len(trials) - len(left)} done already" if len(left) < len(trials) else ""
    say(f"{len(left)} trials on {hardware(place)}, about {seconds / 60:.0f} minutes{kept}")
    splits: dict[str, LabelledSplit] = {}
    rehearsals: set[tuple[str, str, int]] = set()
    for number, trial in enumerate(left, 1):
        if trial.dataset not in splits:
            splits = {trial.dataset: load(trial.dataset)}  # one at a time in memory
        begin = time.perf_counter()
        record = _attempt(trial, splits[trial.dataset], effort, place, rehearsals)
        _write(record, folder / "trials" / f"{trial.name}.json")
        spent = time.perf_counter() - begin
        say(f"[{number}/{len(left)}] {trial.name}: {_in_short(record)} ({spent:.0f} s)")


def hardware(device: str) -> str:
    """What the arithmetic runs on."""
    if device == "cuda":
        return str(torch.cuda.get_device_name())
    threads = torch.get_num_threads()
    return f"CPU ({platform.machine()}, {threads} of {os.cpu_count()} cores)"


def _attempt(
    trial: Trial,
    split: LabelledSplit,
    effort: Effort,
    device: str,
    rehearsals: set[tuple[str, str, int]],
) -> Record:
    """The record of a trial, whatever becomes of it."""
    effort = trial.kind.effort(effort)
    record: Record = {
        "name": trial.name,
        "dataset": trial.dataset,
        "model": trial.model,
        "n_topics": trial.n_topics,
        "seed": trial.seed,
        "effort": effort.name,
        "status": DONE,
        "hardware": hardware(device),
        "torch": torch.__version__,
        "docboltz": __version__,
        "date": datetime.now(UTC).date().isoformat(),
        "data": {
            "train": split.train.shape[0],
            "test": split.test.shape[0],
            "words": split.train.shape[1],
            "mean_length": float(split.train.sum() / split.train.shape[0]),
        },
    }
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            _rehearse(trial, split, effort, device, rehearsals)
            record |= _measure(trial, split, effort, device)
        except Unavailable as error:
            record |= {"status": SKIPPED, "reason": str(error)}
        except Exception as error:  # one trial's trouble is not the others'
            record |= {"status": FAILED, "reason": f"{type(error).__name__}: {error}"}
    record["warnings"] = sorted({str(warning.message) for warning in said})
    return record


def _rehearse(
    trial: Trial,
    split: LabelledSplit,
    effort: Effort,
    device: str,
    rehearsals: set[tuple[str, str, int]],
) -> None:
    """Compile kernels, which is done once and for all, before any clock runs."""
    key = trial.dataset, trial.model, trial.n_topics
    if device == "cpu" or not trial.kind.topic_model or key in rehearsals:
        return
    rehearsals.add(key)
    model = trial.kind.make(trial.n_topics, trial.seed, device, rehearsed(effort))
    model.fit(split.train[:REHEARSAL_DOCUMENTS])


def _measure(trial: Trial, split: LabelledSplit, effort: Effort, device: str) -> Record:
    seconds: dict[str, float] = {}
    model = trial.kind.make(trial.n_topics, trial.seed, device, effort)
    with _timed(seconds, "training"):
        model.fit(split.train)
    found: Record = {"settings": repr(model), "seconds": seconds}
    found["n_parameters"] = n_parameters(model)
    if trial.kind.latent:
        lengths = torch.as_tensor(split.train.sum(axis=1), dtype=torch.float64)
        found["mean_latent_words"] = float(model.latent_words_(lengths).mean())
    if trial.kind.features:
        with _timed(seconds, "inference"):
            features, test_features = model.transform(split.train), model.transform(split.test)
        with _timed(seconds, "evaluation"):
            C = effort.penalty(sparse=issparse(features))
            scores = evaluate_features(features, test_features, split, device=device, C=C)
        found |= {
            "mean_average_precision": scores.mean_average_precision,
            "precision_at_10": scores.precision_at_10,
            "classification": scores.classification_score,
            "C": scores.classification.C,
            "recall_points": list(RECALL_POINTS),
            "precision_at_recall": _rounded(scores.precision_at_recall),
            "by_length": pack_by_length(scores.retrieval_by_length),
        }
    if trial.measures_density:
        # The same for every model and seed.
        documents = choose_to_predict(split.test, effort.n_documents, effort.longest, seed=0)
        with _timed(seconds, "perplexity"):
            best = model.perplexity(documents, random_state=trial.seed)
            found["perplexity"] = _described(best)
            if trial.kind.latent:
                found["bound"] = _described(_bound(model, documents, best, device))
    return found


def _bound(model: Any, documents: csr_array, best: Perplexity, device: str) -> Perplexity:
    """The paper's perplexity, by the mean-field bound, with the log ζ that is known already."""
    arrays = model.components_, model.intercept_hidden_, model.intercept_visible_
    p = Parameters(*(torch.as_tensor(array, device=device) for array in arrays))
    counts = to_torch(check_counts(documents, "docboltz reproduce"))
    n = counts.lengths.to(device, torch.float64)
    assert best.log_partition is not None
    generator = torch.Generator(device)  # a bound draws nothing
    found = numerator(p, counts, model.latent_words_(n), "bound", generator=generator)
    return measure_perplexity(
        "docboltz reproduce",
        found.value - best.log_partition.value,
        n,
        method="bound",
        partition=best.log_partition,
    )


def _described(found: Perplexity) -> Record:
    zeta = found.log_partition
    return {
        "value": found.value,
        "error": found.error,
        "documents_error": found.documents_error,
        "numerator_error": found.numerator_error,
        "partition_error": found.partition_error,
        "largest_log_partition_error": None if zeta is None else float(zeta.error.max()),
        "method": found.method,
        "n_documents": found.n_documents,
    }


def pack_by_length(found: ByLength) -> Record:
    """A measure by length with one entry for each length, as it is plotted, and its fifths."""
    length, where, n = np.unique(found.length, return_inverse=True, return_counts=True)
    return {
        "length": length.tolist(),
        "n": n.tolist(),
        "value": _rounded(np.bincount(where, found.value) / n),
        "smoothed": _rounded(np.bincount(where, found.smoothed) / n),
        "window": found.window,
        "decile_boundaries": found.decile_boundaries.tolist(),
        "histogram": found.histogram.tolist(),
        "bin_edges": found.bin_edges.tolist(),
        "n_left_out": found.n_left_out,
        "fifths": found.mean_by_fifth.tolist() if len(found.value) >= 5 else None,
        "fifth_lengths": [
            [int(group[0]), int(group[-1])]
            for group in np.array_split(found.length, 5)
            if len(group)
        ],
    }


def unpack_by_length(packed: Record) -> ByLength:
    """What `pack_by_length` keeps, every query with the mean of those of its length."""
    n = packed["n"]
    return ByLength(
        np.repeat(packed["length"], n),
        np.repeat(packed["value"], n),
        np.repeat(packed["smoothed"], n),
        packed["window"],
        np.array(packed["decile_boundaries"]),
        np.array(packed["histogram"]),
        np.array(packed["bin_edges"]),
        packed["n_left_out"],
    )


def _rounded(values: Any) -> list[float]:
    return [round(float(value), 5) for value in values]


def _in_short(record: Record) -> str:
    if record["status"] != DONE:
        return f"{record['status']}: {record['reason']}"
    said = []
    if "classification" in record:
        said.append(f"MAP {record['mean_average_precision']:.3f}")
        said.append(f"P@10 {record['precision_at_10']:.3f}")
        said.append(f"classification {record['classification']:.3f}")
    if "perplexity" in record:
        said.append(f"perplexity {record['perplexity']['value']:.0f}")
    return ", ".join(said)


@contextmanager
def _timed(seconds: dict[str, float], what: str) -> Iterator[None]:
    begin = time.perf_counter()
    yield
    seconds[what] = time.perf_counter() - begin


def _write(record: Record, path: Path) -> None:
    with written_whole(path) as draft:
        draft.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
