"""Topics, features, search and honest likelihoods for texts with the Over-Replicated Softmax."""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# OpenMP's threads spin while they wait for each other. On cores that other programs use too, each
# of the thousands of small steps of a training run then waits for a time slice: measured 40 times
# slower. But to sleep at each of them costs many threads half their time, so where cores are to
# spare they spin for some microseconds first. Torch reads both when it is first imported; whoever
# sets them otherwise is respected.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
_cores = os.cpu_count() or 1
_busy = os.getloadavg()[0] if hasattr(os, "getloadavg") else _cores
if _cores >= 8 and _busy < _cores / 2:
    os.environ.setdefault("GOMP_SPINCOUNT", "10000")

if TYPE_CHECKING:
    from docboltz.corpus.analysis import TextAnalysis
    from docboltz.corpus.datasets import load_dataset
    from docboltz.corpus.reading import read
    from docboltz.estimator.models import OverReplicatedSoftmax, ReplicatedSoftmax, load
    from docboltz.model.latent_words import (
        FixedLatentWords,
        LatentWordsUpTo,
        ProportionalLatentWords,
    )
    from docboltz.text_model import TextModel, open
    from docboltz.training.finetune import Finetuning
    from docboltz.training.matching import Matching
    from docboltz.training.pretrain import Pretraining
    from docboltz.training.validation import Validation

# torch takes seconds to import, so public names are looked up when first used: PEP 562.
_HOME = {
    name: f"docboltz.{module}"
    for module, names in {
        "corpus.datasets": ("load_dataset",),
        "corpus.reading": ("read",),
        "corpus.analysis": ("TextAnalysis",),
        "estimator.models": ("OverReplicatedSoftmax", "ReplicatedSoftmax", "load"),
        "model.latent_words": ("FixedLatentWords", "LatentWordsUpTo", "ProportionalLatentWords"),
        "text_model": ("TextModel", "open"),
        "training.finetune": ("Finetuning",),
        "training.matching": ("Matching",),
        "training.pretrain": ("Pretraining",),
        "training.validation": ("Validation",),
    }.items()
    for name in names
}

__all__ = [
    "Finetuning", "FixedLatentWords", "LatentWordsUpTo", "Matching", "OverReplicatedSoftmax",
    "Pretraining", "ProportionalLatentWords", "ReplicatedSoftmax", "TextAnalysis", "TextModel",
    "Validation", "load", "load_dataset", "open", "read",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'docboltz' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
