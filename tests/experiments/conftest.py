"""Trials so small that each takes a moment."""

from __future__ import annotations

from functools import partial

import pytest

from docboltz.experiments.models import TRAININGS, Training
from docboltz.sampling.ais import anneal_temperatures
from docboltz.training.finetune import Finetuning
from docboltz.training.pretrain import Pretraining

TINY = Training(
    {
        "pretraining": Pretraining(updates=20),
        "finetuning": None,
        "matching": None,
        "validation": None,
    },
    {"updates": 20},
    {"sweeps": 10, "inference_sweeps": 5, "particles": 5, "moves": 1},
)
TINY_DENSITY = Training(
    {**TINY.softmax, "finetuning": Finetuning(updates=5, rungs=16, bridge=4)},
)

TINY_PAPER = Training(
    {**TINY.softmax, "finetuning": Finetuning(updates=500, chains="data", sweeps=1)},
)


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the quick plan train for a moment only, and its perplexity be rough."""
    monkeypatch.setitem(TRAININGS, "reduced", TINY)
    monkeypatch.setitem(TRAININGS, "reduced density", TINY_DENSITY)
    monkeypatch.setitem(TRAININGS, "paper", TINY_PAPER)
    short = partial(anneal_temperatures, chains=8, steps=10)
    monkeypatch.setattr("docboltz.estimator.density.anneal_temperatures", short)
    monkeypatch.setattr("docboltz.estimator.density.FIRST_PARTICLES", 32)
    monkeypatch.setattr("docboltz.estimator.density.MORE_PARTICLES", 32)
    monkeypatch.setattr("docboltz.likelihood.MOST_PARTICLES", 16)
