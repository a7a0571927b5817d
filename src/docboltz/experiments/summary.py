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
from docboltz.experiments.reproduction import CHOSEN_FOR_DENSITY, LABELS, Plan

Floats = NDArray[np.float64]
Key = tuple[str, str, int]
"""Dataset, variant of a model, number of units."""

ORS, RS = "ORS-M100", "RS"
AS_MEASURED, AS_IT_IS = "As the paper measured it", "As it is"
"""The headings under which claims are judged."""


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


def table_1_models(dataset: str, purpose: str) -> list[str]:
    """The models of Table 1 trained for a purpose, RS first and then by M.

    >>> table_1_models("20news-2000", "paper")
    ['RS-paper', 'ORS-M50-paper', 'ORS-M100-paper']
    """
    chosen = {CHOSEN_FOR_DENSITY[dataset]} if purpose == "density" else set()
    latent = sorted({50, 100} | chosen)
    return [f"{name}-{purpose}" for name in ("RS", *(f"ORS-M{m}" for m in latent))]


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

    def unigram(self, dataset: str) -> float | None:
        """The unigram model's perplexity of the first draw, its own or that beside another's."""
        own = self.stat(dataset, "Unigram", 0, "perplexity.value")
        beside = self.mean(dataset, table_1_models(dataset, "paper")[0], 128, "table1.unigram")
        if own is None:
            return None if beside is None else float(beside[0])
        return own.mean

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


def claims(results: Results, plan: Plan) -> dict[str, list[Claim]]:
    """All claims of a plan under each heading, for each dataset that there are results of."""
    datasets = [dataset for dataset in NOTES if results.has(dataset)]
    found: dict[str, list[Claim]] = {AS_MEASURED: [], AS_IT_IS: []}
    for dataset in datasets:
        paper = table_1_models(dataset, "paper")
        found[AS_MEASURED] += _perplexity_claims(results, dataset, paper, "table1.mean")
        if plan.features:
            found[AS_IT_IS] += _feature_claims(results, dataset)
        density = [name for name in table_1_models(dataset, "density") if name in plan.variants]
        for models in (paper, density):
            found[AS_IT_IS] += _perplexity_claims(results, dataset, models, "perplexity.value")
    return found


def _feature_claims(results: Results, dataset: str) -> list[Claim]:
    """That ORS retrieves best, short queries above all, and classifies best."""
    title, found = NOTES[dataset].title, []
    rivals = [(RS, 128), ("DocNADE", 128), ("LDA", 128), ("LSI", 128), ("TF-IDF", 0)]
    for name, measure in (("MAP", "mean_average_precision"), ("P@10", "precision_at_10")):
        text = f"{title}: ORS 128 retrieves better than all others by {name}"
        found.append(_beats(results, dataset, 128, rivals, text, measure))
    found.append(_margin_claim(results, dataset))
    text = f"{title}: ORS 512 classifies at least as well as DocNADE 512 and RS 512"
    rivals = [("DocNADE", 512), (RS, 512)]
    return [*found, _beats(results, dataset, 512, rivals, text, "classification", ties=True)]


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


def _perplexity_claims(
    results: Results, dataset: str, models: Sequence[str], field: str
) -> list[Claim]:
    """The order of Table 1: latent words predict better than none, and 100 better than 50."""
    rs, *latent = models
    few, many = (next(m for m in latent if m.startswith(f"ORS-M{n}-")) for n in (50, 100))
    pairs = [*((m, rs) for m in latent), (many, few)]
    return [_predicts_better(results, dataset, *pair, field) for pair in pairs]


def _predicts_better(results: Results, dataset: str, one: str, two: str, field: str) -> Claim:
    (name, how), rival = LABELS[one].rsplit(", ", 1), LABELS[two].rpartition(", ")[0]
    title = NOTES[dataset].title
    text = f"{title}: {name}, has a lower perplexity than {rival}, both trained {how}"
    own, other = (results.stat(dataset, name, 128, field) for name in (one, two))
    if own is None or other is None:
        return Claim(text, None, "One of them was not run.")
    remark = _noise(own, other)
    lower = _lower_draws(results, dataset, one, two) if field == "table1.mean" else []
    if lower:  # all models have the same draws
        remark += f"; lower in {sum(lower)} of {len(lower)} draws"
    unsure = math.hypot(*(_estimate_error(results, dataset, name, field) for name in (one, two)))
    if abs(own.mean - other.mean) < unsure:
        remark += ", within the errors of the estimates"
    return Claim(text, own.mean < other.mean, f"{own.mean:,.0f} and {other.mean:,.0f}{remark}.")


def _lower_draws(results: Results, dataset: str, one: str, two: str) -> list[bool]:
    """For each draw of test documents and each seed whether one model's perplexity is lower."""
    found = (results.values(dataset, name, 128, "table1.paper_way") for name in (one, two))
    pairs = zip(*found, strict=False)  # of some seeds there may be one model alone
    return [a < b for own, other in pairs for a, b in zip(own, other, strict=True)]


def _estimate_error(results: Results, dataset: str, model: str, field: str) -> float:
    """Error of a perplexity, the mean of the seeds', but for the choice of documents."""
    part = field.partition(".")[0]
    names = ("numerator_error", "partition_error")
    found = (results.stat(dataset, model, 128, f"{part}.{name}") for name in names)
    return math.hypot(*(stat.mean for stat in found if stat is not None))


def _noise(one: Stat, other: Stat) -> str:
    """A remark if two means are nearer to each other than their spreads together."""
    spread = math.hypot(*(s.sd for s in (one, other) if not math.isnan(s.sd)))
    return ", within the spread of the seeds" if abs(one.mean - other.mean) < spread else ""
