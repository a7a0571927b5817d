"""A comparison as a table, as JSON and as one page of HTML that needs nothing else."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from pathlib import Path

from docboltz import plots
from docboltz.comparison.measuring import ENOUGH_TO_CHOOSE, WORDS_PER_TOPIC, Measured
from docboltz.comparison.run import Comparison
from docboltz.evaluation.retrieval import RECALL_POINTS
from docboltz.files import replacing

HTML, JSON = "report.html", "report.json"
NONE = "–"


@dataclass(frozen=True)
class Column:
    """A column of the table."""

    heading: str
    value: Callable[[Measured], float | None]
    show: Callable[[float], str]
    best: Callable[..., float] | None = None
    """max or min, where one is better."""
    short: str = ""
    """Heading for a terminal of 80 columns; the same where there is none."""
    error: Callable[[Measured], float | None] = lambda _: None

    def cell(self, model: Measured) -> str:
        """What the table shows of a model."""
        value, error = self.value(model), self.error(model)
        if value is None or not math.isfinite(value):
            return NONE
        if error is None or not math.isfinite(error):
            return self.show(value)
        digits = 0 if value >= 100 else 1  # as many as _figure shows of the value
        return f"{self.show(value)} ± {error:,.{digits}f}"


def columns(comparison: Comparison) -> list[Column]:
    """The columns in which some model has a figure."""
    every = [
        Column("MAP", lambda m: m.mean_average_precision, _share, max),
        Column("P@10", lambda m: m.precision_at_10, _share, max),
        Column(
            comparison.classification_name
            if comparison.labels != "several"
            else "classification MAP",
            lambda m: m.classification,
            _share,
            max,
            short="class." if comparison.labels == "several" else "acc.",
        ),
        Column(
            "perplexity",
            lambda m: m.perplexity,
            _figure,
            min,
            short="perpl.",
            error=lambda m: m.perplexity_error,
        ),
        Column("NPMI", lambda m: m.coherence, _share, max),
        Column("diversity", lambda m: m.diversity, _share, max, short="div."),
        Column("training s", lambda m: m.seconds, _figure, min, short="train s"),
        Column("documents/s", lambda m: m.documents_per_second, _compact, max, short="docs/s"),
        Column("parameters", lambda m: m.n_parameters, _size, short="size"),
    ]
    return [c for c in every if any(c.value(model) is not None for model in comparison.models)]


def table(comparison: Comparison) -> tuple[dict[str, str], list[list[str]]]:
    """Headings with their sides, and a row for each model: what the command prints."""
    shown = columns(comparison)
    sides = {"model": "left", **{column.short or column.heading: "right" for column in shown}}
    failed = any(model.failure is not None for model in comparison.models)
    if failed:
        sides["failed"] = "left"
    rows = [
        [model.title, *(c.cell(model) for c in shown), *([model.failure or ""] if failed else [])]
        for model in comparison.models
    ]
    return sides, rows


def write(comparison: Comparison, folder: Path) -> tuple[Path, Path]:
    """Write the page and the JSON, each whole or not at all; give their paths."""
    page, data = folder / HTML, folder / JSON
    contents = {
        page: to_html(comparison),
        data: json.dumps(comparison.to_dict(), indent=2, ensure_ascii=False, allow_nan=False),
    }
    for path, text in contents.items():
        with replacing(path) as draft:
            draft.write_text(text + "\n", encoding="utf-8")
    return page, data


def to_html(comparison: Comparison) -> str:
    """The page: table, curves, topics, how it was measured and what was left out."""
    sections = [
        _opening(comparison),
        _html_table(comparison),
        _notes(comparison),
        _curves(comparison),
        _topics(comparison),
        _method(comparison),
        _settings(comparison),
    ]
    body = "\n".join(section for section in sections if section)
    title = f"Comparison of {len(comparison.models)} models"
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{title}</h1>\n{body}\n</body>\n</html>"
    )


STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 68rem; margin: 2rem auto; padding: 0 1rem;
  color: #1a1a1a; background: #fff; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .7rem; text-align: right; white-space: nowrap; }
th:first-child, td:first-child, td.text { text-align: left; }
td.text { white-space: normal; }
thead th { border-bottom: 2px solid #1a1a1a; } tbody tr + tr td { border-top: 1px solid #ddd; }
.best { font-weight: 700; } .failed { color: #9b2c00; }
.figures { display: flex; flex-wrap: wrap; gap: 2rem; } figure { margin: 0; flex: 1 1 24rem; }
figure svg { width: 100%; height: auto; max-width: 34rem; }
figcaption, .small { font-size: .875rem; color: #444; }
pre { font-size: .8rem; overflow-x: auto; background: #f5f5f5; padding: .6rem; }
"""


def _opening(comparison: Comparison) -> str:
    c = comparison
    labelled = {
        "none": "no labels",
        "one": f"{c.n_labels:,} labels, one a document",
        "several": f"{c.n_labels:,} labels, several a document",
    }[c.labels]
    ended = "<p><strong>Interrupted: not all models were measured.</strong></p>"
    return (
        f"<p>{c.n_train:,} documents to learn from, {c.n_test:,} to test on; {c.n_words:,} words "
        f"in the vocabulary, {c.mean_length:.1f} a document; {labelled}.</p>"
        + (ended if c.interrupted else "")
    )


def _html_table(comparison: Comparison) -> str:
    shown = columns(comparison)
    head = "".join(f'<th scope="col">{escape(c.heading)}</th>' for c in shown)
    best: dict[str, str] = {}
    for column in shown:
        values = [v for m in comparison.measured if (v := column.value(m)) is not None]
        if column.best is not None and len(values) > 1:
            best[column.heading] = column.show(column.best(values))  # what looks equal is equal
    rows = []
    for model in comparison.models:
        cells = f"<td>{escape(model.title)}</td>"
        if model.failure is not None:
            said = f"failed: {escape(model.failure)}"
            cells += f'<td class="text failed" colspan="{len(shown)}">{said}</td>'
        else:
            for column in shown:
                value = column.value(model)
                is_best = value is not None and column.show(value) == best.get(column.heading)
                mark = ' class="best"' if is_best else ""
                cells += f"<td{mark}>{escape(column.cell(model))}</td>"
        rows.append(f"<tr>{cells}</tr>")
    return (
        f'<div class="wide"><table>\n<thead><tr><th scope="col">model</th>{head}</tr></thead>\n'
        f"<tbody>\n{chr(10).join(rows)}\n</tbody></table></div>\n"
        f'<p class="small">Bold: the best of a column. Perplexity of words by their frequency '
        f"alone: {_figure(comparison.unigram_perplexity)}.</p>"
    )


def _notes(comparison: Comparison) -> str:
    said = [
        *comparison.remarks,
        *(f"{model.title}: {note}" for model in comparison.models for note in model.notes),
    ]
    if not said:
        return ""
    items = "\n".join(f"<li>{escape(remark)}</li>" for remark in said)
    return f"<h2>What was left out, and what to beware of</h2>\n<ul>\n{items}\n</ul>"


def _curves(comparison: Comparison) -> str:
    ranked = [m for m in comparison.measured if m.precision_at_recall is not None]
    if not ranked:
        return ""
    curves = {m.title: m.precision_at_recall or [] for m in ranked}
    figures = [
        (
            plots.precision_recall(curves, RECALL_POINTS),
            "Precision of the documents ranked down to each recall.",
        )
    ]
    lengths = {m.title: m.by_length for m in ranked if m.by_length is not None}
    if lengths:
        window = next(iter(lengths.values())).window
        caption = (
            f"Average precision by the query's length, moving mean of {window:,} queries; dotted: "
            "deciles of the lengths. Below: how many queries there are of each length."
        )
        figures.append((plots.by_length(lengths), caption))
    drawn = "\n".join(
        f'<figure role="img" aria-label="{escape(caption)}">{plots.to_svg(figure)}'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
        for figure, caption in figures
    )
    return f'<h2>Retrieval</h2>\n<div class="figures">\n{drawn}\n</div>'


def _topics(comparison: Comparison) -> str:
    parts = []
    for model in comparison.measured:
        if model.topics:
            items = "\n".join(f"<li>{escape(', '.join(words))}</li>" for words in model.topics)
            parts.append(f"<h3>{escape(model.title)}</h3>\n<ol>\n{items}\n</ol>")
    if not parts:
        return ""
    return "<h2>The most coherent topics</h2>\n" + "\n".join(parts)


def _method(comparison: Comparison) -> str:
    measures = []
    if comparison.labels != "none":
        relevant = "has the query's label"
        if comparison.labels == "several":
            relevant = "has the label in question, one task for each label of a query"
        measures += [
            "<b>MAP, P@10</b>: every test document is a query; all training documents are ranked "
            f"by the cosine of their features with its; one is relevant if it {relevant}. MAP is "
            "the mean average precision, P@10 the share of relevant ones among the first ten.",
            f"<b>Classification</b> ({comparison.classification_name}): logistic regression on the "
            "features of the training documents, its penalty chosen on some of them; a usual one "
            f"where fewer than {ENOUGH_TO_CHOOSE} have labels.",
        ]
    measures += [
        f"<b>Perplexity</b> per word, of {comparison.n_predicted:,} test documents, each counting "
        "once; lower is better. The error is one standard error: choice of documents and, where "
        "the likelihood is estimated, the estimate. Models without a likelihood have none. "
        + _methods_of(comparison),
        f"<b>NPMI</b> of the {WORDS_PER_TOPIC} words of each topic in the training documents, the "
        "mean over topics, from -1 to 1; <b>diversity</b>: the share of different words among "
        "those of all topics. Only of models whose features are topics.",
        "<b>Training</b> in seconds of wall-clock time; <b>documents/s</b>: test documents turned "
        "into features.",
    ]
    items = "\n".join(f"<li>{item}</li>" for item in measures)
    where = ", ".join(f"{name} {value}" for name, value in comparison.environment.items())
    return (
        "<h2>How it was measured</h2>\n<p>Vocabulary and models come from the training documents "
        f"alone. One run with seed {comparison.effort.seed}: small differences mean little.</p>\n"
        f'<ul>\n{items}\n</ul>\n<p class="small">{escape(where)}</p>'
    )


def _methods_of(comparison: Comparison) -> str:
    known = [(m.title, m.perplexity_method) for m in comparison.measured if m.perplexity_method]
    said = "; ".join(f"{title}: {method}" for title, method in known)
    return escape(f"How: {said}." if said else "")


def _settings(comparison: Comparison) -> str:
    parts = [
        f"<h3>{escape(m.title)}: {escape(m.description)}</h3>\n"
        f"<pre>{escape(json.dumps(m.settings, indent=1, ensure_ascii=False))}</pre>"
        for m in comparison.models
        if m.settings
    ]
    return "<h2>Settings</h2>\n<details><summary>All of them</summary>\n" + (
        "\n".join(parts) + "\n</details>"
    )


def _share(value: float) -> str:
    return f"{value:.3f}"


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


def _size(value: float) -> str:
    return _compact(value, 3)
