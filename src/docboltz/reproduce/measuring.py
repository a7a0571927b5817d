"""One trial: a model trained, its documents predicted, its features judged.

The first half may need a GPU, judging does not: each can be done in a process of its own.
"""

from __future__ import annotations

import os
import platform
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_array

from docboltz import __version__
from docboltz.corpus.checks import check_counts
from docboltz.estimator.density import Perplexity, measure_perplexity
from docboltz.evaluation.by_length import ByLength
from docboltz.evaluation.classification import fixed_penalty
from docboltz.evaluation.comparable import choose_to_predict, n_parameters
from docboltz.evaluation.retrieval import RECALL_POINTS
from docboltz.evaluation.suite import LabelledSplit, evaluate_features
from docboltz.inference import to_torch
from docboltz.likelihood import numerator
from docboltz.model.parameters import Parameters
from docboltz.reproduce.models import Effort, Unavailable, rehearsed
from docboltz.reproduce.trials import Trial

Record = dict[str, Any]
Features = tuple[Any, Any]
"""Of training and of test documents."""

DONE, FAILED, SKIPPED = "done", "failed", "skipped"
REHEARSAL_DOCUMENTS = 600
_REHEARSED: set[tuple[str, str, int]] = set()
"""Datasets, models and sizes whose kernels are compiled."""


def attempt(trial: Trial, split: LabelledSplit, effort: Effort, device: str) -> Record:
    """The record of a trial, whatever becomes of it."""
    return judge(*train(trial, split, effort, device), split, effort, device)


def train(
    trial: Trial, split: LabelledSplit, effort: Effort, device: str
) -> tuple[Record, Features | None]:
    """Train a model and measure all but its features; give what is known of it, and those."""
    record = begin(trial, split, effort, device)
    features: Features | None = None
    with _noting(record):
        features = _measure(trial, split, trial.kind.effort(effort), device, record)
    return record, features


def begin(trial: Trial, split: LabelledSplit, effort: Effort, device: str) -> Record:
    """What is known of a trial from the start."""
    return {
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
        "seconds": {},
        "warnings": [],
    }


def judge(
    record: Record, features: Features | None, split: LabelledSplit, effort: Effort, device: str
) -> Record:
    """Add to a record what its model's features are good for."""
    if features is None:
        return record
    with _noting(record):
        with _timed(record, "evaluation"):
            C = None if effort.chooses_penalty else fixed_penalty(features[0])
            scores = evaluate_features(*features, split, device=device, C=C)
        record |= {
            "mean_average_precision": scores.mean_average_precision,
            "precision_at_10": scores.precision_at_10,
            "classification": scores.classification_score,
            "C": scores.classification.C,
            "recall_points": list(RECALL_POINTS),
            "precision_at_recall": _rounded(scores.precision_at_recall),
            "by_length": pack_by_length(scores.retrieval_by_length),
        }
    return record


@contextmanager
def _noting(record: Record) -> Iterator[None]:
    """One trial's trouble is not the others': note it, and warnings."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            yield
        except Unavailable as error:
            record |= {"status": SKIPPED, "reason": str(error)}
        except Exception as error:
            record |= {"status": FAILED, "reason": f"{type(error).__name__}: {error}"}
    record["warnings"] = sorted({*record["warnings"], *(str(w.message) for w in said)})


def _rehearse(trial: Trial, split: LabelledSplit, effort: Effort, device: str) -> None:
    """Compile kernels, which is done once and for all, before any clock runs."""
    key = trial.dataset, trial.model, trial.n_topics
    if trial.kind.topic_model and key not in _REHEARSED:
        _REHEARSED.add(key)
        model = trial.kind.make(trial.n_topics, trial.seed, device, rehearsed(effort))
        model.fit(split.train[:REHEARSAL_DOCUMENTS])


def _measure(
    trial: Trial, split: LabelledSplit, effort: Effort, device: str, record: Record
) -> Features | None:
    if device != "cpu":
        _rehearse(trial, split, effort, device)
    model = trial.kind.make(trial.n_topics, trial.seed, device, effort)
    with _timed(record, "training"):
        model.fit(split.train)
    record |= {"settings": repr(model), "n_parameters": n_parameters(model)}
    if trial.kind.latent:
        lengths = torch.as_tensor(split.train.sum(axis=1), dtype=torch.float64)
        record["mean_latent_words"] = float(model.latent_words_(lengths).mean())
    if trial.measures_density:
        # The same documents for every model and seed.
        documents = choose_to_predict(split.test, effort.n_documents, effort.longest, seed=0)
        with _timed(record, "perplexity"):
            best = model.perplexity(documents, random_state=trial.seed)
            record["perplexity"] = _described(best)
            if trial.kind.latent:
                record["bound"] = _described(_bound(model, documents, best, device))
    if not trial.kind.features:
        return None
    with _timed(record, "inference"):
        return model.transform(split.train), model.transform(split.test)


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


def hardware(device: str) -> str:
    """What the arithmetic runs on."""
    if device.startswith("cuda"):
        return str(torch.cuda.get_device_name(device))
    threads = torch.get_num_threads()
    return f"CPU ({platform.machine()}, {threads} of {os.cpu_count()} cores)"


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


@contextmanager
def _timed(record: Record, what: str) -> Iterator[None]:
    begin = time.perf_counter()
    yield
    record["seconds"][what] = time.perf_counter() - begin
