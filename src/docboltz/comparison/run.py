"""Several models on the same parts of the same documents, one after the other."""

from __future__ import annotations

import datetime
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from scipy.sparse import csr_array

from docboltz import __version__
from docboltz.baselines import Unigram
from docboltz.comparison.contenders import CONTENDERS, DEFAULT_MODELS, Contender, Effort
from docboltz.comparison.measuring import (
    LIKELIHOOD_WORDS,
    Measured,
    Task,
    measure,
    plain,
)
from docboltz.comparison.parts import Parts
from docboltz.corpus.counts import Corpus
from docboltz.device import choose_device
from docboltz.errors import InvalidParameter
from docboltz.evaluation.retrieval import RECALL_POINTS
from docboltz.evaluation.suite import LabelledSplit

FEW_TESTED = 100
NOT_REACHED = "interrupted before it was measured"


@dataclass
class Comparison:
    """What was measured, on what, and how."""

    models: list[Measured]
    effort: Effort
    n_train: int
    n_test: int
    n_words: int
    """Size of the vocabulary."""
    mean_length: float
    """Words of a training document."""
    labels: str
    """What documents are labelled with: "one", "several" or "none"."""
    n_labels: int
    n_predicted: int
    """Test documents whose words were predicted, for the perplexity."""
    unigram_perplexity: float
    remarks: list[str] = field(default_factory=list)
    """What was left out of the documents and of the measures, and why."""
    environment: dict[str, str] = field(default_factory=dict)
    interrupted: bool = False

    @property
    def classification_name(self) -> str:
        """What the classification's measure is."""
        return "MAP" if self.labels == "several" else "accuracy"

    @property
    def measured(self) -> list[Measured]:
        """The models that did not fail."""
        return [model for model in self.models if model.failure is None]

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON can hold it."""
        documents = {
            "train": self.n_train,
            "test": self.n_test,
            "vocabulary": self.n_words,
            "mean_length": self.mean_length,
            "labels": self.labels,
            "distinct_labels": self.n_labels,
            "predicted": self.n_predicted,
        }
        settings = {name: value for name, value in vars(self.effort).items() if name != "verbose"}
        found: dict[str, Any] = plain(
            {
                "documents": documents,
                "settings": settings,
                "recall_points": list(RECALL_POINTS),
                "classification_measure": self.classification_name,
                "unigram_perplexity": self.unigram_perplexity,
                "remarks": self.remarks,
                "environment": self.environment,
                "interrupted": self.interrupted,
            }
        )
        return {**found, "models": [model.to_dict() for model in self.models]}


def choose_models(names: Sequence[str]) -> list[Contender]:
    """Models by name, each once, in the order given.

    >>> [contender.title for contender in choose_models(["ors", "lda", "ors"])]
    ['ORS', 'LDA']
    """
    unknown = [name for name in names if name not in CONTENDERS]
    if unknown or not names:
        got = ", ".join(map(repr, unknown)) or "none"
        raise InvalidParameter(
            f"The models to compare must be some of {', '.join(CONTENDERS)}. Got {got} instead."
        )
    return [CONTENDERS[name] for name in dict.fromkeys(names)]


def compare(
    parts: Parts,
    models: Sequence[str] = DEFAULT_MODELS,
    effort: Effort | None = None,
    *,
    say: Callable[[str], None] | None = None,
) -> Comparison:
    """Train models on the training part and measure them on the test part, the cheapest first.

    A model that fails is in the result with its reason. Ctrl-C ends the comparison; what was
    measured until then is kept, if there is anything.
    """
    effort = effort or Effort()
    asked = choose_models(models)
    contenders = sorted(asked, key=lambda contender: contender.cost)
    device = choose_device(effort.device, "compare")
    tell = say or (lambda message: None)
    task = Task.of(parts, seed=effort.seed, device=effort.device, shown=effort.verbose)
    found = _describe(parts, task, effort, device)
    for number, contender in enumerate(contenders):
        tell(f"{contender.title} ({number + 1} of {len(contenders)}): {contender.description} …")
        try:
            measured = measure(contender, effort, task)
        except KeyboardInterrupt:
            if not found.measured:
                raise
            found.interrupted = True
            rest = contenders[number:]
            found.models += [
                Measured(c.name, c.title, c.description, failure=NOT_REACHED) for c in rest
            ]
            break
        found.models.append(measured)
        tell(_said_of(measured))
    order = [contender.name for contender in asked]
    found.models.sort(key=lambda measured: order.index(measured.name))
    if any(measured.perplexity is not None for measured in found.models):
        found.remarks += _what_was_predicted(parts.test, task.likelihood_counts)
    if not found.measured:
        reasons = "; ".join(f"{m.title}: {m.failure}" for m in found.models)
        raise InvalidParameter(f"None of the models could be trained. {reasons}")
    return found


def _describe(parts: Parts, task: Task, effort: Effort, device: torch.device) -> Comparison:
    train, test = parts.train, parts.test
    labelled = parts.labelled()
    remarks = []
    for part, n in zip(("training", "test"), parts.n_empty, strict=True):
        if n:
            remarks.append(f"{n:,} {part} document(s) without a word of the vocabulary left out.")
    if isinstance(labelled, LabelledSplit):
        kind = "several" if labelled.multilabel else "one"
        for part, n in zip(("training", "test"), labelled.n_unlabelled, strict=True):
            if n:
                remarks.append(
                    f"{n:,} {part} document(s) without labels left out of retrieval and "
                    "classification."
                )
    else:
        kind = "none"
        remarks.append(f"{labelled} Retrieval and classification were not measured.")
    if len(train) < 4 * effort.topics:
        remarks.append(f"{len(train):,} training documents are few for {effort.topics} topics.")
    if len(test) < FEW_TESTED:
        remarks.append(f"{len(test):,} test documents are few: small differences mean nothing.")
    predicted = task.likelihood_counts
    unigram = Unigram().fit(train.counts).perplexity(predicted).value
    where = torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"
    return Comparison(
        [],
        effort,
        len(train),
        len(test),
        len(train.vocabulary),
        float(train.lengths.mean()),
        kind,
        len({*train.label_names, *test.label_names}),
        predicted.shape[0],
        unigram,
        remarks,
        {
            "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
            "docboltz": __version__,
            "python": platform.python_version(),
            "torch": torch.__version__,
            "device": f"{where}, {torch.get_num_threads()} thread(s)",
            "machine": platform.machine(),
        },
    )


def _said_of(model: Measured) -> str:
    if model.failure is not None:
        return f"  failed: {model.failure}"
    figures = [f"{model.seconds:,.1f} s of training"]
    if model.mean_average_precision is not None:
        figures.append(f"MAP {model.mean_average_precision:.3f}")
    if model.perplexity is not None:
        figures.append(f"perplexity {model.perplexity:,.0f}")
    return "  " + ", ".join(figures)


def _what_was_predicted(test: Corpus, predicted: csr_array) -> list[str]:
    remarks = []
    too_long = int((test.lengths > LIKELIHOOD_WORDS).sum())
    if too_long and predicted.sum(axis=1).max() <= LIKELIHOOD_WORDS:
        remarks.append(
            f"{too_long:,} test document(s) of more than {LIKELIHOOD_WORDS:,} words left out of "
            "perplexity."
        )
    if len(test) - too_long > predicted.shape[0]:
        remarks.append(f"Perplexity is of {predicted.shape[0]:,} test documents drawn at random.")
    return remarks
