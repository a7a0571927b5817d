"""One trial: a model trained, its documents predicted, its features judged.

The first half may need a GPU, judging does not: each can be done in a process of its own. What goes
wrong is noted in the record, not raised: one trial's trouble is not the others'.
"""

from __future__ import annotations

import dataclasses
import os
import platform
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_array

from docboltz import __version__
from docboltz.baselines.lda import INSTALL
from docboltz.corpus.corpus import check_counts
from docboltz.corpus.split import Split
from docboltz.errors import DocboltzError, InvalidCorpus
from docboltz.evaluation.classification import fixed_penalty
from docboltz.evaluation.labels import labels_of
from docboltz.evaluation.suite import classify, rank
from docboltz.experiments.models import no_density
from docboltz.experiments.record import Estimate, LengthCurve, Record, plain, rounded
from docboltz.experiments.table1 import measure_table_1
from docboltz.experiments.topics import group_documents, measure_topics
from docboltz.experiments.trial import Measures, Trial
from docboltz.inference import to_torch
from docboltz.model.parameters import Parameters
from docboltz.progress import progress_bar
from docboltz.training.validation import MOST_DOCUMENTS, HeldOut

Features = tuple[Any, Any]
"""Of training and of test documents."""

ENOUGH_SECONDS = 0.3
"""Time over which the speed of inference is measured: once says little."""
ENOUGH_TO_CHOOSE = 100
"""Training documents with labels from which on a penalty can be chosen on some of them."""
LEARNT = (
    "components_", "intercept_visible_", "intercept_hidden_", "output_weights_",
    "output_intercept_", "alpha_", "idf_",
)  # fmt: skip
"""Attributes in which models keep what they have learnt."""
REHEARSAL_DOCUMENTS, REHEARSAL_UPDATES = 600, 20
_REHEARSED: set[tuple[str, str, int]] = set()
"""Datasets, models and sizes whose kernels are compiled."""


def attempt(trial: Trial, split: Split, device: str, *, verbose: bool = False) -> Record:
    """The record of a trial, whatever becomes of it."""
    return judge(*train(trial, split, device, verbose=verbose), split, device, verbose=verbose)


def train(
    trial: Trial, split: Split, device: str, *, verbose: bool = False
) -> tuple[Record, Features | None]:
    """Train a model and measure all but its features; give what is known of it, and those."""
    record = begin(trial, split, device)
    features: Features | None = None
    with _noting(record):
        features = _train(split, device, verbose, record)
    return record, features


def begin(trial: Trial, split: Split, device: str) -> Record:
    """What is known of a trial from the start."""
    environment = {
        "hardware": hardware(device),
        "torch": torch.__version__,
        "docboltz": __version__,
        "python": platform.python_version(),
        "date": datetime.now(UTC).date().isoformat(),
    }
    return Record(trial, split.fingerprint, environment=environment, began=time.time())


def judge(
    record: Record, features: Features | None, split: Split, device: str, *, verbose: bool = False
) -> Record:
    """Add to a record what its model's features are good for."""
    if features is None:
        return record
    trial, measures = record.trial, record.trial.measures
    try:
        labelled = labels_of(split).rows
    except InvalidCorpus:  # nothing can be measured by labels
        labelled = np.empty(0, np.int64)
    with (
        _noting(record),
        _timed(record, "evaluation"),
        progress_bar(f"{trial.info.title}: ", "measured", shown=verbose) as show,
    ):
        show(0, None)
        if measures.topics and trial.info.grouping:
            with _measure(record, "topics"):
                vectors = _topic_features(features, split, device, trial)
                how, seed = trial.info.grouping, trial.settings.seed
                train = split.train.counts
                groups = group_documents(vectors, train, measures.topics, how, seed)
                record.topics = measure_topics(groups, split)
        if len(labelled) and measures.retrieval:
            with _measure(record, "retrieval"):
                ranked, by_length = rank(*features, split, device=device)
                record.mean_average_precision = ranked.mean_average_precision
                record.precision_at_10 = ranked.mean_precision_at_10
                record.precision_at_recall = rounded(ranked.mean_precision_at_recall)
                record.by_length = LengthCurve.of(by_length)
        if len(labelled) and measures.classification:
            with _measure(record, "classification"):
                chosen = measures.chooses_penalty and len(labelled) >= ENOUGH_TO_CHOOSE
                C = None if chosen else fixed_penalty(features[0][labelled])
                answers = classify(*features, split, device=device, C=C)
                record.classification, record.C = answers.score, answers.C
    return record


@contextmanager
def _timed(record: Record, what: str) -> Iterator[None]:
    """Keep the seconds that something takes."""
    start = time.perf_counter()
    yield
    record.seconds[what] = time.perf_counter() - start


@contextmanager
def _measure(record: Record, what: str) -> Iterator[None]:
    """One measure may fail while the others go on."""
    try:
        yield
    except Exception as error:
        record.stop("incomplete", f"{what}: {_reason(error)}")


@contextmanager
def _noting(record: Record) -> Iterator[None]:
    """Keep what is warned of, each once; an error is the end of the trial, and no more."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield
        except Exception as error:
            record.stop("failed", _reason(error))
    record.note(*(" ".join(str(warning.message).split()) for warning in caught))
    record.ended = time.time()


def _train(split: Split, device: str, verbose: bool, record: Record) -> Features | None:
    trial = record.trial
    info, settings = trial.info, trial.settings
    if trial.needs and find_spec(trial.needs) is None:
        record.stop("skipped", f"needs the package {trial.needs}: {INSTALL}")
        return None
    counts = split.train.counts
    if device != "cpu" and info.softmax:
        _rehearse(trial, counts, device)
    model = info.build(settings, {"device": device, "verbose": verbose})
    record.settings = parameters_of(model)
    own_bar = hasattr(model, "verbose")
    with (
        _timed(record, "training"),
        progress_bar(info.title, "documents", shown=verbose and not own_bar) as show,
    ):
        if not own_bar:
            show(0, None)
        model.fit(counts)
    record.n_parameters = n_parameters(model)
    if trial.model == "ors":
        lengths = torch.as_tensor(split.train.lengths, dtype=torch.float64)
        record.mean_latent_words = float(model.latent_words_(lengths).mean())
    if trial.measures.predicted and info.density:
        if info.softmax and not (trial.for_density or trial.measures.draws):
            record.note(f"perplexity not measured: {no_density(settings.recipe)}")
        else:
            with _measure(record, "perplexity"), _timed(record, "perplexity"):
                _measure_density(model, split, device, record)
    if trial.measures.halves and info.softmax:
        with _measure(record, "halves"), _timed(record, "halves"):
            record.halves_found = _find_halves(model, split, device, trial.measures.predicted_seed)
    if info.features and trial.measures.of_features:
        with _measure(record, "features"):
            return _measure_inference(model, split, record)
    return None


def _rehearse(trial: Trial, counts: csr_array, device: str) -> None:
    """Compile kernels, which is done once and for all, before any clock runs."""
    key = trial.dataset, trial.variant, trial.units
    if key not in _REHEARSED:
        _REHEARSED.add(key)
        few = dataclasses.replace(trial.settings, updates=REHEARSAL_UPDATES)
        model = trial.info.build(few, {"device": device, "verbose": False})
        # As many Gibbs steps as there will ever be, within these updates.
        every = max(1, REHEARSAL_UPDATES // model.pretraining.max_steps)
        model.pretraining = dataclasses.replace(model.pretraining, more_steps_every=every)
        model.fit(counts[:REHEARSAL_DOCUMENTS])


def _measure_inference(model: Any, split: Split, record: Record) -> Features | None:
    start = time.perf_counter()
    features = model.transform(split.train.counts)
    middle, times = time.perf_counter(), 1
    test_features = model.transform(split.test.counts)
    record.seconds["inference"] = time.perf_counter() - start
    while (elapsed := time.perf_counter() - middle) < ENOUGH_SECONDS:
        model.transform(split.test.counts)
        times += 1
    record.documents_per_second = times * len(split.test) / elapsed
    record.n_features = features.shape[1]
    if not np.isfinite(features.data if hasattr(features, "tocsr") else features).all():
        raise ArithmeticError("features are not finite numbers")
    return features, test_features


def _topic_features(features: Features, split: Split, device: str, trial: Trial) -> Any:
    """Training documents' features to find topics in; own topics are as many as are measured."""
    n = trial.measures.topics
    if trial.info.grouping != "own" or trial.units == n:
        return features[0]
    settings = dataclasses.replace(trial.settings, units=n)
    model = trial.info.build(settings, {"device": device, "verbose": False})
    return model.fit_transform(split.train.counts)


def _measure_density(model: Any, split: Split, device: str, record: Record) -> None:
    trial, measures = record.trial, record.trial.measures
    counts, seed = split.test.counts, trial.settings.seed
    if trial.info.softmax and measures.draws:
        draws = [choose_to_predict(counts, measures, draw) for draw in range(measures.draws)]
        best, record.table1 = measure_table_1(model, _parameters(model, device), draws, seed)
    else:
        best = model.perplexity(choose_to_predict(counts, measures), random_state=seed)
    record.perplexity = Estimate.of(best)


def _find_halves(model: Any, split: Split, device: str, seed: int) -> float:
    """The share of halves of test documents, some by chance, that find the other half."""
    generator = torch.Generator().manual_seed(seed)
    learnt, held = (to_torch(check_counts(x.counts, "tune")) for x in (split.train, split.test))
    some = held.rows(torch.randperm(len(held), generator=generator)[:MOST_DOCUMENTS])
    place = torch.device(device)
    held_out = HeldOut(some, learnt, model.latent_words_, place, generator=generator)
    return held_out.halves_found(_parameters(model, device))


def _parameters(model: Any, device: str) -> Parameters:
    arrays = model.components_, model.intercept_hidden_, model.intercept_visible_
    return Parameters(*(torch.as_tensor(array, device=device) for array in arrays))


def choose_to_predict(counts: csr_array, measures: Measures, draw: int = 0) -> csr_array:
    """Some documents with words, by chance: not too long ones, unless there are no others."""
    n = np.asarray(counts.sum(axis=1)).reshape(-1)
    fits = (n > 0) & (n <= measures.longest) & (n % measures.multiple == 0)
    suited = np.flatnonzero(fits)
    some = suited if len(suited) else np.flatnonzero(n)
    drawn = np.random.default_rng(measures.predicted_seed + draw).permutation(some)
    return counts[np.sort(drawn[: measures.predicted])]


def n_parameters(model: Any) -> int:
    """How many numbers a fitted model has learnt."""
    n = sum(np.size(getattr(model, name)) for name in LEARNT if hasattr(model, name))
    return int(n or np.size(model.word_frequency_))  # the unigram model has nothing else


def hardware(device: str) -> str:
    """What the arithmetic runs on."""
    if device.startswith("cuda"):
        return str(torch.cuda.get_device_name(device))
    threads = torch.get_num_threads()
    return f"CPU ({platform.machine()}, {threads} of {os.cpu_count()} cores)"


def _reason(error: BaseException) -> str:
    """What an error says, on one line; of one that is not docboltz's own, its kind too."""
    message = " ".join(str(error).split())
    if isinstance(error, DocboltzError) and message:
        return message
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def parameters_of(model: Any) -> dict[str, Any]:
    """The parameters of an estimator, less those that change nothing in it."""
    given: dict[str, Any] = model.get_params(deep=False)
    return {k: plain(v) for k, v in given.items() if k not in ("verbose", "device", "checkpoint")}
