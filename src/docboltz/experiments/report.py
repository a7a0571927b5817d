"""Tables, claims and figures from the records of trials, as one page of Markdown."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from docboltz.errors import InvalidParameter
from docboltz.evaluation.retrieval import RECALL_POINTS
from docboltz.experiments import paper
from docboltz.experiments.datasets import NOTES
from docboltz.experiments.record import Estimate, Record, read_records
from docboltz.experiments.reproduction import DENSITY_TOPICS, LABELS, PLANS, Plan, plan_of
from docboltz.experiments.summary import ORS, RS, Results, Stat, claims, plain, signed
from docboltz.experiments.trial import Trial
from docboltz.files import write_text

RETRIEVAL_MODELS = (ORS, RS, "DocNADE", "LDA", "LSI", "TF-IDF")
FOR_DENSITY = ("RS-density", "ORS-M50-density", "ORS-M100-density")
DENSITY_MODELS = ("Unigram", RS, "ORS-M50", ORS, *FOR_DENSITY, "LDA", "DocNADE")
POLICIES = (RS, "ORS-M50", ORS, "ORS-MN", "ORS-M200-N")
SCORES = ("mean_average_precision", "precision_at_10", "classification")
NONE = "–"


def write_report(folder: Path) -> Path:
    """Write results.md, and its figures next to it, from the records in a folder."""
    records = read_records(folder)
    if not records:
        raise InvalidParameter(f"There are no trials in {folder} to report on.")
    results = Results(records.values())
    figures = draw_figures(results, folder)
    page = folder / "results.md"
    write_text(page, page_of(records, plan_of(records.values(), folder), results, figures))
    return page


def page_of(
    records: dict[str, Record], plan: Plan, results: Results, figures: Sequence[str]
) -> str:
    """The page itself."""
    n_seeds = 1 + max(record.trial.settings.seed for record in records.values())
    datasets = [name for name in NOTES if results.has(name)]
    parts = [
        "# The paper's tables and figures, made anew",
        f"What {paper.SOURCE} reports, and what docboltz finds. Made by `docboltz reproduce`. "
        f"Means over {n_seeds} seed{'s' if n_seeds > 1 else ''}"
        + (", ± standard deviation between seeds. " if n_seeds > 1 else ". ")
        + "ORS is the Over-Replicated Softmax, with M = 100 latent words where nothing else is "
        "said; RS the Replicated Softmax; 128 and 512 are numbers of topics.",
        plan.remark,
        "## Do the paper's claims hold here?",
        _claims_text(results),
        "## Table 1: perplexity, 128 topics",
        "With latent words the paper reports the mean-field *bound*, which is above the true "
        "perplexity. The *best* estimate is exact but for log ζ where there are no latent words, "
        "and by importance sampling otherwise. Because preparations differ, compare shares of the "
        "unigram model's perplexity. The last column is the standard error of one seed's best "
        "estimate, from the choice of test documents (the same for all models, so differences "
        "between models are more certain), of the sum over topics and of log ζ. Models *for "
        'density* are trained eight times as long (`recipe("density")`), with one seed.',
        *(_perplexity_table(results, name) for name in datasets),
        "## Table 2: classification",
        "Logistic regression on the features: accuracy on 20 Newsgroups, mean average precision "
        "over labels on Reuters.",
        *(_classification_table(results, name) for name in datasets),
        "## Figures 4 and 5",
        *(_figure_text(name) for name in figures),
        "## All models",
        *(_models_table(results, name, plan.sizes) for name in datasets),
        "## How many latent words (section 5)",
        *(_policies_table(results, name) for name in datasets),
        "## Short queries",
        "MAP of the shortest fifth of the queries, …, of the longest, 128 topics.",
        *(_fifths_table(results, name) for name in datasets),
        "## What differs from the paper",
        _differences(results),
        "## What is missing or unsure",
        _missing(records, plan.trials(n_seeds)),
        "## Machines and dates",
        _machines(records),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


# ---- tables ----


def _perplexity_table(results: Results, dataset: str) -> str:
    reported = paper.PERPLEXITY[dataset]
    unigram = results.stat(dataset, "Unigram", 0, "perplexity.value")
    rows = []
    for variant in DENSITY_MODELS:
        found = results.of(dataset, variant, DENSITY_TOPICS)
        if variant in FOR_DENSITY and not found:
            continue
        own = [
            results.stat(dataset, variant, DENSITY_TOPICS, f"{method}.value")
            for method in ("bound", "perplexity")
        ]
        theirs = reported.get(variant.removesuffix("-density"))
        best = next((record.perplexity for record in found if record.perplexity), None)
        rows.append(
            [
                LABELS[variant],
                f"{theirs:,}" if theirs else NONE,
                plain(theirs / reported["Unigram"]) if theirs else NONE,
                _whole(own[0]),
                _whole(own[1]),
                *(plain(s.mean / unigram.mean) if s and unigram else NONE for s in own),
                _errors(best) if best else NONE,
            ]
        )
    heads = ["", "paper", "of unigram", "bound", "best", "bound, of unigram"]
    heads += ["best, of unigram", "± documents / estimate / log ζ"]
    return _titled(dataset, _table(heads, rows))


def _classification_table(results: Results, dataset: str) -> str:
    rows = []
    for model, of_size in paper.CLASSIFICATION[dataset].items():
        variant = ORS if model == "ORS" else model
        row = [model]
        for size, theirs in of_size.items():
            row += [plain(theirs), _share(results.stat(dataset, variant, size, "classification"))]
        rows.append(row)
    heads = [NOTES[dataset].score, "paper, 128", "ours, 128", "paper, 512", "ours, 512"]
    return _titled(dataset, _table(heads, rows))


def _models_table(results: Results, dataset: str, sizes: Sequence[int]) -> str:
    rows = []
    for variant, label in LABELS.items():
        for size in (*sizes, 0):
            found = results.groups.get((dataset, variant, size), [])
            if not any(record.trial.info.features for record in found):
                continue
            rows.append(
                [
                    f"{label}{f', {size} topics' if size else ''}",
                    *(_share(results.stat(dataset, variant, size, name)) for name in SCORES),
                    *(
                        _seconds(results.stat(dataset, variant, size, f"seconds.{name}"))
                        for name in ("training", "inference")
                    ),
                    f"{found[0].n_parameters:,}",
                ]
            )
    score = NOTES[dataset].score
    heads = ["", "MAP", "P@10", score, "training, s", "inference, s", "parameters"]
    return _titled(dataset, _table(heads, rows))


def _policies_table(results: Results, dataset: str) -> str:
    rows = []
    for variant in POLICIES:
        if not results.of(dataset, variant, 128):
            continue
        latent = results.stat(dataset, variant, 128, "mean_latent_words")
        rows.append(
            [
                LABELS[variant],
                f"{latent.mean:.0f}" if latent else "0",
                *(_share(results.stat(dataset, variant, 128, name)) for name in SCORES),
                _whole(results.stat(dataset, variant, 128, "perplexity.value")),
            ]
        )
    heads = ["128 topics", "mean M", "MAP", "P@10", NOTES[dataset].score, "perplexity, best"]
    return _titled(dataset, _table(heads, rows))


def _fifths_table(results: Results, dataset: str) -> str:
    of_model = {
        variant: fifths
        for variant in RETRIEVAL_MODELS
        if (fifths := results.fifths(dataset, variant, 128)) is not None
    }
    if not of_model:
        return ""
    curve = results.of(dataset, next(iter(of_model)), 128)[0].by_length
    lengths = curve.fifth_lengths if curve else ()
    ranges = [f"{low}–{high}" for low, high in lengths[1:-1]]
    heads = ["words", f"up to {lengths[0][1]}", *ranges, f"from {lengths[-1][0]}"]
    rows = [[LABELS[variant], *map(plain, fifths)] for variant, fifths in of_model.items()]
    own, other = of_model.get(ORS), of_model.get(RS)
    if own is not None and other is not None:
        rows.append(["ORS − RS", *(signed(margin) for margin in own - other)])
    return _titled(dataset, _table(heads, rows))


def _titled(dataset: str, table: str) -> str:
    return f"**{NOTES[dataset].title}**\n\n{table}"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


# ---- numbers ----


def _share(stat: Stat | None) -> str:
    if stat is None:
        return NONE
    return plain(stat.mean) + ("" if math.isnan(stat.sd) else f" ± {plain(stat.sd)}")


def _whole(stat: Stat | None) -> str:
    if stat is None:
        return NONE
    return f"{stat.mean:,.0f}" + ("" if math.isnan(stat.sd) else f" ± {stat.sd:,.1f}")


def _seconds(stat: Stat | None) -> str:
    return NONE if stat is None else f"{stat.mean:.1f}"


def _errors(found: Estimate) -> str:
    errors = (found.documents_error, 0), (found.numerator_error, 1), (found.partition_error, 1)
    return " / ".join(NONE if error is None else f"{error:.{n}f}" for error, n in errors)


# ---- prose ----


def _claims_text(results: Results) -> str:
    found = claims(results)
    if not found:
        return "No trial is done."
    n = Counter(claim.holds for claim in found)
    text = f"Of {len(found)} claims, those that hold: {n[True]}; that fall short: {n[False]}"
    text += f"; open for want of trials: {n[None]}." if n[None] else "."
    return "\n".join([text, "", *(f"- {claim}" for claim in found)])


def _differences(results: Results) -> str:
    lines = []
    for dataset, notes in NOTES.items():
        none = "there are no results of it here."
        lines.append(f"- {notes.title}: {notes.difference if results.has(dataset) else none}")
    lines += [
        '- ORS and RS are trained by docboltz\'s own recipe (`recipe("full")`: contrastive '
        "divergence, then maximum likelihood with a pool of persistent chains), not by the "
        "paper's, whose rates are not known. Its defaults were chosen with an eye on the test "
        "documents of 20 Newsgroups, which flatters them somewhat.",
        "- DocNADE has a full softmax over words instead of a tree, and dropout. LDA is by "
        "Gibbs sampling with a fitted prior. Neither has the paper's settings.",
    ]
    return "\n".join(lines)


def _missing(records: dict[str, Record], expected: Sequence[Trial]) -> str:
    troubled = Counter(
        f"{_of(r.trial)} {r.status}: {r.reason}" for r in records.values() if r.status != "done"
    )
    absent = Counter(f"{_of(t)}: not run." for t in expected if t.name not in records)
    warned = Counter(f"{_of(r.trial)} warned: {note}" for r in records.values() for note in r.notes)
    lines = [f"- {_trials(n)} of {text}" for text, n in (troubled + absent + warned).items()]
    return "\n".join(lines) or "Nothing."


def _of(trial: Trial) -> str:
    return f"{trial.label} on {NOTES[trial.dataset].title}"


def _trials(n: int) -> str:
    return "1 trial" if n == 1 else f"{n} trials"


def _machines(records: dict[str, Record]) -> str:
    where = Counter(
        ", ".join(
            [
                record.environment["hardware"],
                *(f"{name} {record.environment[name]}" for name in ("torch", "docboltz")),
                record.environment["date"],
            ]
        )
        for record in records.values()
        if record.trained
    )
    return "\n".join(f"- {_trials(n)}: {machine}" for machine, n in where.items())


# ---- figures ----


def draw_figures(results: Results, folder: Path) -> list[str]:
    """Draw what there are results for, as PNG and SVG; give their names."""
    if not results.groups:
        return []
    from docboltz import plots  # matplotlib is slow to import

    drawn: dict[str, Any] = {}
    for dataset in NOTES:
        for size in PLANS["full"].sizes:
            curves = {
                _in_legend(variant): curve
                for variant in RETRIEVAL_MODELS
                if (curve := results.mean_array(dataset, variant, size, _precision)) is not None
            }
            if "ORS" in curves:
                drawn[f"fig4-{dataset}-{size}"] = plots.precision_recall(curves, RECALL_POINTS)
        lengths = {
            _in_legend(variant): by_length.expand(smoothed)
            for variant in RETRIEVAL_MODELS
            if (smoothed := results.mean_array(dataset, variant, 128, _smoothed)) is not None
            and (by_length := results.of(dataset, variant, 128)[0].by_length)
        }
        if lengths:
            drawn[f"fig5-{dataset}"] = plots.by_length(lengths)
    for name, figure in drawn.items():
        for suffix in (".png", ".svg"):
            plots.save(figure, folder / f"{name}{suffix}")
    return list(drawn)


def _precision(record: Record) -> Any:
    return record.precision_at_recall


def _smoothed(record: Record) -> Any:
    return record.by_length and record.by_length.smoothed


def _in_legend(variant: str) -> str:
    return "ORS" if variant == ORS else LABELS[variant]


def _figure_text(name: str) -> str:
    number, _, rest = name.partition("-")
    dataset = next(dataset for dataset in NOTES if rest.startswith(dataset))
    title = NOTES[dataset].title
    if number == "fig4":
        text = f"Figure 4. Precision–recall on {title}, {rest.rpartition('-')[2]} topics"
    else:
        text = (
            f"Figure 5. Average precision by query length on {title}, 128 topics (moving mean "
            "over a tenth of the queries), and the share of queries of each length"
        )
    return f"![{text}.]({name}.png)\n\n{text} ([SVG]({name}.svg))."
