"""How many topics and latent words (section 3.4)? A coarse grid, judged on validation documents.

F topic units, M latent words.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from docboltz.corpus.split import Split
from docboltz.errors import InvalidCorpus, InvalidParameter, is_whole, require
from docboltz.evaluation.labels import labels_of
from docboltz.experiments.comparison import density_measures
from docboltz.experiments.models import Settings
from docboltz.experiments.record import Record, plain
from docboltz.experiments.running import Log, no_log, run
from docboltz.experiments.trial import Measures, Trial

By = Literal["retrieval", "classification", "likelihood"]
MEASURES = {"retrieval": "MAP", "classification": "classification", "likelihood": "perplexity"}
"""What each way to judge measures."""


@dataclass(frozen=True)
class Tuning:
    """What was tried, and which was best."""

    by: By
    recipe: str
    records: list[Record]
    n_train: int
    n_validation: int
    interrupted: bool = False

    def value(self, record: Record) -> float | None:
        """The measure of a model; None if it failed."""
        if self.by == "likelihood":
            return record.perplexity.value if record.perplexity else None
        by_retrieval = self.by == "retrieval"
        return record.mean_average_precision if by_retrieval else record.classification

    @property
    def best(self) -> Record:
        """The record of the best measure; the smaller model of equals."""
        sign = 1 if self.by == "likelihood" else -1
        done = [(value, r) for r in self.records if (value := self.value(r)) is not None]
        return min(done, key=lambda pair: (sign * pair[0], *size_of(pair[1])))[1]

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON can hold it."""
        trials = [
            {
                "topics": size_of(record)[0],
                "latent_words": size_of(record)[1],
                "value": self.value(record),
                "error": record.perplexity.error if record.perplexity else None,
                "seconds": sum(record.seconds.values()),
                "failure": record.reason or None,
            }
            for record in self.records
        ]
        best = {"topics": size_of(self.best)[0], "latent_words": size_of(self.best)[1]}
        known = {name: value for name, value in vars(self).items() if name != "records"}
        found: dict[str, Any] = plain(
            {**known, "measure": MEASURES[self.by], "trials": trials, "best": best}
        )
        return found


def table(tuning: Tuning) -> tuple[dict[str, str], list[list[str]]]:
    """Headings with their sides, and a row for each size: what the command prints."""
    digits = ",.1f" if tuning.by == "likelihood" else ".3f"
    rows = []
    for record in tuning.records:
        value = tuning.value(record)
        shown = "failed" if value is None else f"{value:{digits}}"
        if record.perplexity and record.perplexity.error is not None:
            shown += f" ± {record.perplexity.error:{digits}}"
        seconds = f"{sum(record.seconds.values()):,.1f}"
        remark = "best" if record is tuning.best else record.reason
        rows.append([*map(str, size_of(record)), shown, seconds, remark])
    headings = ("topics", "latent words", MEASURES[tuning.by], "seconds")
    return {**dict.fromkeys(headings, "right"), "": "left"}, rows


def size_of(record: Record) -> tuple[int, int]:
    """F and M of a model that was tried."""
    settings = record.trial.settings
    return settings.topics, int(settings.latent_words)


def tune(
    split: Split,
    topics: Sequence[int],
    latent_words: Sequence[int],
    *,
    by: By | None = None,
    recipe: str | None = None,
    updates: int | None = None,
    seed: int = 0,
    device: str = "auto",
    verbose: bool = False,
    log: Log = no_log,
) -> Tuning:
    """Try every number of topics with every number of latent words; M = 0 is the RS.

    Parameters
    ----------
    split : the documents; the test part are the validation documents.
    topics, latent_words : the numbers to try.
    by : "retrieval", "classification" or "likelihood"; by default retrieval where there are labels,
        else likelihood.
    recipe : by default "quick"; for the likelihood "full", as contrastive divergence alone makes no
        density worth comparing.
    updates : minibatches of each phase of training, instead of the recipe's.
    seed, device, verbose, log : as for `compare`.

    Ctrl-C ends the search; what was tried is kept.
    """
    for name, given, least in (("topics", topics, 1), ("latent_words", latent_words, 0)):
        some = len(given) > 0 and all(is_whole(size) and size >= least for size in given)
        require(some, "tune", name, f"whole numbers of at least {least}", given)
    try:
        labels_of(split)
    except InvalidCorpus as error:
        if by not in (None, "likelihood"):
            raise InvalidParameter(
                str(error), hint="Tune by likelihood instead ({by}).", settings=("by",)
            ) from error
        by = "likelihood"
    by = by or "retrieval"
    require(by in MEASURES, "tune", "by", " or ".join(map(repr, MEASURES)), by)
    recipe = recipe or ("full" if by == "likelihood" else "quick")
    settings = Settings(recipe=recipe, updates=updates, seed=seed)
    if by == "likelihood" and not settings.training.makes_density:
        raise InvalidParameter(
            f"Contrastive divergence alone, the recipe {recipe!r}, makes no density worth "
            "comparing.",
            hint="Tune by likelihood with the {recipe} 'full' or 'density'.",
            settings=("recipe",),
        )
    nothing_else = {"retrieval": False, "classification": False}
    measures = density_measures(seed, device, **nothing_else)
    if by != "likelihood":
        measures = Measures(**{**nothing_else, by: True}, chooses_penalty=False)
    sizes = [(f, m) for f in dict.fromkeys(topics) for m in dict.fromkeys(latent_words)]
    trials = [
        Trial("ors", dataclasses.replace(settings, topics=f, latent_words=m), measures)
        for f, m in sizes
    ]
    found = Tuning(by, recipe, [], len(split.train), len(split.test))
    try:
        for record in run(trials, lambda _: split, device=device, verbose=verbose, log=log):
            found.records.append(record)
    except KeyboardInterrupt:
        if all(found.value(record) is None for record in found.records):
            raise
        found = dataclasses.replace(found, interrupted=True)
    if all(found.value(record) is None for record in found.records):
        raise InvalidParameter(f"None of the models could be trained. {found.records[0].reason}")
    return found
