"""Settings that go together, by name."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, TypedDict

from docboltz.errors import require
from docboltz.training.finetune import Finetuning
from docboltz.training.matching import Matching
from docboltz.training.pretrain import Pretraining
from docboltz.training.validation import Validation

RecipeName = Literal["quick", "full", "density", "paper"]


class Recipe(TypedDict):
    """The phases of training, and how documents that are held out choose between them."""

    pretraining: Pretraining
    finetuning: Finetuning | None
    matching: Matching | None
    validation: Validation | None


MAX_PASSES = 350
"""Passes through a small corpus in pretraining: more change nothing."""

RECIPES: dict[str, Recipe] = {
    # Contrastive divergence alone: good features in a minute, a poor density.
    "quick": {
        "pretraining": Pretraining(max_passes=MAX_PASSES),
        "finetuning": None,
        "matching": None,
        "validation": None,
    },
    # Weights held back more, then matched: one half of a document finds the other, as far as
    # held-out documents bear it. Better features, and no density either.
    "full": {
        "pretraining": Pretraining(max_passes=MAX_PASSES),
        "finetuning": None,
        "matching": Matching(),
        "validation": Validation(strengths=(1.6,)),
    },
    # Maximum likelihood, much longer, with latent words drawn rather than averaged: the best
    # density, though the features of "full" retrieve better. It begins better from weights that
    # were held back more.
    "density": {
        "pretraining": Pretraining(max_passes=MAX_PASSES, weight_decay=1.2),
        "finetuning": Finetuning(updates=50_000, halve_after=10_000, gibbs_steps=3),
        "matching": None,
        "validation": None,
    },
    # Section 4.2: CD-1 to CD-20, and chains that start at the documents. The Replicated Softmax is
    # trained by contrastive divergence alone. The paper gives neither its rates nor the strengths
    # of decay and sparsity. These are the best of seven settings by the perplexity that the paper
    # would have seen, on held-out training documents (benchmarks/paper_way.py). The decay is the
    # smallest of the four that were tried, so an even smaller one may be better.
    "paper": {
        "pretraining": Pretraining(
            updates=200_000,
            batch_size=128,
            halve_after=10_000,
            more_steps_every=10_000,
            max_steps=20,
            averaged=0.0,
            weight_decay=0.3,
            sparsity=1.0,
        ),
        "finetuning": Finetuning(
            updates=20_000, batch_size=128, chains="data", sweeps=20, mean_field_steps=5
        ),
        "matching": None,
        "validation": None,
    },
}


def find_recipe(name: object, owner: str) -> Recipe:
    """The phases of a recipe by its name, which `owner` was given.

    >>> find_recipe("quick", "OverReplicatedSoftmax")["finetuning"] is None
    True
    """
    known = isinstance(name, str) and name in RECIPES
    require(known, owner, "recipe", " or ".join(map(repr, RECIPES)), name)
    return RECIPES[str(name)].copy()


def with_updates(phases: Recipe, n: int) -> Recipe:
    """The same phases with n minibatches each, however small the corpus."""
    finetuning, matching = phases["finetuning"], phases["matching"]
    return {
        "pretraining": replace(phases["pretraining"], updates=n, max_passes=None),
        "finetuning": None if finetuning is None else replace(finetuning, updates=n),
        "matching": None if matching is None else replace(matching, updates=n, max_passes=None),
        "validation": phases["validation"],
    }
