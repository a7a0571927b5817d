"""Tables, claims and figures from the records of the paper's comparison: one page of Markdown."""

from __future__ import annotations

import math
import re
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from docboltz.errors import InvalidParameter
from docboltz.evaluation.retrieval import RECALL_POINTS
from docboltz.experiments import paper
from docboltz.experiments.datasets import NOTES
from docboltz.experiments.pages import render
from docboltz.experiments.record import Estimate, Record, read_records, wall_seconds
from docboltz.experiments.reproduction import CHOSEN_FOR_DENSITY, LABELS, PLANS, plan_of
from docboltz.experiments.summary import (
    ORS,
    RS,
    Results,
    Stat,
    claims,
    share,
    signed,
    table_1_models,
)
from docboltz.experiments.trial import Trial
from docboltz.storage import write_text

RETRIEVAL_MODELS = (ORS, RS, "DocNADE", "LDA", "LSI", "TF-IDF")
POLICIES = (RS, "ORS-M50", ORS, "ORS-MN", "ORS-M200-N")
SCORES = ("mean_average_precision", "precision_at_10", "classification")
TIMES = ("seconds.training", "seconds.inference")
NONE = "–"
WIDTH = 120


def write_report(folder: Path) -> Path:
    """Write results.md, and its figures next to it, from the records in a folder."""
    records = read_records(folder)
    if not records:
        raise InvalidParameter(f"There are no trials in {folder} to report on.")
    results = Results(records.values())
    plan = plan_of(records.values(), folder)
    n_seeds = 1 + max(record.trial.settings.seed for record in records.values())
    trained = [record for record in records.values() if record.trained]
    text = render(
        "results.md.jinja",
        paper=paper,
        notes=NOTES,
        labels=LABELS,
        plan=plan,
        n_seeds=n_seeds,
        results=results,
        datasets=[name for name in NOTES if results.has(name)],
        claims=claims(results, plan),
        shorter=sorted({record.trial.settings.shorter for record in trained} - {1}),
        figures=draw_figures(results, folder),
        missing=_missing(records, plan.trials(n_seeds)),
        machines=_counted(map(_machine, trained)),
        fingerprints={record.trial.dataset: record.documents[:12] for record in trained},
        minutes=sum(sum(record.seconds.values()) for record in trained) / 60,
        wall_minutes=wall_seconds(trained) / 60,
        chosen=CHOSEN_FOR_DENSITY,
        table_1_models=table_1_models,
        policies=POLICIES,
        retrieval_models=RETRIEVAL_MODELS,
        ors=ORS,
        rs=RS,
        dash=NONE,
        share=share,
        signed=signed,
        whole=lambda stat: _cell(stat, "{:,.0f}".format, "{:,.1f}".format),
        nats=lambda stat: _cell(stat, lambda value: f"{round(value, 1) + 0:,.1f}"),
        without_how=lambda variant: LABELS[variant].rpartition(", ")[0],
        percent=lambda stat: _cell(stat, "{:.0%}".format),
        errors=_errors,
        shares=lambda d, v, n: [_cell(results.stat(d, v, n, f), share, share) for f in SCORES],
        times=lambda d, v, n: [_cell(results.stat(d, v, n, f), "{:.1f}".format) for f in TIMES],
        each=lambda show, values: [show(value) for value in values],
        row=_row,
        head=lambda heads: _row(heads) + "\n" + _row(["---"] * len(heads)),
    )
    page = folder / "results.md"
    write_text(page, _wrapped(text))
    return page


def _wrapped(text: str) -> str:
    """Paragraphs filled to the width, tables as they are, and no two empty lines in a row."""
    paragraphs, lines = [""], []
    for line in text.splitlines():
        apart = line.startswith(("|", "#", "- ")) or paragraphs[-1].startswith(("|", "#"))
        if line and paragraphs[-1] and not apart:
            paragraphs[-1] += f" {line.strip()}"
        else:
            paragraphs.append(line)
    for line in paragraphs:
        indent = "  " if line.startswith("- ") else ""
        short = textwrap.wrap(line, WIDTH, subsequent_indent=indent, break_on_hyphens=False)
        lines += [line] if line.startswith("|") or not line else short
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip() + "\n"


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(
    stat: Stat | None, show: Callable[[float], str], show_sd: Callable[[float], str] | None = None
) -> str:
    if stat is None:
        return NONE
    spread = f" ± {show_sd(stat.sd)}" if show_sd and not math.isnan(stat.sd) else ""
    return show(stat.mean) + spread


def _errors(records: list[Record]) -> str:
    """Standard errors of the first best estimate of a perplexity there is, by their source."""
    found: Estimate | None = next((r.perplexity for r in records if r.perplexity), None)
    if found is None:
        return NONE
    errors = (found.documents_error, 0), (found.numerator_error, 1), (found.partition_error, 1)
    return " / ".join(NONE if error is None else f"{error:.{n}f}" for error, n in errors)


def _missing(records: dict[str, Record], expected: Iterable[Trial]) -> list[str]:
    troubled = (f"{_of(r.trial)} {r.status}: {r.reason}" for r in records.values() if r.reason)
    absent = (f"{_of(trial)}: not run." for trial in expected if trial.name not in records)
    warned = (f"{_of(r.trial)} warned: {note}" for r in records.values() for note in r.notes)
    found = (f"of {text}" for texts in (troubled, absent, warned) for text in texts)
    return [line.replace(": of ", " of ", 1) for line in _counted(found)]


def _of(trial: Trial) -> str:
    return f"{trial.label} on {NOTES[trial.dataset].title}"


def _machine(record: Record) -> str:
    known = record.environment
    return "{hardware}, torch {torch}, docboltz {docboltz}, {date}".format(**known)


def _counted(texts: Iterable[str]) -> list[str]:
    """Each once, with the number of trials it is of."""
    return [f"{n} trial{'s' if n > 1 else ''}: {text}" for text, n in Counter(texts).items()]


def draw_figures(results: Results, folder: Path) -> dict[str, str]:
    """Draw what there are results for, as PNG and SVG; give their names and what they show."""
    if not results.groups:
        return {}
    from docboltz import plots  # matplotlib is slow to import

    drawn: list[tuple[str, str, Any]] = []
    for dataset, notes in NOTES.items():
        drawn += _table_1_figures(results, dataset)
        for size in PLANS["full"].sizes:
            curves = {
                _in_legend(variant): curve
                for variant in RETRIEVAL_MODELS
                if (curve := results.mean(dataset, variant, size, "precision_at_recall"))
                is not None
            }
            if "ORS" in curves:
                text = f"Figure 4. Precision–recall on {notes.title}, {size} units"
                figure = plots.precision_recall(curves, RECALL_POINTS)
                drawn.append((f"fig4-{dataset}-{size}", text, figure))
        lengths = {
            _in_legend(variant): by_length.expand(smoothed)
            for variant in RETRIEVAL_MODELS
            if (smoothed := results.mean(dataset, variant, 128, "by_length.smoothed")) is not None
            and (by_length := results.of(dataset, variant, 128)[0].by_length)
        }
        if lengths:
            text = (
                f"Figure 5. Average precision by query length on {notes.title}, 128 units (moving "
                "mean over a tenth of the queries), and the share of queries of each length"
            )
            drawn.append((f"fig5-{dataset}", text, plots.by_length(lengths)))
    for name, _, figure in drawn:
        for suffix in (".png", ".svg"):
            plots.save(figure, folder / f"{name}{suffix}")
    return {name: text for name, text, _ in drawn}


def _table_1_figures(results: Results, dataset: str) -> list[tuple[str, str, Any]]:
    """log ζ of ORS with M = 50 in several ways, and what AIS lacks of it for each model."""
    from docboltz import plots

    known: dict[str, dict[str, tuple[Any, Any]]] = {}
    lacking: dict[str, dict[str, tuple[Any, Any]]] = {}
    for how, title in (("paper", "trained the paper's way"), ("density", "trained for density")):
        for variant in table_1_models(dataset, how):
            if not (zetas := results.values(dataset, variant, 128, "table1.log_zeta")):
                continue
            m = results.of(dataset, variant, 128)[0].trial.settings.latent_words
            words = [d - (m if isinstance(m, int) else 0) for d in zetas[0].d]
            name = LABELS[variant].rpartition(", ")[0]
            lacking.setdefault(title, {})[name] = words, zetas[0].by_length
            if m == 50:
                known[f"{name}, {title}"] = {
                    way: (zetas[0].d, value) for way, value in zetas[0].ways.items()
                }
    of = f"{NOTES[dataset].title}, 128 units, seed 0"
    found: list[tuple[str, str, Any]] = []
    if known:
        text = f"log ζ(D) by annealing along length and by AIS, and its lower bound; {of}"
        figure = plots.beside(known, x="D = N + M (words)", y="log ζ(D) (nats)")
        found.append((f"table1-{dataset}", text, figure))
    if lacking:
        text = f"Nats that AIS lacks of log ζ, by annealing along length; {of}"
        figure = plots.beside(
            lacking, x="N (words of a document)", y="AIS lacks (nats)", same_scale=True
        )
        found.append((f"missing-{dataset}", text, figure))
    return found


def _in_legend(variant: str) -> str:
    return "ORS" if variant == ORS else LABELS[variant]
