"""How many units and latent words (section 3.4)? A coarse grid, judged on validation documents.

F units, M latent words.
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

By = Literal["halves", "retrieval", "classification", "likelihood"]
MEASURES = {
    "halves": ("halves found", "halves_found"),
    "retrieval": ("MAP", "mean_average_precision"),
    "classification": ("classification", "classification"),
    "likelihood": ("perplexity", "perplexity.value"),
}
"""What each way to judge measures, and where a record has it."""
TOLERANCE = 0.08
"""How many halves a model of fewer units may miss that the best finds, as a share of all. More
units go on finding more of them when they rank a whole collection no better: on 20 development
collections this came nearest to the best MAP."""


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
        value: float | None = record.get(MEASURES[self.by][1])
        return value

    @property
    def best(self) -> Record:
        """The record of the best measure; the smaller model of equals.

        By halves it is that of the fewest units which miss at most TOLERANCE of what any find.
        """
        sign = 1 if self.by == "likelihood" else -1
        done = [(value, r) for r in self.records if (value := self.value(r)) is not None]
        if self.by == "halves":
            enough = max(value for value, _ in done) - TOLERANCE
            fewest = min(size_of(r)[0] for value, r in done if value >= enough)
            done = [(value, r) for value, r in done if size_of(r)[0] == fewest]
        return min(done, key=lambda pair: (sign * pair[0], *size_of(pair[1])))[1]

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON can hold it."""
        trials = [
            {
                "units": size_of(record)[0],
                "latent_words": size_of(record)[1],
                "value": self.value(record),
                "error": record.perplexity.error if record.perplexity else None,
                "seconds": sum(record.seconds.values()),
                "failure": record.reason or None,
            }
            for record in self.records
        ]
        best = {"units": size_of(self.best)[0], "latent_words": size_of(self.best)[1]}
        known = {name: value for name, value in vars(self).items() if name != "records"}
        found: dict[str, Any] = plain(
            {**known, "measure": MEASURES[self.by][0], "trials": trials, "best": best}
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
    headings = ("units", "latent words", MEASURES[tuning.by][0], "seconds")
    return {**dict.fromkeys(headings, "right"), "": "left"}, rows


def size_of(record: Record) -> tuple[int, int]:
    """F and M of a model that was tried."""
    settings = record.trial.settings
    return settings.units, int(settings.latent_words)


def tune(
    split: Split,
    units: Sequence[int],
    latent_words: Sequence[int],
    *,
    by: By = "halves",
    recipe: str | None = None,
    updates: int | None = None,
    seed: int = 0,
    device: str = "auto",
    verbose: bool = False,
    log: Log = no_log,
) -> Tuning:
    """Try every number of units with every number of latent words; M = 0 is the RS.

    Parameters
    ----------
    split : the documents; the test part are the validation documents.
    units, latent_words : the numbers to try.
    by : "halves", for which no labels are needed: how many halves of documents find the other half
        of theirs among all halves. The fewest units that find nearly as many as any are best.
        Or "retrieval", "classification" or "likelihood".
    recipe : by default "quick"; for the likelihood "density", the one that makes a density. On a
        CPU that takes hours.
    updates : minibatches of each phase of training, instead of the recipe's.
    seed, device, verbose, log : as for `compare`.

    Ctrl-C ends the search; what was tried is kept.
    """
    for name, given, least in (("units", units, 1), ("latent_words", latent_words, 0)):
        some = len(given) > 0 and all(is_whole(size) and size >= least for size in given)
        require(some, "tune", name, f"whole numbers of at least {least}", given)
    require(by in MEASURES, "tune", "by", " or ".join(map(repr, MEASURES)), by)
    _require_judges(split, by)
    recipe = recipe or ("density" if by == "likelihood" else "quick")
    settings = Settings(recipe=recipe, updates=updates, seed=seed)
    if by == "likelihood" and not settings.training.makes_density:
        raise InvalidParameter(
            f"The recipe {recipe!r} makes no density to compare.",
            hint="Tune by likelihood with the {recipe} 'density'.",
            settings=("recipe",),
        )
    measures = Measures(
        retrieval=by == "retrieval",
        classification=by == "classification",
        chooses_penalty=False,
        halves=by == "halves",
        predicted_seed=seed,
    )
    if by == "likelihood":
        measures = density_measures(seed, device, retrieval=False, classification=False)
    sizes = [(f, m) for f in dict.fromkeys(units) for m in dict.fromkeys(latent_words)]
    trials = [
        Trial("ors", dataclasses.replace(settings, units=f, latent_words=m), measures)
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


def _require_judges(split: Split, by: By) -> None:
    """Refuse a measure for which validation documents have no labels, or too few words."""
    if by == "halves" and split.test.lengths.max() < 2:
        raise InvalidParameter(
            "No validation document has two words, so none can be cut into halves.",
            hint="Tune by something else than halves ({by}).",
            settings=("by",),
        )
    if by in ("retrieval", "classification"):
        try:
            labels_of(split)
        except InvalidCorpus as error:
            raise InvalidParameter(
                str(error),
                hint="Tune by halves ({by}), which needs no labels.",
                settings=("by",),
            ) from error
