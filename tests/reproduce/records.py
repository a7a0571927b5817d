"""Records as trials write them, with figures of the test's choice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from docboltz.evaluation.by_length import by_length
from docboltz.evaluation.retrieval import RECALL_POINTS
from docboltz.reproduce.measuring import pack_by_length
from docboltz.reproduce.trials import Trial


def record(
    trial: Trial,
    score: float = 0.5,
    *,
    perplexity: float = 600.0,
    bound: float | None = None,
    slope: float = 0.0,
    effort: str = "full",
) -> dict[str, Any]:
    """All shares are `score`; average precision changes by `slope` from short to long queries."""
    lengths = np.arange(1, 51)
    values = score + slope * np.linspace(-1, 1, 50)
    found: dict[str, Any] = {
        **vars(trial),
        "name": trial.name,
        "effort": effort,
        "status": "done",
        "hardware": "abacus",
        "torch": "2.0",
        "docboltz": "0.0",
        "date": "2013-07-11",
        "seconds": {"training": 1.0, "inference": 0.5},
        "n_parameters": 1234,
        "warnings": [],
    }
    if trial.kind.features:
        found |= {
            "mean_average_precision": score,
            "precision_at_10": score,
            "classification": score,
            "recall_points": list(RECALL_POINTS),
            "precision_at_recall": [score] * len(RECALL_POINTS),
            "by_length": pack_by_length(by_length(values, lengths)),
        }
    if trial.measures_density:
        found["perplexity"] = _perplexity(perplexity)
        if trial.kind.latent:
            found["bound"] = _perplexity(bound or perplexity + 100)
            found["mean_latent_words"] = 100.0
    return found


def write(folder: Path, records: list[dict[str, Any]]) -> None:
    (folder / "trials").mkdir(parents=True, exist_ok=True)
    for each in records:
        (folder / "trials" / f"{each['name']}.json").write_text(json.dumps(each), encoding="utf-8")


def _perplexity(value: float) -> dict[str, Any]:
    errors = {"documents_error": 8.0, "numerator_error": 0.1, "partition_error": 0.4}
    return {"value": value, "error": 8.1, **errors, "method": "exact", "n_documents": 10}
