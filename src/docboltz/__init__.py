"""Topic features, search and honest likelihoods for documents with the Over-Replicated Softmax."""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# OpenMP's threads spin while they wait for each other. On cores that other programs use too, each
# of the thousands of small steps of a training run then waits for a time slice: measured 40 times
# slower. Torch reads this when it is first imported; whoever sets it otherwise is respected.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

if TYPE_CHECKING:
    from docboltz.corpus.datasets import load_dataset
    from docboltz.corpus.readers import read
    from docboltz.corpus.text import TextAnalysis
    from docboltz.estimator.models import OverReplicatedSoftmax, ReplicatedSoftmax, load
    from docboltz.model.latent_words import (
        FixedLatentWords,
        LatentWordsUpTo,
        ProportionalLatentWords,
    )
    from docboltz.text_model import TextModel, open
    from docboltz.training.finetune import Finetuning
    from docboltz.training.pretrain import Pretraining
    from docboltz.training.validation import Validation

# torch takes seconds to import, so public names are looked up when first used: PEP 562.
_HOME = {
    "OverReplicatedSoftmax": "docboltz.estimator.models",
    "ReplicatedSoftmax": "docboltz.estimator.models",
    "load": "docboltz.estimator.models",
    "FixedLatentWords": "docboltz.model.latent_words",
    "ProportionalLatentWords": "docboltz.model.latent_words",
    "LatentWordsUpTo": "docboltz.model.latent_words",
    "Finetuning": "docboltz.training.finetune",
    "Pretraining": "docboltz.training.pretrain",
    "Validation": "docboltz.training.validation",
    "TextAnalysis": "docboltz.corpus.text",
    "TextModel": "docboltz.text_model",
    "open": "docboltz.text_model",
    "load_dataset": "docboltz.corpus.datasets",
    "read": "docboltz.corpus.readers",
}

__all__ = [
    "Finetuning",
    "FixedLatentWords",
    "LatentWordsUpTo",
    "OverReplicatedSoftmax",
    "Pretraining",
    "ProportionalLatentWords",
    "ReplicatedSoftmax",
    "TextAnalysis",
    "TextModel",
    "Validation",
    "load",
    "load_dataset",
    "open",
    "read",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'docboltz' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
