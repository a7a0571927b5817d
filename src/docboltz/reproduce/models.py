"""The models that are compared, by name, and how much effort goes into each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from docboltz.baselines import LSI, DocNADE, LatentDirichletAllocation, TfIdf, Unigram
from docboltz.errors import DocboltzError
from docboltz.estimator.models import OverReplicatedSoftmax, ReplicatedSoftmax
from docboltz.model.latent_words import LatentWordsUpTo, ProportionalLatentWords
from docboltz.training.finetune import Finetuning
from docboltz.training.recipes import RECIPES


class Unavailable(DocboltzError):
    """A trial that cannot be run on this machine, but can on another."""


@dataclass(frozen=True)
class Effort:
    """How much is done: all of it, or less."""

    name: str
    datasets: tuple[str, ...]
    n_topics: tuple[int, ...]
    n_seeds: int
    """Seeds unless the user asks for others."""
    topic_model: Mapping[str, Any]
    """Training of the Replicated Softmax and its kin."""
    chooses_penalty: bool
    """Whether the classifiers' penalty is chosen on training documents, for each trial."""
    n_documents: int
    """Test documents that perplexity is measured on, at most."""
    longest: int
    """Words of the longest of them."""
    docnade: Mapping[str, Any] = field(default_factory=dict)
    lda: Mapping[str, Any] = field(default_factory=dict)
    remark: str = ""
    """What the reader of the results has to know about it."""


FULL = Effort(
    name="full",
    datasets=("20news-2000", "rcv1v2-27k"),
    n_topics=(128, 512),
    n_seeds=3,
    topic_model=dict(RECIPES["full"]),
    chooses_penalty=True,
    n_documents=1000,
    longest=1000,
)
QUICK = Effort(
    name="quick",
    datasets=("20news-2000",),
    n_topics=(128,),
    n_seeds=1,
    topic_model={
        "pretraining": RECIPES["full"]["pretraining"],
        "finetuning": Finetuning(updates=600, batch_size=256, rungs=128, bridge=32, sweeps=2),
    },
    chooses_penalty=False,
    n_documents=200,
    longest=100,
    docnade={"updates": 1000},
    lda={"sweeps": 150, "inference_sweeps": 20, "particles": 50, "moves": 5},
    remark=(
        "This is a reduced run (`--quick`): 20 Newsgroups alone, 128 topics, one seed; Replicated "
        "and Over-Replicated Softmax with 600 updates of maximum likelihood instead of 3,000 "
        "and a quarter of the chains, "
        "DocNADE with 1,000 instead of 6,000, LDA with 150 sweeps instead of 500 and 20 sweeps of "
        "inference instead of 100; a fixed penalty of the classifiers; perplexity on at "
        "most 200 test documents of up to 100 words. It shows that everything works. It is not "
        "what the models can do."
    ),
)
EFFORTS = {effort.name: effort for effort in (FULL, QUICK)}

LONGEST_WITH_LATENT_WORDS = 200
"""N_max of the policy M = N_max − N: with it a document has 129 latent words on average on 20
Newsgroups and 94 on Reuters. The longest document of all has thousands of words."""


@dataclass(frozen=True)
class Kind:
    """A model that takes part."""

    label: str
    """What tables and figures call it."""
    make: Callable[[int, int, str, Effort], Any]
    """n_topics, seed, device, effort → an estimator."""
    sized: bool = True
    """Whether it has a number of topics; those without have no seed either."""
    density: bool = True
    """Whether it has a likelihood."""
    features: bool = True
    """Whether it has features."""
    only_at: int | None = None
    """The one number of topics it is tried with."""
    topic_model: bool = False
    """Whether it is the paper's model, with or without latent words."""
    latent: bool = False
    """Whether it has latent words."""
    on_device: bool = False
    """Whether a GPU trains it, where there is one."""
    for_density: bool = False
    """Whether it is trained for its density, which takes so long that it is done once only: with
    one seed, on one dataset, and not in a quick run."""

    def effort(self, usual: Effort) -> Effort:
        """What goes into it where so much goes into others."""
        if not self.for_density:
            return usual
        return replace(usual, topic_model=dict(RECIPES["density"]))

    def takes_part(self, effort: Effort, dataset: str, n_topics: int, seed: int) -> bool:
        """Tell whether it is trained with this number of topics, 0 for none, and this seed."""
        if not self.sized:
            return n_topics == seed == 0
        if n_topics == 0 or self.only_at not in (None, n_topics):
            return False
        if self.for_density and (seed > 0 or dataset != effort.datasets[0]):
            return False
        return self.only_at is None or effort.name != "quick"


def _ors(label: str, latent_words: Any, **how: Any) -> Kind:
    """The paper's model with so many latent words."""

    def make(n_topics: int, seed: int, device: str, effort: Effort) -> OverReplicatedSoftmax:
        return OverReplicatedSoftmax(
            n_topics,
            latent_words=latent_words,
            device=device,
            random_state=seed,
            **effort.topic_model,
        )

    return Kind(label, make, topic_model=True, latent=True, on_device=True, **how)


def _rs(label: str, **how: Any) -> Kind:
    """The same without latent words."""

    def make(n_topics: int, seed: int, device: str, effort: Effort) -> ReplicatedSoftmax:
        return ReplicatedSoftmax(n_topics, device=device, random_state=seed, **effort.topic_model)

    return Kind(label, make, topic_model=True, on_device=True, **how)


def _docnade(n_topics: int, seed: int, device: str, effort: Effort) -> DocNADE:
    return DocNADE(n_topics, device=device, random_state=seed, **effort.docnade)


def _lda(n_topics: int, seed: int, device: str, effort: Effort) -> LatentDirichletAllocation:
    from docboltz.baselines.lda import INSTALL, import_tomotopy

    try:
        import_tomotopy()
    except ImportError as error:
        # Variational inference would do without, but the paper's LDA is by Gibbs sampling.
        raise Unavailable(f"needs the package tomotopy: {INSTALL}") from error
    return LatentDirichletAllocation(n_topics, method="gibbs", random_state=seed, **effort.lda)


KINDS = {
    "ORS-M100": _ors("ORS, M = 100", 100),
    "RS": _rs("RS"),
    "DocNADE": Kind("DocNADE", _docnade, on_device=True),
    "ORS-M50": _ors("ORS, M = 50", 50),
    "ORS-MN": _ors("ORS, M = N", ProportionalLatentWords(1.0), only_at=128),
    "ORS-upto": _ors(
        f"ORS, M = {LONGEST_WITH_LATENT_WORDS} − N",
        LatentWordsUpTo(LONGEST_WITH_LATENT_WORDS),
        only_at=128,
    ),
    "RS-density": _rs("RS, for density", only_at=128, for_density=True),
    "ORS-M50-density": _ors("ORS, M = 50, for density", 50, only_at=128, for_density=True),
    "ORS-M100-density": _ors("ORS, M = 100, for density", 100, only_at=128, for_density=True),
    "LSI": Kind("LSI", lambda n, seed, *_: LSI(n, random_state=seed), density=False),
    "TF-IDF": Kind("TF-IDF", lambda *_: TfIdf(), sized=False, density=False),
    "Unigram": Kind("unigram", lambda *_: Unigram(), sized=False, features=False),
    "LDA": Kind("LDA", _lda),
}


def rehearsed(effort: Effort) -> Effort:
    """The same with a handful of updates: it compiles what there is to compile."""
    settings = dict(effort.topic_model)
    settings["pretraining"] = replace(settings["pretraining"], updates=20, more_steps_every=5)
    if settings.get("finetuning") is not None:
        settings["finetuning"] = replace(settings["finetuning"], updates=20)
    return replace(effort, topic_model=settings)
