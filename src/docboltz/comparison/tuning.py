"""How many topics and latent words (section 3.4)? A coarse grid, judged on validation documents.

F topic units, M latent words.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from docboltz.comparison.contenders import CONTENDERS, Effort
from docboltz.comparison.measuring import plain, reason_of, to_predict
from docboltz.comparison.parts import Parts
from docboltz.errors import InvalidParameter, is_whole, require
from docboltz.evaluation.classification import (
    evaluate_classification,
    evaluate_multilabel_classification,
    fixed_penalty,
)
from docboltz.evaluation.retrieval import evaluate_multilabel_retrieval, evaluate_retrieval
from docboltz.evaluation.suite import LabelledSplit

By = Literal["retrieval", "classification", "likelihood"]
MEASURES: dict[str, str] = {
    "retrieval": "MAP",
    "classification": "classification",
    "likelihood": "perplexity",
}


@dataclass(frozen=True)
class Trial:
    """A model of one size."""

    topics: int
    latent_words: int
    value: float | None
    """Its measure; None if it failed."""
    error: float | None
    """Standard error, of a perplexity."""
    seconds: float
    failure: str | None = None


@dataclass(frozen=True)
class Tuning:
    """What was tried, and which was best."""

    by: By
    recipe: str
    trials: list[Trial]
    n_train: int
    n_validation: int
    interrupted: bool = False

    @property
    def best(self) -> Trial:
        """The trial of the best measure; the smaller model of equals."""
        done = [trial for trial in self.trials if trial.value is not None]
        sign = 1 if self.by == "likelihood" else -1
        return min(done, key=lambda t: (sign * (t.value or 0.0), t.topics, t.latent_words))

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON can hold it."""
        found: dict[str, Any] = plain(
            {
                "by": self.by,
                "measure": MEASURES[self.by],
                "recipe": self.recipe,
                "documents": {"train": self.n_train, "validation": self.n_validation},
                "trials": [vars(trial) for trial in self.trials],
                "best": {"topics": self.best.topics, "latent_words": self.best.latent_words},
                "interrupted": self.interrupted,
            }
        )
        return found


def tune(
    parts: Parts,
    topics: Sequence[int],
    latent_words: Sequence[int],
    *,
    by: By | None = None,
    recipe: str | None = None,
    effort: Effort | None = None,
    say: Callable[[str], None] | None = None,
) -> Tuning:
    """Try every number of topics with every number of latent words; M = 0 is the RS.

    The test part serves as validation documents. By default the measure is retrieval where there
    are labels, and the recipe "quick"; for the likelihood it is "full", as contrastive divergence
    alone makes no density worth comparing. Ctrl-C ends the search; what was tried is kept.
    """
    for name, given, least in (("topics", topics, 1), ("latent_words", latent_words, 0)):
        some = len(given) > 0 and all(is_whole(size) and size >= least for size in given)
        require(some, "tune", name, f"whole numbers of at least {least}", given)
    labelled = parts.labelled()
    if by is None:
        by = "retrieval" if isinstance(labelled, LabelledSplit) else "likelihood"
    require(by in MEASURES, "tune", "by", " or ".join(map(repr, MEASURES)), by)
    if by != "likelihood" and not isinstance(labelled, LabelledSplit):
        raise InvalidParameter(f"{labelled} Tune by likelihood instead of {by}.")
    recipe = recipe or ("full" if by == "likelihood" else "quick")
    if by == "likelihood" and recipe == "quick":
        raise InvalidParameter(
            "Contrastive divergence alone, the recipe 'quick', makes no density worth comparing. "
            "Tune by likelihood with the recipe 'full' or 'density'."
        )
    effort = dataclasses.replace(effort or Effort(), recipe=recipe)
    tell = say or (lambda message: None)
    sizes = [(f, m) for f in dict.fromkeys(topics) for m in dict.fromkeys(latent_words)]
    trials: list[Trial] = []
    interrupted = False
    for number, (f, m) in enumerate(sizes):
        tell(f"{number + 1} of {len(sizes)}: {f} topics, {m} latent words …")
        try:
            trial = _try(parts, labelled, by, dataclasses.replace(effort, topics=f, latent_words=m))
        except KeyboardInterrupt:
            if all(trial.value is None for trial in trials):
                raise
            interrupted = True
            break
        trials.append(trial)
        tell("  " + _said_of(trial, by))
    if all(trial.value is None for trial in trials):
        raise InvalidParameter(f"None of the models could be trained. {trials[0].failure}")
    return Tuning(by, recipe, trials, len(parts.train), len(parts.test), interrupted)


def _try(parts: Parts, labelled: LabelledSplit | str, by: By, effort: Effort) -> Trial:
    begin = time.perf_counter()
    value, error, failure = None, None, None
    try:
        model = CONTENDERS["ors"].build(effort).fit(parts.train.counts)
        if isinstance(labelled, LabelledSplit) and by != "likelihood":
            value = _by_labels(model, labelled, by, effort.device)
        else:
            counts = to_predict(parts.test, effort.seed, effort.device)
            found = model.perplexity(counts, random_state=effort.seed)
            value, error = found.value, found.error
    except Exception as wrong:  # of any kind: the other sizes go on
        failure = reason_of(wrong)
    seconds = time.perf_counter() - begin
    assert isinstance(effort.latent_words, int)
    return Trial(effort.topics, effort.latent_words, value, error, seconds, failure)


def _by_labels(model: Any, split: LabelledSplit, by: By, device: str) -> float:
    pair = model.transform(split.train), model.transform(split.test)
    parts = pair[0], split.train_labels, pair[1], split.test_labels
    if by == "retrieval":
        evaluate: Any = evaluate_multilabel_retrieval if split.multilabel else evaluate_retrieval
        return float(evaluate(*parts, device=device).mean_average_precision)
    C = fixed_penalty(pair[0])
    if split.multilabel:
        many = evaluate_multilabel_classification(*parts, C=C, device=device)
        return many.mean_average_precision
    return evaluate_classification(*parts, C=C).accuracy


def _said_of(trial: Trial, by: By) -> str:
    if trial.value is None:
        return f"failed: {trial.failure}"
    shown = f"{trial.value:,.1f}" if by == "likelihood" else f"{trial.value:.3f}"
    return f"{MEASURES[by]} {shown} in {trial.seconds:,.1f} s"
