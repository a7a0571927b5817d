"""Train one model and measure all that can be measured of it; what fails is said, not raised."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from docboltz.comparison.contenders import Contender, Effort
from docboltz.comparison.parts import Parts
from docboltz.corpus.counts import Corpus
from docboltz.device import choose_device
from docboltz.evaluation.by_length import ByLength
from docboltz.evaluation.classification import fixed_penalty
from docboltz.evaluation.comparable import choose_to_predict, n_parameters
from docboltz.evaluation.suite import LabelledSplit, evaluate_features
from docboltz.evaluation.topic_words import topic_words
from docboltz.evaluation.topics import topic_coherence, topic_diversity
from docboltz.progress import progress_bar

LIKELIHOOD_DOCUMENTS, LIKELIHOOD_DOCUMENTS_ON_CPU, LIKELIHOOD_WORDS = 1000, 100, 1000
"""Perplexity is measured on at most so many test documents, of at most so many words: a CPU takes
long for more of them."""
NO_DENSITY = (
    "perplexity not measured: contrastive divergence alone, the recipe 'quick', makes no density "
    "worth the name; 'full' does."
)
ENOUGH_SECONDS = 0.3
"""Time over which the speed of inference is measured."""
WORDS_PER_TOPIC = 10
SHOWN_TOPICS = 8
ENOUGH_TO_CHOOSE = 100
"""Training documents from which on the classifiers' penalty is chosen on some of them."""


@dataclass
class Measured:
    """What is known of a model; None where it was not, or cannot be, measured."""

    name: str
    title: str
    description: str
    settings: dict[str, Any] = field(default_factory=dict)
    failure: str | None = None
    """Why there is nothing to measure."""
    notes: list[str] = field(default_factory=list)
    """What went otherwise than it should."""
    n_features: int | None = None
    n_parameters: int | None = None
    seconds: float | None = None
    """Of training."""
    documents_per_second: float | None = None
    """Test documents turned into features."""
    mean_average_precision: float | None = None
    precision_at_10: float | None = None
    precision_at_recall: list[float] | None = None
    """At each of `evaluation.retrieval.RECALL_POINTS`."""
    mean_by_fifth: list[float] | None = None
    """Average precision of the shortest fifth of the queries, …, of the longest."""
    classification: float | None = None
    """Accuracy, or mean average precision where documents have several labels."""
    perplexity: float | None = None
    perplexity_error: float | None = None
    perplexity_method: str | None = None
    coherence: float | None = None
    """Mean NPMI of the topics."""
    diversity: float | None = None
    topics: list[list[str]] | None = None
    """Words of the most coherent topics."""
    by_length: ByLength | None = None
    """Average precision of the queries by length, to plot."""

    def to_dict(self) -> dict[str, Any]:
        """All of it that JSON can hold; numbers that are not finite become None."""
        known = {name: value for name, value in vars(self).items() if name != "by_length"}
        return {name: plain(value) for name, value in known.items()}


@dataclass(frozen=True)
class Task:
    """What every model of a comparison is measured on."""

    parts: Parts
    labelled: LabelledSplit | None
    """None where nothing can be measured by labels."""
    likelihood_counts: csr_array
    """Test documents whose words are predicted."""
    device: str = "auto"
    shown: bool = False

    @classmethod
    def of(cls, parts: Parts, *, seed: int, device: str = "auto", shown: bool = False) -> Task:
        """Choose the documents to predict, and those with labels."""
        labelled = parts.labelled()
        split = labelled if isinstance(labelled, LabelledSplit) else None
        return cls(parts, split, to_predict(parts.test, seed, device), device, shown)


def to_predict(test: Corpus, seed: int, device: str) -> csr_array:
    """Counts of the documents to measure perplexity on: not too many for the device."""
    on_cpu = choose_device(device, "to_predict").type == "cpu"
    most = LIKELIHOOD_DOCUMENTS_ON_CPU if on_cpu else LIKELIHOOD_DOCUMENTS
    return choose_to_predict(test.counts, most, LIKELIHOOD_WORDS, seed=seed)


def measure(contender: Contender, effort: Effort, task: Task) -> Measured:
    """Train a model and measure it."""
    found = Measured(contender.name, contender.title, contender.description)
    with _noting(found):
        try:
            model = contender.build(effort)
            found.settings = _settings(model)
            begin = time.perf_counter()
            _fit(model, contender, task)
            found.seconds = time.perf_counter() - begin
        except Exception as error:  # of any kind: the other models go on
            found.failure = reason_of(error)
            return found
        with progress_bar(f"{contender.title}: ", "measured", shown=task.shown) as show:
            show(0, None)
            found.n_parameters = n_parameters(model)
            if hasattr(model, "transform"):
                _attempt(
                    found, "features", lambda: _measure_features(model, contender, task, found)
                )
            if contender.needs_likelihood_training and effort.quick:
                found.notes.append(NO_DENSITY)
            elif hasattr(model, "perplexity"):
                _attempt(found, "perplexity", lambda: _measure_density(model, effort, task, found))
    return found


def _fit(model: Any, contender: Contender, task: Task) -> None:
    """Train; models without a bar of their own get one that shows the time."""
    own = hasattr(model, "verbose")
    with progress_bar(contender.title, "documents", shown=task.shown and not own) as show:
        if not own:
            show(0, None)
        model.fit(task.parts.train.counts)


def _measure_features(model: Any, contender: Contender, task: Task, found: Measured) -> None:
    train, test = task.parts.train, task.parts.test
    features = model.transform(train.counts)
    begin, times = time.perf_counter(), 0
    while times == 0 or time.perf_counter() - begin < ENOUGH_SECONDS:  # once says little
        test_features, times = model.transform(test.counts), times + 1
    found.documents_per_second = times * len(test) / (time.perf_counter() - begin)
    found.n_features = features.shape[1]
    if not np.isfinite(features.data if hasattr(features, "tocsr") else features).all():
        found.notes.append("features are not finite numbers")
        return
    if contender.has_topics:
        _attempt(found, "topics", lambda: _measure_topics(features, task.parts.train, found))
    if task.labelled is not None:
        rows, test_rows = _labelled_rows(train), _labelled_rows(test)
        split = task.labelled
        pair = features[rows], test_features[test_rows]
        _attempt(found, "retrieval", lambda: _measure_by_labels(*pair, split, task, found))


def _labelled_rows(corpus: Corpus) -> Any:
    """Those that LabelledSplit.of takes."""
    return np.flatnonzero([bool(own) for own in corpus.labels])


def _measure_by_labels(
    features: Any, test_features: Any, split: LabelledSplit, task: Task, found: Measured
) -> None:
    C = None if split.train.shape[0] >= ENOUGH_TO_CHOOSE else fixed_penalty(features)
    scores = evaluate_features(features, test_features, split, device=task.device, C=C)
    found.mean_average_precision = scores.mean_average_precision
    found.precision_at_10 = scores.precision_at_10
    found.precision_at_recall = scores.precision_at_recall.tolist()
    found.classification = scores.classification_score
    found.by_length = scores.retrieval_by_length
    if len(found.by_length.value) >= 5:
        found.mean_by_fifth = found.by_length.mean_by_fifth.tolist()


def _measure_topics(features: Any, train: Corpus, found: Measured) -> None:
    k = min(WORDS_PER_TOPIC, train.counts.shape[1])
    if k < 2:
        return
    words = topic_words(features, train.counts, k)
    coherence = topic_coherence(words, train.counts)
    found.coherence, found.diversity = float(coherence.mean()), topic_diversity(words)
    forms = train.vocabulary.forms
    best = np.argsort(-coherence, kind="stable")[:SHOWN_TOPICS]
    found.topics = [[forms[column] for column in words[topic]] for topic in best.tolist()]


def _measure_density(model: Any, effort: Effort, task: Task, found: Measured) -> None:
    said = model.perplexity(task.likelihood_counts, random_state=effort.seed)
    found.perplexity, found.perplexity_error = said.value, said.error
    found.perplexity_method = said.method


def _attempt(found: Measured, what: str, step: Callable[[], None]) -> None:
    """One measure may fail while the others go on."""
    try:
        step()
    except Exception as error:
        found.notes.append(f"{what}: {reason_of(error)}")


@contextmanager
def _noting(found: Measured) -> Iterator[None]:
    """Keep what is warned of, each once, as notes."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield
        finally:
            said = (" ".join(str(warning.message).split()) for warning in caught)
            found.notes += dict.fromkeys(said)


def reason_of(error: BaseException) -> str:
    """What an error says, on one line."""
    said = " ".join(str(error).split())
    return said or type(error).__name__


def _settings(model: Any) -> dict[str, Any]:
    """The parameters of an estimator, less those that change nothing in it."""
    given: dict[str, Any] = model.get_params(deep=False)
    return {k: plain(v) for k, v in given.items() if k not in ("verbose", "device", "checkpoint")}


def plain(value: Any) -> Any:
    """What JSON can hold."""
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, str | int):
        return value
    if hasattr(value, "__dataclass_fields__"):
        return {name: plain(getattr(value, name)) for name in value.__dataclass_fields__}
    return str(value)
