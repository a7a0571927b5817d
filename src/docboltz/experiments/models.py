"""The models that can be tried, by name: how each is built, and what it can do."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from docboltz.baselines import LSI, NMF, DocNADE, LatentDirichletAllocation, TfIdf, Unigram
from docboltz.errors import is_whole, require
from docboltz.estimator.models import OverReplicatedSoftmax, ReplicatedSoftmax
from docboltz.model.latent_words import LatentWordsUpTo, ProportionalLatentWords
from docboltz.training.finetune import Finetuning
from docboltz.training.pretrain import Pretraining
from docboltz.training.recipes import MAX_PASSES, RECIPES, Recipe, with_updates
from docboltz.training.validation import Validation


@dataclass(frozen=True)
class Training:
    """How long each kind of model is trained."""

    softmax: Recipe
    """The phases of the Replicated Softmax and the Over-Replicated Softmax."""
    docnade: Mapping[str, Any] = field(default_factory=dict)
    lda: Mapping[str, Any] = field(default_factory=dict)

    @property
    def makes_density(self) -> bool:
        """Whether the softmax models are trained for their likelihood: by a pool of chains."""
        tuned = self.softmax["finetuning"]
        pool = tuned is not None and tuned.chains == "pool"
        return pool and self.softmax["matching"] is None

    def shortened(self, n: int) -> Training:
        """The same with an n-th of the updates of the softmax models, and of their schedules."""
        phases: Any = {name: _shortened(phase, n) for name, phase in self.softmax.items()}
        return replace(self, softmax=phases)

    def with_updates(self, n: int) -> Training:
        """The same with n minibatches in each phase, and n sweeps of LDA."""
        softmax = with_updates(self.softmax, n)
        return Training(softmax, {**self.docnade, "updates": n}, {**self.lda, "sweeps": n})


def _shortened(phase: Any, n: int) -> Any:
    """A phase in an n-th of its updates: all that is counted in updates is divided."""
    counted = ("updates", "halve_after", "more_steps_every")
    usual = {name: getattr(phase, name) for name in counted if hasattr(phase, name)}
    fewer = {k: v / n if isinstance(v, float) else max(1, v // n) for k, v in usual.items()}
    return replace(phase, **fewer) if fewer else phase


TRAININGS = {
    **{name: Training(phases) for name, phases in RECIPES.items()},
    "quick": Training(RECIPES["quick"], {"updates": 2000}, {"sweeps": 100}),
    # The paper's two phases, each as far as held-out documents bear it: what `docboltz reproduce`
    # makes features by. Matching, which "full" has, is none of the paper's.
    "two phases": Training(
        {
            "pretraining": Pretraining(updates=3000, max_passes=MAX_PASSES, max_steps=5),
            "finetuning": Finetuning(updates=600, batch_size=128, chains="data", sweeps=1),
            "matching": None,
            "validation": Validation(),
        }
    ),
    # What `docboltz reproduce --quick` has time for.
    "reduced": Training(
        RECIPES["quick"],
        {"updates": 1000},
        {"sweeps": 150, "inference_sweeps": 20, "particles": 50, "moves": 5},
    ),
    "reduced density": Training(
        {
            "pretraining": RECIPES["density"]["pretraining"],
            "finetuning": Finetuning(updates=600, batch_size=256, rungs=128, bridge=32, sweeps=2),
            "matching": None,
            "validation": None,
        }
    ),
    # What `docboltz reproduce --table-1` has time for: a tenth of the updates of "density".
    "shorter density": Training(
        {
            "pretraining": RECIPES["density"]["pretraining"],
            "finetuning": Finetuning(
                updates=5000, batch_size=256, rungs=128, bridge=32, halve_after=1000, gibbs_steps=3
            ),
            "matching": None,
            "validation": None,
        }
    ),
}
"""The recipes, with what LDA and DocNADE get beside them where it is not their default."""


def no_density(recipe: str) -> str:
    """Why models trained by a recipe have no perplexity.

    >>> no_density("quick")
    "the recipe 'quick' makes no density worth the name; the recipe 'density' does."
    """
    return f"the recipe {recipe!r} makes no density worth the name; the recipe 'density' does."


@dataclass(frozen=True)
class Settings:
    """What a model is built from. A model takes of it what it knows."""

    units: int = 128
    """F; for LDA and NMF the number of their topics, for LSI that of dimensions."""
    recipe: str = "full"
    """A name of TRAININGS."""
    latent_words: int | str = "auto"
    """M of the Over-Replicated Softmax: a number, "auto", "N" (as many as a document has words) or
    "200-N" (as many as a document lacks to 200)."""
    updates: int | None = None
    """Minibatches of each phase of training instead of the recipe's, and sweeps of LDA."""
    seed: int = 0
    shorter: int = 1
    """By how much the updates of the recipe are divided, for a trial run of a long one."""

    def __post_init__(self) -> None:
        for name, value, least in (
            ("units", self.units, 1),
            ("updates", 1 if self.updates is None else self.updates, 1),
            ("seed", self.seed, 0),
            ("shorter", self.shorter, 1),
        ):
            ok = is_whole(value) and value >= least
            require(ok, "Settings", name, f"a whole number of at least {least}", value)
        known = " or ".join(map(repr, TRAININGS))
        require(self.recipe in TRAININGS, "Settings", "recipe", known, self.recipe)
        _latent_words(self.latent_words)

    @property
    def training(self) -> Training:
        """The recipe, or its shorter form."""
        found = TRAININGS[self.recipe].shortened(self.shorter)
        return found if self.updates is None else found.with_updates(self.updates)


def _latent_words(given: int | str) -> Any:
    """What the estimator understands by M."""
    if given == "auto" or is_whole(given):
        return given
    if given == "N":
        return ProportionalLatentWords(1.0)
    longest, minus_n = str(given)[:-2], str(given)[-2:]
    ok = minus_n == "-N" and longest.isdecimal()
    require(ok, "Settings", "latent_words", "a number, 'auto', 'N' or such as '200-N'", given)
    return LatentWordsUpTo(int(longest))


Place = dict[str, Any]
"""Where a model is trained and whether it shows so: its `device` and `verbose`."""
Grouping = Literal["topics", "own", "centred", "uncentred"]
"""How documents get topics: "topics" as `docboltz.topics` finds them, of features and words; "own"
is each document's largest feature, where features are topics; else by k-means on the directions of
features, with their mean taken off or not."""


@dataclass(frozen=True)
class ModelInfo:
    """A kind of model."""

    title: str
    """What tables and figures call it."""
    estimator: type[Any]
    description: str
    training: str = ""
    """The field of `Training` that is meant for it."""
    cost: int = 0
    """The dearest are trained last, so that there is something to look at soon."""
    grouping: Grouping | None = None
    """How its topics are found; None for a model without features."""

    def build(self, settings: Settings, place: Place) -> Any:
        """An estimator that is not fitted yet."""
        latent = _latent_words(settings.latent_words)
        given = {"n_components": settings.units, "latent_words": latent, **place}
        given |= {"random_state": settings.seed}
        known = {name: value for name, value in given.items() if name in self._parameters}
        known |= getattr(settings.training, self.training, {})
        if settings.recipe == "paper" and self.estimator is ReplicatedSoftmax:
            known["finetuning"] = None  # section 4.2: contrastive divergence alone
        return self.estimator(**known)

    @property
    def _parameters(self) -> Mapping[str, Any]:
        return inspect.signature(self.estimator).parameters

    @property
    def features(self) -> bool:
        """Whether it turns documents into features."""
        return hasattr(self.estimator, "transform")

    @property
    def density(self) -> bool:
        """Whether it has a likelihood."""
        return hasattr(self.estimator, "perplexity")

    @property
    def on_device(self) -> bool:
        """Whether a GPU trains it, where there is one."""
        return "device" in self._parameters

    @property
    def sized(self) -> bool:
        """Whether it has a number of units and a seed."""
        return "n_components" in self._parameters

    @property
    def softmax(self) -> bool:
        """Whether it is the paper's model, with or without latent words."""
        return self.training == "softmax"


MODELS = {
    "ors": ModelInfo(
        "ORS",
        OverReplicatedSoftmax,
        "Over-Replicated Softmax, fast inference",
        "softmax",
        cost=5,
        grouping="topics",
    ),
    "rs": ModelInfo(
        "RS",
        ReplicatedSoftmax,
        "Replicated Softmax: the same without latent words",
        "softmax",
        cost=4,
        grouping="topics",
    ),
    "docnade": ModelInfo(
        "DocNADE",
        DocNADE,
        "neural autoregressive topic model, full softmax",
        "docnade",
        cost=3,
        grouping="centred",
    ),
    "lda": ModelInfo(
        "LDA",
        LatentDirichletAllocation,
        "latent Dirichlet allocation",
        "lda",
        cost=2,
        grouping="own",
    ),
    "nmf": ModelInfo(
        "NMF", NMF, "non-negative factorisation of tf-idf weights", cost=1, grouping="own"
    ),
    "lsi": ModelInfo("LSI", LSI, "truncated SVD of tf-idf weights", cost=1, grouping="uncentred"),
    "tfidf": ModelInfo("TF-IDF", TfIdf, "weighted words", grouping="uncentred"),
    "unigram": ModelInfo(
        "Unigram", Unigram, "words by their frequency: a likelihood and no features"
    ),
}
"""What commands and records call each."""


def choose_models(names: Sequence[str], owner: str = "compare") -> list[str]:
    """Names of models, each once, in the order given; an error if there is no such model.

    >>> choose_models(["ors", "lda", "ors"])
    ['ors', 'lda']
    """
    unknown = [name for name in names if name not in MODELS]
    some = bool(names) and not unknown
    require(some, owner, "models", f"some of {', '.join(MODELS)}", unknown or None)
    return list(dict.fromkeys(names))
