"""The models that can be tried, by name: how each is built, and what it can do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from docboltz.baselines import LSI, DocNADE, LatentDirichletAllocation, TfIdf, Unigram
from docboltz.errors import InvalidParameter, is_whole, require
from docboltz.estimator.models import OverReplicatedSoftmax, ReplicatedSoftmax
from docboltz.model.latent_words import LatentWords, LatentWordsUpTo, ProportionalLatentWords
from docboltz.training.finetune import Finetuning
from docboltz.training.recipes import RECIPES, Recipe, with_updates


@dataclass(frozen=True)
class Training:
    """How long each kind of model is trained."""

    softmax: Recipe
    """The two phases of the Replicated Softmax and the Over-Replicated Softmax."""
    docnade: Mapping[str, Any] = field(default_factory=dict)
    lda: Mapping[str, Any] = field(default_factory=dict)

    @property
    def makes_density(self) -> bool:
        """Whether the softmax models are trained for their likelihood, not by CD alone."""
        return self.softmax["finetuning"] is not None

    def with_updates(self, n: int) -> Training:
        """The same with n minibatches in each phase, and n sweeps of LDA."""
        softmax = with_updates(self.softmax, n)
        return Training(softmax, {**self.docnade, "updates": n}, {**self.lda, "sweeps": n})


TRAININGS = {
    **{name: Training(phases) for name, phases in RECIPES.items()},
    "quick": Training(RECIPES["quick"], {"updates": 2000}, {"sweeps": 100}),
    # What `docboltz reproduce --quick` has time for.
    "reduced": Training(
        {
            "pretraining": RECIPES["full"]["pretraining"],
            "finetuning": Finetuning(updates=600, batch_size=256, rungs=128, bridge=32, sweeps=2),
            "validation": None,
        },
        {"updates": 1000},
        {"sweeps": 150, "inference_sweeps": 20, "particles": 50, "moves": 5},
    ),
}
"""The recipes, with what LDA and DocNADE get beside them where it is not their default."""


@dataclass(frozen=True)
class Settings:
    """What a model is built from. A model takes of it what it knows."""

    topics: int = 128
    recipe: str = "full"
    """A name of TRAININGS."""
    latent_words: int | str = "auto"
    """M of the Over-Replicated Softmax: a number, "auto", "N" (as many as a document has words) or
    "200-N" (as many as a document lacks to 200)."""
    updates: int | None = None
    """Minibatches of each phase of training instead of the recipe's, and sweeps of LDA."""
    seed: int = 0

    def __post_init__(self) -> None:
        for name, value, least in (
            ("topics", self.topics, 1),
            ("updates", 1 if self.updates is None else self.updates, 1),
            ("seed", self.seed, 0),
        ):
            ok = is_whole(value) and value >= least
            require(ok, "Settings", name, f"a whole number of at least {least}", value)
        known = " or ".join(map(repr, TRAININGS))
        require(self.recipe in TRAININGS, "Settings", "recipe", known, self.recipe)
        _latent_words(self.latent_words)

    @property
    def training(self) -> Training:
        """The recipe, or its shorter form."""
        found = TRAININGS[self.recipe]
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


@dataclass(frozen=True)
class ModelInfo:
    """A kind of model."""

    name: str
    """What commands and records call it."""
    title: str
    """What tables and figures call it."""
    description: str
    build: Callable[[Settings, Place], Any]
    """An estimator that is not fitted yet."""
    cost: int = 0
    """The dearest are trained last, so that there is something to look at soon."""
    features: bool = True
    """Whether it has `transform`."""
    topics: bool = False
    """Whether features are topics: not negative, and described by words."""
    density: bool = True
    """Whether it has a likelihood."""
    on_device: bool = False
    """Whether a GPU trains it, where there is one."""
    sized: bool = True
    """Whether it has a number of topics and a seed."""
    softmax: bool = False
    """Whether it is the paper's model, with or without latent words."""


def _over_replicated(s: Settings, place: Place) -> OverReplicatedSoftmax:
    latent: int | LatentWords = _latent_words(s.latent_words)
    return OverReplicatedSoftmax(
        s.topics, latent_words=latent, random_state=s.seed, **s.training.softmax, **place
    )


def _replicated(s: Settings, place: Place) -> ReplicatedSoftmax:
    return ReplicatedSoftmax(s.topics, random_state=s.seed, **s.training.softmax, **place)


def _docnade(s: Settings, place: Place) -> DocNADE:
    return DocNADE(s.topics, random_state=s.seed, **s.training.docnade, **place)


def _lda(s: Settings, place: Place) -> LatentDirichletAllocation:
    return LatentDirichletAllocation(s.topics, random_state=s.seed, **s.training.lda)


MODELS = {
    model.name: model
    for model in (
        ModelInfo(
            "ors",
            "ORS",
            "Over-Replicated Softmax, fast inference",
            _over_replicated,
            cost=5,
            topics=True,
            on_device=True,
            softmax=True,
        ),
        ModelInfo(
            "rs",
            "RS",
            "Replicated Softmax: the same without latent words",
            _replicated,
            cost=4,
            topics=True,
            on_device=True,
            softmax=True,
        ),
        ModelInfo(
            "docnade",
            "DocNADE",
            "neural autoregressive topic model, full softmax",
            _docnade,
            cost=3,
            on_device=True,
        ),
        ModelInfo("lda", "LDA", "latent Dirichlet allocation", _lda, cost=2, topics=True),
        ModelInfo(
            "lsi",
            "LSI",
            "truncated SVD of tf-idf weights",
            lambda s, *_: LSI(s.topics, random_state=s.seed),
            cost=1,
            density=False,
        ),
        ModelInfo(
            "tfidf",
            "TF-IDF",
            "weighted words, no topics",
            lambda *_: TfIdf(),
            density=False,
            sized=False,
        ),
        ModelInfo(
            "unigram",
            "Unigram",
            "words by their frequency: a likelihood and no features",
            lambda *_: Unigram(),
            features=False,
            sized=False,
        ),
    )
}


def choose_models(names: Sequence[str], owner: str = "compare") -> list[ModelInfo]:
    """Models by name, each once, in the order given.

    >>> [model.title for model in choose_models(["ors", "lda", "ors"])]
    ['ORS', 'LDA']
    """
    unknown = [name for name in names if name not in MODELS]
    if unknown or not names:
        raise InvalidParameter(
            owner=owner, name="models", expected=f"some of {', '.join(MODELS)}", got=unknown or None
        )
    return [MODELS[name] for name in dict.fromkeys(names)]
