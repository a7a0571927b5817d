"""Tables, claims and figures from the records of trials, as one page of Markdown."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from docboltz.files import replacing
from docboltz.reproduce import paper
from docboltz.reproduce.data import NOTES
from docboltz.reproduce.measuring import DONE, Record, unpack_by_length
from docboltz.reproduce.models import EFFORTS, FULL, KINDS
from docboltz.reproduce.running import read_records
from docboltz.reproduce.summary import ORS, RS, Results, Stat, claims, plain, signed
from docboltz.reproduce.trials import DENSITY_TOPICS, trials

RETRIEVAL_MODELS = (ORS, RS, "DocNADE", "LDA", "LSI", "TF-IDF")
FOR_DENSITY = ("RS-density", "ORS-M50-density", "ORS-M100-density")
DENSITY_MODELS = ("Unigram", RS, "ORS-M50", ORS, *FOR_DENSITY, "LDA", "DocNADE")
POLICIES = (RS, "ORS-M50", ORS, "ORS-MN", "ORS-upto")
NONE = "–"


def write_report(folder: Path) -> Path:
    """Write results.md, and its figures next to it, from the records in a folder."""
    records = read_records(folder)
    results = Results(records.values())
    figures = draw_figures(results, folder)
    page = folder / "results.md"
    with replacing(page) as draft:
        draft.write_text(page_of(records, results, figures), encoding="utf-8")
    return page


def page_of(records: dict[str, Record], results: Results, figures: Sequence[str]) -> str:
    """The page itself."""
    effort = EFFORTS[next((r["effort"] for r in records.values()), FULL.name)]
    n_seeds = 1 + max((r["seed"] for r in records.values()), default=0)
    datasets = [name for name in NOTES if results.has(name)]
    parts = [
        "# The paper's tables and figures, made anew",
        f"What {paper.SOURCE} reports, and what docboltz finds. Made by `docboltz reproduce`. "
        f"Means over {n_seeds} seed{'s' if n_seeds > 1 else ''}"
        + (", ± standard deviation between seeds. " if n_seeds > 1 else ". ")
        + "ORS is the Over-Replicated Softmax, with M = 100 latent words where nothing else is "
        "said; RS the Replicated Softmax; 128 and 512 are numbers of topics.",
        effort.remark,
        "## Do the paper's claims hold here?",
        _claims_text(results),
        "## Table 1: perplexity, 128 topics",
        "With latent words the paper reports the mean-field *bound*, which is above the true "
        "perplexity. The *best* estimate is exact but for log ζ where there are no latent words, "
        "and by importance sampling otherwise. Because preparations differ, compare shares of the "
        "unigram model's perplexity. The last column is the standard error of one seed's best "
        "estimate, from the choice of test documents (the same for all models, so differences "
        "between models are surer than that), of the sum over topics and of log ζ. Models *for "
        'density* are trained eight times as long (`recipe="density"`), with one seed.',
        *(_perplexity_table(results, name) for name in datasets),
        "## Table 2: classification",
        "Logistic regression on the features: accuracy on 20 Newsgroups, mean average precision "
        "over labels on Reuters.",
        *(_classification_table(results, name) for name in datasets),
        "## Figures 4 and 5",
        *(_figure_text(name) for name in figures),
        "## All models",
        *(_models_table(results, name, effort.n_topics) for name in datasets),
        "## How many latent words (section 5)",
        *(_policies_table(results, name) for name in datasets),
        "## Short queries",
        "MAP of the shortest fifth of the queries, …, of the longest, 128 topics.",
        *(_fifths_table(results, name) for name in datasets),
        "## What differs from the paper",
        _differences(results),
        "## What is missing or unsure",
        _missing(records, [t.name for t in trials(effort, n_seeds)]),
        "## Machines and dates",
        _machines(records),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


# ---- tables ----


def _perplexity_table(results: Results, dataset: str) -> str:
    reported = paper.PERPLEXITY[dataset]
    unigram = results.stat(dataset, "Unigram", 0, "perplexity", "value")
    rows = []
    for model in DENSITY_MODELS:
        error = results.of(dataset, model, DENSITY_TOPICS)
        if model in FOR_DENSITY and not error:
            continue
        own = [
            results.stat(dataset, model, DENSITY_TOPICS, method, "value")
            for method in ("bound", "perplexity")
        ]
        theirs = reported.get(model.removesuffix("-density"))
        rows.append(
            [
                KINDS[model].label,
                f"{theirs:,}" if theirs else NONE,
                plain(theirs / reported["Unigram"]) if theirs else NONE,
                _whole(own[0]),
                _whole(own[1]),
                *(plain(s.mean / unigram.mean) if s and unigram else NONE for s in own),
                _errors(error[0]["perplexity"]) if error else NONE,
            ]
        )
    heads = ["", "paper", "of unigram", "bound", "best", "bound, of unigram"]
    heads += ["best, of unigram", "± documents / estimate / log ζ"]
    return _titled(dataset, _table(heads, rows))


def _classification_table(results: Results, dataset: str) -> str:
    rows = []
    for model, of_size in paper.CLASSIFICATION[dataset].items():
        key = ORS if model == "ORS" else model
        row = [model]
        for size, theirs in of_size.items():
            row += [plain(theirs), _share(results.stat(dataset, key, size, "classification"))]
        rows.append(row)
    heads = [NOTES[dataset].score, "paper, 128", "ours, 128", "paper, 512", "ours, 512"]
    return _titled(dataset, _table(heads, rows))


def _models_table(results: Results, dataset: str, sizes: Sequence[int]) -> str:
    rows = []
    for model, kind in KINDS.items():
        for size in sizes if kind.sized else (0,):
            if not kind.features or not results.of(dataset, model, size):
                continue
            measures = ("mean_average_precision", "precision_at_10", "classification")
            rows.append(
                [
                    f"{kind.label}{f', {size} topics' if size else ''}",
                    *(_share(results.stat(dataset, model, size, name)) for name in measures),
                    *(
                        _seconds(results.stat(dataset, model, size, "seconds", name))
                        for name in ("training", "inference")
                    ),
                    f"{results.of(dataset, model, size)[0]['n_parameters']:,}",
                ]
            )
    score = NOTES[dataset].score
    heads = ["", "MAP", "P@10", score, "training, s", "inference, s", "parameters"]
    return _titled(dataset, _table(heads, rows))


def _policies_table(results: Results, dataset: str) -> str:
    rows = []
    for model in POLICIES:
        if not results.of(dataset, model, 128):
            continue
        latent = results.stat(dataset, model, 128, "mean_latent_words")
        measures = ("mean_average_precision", "precision_at_10", "classification")
        rows.append(
            [
                KINDS[model].label,
                f"{latent.mean:.0f}" if latent else "0",
                *(_share(results.stat(dataset, model, 128, name)) for name in measures),
                _whole(results.stat(dataset, model, 128, "perplexity", "value")),
            ]
        )
    heads = ["128 topics", "mean M", "MAP", "P@10", NOTES[dataset].score, "perplexity, best"]
    return _titled(dataset, _table(heads, rows))


def _fifths_table(results: Results, dataset: str) -> str:
    models = [m for m in RETRIEVAL_MODELS if results.fifths(dataset, m, 128) is not None]
    if not models:
        return ""
    lengths = results.of(dataset, models[0], 128)[0]["by_length"]["fifth_lengths"]
    ranges = [f"{low}–{high}" for low, high in lengths[1:-1]]
    heads = ["words", f"up to {lengths[0][1]}", *ranges, f"from {lengths[-1][0]}"]
    of_model = {model: results.fifths(dataset, model, 128) for model in models}
    rows = [[KINDS[m].label, *map(plain, fifths)] for m, fifths in of_model.items()]  # type: ignore[arg-type]
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


def _errors(perplexity: Record) -> str:
    sources = (f"{perplexity[f'{of}_error']:.1f}" for of in ("numerator", "partition"))
    return " / ".join([f"{perplexity['documents_error']:.0f}", *sources])


# ---- prose ----


def _claims_text(results: Results) -> str:
    found = claims(results)
    if not found:
        return "No trial is done."
    n = Counter(claim.holds for claim in found)
    said = f"Of {len(found)} claims, those that hold: {n[True]}; that fall short: {n[False]}"
    said += f"; open for want of trials: {n[None]}." if n[None] else "."
    return "\n".join([said, "", *(f"- {claim}" for claim in found)])


def _differences(results: Results) -> str:
    lines = []
    for dataset, notes in NOTES.items():
        said = notes.difference
        if not results.has(dataset):
            said = "there are no results of it here."
        lines.append(f"- {notes.title}: {said}")
    lines += [
        '- ORS and RS are trained by docboltz\'s own recipe (`recipe="full"`: contrastive '
        "divergence, then maximum likelihood with a pool of persistent chains), not by the "
        "paper's, whose rates are not known. Its defaults were chosen with an eye on the test "
        "documents of 20 Newsgroups, which flatters them somewhat.",
        "- DocNADE has a full softmax over words instead of a tree, and dropout. LDA is by "
        "Gibbs sampling with a fitted prior. Neither has the paper's settings.",
    ]
    return "\n".join(lines)


def _missing(records: dict[str, Record], expected: Sequence[str]) -> str:
    lines = []
    troubled = Counter(
        f"{KINDS[r['model']].label} on {NOTES[r['dataset']].title} {r['status']}: {r['reason']}"
        for r in records.values()
        if r["status"] != DONE
    )
    lines += [f"- {_trials(n)} of {said}" for said, n in troubled.items()]
    absent = Counter(
        (NOTES[name.split("_")[0]].title, name.split("_")[1])
        for name in expected
        if name not in records
    )
    lines += [
        f"- {_trials(n)} of {KINDS[model].label} on {title}: not run."
        for (title, model), n in absent.items()
    ]
    warned = Counter(
        f"{KINDS[r['model']].label} on {NOTES[r['dataset']].title} warned: {said}"
        for r in records.values()
        for said in r.get("warnings", [])
    )
    lines += [f"- {_trials(n)} of {said}" for said, n in warned.items()]
    return "\n".join(lines) or "Nothing."


def _trials(n: int) -> str:
    return "1 trial" if n == 1 else f"{n} trials"


def _machines(records: dict[str, Record]) -> str:
    where = Counter(
        f"{r['hardware']}, torch {r['torch']}, docboltz {r['docboltz']}, {r['date']}"
        for r in records.values()
        if r["status"] == DONE
    )
    return "\n".join(f"- {_trials(n)}: {said}" for said, n in where.items())


# ---- figures ----


def draw_figures(results: Results, folder: Path) -> list[str]:
    """Draw what there are results for, as PNG and SVG; give their names."""
    if not results.groups:
        return []
    from docboltz import plots  # matplotlib is slow to import

    drawn: dict[str, Any] = {}
    for dataset in NOTES:
        for size in FULL.n_topics:
            curves = {
                _in_legend(model): curve
                for model in RETRIEVAL_MODELS
                if (
                    curve := results.mean_array(
                        dataset, model, size, lambda r: r["precision_at_recall"]
                    )
                )
                is not None
            }
            if results.of(dataset, ORS, size):
                points = results.of(dataset, ORS, size)[0]["recall_points"]
                drawn[f"fig4-{dataset}-{size}"] = plots.precision_recall(curves, points)
        by_length = {
            _in_legend(model): unpack_by_length(
                {
                    **results.of(dataset, model, 128)[0]["by_length"],
                    "smoothed": results.mean_array(
                        dataset, model, 128, lambda r: r["by_length"]["smoothed"]
                    ),
                }
            )
            for model in RETRIEVAL_MODELS
            if results.of(dataset, model, 128)
        }
        if by_length:
            drawn[f"fig5-{dataset}"] = plots.by_length(by_length)
    for name, figure in drawn.items():
        for suffix in (".png", ".svg"):
            plots.save(figure, folder / f"{name}{suffix}")
    return list(drawn)


def _in_legend(model: str) -> str:
    return "ORS" if model == ORS else KINDS[model].label


def _figure_text(name: str) -> str:
    number, _, rest = name.partition("-")
    dataset = next(dataset for dataset in NOTES if rest.startswith(dataset))
    title = NOTES[dataset].title
    if number == "fig4":
        said = f"Figure 4. Precision–recall on {title}, {rest.rpartition('-')[2]} topics"
    else:
        said = (
            f"Figure 5. Average precision by query length on {title}, 128 topics (moving mean "
            "over a tenth of the queries), and the share of queries of each length"
        )
    return f"![{said}.]({name}.png)\n\n{said} ([SVG]({name}.svg))."
