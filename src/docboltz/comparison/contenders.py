"""The models that can be compared, by name, with settings that fit together."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from docboltz.baselines import LSI, DocNADE, LatentDirichletAllocation, TfIdf, Unigram
from docboltz.errors import is_whole, require
from docboltz.estimator.models import OverReplicatedSoftmax, ReplicatedSoftmax
from docboltz.training.recipes import Recipe, find_recipe

QUICK_SWEEPS, QUICK_UPDATES = 100, 2000
"""Effort of LDA and DocNADE beside the quick recipe; beside others it is their default."""


@dataclass(frozen=True)
class Effort:
    """What all models are given."""

    topics: int = 128
    recipe: str = "full"
    """Of the two softmax models; the others are quick where it is "quick"."""
    latent_words: int | str = "auto"
    """Of the Over-Replicated Softmax."""
    updates: int | None = None
    """Minibatches of each phase of training instead of the recipe's, and sweeps of LDA."""
    device: str = "auto"
    seed: int = 0
    verbose: bool = False

    def __post_init__(self) -> None:
        some = is_whole(self.topics) and self.topics >= 1
        require(some, "Effort", "topics", "a whole number of at least 1", self.topics)
        find_recipe(self.recipe, "Effort")  # refuses a name it does not know

    @property
    def quick(self) -> bool:
        """Whether time counts more than quality."""
        return self.recipe == "quick"

    def phases(self) -> Recipe:
        """Settings of both phases of the softmax models."""
        found = find_recipe(self.recipe, "Effort")
        if self.updates is not None:
            found["pretraining"] = dataclasses.replace(found["pretraining"], updates=self.updates)
            if (finetuning := found["finetuning"]) is not None:
                found["finetuning"] = dataclasses.replace(finetuning, updates=self.updates)
        return found

    def common(self) -> dict[str, Any]:
        """What every model trained on a device takes."""
        return {"device": self.device, "random_state": self.seed, "verbose": self.verbose}


@dataclass(frozen=True)
class Contender:
    """A kind of model."""

    name: str
    """What the command calls it."""
    title: str
    """What tables and figures call it."""
    description: str
    build: Callable[[Effort], Any]
    """An estimator that is not fitted yet."""
    has_topics: bool = False
    """Whether features are topics: not negative, and described by words."""
    cost: int = 0
    """The dearest are trained last, so that there is something to look at soon."""
    needs_likelihood_training: bool = False
    """Whether the quick recipe, contrastive divergence, gives it no density worth measuring."""


def _over_replicated(effort: Effort) -> OverReplicatedSoftmax:
    latent: Any = effort.latent_words
    return OverReplicatedSoftmax(
        effort.topics, latent_words=latent, **effort.phases(), **effort.common()
    )


def _replicated(effort: Effort) -> ReplicatedSoftmax:
    return ReplicatedSoftmax(effort.topics, **effort.phases(), **effort.common())


def _docnade(effort: Effort) -> DocNADE:
    usual: dict[str, Any] = {"updates": QUICK_UPDATES} if effort.quick else {}
    if effort.updates is not None:
        usual = {"updates": effort.updates}
    return DocNADE(effort.topics, **usual, **effort.common())


def _lda(effort: Effort) -> LatentDirichletAllocation:
    usual: dict[str, Any] = {"sweeps": QUICK_SWEEPS} if effort.quick else {}
    if effort.updates is not None:
        usual = {"sweeps": effort.updates}
    return LatentDirichletAllocation(effort.topics, **usual, random_state=effort.seed)


CONTENDERS = {
    contender.name: contender
    for contender in (
        Contender(
            "ors",
            "ORS",
            "Over-Replicated Softmax, fast inference",
            _over_replicated,
            has_topics=True,
            needs_likelihood_training=True,
            cost=5,
        ),
        Contender(
            "rs",
            "RS",
            "Replicated Softmax: the same without latent words",
            _replicated,
            has_topics=True,
            needs_likelihood_training=True,
            cost=4,
        ),
        Contender(
            "docnade",
            "DocNADE",
            "neural autoregressive topic model, full softmax",
            _docnade,
            cost=3,
        ),
        Contender(
            "lda",
            "LDA",
            "latent Dirichlet allocation",
            _lda,
            has_topics=True,
            cost=2,
        ),
        Contender(
            "lsi",
            "LSI",
            "truncated SVD of tf-idf weights",
            lambda effort: LSI(effort.topics, random_state=effort.seed),
            cost=1,
        ),
        Contender("tfidf", "TF-IDF", "weighted words, no topics", lambda _: TfIdf()),
        Contender(
            "unigram",
            "Unigram",
            "words by their frequency: a likelihood and no features",
            lambda _: Unigram(),
        ),
    )
}
DEFAULT_MODELS = ("ors", "rs", "docnade", "lda", "lsi", "tfidf")
