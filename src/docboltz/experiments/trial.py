"""A trial: a model, how it is trained, on which documents, and what is measured of it then."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from docboltz.errors import is_whole, require
from docboltz.experiments.models import MODELS, ModelInfo, Settings

USUAL_RECIPES = ("full", "two phases", "reduced")
"""What the names of trials do not mention."""


@dataclass(frozen=True)
class Measures:
    """What is measured of a model, as far as it has it."""

    retrieval: bool = True
    classification: bool = True
    chooses_penalty: bool = True
    """Whether the classifiers' penalty is chosen on training documents, where they are enough."""
    halves: bool = False
    """Whether halves of test documents are to find each other; of ORS and RS alone."""
    topics: int = 0
    """Topics into which training documents are put, to judge those and their words; 0 for none."""
    predicted: int = 0
    """Test documents whose words are predicted, for the perplexity, at most; 0 for none."""
    longest: int = 1000
    """Words of the longest of them."""
    multiple: int = 1
    """Their numbers of words are multiples of this, which leaves fewer lengths to measure."""
    predicted_seed: int = 0
    """What they and halves are drawn by: the same for models that are to be compared."""
    draws: int = 0
    """Draws of such documents by which ORS and RS are measured the paper's way too, whatever their
    recipe: see `table1`; 0 for none."""

    def __post_init__(self) -> None:
        for name in ("topics", "predicted", "longest", "multiple", "predicted_seed", "draws"):
            value = getattr(self, name)
            ok = is_whole(value) and value >= 0
            require(ok, "Measures", name, "a whole number of at least 0", value)

    @property
    def of_features(self) -> bool:
        """Whether any of them needs the model's features."""
        return self.retrieval or self.classification or self.topics > 0


@dataclass(frozen=True)
class Trial:
    """A model trained once. Two that are equal, on equal documents, give the same figures."""

    model: str
    """A name of MODELS."""
    settings: Settings = field(default_factory=Settings)
    measures: Measures = field(default_factory=Measures)
    dataset: str = ""
    needs: str = ""
    """A package without which something less good would be tried."""

    def __post_init__(self) -> None:
        known = f"one of {', '.join(MODELS)}"
        require(self.model in MODELS, "Trial", "model", known, self.model)

    def shortened(self, n: int) -> Trial:
        """The same with an n-th of its recipe's updates."""
        return replace(self, settings=replace(self.settings, shorter=n))

    @property
    def info(self) -> ModelInfo:
        """The model's entry in the registry."""
        return MODELS[self.model]

    @property
    def units(self) -> int:
        """Number of units, F; 0 for a model without."""
        return self.settings.units if self.info.sized else 0

    @property
    def for_density(self) -> bool:
        """Whether it is an ORS or RS whose training makes a density; other models need no such."""
        return self.info.softmax and self.settings.training.makes_density

    @property
    def variant(self) -> str:
        """The model and what sets it apart from others of its kind, but for its size.

        >>> Trial("ors", Settings(latent_words=100, recipe="density")).variant
        'ORS-M100-density'
        """
        parts = [self.info.title]
        if self.model == "ors" and self.settings.latent_words != "auto":
            parts.append(f"M{self.settings.latent_words}")
        if self.info.sized and self.settings.recipe not in USUAL_RECIPES:
            parts.append("density" if self.for_density else self.settings.recipe)
        return "-".join(parts)

    @property
    def label(self) -> str:
        """The same as tables show it.

        >>> Trial("ors", Settings(latent_words="200-N")).label
        'ORS, M = 200 − N'
        """
        latent = str(self.settings.latent_words).replace("-", " − ")
        parts = [self.info.title]
        if self.model == "ors" and latent != "auto":
            parts.append(f"M = {latent}")
        if self.for_density:
            parts.append("for density")
        if self.settings.recipe == "paper":
            parts.append("the paper's way")
        return ", ".join(parts)

    @property
    def name(self) -> str:
        """What its file is called.

        >>> Trial("ors", Settings(latent_words=100), dataset="20news-2000").name
        '20news-2000_ORS-M100_F128_seed0'
        """
        size = [f"F{self.units}", f"seed{self.settings.seed}"] if self.info.sized else []
        return "_".join([*([self.dataset] if self.dataset else []), self.variant, *size])

    @property
    def title(self) -> str:
        """What progress calls it."""
        size = f", {self.units} units" if self.info.sized else ""
        where = f" on {self.dataset}, seed {self.settings.seed}" if self.dataset else ""
        return f"{self.label}{size}{where}"
