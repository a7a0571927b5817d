"""Means over seeds, and whether what the paper claims holds for them."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from docboltz.experiments.datasets import NOTES
from docboltz.experiments.record import Record
from docboltz.experiments.reproduction import CHOSEN_FOR_DENSITY, LABELS

Floats = NDArray[np.float64]
Key = tuple[str, str, int]
"""Dataset, variant of a model, number of units."""

ORS, RS = "ORS-M100", "RS"
PAPERS_LATENT_WORDS = (50, 100)
"""M in the paper's Table 1."""


def share(value: float) -> str:
    """A share as the paper writes it.

    >>> share(0.4512), share(1.0)
    ('.451', '1.000')
    """
    return f"{value:.3f}".removeprefix("0")


def signed(value: float) -> str:
    """A difference of shares.

    >>> signed(0.0312), signed(-0.2)
    ('+.031', '−.200')
    """
    return ("+" if value >= 0 else "−") + share(abs(value))


class Stat(NamedTuple):
    """A measure over seeds."""

    mean: float
    sd: float
    """NaN for a single seed."""
    n: int


class Results:
    """The trials there is something of, by dataset, variant of a model and number of units."""

    def __init__(self, records: Iterable[Record]) -> None:
        self.groups: dict[Key, list[Record]] = defaultdict(list)
        for record in records:
            trial = record.trial
            if record.trained:
                self.groups[trial.dataset, trial.variant, trial.units].append(record)

    def of(self, dataset: str, variant: str, units: int) -> list[Record]:
        """The records of a model of a size; one without a size has the same for all."""
        without_size = self.groups.get((dataset, variant, 0), [])
        return self.groups.get((dataset, variant, units), without_size)

    def has(self, dataset: str) -> bool:
        """Tell whether any trial of a dataset is done."""
        return any(key[0] == dataset for key in self.groups)

    def values(self, dataset: str, variant: str, units: int, field: str) -> list[Any]:
        """What the records have in a field; one of a part is "perplexity.value"."""
        found = (record.get(field) for record in self.of(dataset, variant, units))
        return [value for value in found if value is not None]

    def stat(self, dataset: str, variant: str, units: int, field: str) -> Stat | None:
        """Mean and spread of a field of the records; None if none has it."""
        values = self.values(dataset, variant, units, field)
        if not values:
            return None
        sd = float(np.std(values, ddof=1)) if len(values) > 1 else math.nan
        return Stat(float(np.mean(values)), sd, len(values))

    def mean(self, dataset: str, variant: str, units: int, field: str) -> Floats | None:
        """Mean over seeds of a field that is a row of numbers."""
        values = self.values(dataset, variant, units, field)
        return np.mean(values, axis=0) if values else None

    def fifths(self, dataset: str, variant: str) -> Floats | None:
        """MAP of the shortest fifth of the queries, …, of the longest, with 128 units."""
        return self.mean(dataset, variant, 128, "by_length.fifths")


@dataclass(frozen=True)
class Claim:
    """Something the paper says, and whether it is so here."""

    text: str
    holds: bool | None
    """None where trials are missing to tell."""
    detail: str

    def __str__(self) -> str:
        verdict = {True: "Holds", False: "Falls short", None: "Open"}[self.holds]
        return f"**{verdict}:** {self.text}. {self.detail}"


def claims(results: Results) -> list[Claim]:
    """All claims, for each dataset that there are results of."""
    found = []
    for dataset, notes in NOTES.items():
        if not results.has(dataset):
            continue
        rivals = [(RS, 128), ("DocNADE", 128), ("LDA", 128), ("LSI", 128), ("TF-IDF", 0)]
        for name, measure in (("MAP", "mean_average_precision"), ("P@10", "precision_at_10")):
            text = f"{notes.title}: ORS 128 retrieves better than all others by {name}"
            found.append(_beats(results, dataset, 128, rivals, text, measure))
        found.append(_margin_claim(results, dataset))
        text = f"{notes.title}: ORS 512 classifies at least as well as DocNADE 512 and RS 512"
        rivals = [("DocNADE", 512), (RS, 512)]
        found.append(_beats(results, dataset, 512, rivals, text, "classification", ties=True))
        for m in dict.fromkeys((*PAPERS_LATENT_WORDS, CHOSEN_FOR_DENSITY[dataset])):
            found += _density_claims(results, dataset, m)
    return found


def _beats(
    results: Results,
    dataset: str,
    n_units: int,
    rivals: Sequence[tuple[str, int]],
    text: str,
    measure: str,
    *,
    ties: bool = False,
) -> Claim:
    """Whether ORS is above every rival in a measure."""
    own = results.stat(dataset, ORS, n_units, measure)
    if own is None:
        return Claim(text, None, "ORS was not run.")
    margins, missing = [], []
    ahead = True
    for model, size in rivals:
        other = results.stat(dataset, model, size, measure)
        label = LABELS[model]
        if other is None:
            missing.append(label)
            continue
        margin = own.mean - other.mean
        ahead &= margin >= 0 if ties else margin > 0
        margins.append(f"{label} {share(other.mean)} ({signed(margin)}{_noise(own, other)})")
    detail = f"ORS {share(own.mean)}; {', '.join(margins) or 'nobody to compare with'}."
    if missing:
        detail += f" Not run: {', '.join(missing)}."
    return Claim(text, (None if missing else True) if ahead else False, detail)


def _margin_claim(results: Results, dataset: str) -> Claim:
    title = NOTES[dataset].title
    text = f"{title}: the margin of ORS 128 over RS 128 is largest for the shortest queries"
    own, other = results.fifths(dataset, ORS), results.fifths(dataset, RS)
    if own is None or other is None:
        return Claim(text, None, "ORS or RS was not run.")
    margin = own - other
    holds = bool(margin.argmax() == 0 and margin[0] > 0)
    shown = ", ".join(map(signed, margin))
    return Claim(text, holds, f"Margin in MAP by fifth of query length, shortest first: {shown}.")


def _density_claims(results: Results, dataset: str, m: int) -> list[Claim]:
    """Whether M latent words make the perplexity lower than none, by the paper's way and ours."""
    chosen = "" if m in PAPERS_LATENT_WORDS else ", the number chosen for density,"
    text = (
        f"{NOTES[dataset].title}: perplexity of ORS 128 with M = {m}{chosen} below that of RS 128"
    )
    ways = ("bound", "the paper's bound"), ("perplexity", "importance sampling")
    return [_predicts_better(results, dataset, m, f"{text}, by {how}", way) for way, how in ways]


def _predicts_better(results: Results, dataset: str, m: int, text: str, method: str) -> Claim:
    ors, rs = (f"ORS-M{m}-density", method), ("RS-density", "perplexity")
    own, other = (results.stat(dataset, name, 128, f"{how}.value") for name, how in (ors, rs))
    if own is None or other is None:
        return Claim(text, None, "ORS or RS was not run.")
    remark = _noise(own, other)
    unsure = math.hypot(*(_estimate_error(results, dataset, *model) for model in (ors, rs)))
    if abs(own.mean - other.mean) < unsure:
        remark += ", within the errors of the estimates"
    detail = f"ORS {own.mean:,.0f}, RS {other.mean:,.0f}{remark}."
    return Claim(text, own.mean < other.mean, detail)


def _estimate_error(results: Results, dataset: str, model: str, method: str) -> float:
    """Error of a perplexity, the mean of the seeds', but for the choice of documents."""
    names = ("numerator_error", "partition_error")
    found = (results.stat(dataset, model, 128, f"{method}.{name}") for name in names)
    return math.hypot(*(stat.mean for stat in found if stat is not None))


def _noise(one: Stat, other: Stat) -> str:
    """A remark if two means are nearer to each other than their spreads together."""
    spread = math.hypot(*(s.sd for s in (one, other) if not math.isnan(s.sd)))
    return ", within the spread of the seeds" if abs(one.mean - other.mean) < spread else ""
