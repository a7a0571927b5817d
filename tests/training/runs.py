"""Runs whose state says how far they have come, what stops them, and what they save."""

from __future__ import annotations

import json
import math
import signal
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from docboltz.model.parameters import Parameters
from docboltz.training.run import Run
from docboltz.training.trainer import Phase
from tests.conftest import random_counts
from tests.training.fakes import documents_of, small_parameters

DOCUMENTS = documents_of(random_counts(9, 4))


def run_of(*phases: Phase, **settings: Any) -> Run:
    """A run from zeros, so that W says how many updates of a Drift it has seen."""
    zeros = small_parameters(2, 4, scale=0.0)
    return Run(zeros, DOCUMENTS, list(phases), seed=0, **settings)


def drifted(p: Parameters) -> float:
    """By how much all parameters have moved from zero, all alike."""
    values = torch.cat([p.W.reshape(-1), p.b])
    assert (values == values[0]).all()
    return values[0].item()


def broken_at(update: int) -> Callable[[int], float]:
    return lambda t: math.nan if t == update else 1.0


class Scores:
    """Stands in for held-out documents: what is found is a function of how far the model is."""

    def __init__(self, found: Callable[[float], float]) -> None:
        self._found = found

    def measure(self, p: Parameters) -> dict[str, float]:
        return {"halves_found": self._found(drifted(p))}


def interrupting(update: int, times: int = 1) -> Callable[[int], float]:
    """Ctrl-C comes in the middle of an update."""

    def slope(t: int) -> float:
        if t == update:
            for _ in range(times):
                signal.raise_signal(signal.SIGINT)
        return 1.0

    return slope


class Saves(list[tuple[dict[str, Tensor], dict[str, Any]]]):
    """States as a file would hold them: copies of the tensors, the rest as JSON."""

    def __call__(self, tensors: dict[str, Tensor], facts: dict[str, Any]) -> None:
        copies = {name: tensor.clone() for name, tensor in tensors.items()}
        self.append((copies, json.loads(json.dumps(facts))))
