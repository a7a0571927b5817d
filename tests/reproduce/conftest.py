"""A dataset and an effort so small that a trial takes a moment."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from docboltz.evaluation.suite import LabelledSplit
from docboltz.reproduce.models import QUICK, Effort
from docboltz.training.finetune import Finetuning
from docboltz.training.pretrain import Pretraining

TINY = replace(
    QUICK,
    topic_model={
        "pretraining": Pretraining(updates=20),
        "finetuning": Finetuning(updates=5, rungs=16, bridge=4),
    },
    n_documents=10,
    longest=12,
    docnade={"updates": 20},
    lda={"sweeps": 10, "inference_sweeps": 5, "particles": 5, "moves": 1},
)


def tiny_split(*, multilabel: bool = False) -> LabelledSplit:
    """Three groups of documents, each with ten words of its own."""
    rng = np.random.RandomState(0)
    group = np.arange(90) % 3
    counts = np.zeros((90, 30), np.int64)
    for row, g in enumerate(group):
        np.add.at(counts[row], 10 * g + rng.randint(10, size=rng.randint(3, 15)), 1)
    matrix = csr_array(counts)
    labels = csr_array(np.eye(3, dtype=int)[group]) if multilabel else group.astype(str)
    return LabelledSplit(matrix[:60], labels[:60], matrix[60:], labels[60:])


@pytest.fixture
def tiny() -> Effort:
    return TINY
