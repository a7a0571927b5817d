"""A comparison as a table, as JSON and as one page of HTML that needs nothing else."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from markupsafe import Markup

from docboltz import plots
from docboltz.evaluation.retrieval import RECALL_POINTS
from docboltz.experiments.comparison import Comparison
from docboltz.experiments.measuring import ENOUGH_TO_CHOOSE
from docboltz.experiments.pages import render
from docboltz.experiments.record import Record
from docboltz.experiments.topics import WORDS_PER_TOPIC, WORDS_WITH_INTRUDER
from docboltz.storage import write_text

HTML, JSON = "report.html", "report.json"
NONE = "–"
SHOWN_TOPICS = 10
"""Of each model, on the page."""


@dataclass(frozen=True)
class Column:
    """A column of the table."""

    heading: str
    field: str
    """Of a record, as `Record.get` takes it."""
    show: Callable[[float], str]
    best: Callable[..., float] | None = None
    """max or min, where one is better."""
    short: str = ""
    """Heading for a terminal of 80 columns; the same where there is none."""
    error: str = ""
    """Field of the standard error."""
    page_only: bool = False
    """Whether a terminal of 80 columns has no place for it."""

    def value(self, record: Record) -> float | None:
        """The figure of a model; None if it has none."""
        found: float | None = record.get(self.field)
        return found

    def cell(self, record: Record) -> str:
        """What the table shows of a model."""
        value, error = self.value(record), record.get(self.error)
        if value is None or not math.isfinite(value):
            return NONE
        if error is None or not math.isfinite(error):
            return self.show(value)
        digits = 0 if value >= 100 else 1  # as many as _figure shows of the value
        return f"{self.show(value)} ± {error:,.{digits}f}"

    def best_of(self, records: list[Record]) -> str | None:
        """What the best of several shows: what looks equal is equal."""
        values = [value for record in records if (value := self.value(record)) is not None]
        return None if self.best is None or len(values) < 2 else self.show(self.best(values))


def columns(comparison: Comparison) -> list[Column]:
    """The columns in which some model has a figure."""
    several = comparison.labels == "several"
    name, short = ("classification MAP", "class.") if several else ("accuracy", "acc.")
    share = "{:.3f}".format
    every = [
        Column("MAP", "mean_average_precision", share, max),
        Column("P@10", "precision_at_10", share, max),
        Column(name, "classification", share, max, short),
        Column("perplexity", "perplexity.value", _figure, min, "perpl.", "perplexity.error"),
        Column("NMI", "topics.agreement.nmi", share, max),
        Column("ARI", "topics.agreement.ari", share, max, page_only=True),
        Column("coherence", "topics.coherence", share, max, "coher."),
        Column("diversity", "topics.diversity", share, max, "div."),
        Column("intrusion", "topics.intrusion", share, max, page_only=True),
        Column("training s", "seconds.training", _figure, min, "train s"),
        Column("documents/s", "documents_per_second", _compact, max, "docs/s"),
        Column("parameters", "n_parameters", partial(_compact, digits=3), page_only=True),
    ]
    return [c for c in every if any(c.value(record) is not None for record in comparison.trained)]


def table(comparison: Comparison) -> tuple[dict[str, str], list[list[str]]]:
    """Headings with their sides, and a row for each model: what the command prints."""
    shown = [column for column in columns(comparison) if not column.page_only]
    sides = {"model": "left", **{column.short or column.heading: "right" for column in shown}}
    failed = len(comparison.trained) < len(comparison.records)
    if failed:
        sides["failed"] = "left"
    rows = []
    for record in comparison.records:
        reason = [] if not failed else [""] if record.trained else [record.reason]
        rows.append([record.trial.info.title, *(c.cell(record) for c in shown), *reason])
    return sides, rows


def notes(comparison: Comparison) -> list[str]:
    """What was left out, and what to beware of."""
    found = list(comparison.remarks)
    for record in comparison.records:
        of_record = [*record.notes, *([record.reason] if record.status == "incomplete" else [])]
        found += [f"{record.trial.info.title}: {note}" for note in of_record]
    return found


def write(comparison: Comparison, folder: Path) -> tuple[Path, Path]:
    """Write the page and the JSON, each whole or not at all; give their paths."""
    page, data = folder / HTML, folder / JSON
    write_text(page, to_html(comparison) + "\n")
    text = json.dumps(comparison.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)
    write_text(data, text + "\n")
    return page, data


def to_html(comparison: Comparison) -> str:
    """The page: table, curves, topics, how it was measured and what was left out."""
    shown = columns(comparison)
    return render(
        "comparison.html",
        comparison=comparison,
        columns=shown,
        best={column.heading: column.best_of(comparison.trained) for column in shown},
        unigram=_figure(comparison.unigram_perplexity),
        notes=notes(comparison),
        figures=_figures(comparison),
        shown_topics=SHOWN_TOPICS,
        words_per_topic=WORDS_PER_TOPIC,
        words_with_intruder=WORDS_WITH_INTRUDER,
        enough_to_choose=ENOUGH_TO_CHOOSE,
    )


def _figures(comparison: Comparison) -> list[dict[str, Any]]:
    ranked = [r for r in comparison.trained if r.precision_at_recall is not None]
    if not ranked:
        return []
    curves = {r.trial.info.title: r.precision_at_recall or () for r in ranked}
    drawn = [
        (
            plots.precision_recall(curves, RECALL_POINTS),
            "Precision of the documents ranked down to each recall.",
        )
    ]
    lengths = {r.trial.info.title: r.by_length.expand() for r in ranked if r.by_length}
    if lengths:
        window = next(iter(lengths.values())).window
        caption = (
            f"Average precision by the query's length, moving mean of {window:,} queries; dotted: "
            "deciles of the lengths. Below: how many queries there are of each length."
        )
        drawn.append((plots.by_length(lengths), caption))
    # matplotlib's own SVG: it escapes what it is given.
    return [{"svg": Markup(plots.to_svg(figure)), "caption": text} for figure, text in drawn]


def _figure(value: float) -> str:
    """Two digits or more.

    >>> _figure(0.0314159), _figure(3.14159), _figure(958.4), _figure(25000.0)
    ('0.031', '3.1', '958', '25,000')
    """
    if value < 1:
        return f"{value:.2g}"
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def _compact(value: float, digits: int = 2) -> str:
    """Two significant digits: a rate measured once is no better than that.

    >>> _compact(0.12), _compact(85.0), _compact(1234.0), _compact(196467.0), _compact(5.1e6)
    ('0.12', '85', '1.2k', '200k', '5.1M')
    """
    rounded = float(f"{value:.{digits}g}")
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if rounded >= size:
            return f"{rounded / size:g}{unit}"
    return f"{rounded:g}"
