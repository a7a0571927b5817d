"""Figures in one style: readable at half a page's width, by colour-blind readers and in print.

Figures are plain objects: no pyplot, no backend, no global state. The same numbers give the same
file, byte for byte, with the same version of matplotlib.
"""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator
from numpy.typing import ArrayLike, NDArray

from docboltz.answers import Topics
from docboltz.errors import require
from docboltz.evaluation.by_length import ByLength
from docboltz.storage import replacing
from docboltz.topics.over import Shares

WIDTH, HEIGHT = 3.5, 2.8
"""Inches: half the width of a page."""
FONT_SIZE = 9
"""Points, of the smallest letter."""
DPI = 200
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito's, less the yellow, which white paper swallows."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
# Not an empty pattern for the first: SVG would hold it as such, which not every program can read.
_GAPS = ((5, 1.5), (1, 1), (5, 1.5, 1, 1.5), (8, 2, 3, 2), (3, 1))
DASHES: tuple[str | tuple[int, tuple[float, ...]], ...] = ("-", *((0, gaps) for gaps in _GAPS))
GREY = "#767676"
LONG_LEGEND = 3
"""Names in a row of the legend."""
MOST_LINES, MOST_ROWS = 6, 30
"""Topics that a figure of their shares shows."""
MOST_POINTS = 60
"""Of a line over time; where there are more periods, several are joined."""
LETTER = 0.08
"""Inches that a letter takes along a line, at most."""
LONGEST_NAME = 28
"""Characters of a topic's or label's name."""
ROUND = (1, 2, 2.5, 5, 10)
"""Steps of an axis that are easy to read."""
PERIOD_STEPS = {
    "2013": (5, (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000)),
    "2013-08": (4, (1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200)),
    "2013-08-11": (3, (1, 2, 7, 14, 28, 91, 182, 364, 728, 1820, 3640)),
}
"""For years, months and days: how many names of periods have room side by side, and steps from one
to the next, of which the first that leaves them room is taken."""
FORMATS = (".png", ".svg")
SALT = "docboltz"
"""What the names inside an SVG are derived from, instead of chance."""


def precision_recall(curves: Mapping[str, ArrayLike], recall_points: Sequence[float]) -> Figure:
    """Precision at each of the recall points (shares), for every name: both axes in percent.

    >>> figure = precision_recall({"ORS": [0.8, 0.5, 0.1]}, [0.01, 0.1, 1.0])
    >>> figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()
    ('Recall (%)', 'Precision (%)')
    """
    owner = "precision_recall"
    require(len(curves) > 0, owner, "curves", "one curve at least", dict(curves))
    recall = 100 * np.asarray(recall_points, np.float64)
    rising = recall.ndim == 1 and len(recall) > 1 and recall[0] > 0 and (np.diff(recall) > 0).all()
    require(bool(rising), owner, "recall_points", "rising shares above 0", recall_points)
    figure = _figure()
    axes = figure.subplots()
    for number, (name, curve) in enumerate(curves.items()):
        precision = np.asarray(curve, np.float64)
        expected = f"{len(recall)} precisions, one for each recall"
        require(precision.shape == recall.shape, owner, "curves", expected, precision.shape)
        axes.plot(recall, 100 * precision, label=name, **_style(number))
    axes.set_xscale("log")
    axes.set_xticks(recall, [f"{value:g}" for value in recall])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("Recall (%)")
    axes.set_ylabel("Precision (%)")
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_locator(MaxNLocator(6, steps=ROUND))
    _finish(axes)
    _legend(figure, axes)
    return figure


def by_length(curves: Mapping[str, ByLength], *, measure: str = "Average\nprecision (%)") -> Figure:
    """The paper's Fig. 5: a measure of queries in order of their length, and how many there are.

    Each curve is the moving mean of the queries in that order, at their lengths; dotted lines are
    the deciles of the lengths. `measure` labels shares, shown in percent. All curves are of the
    same queries.
    """
    require(len(curves) > 0, "by_length", "curves", "one curve at least", dict(curves))
    first = next(iter(curves.values()))
    figure = _figure()
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    for number, (name, curve) in enumerate(curves.items()):
        same = np.array_equal(curve.length, first.length)
        require(same, "by_length", "curves", "all of the same queries", name)
        length, value = _at_lengths(curve)
        every = (number / len(curves) / 5, 0.2)  # few markers, and no two curves' on one place
        above.plot(length, 100 * value, label=name, markevery=every, **_style(number))
    edges = first.bin_edges
    density = first.histogram / len(first.length)
    below.bar(edges[:-1], 100 * density, np.diff(edges), align="edge", color=GREY, linewidth=0)
    for axes in (above, below):
        for decile in np.unique(first.decile_boundaries):
            axes.axvline(decile, color=GREY, linewidth=0.6, linestyle=(0, (1, 2)), zorder=0)
        _finish(axes)
    if first.length[0] == 0:  # a log axis has no place for queries without words
        below.set_xscale("symlog", linthresh=1.0)  # linear from 0 to 1
    else:
        below.set_xscale("log")
    if 0 < first.length[-1] <= 20 * first.length[0]:  # powers of ten alone would be too few
        below.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    below.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    below.xaxis.set_minor_formatter(NullFormatter())
    below.set_xlim(edges[0], edges[-1])
    below.set_xlabel("Words in the query")
    below.set_ylabel("Queries\n(%)")
    above.set_ylabel(measure)
    above.yaxis.set_major_locator(MaxNLocator(6, steps=ROUND))
    below.yaxis.set_major_locator(MaxNLocator(2))
    figure.align_ylabels()
    _legend(figure, above)
    return figure


def beside(
    panels: Mapping[str, Mapping[str, tuple[ArrayLike, ArrayLike]]],
    *,
    x: str,
    y: str,
    same_scale: bool = False,
) -> Figure:
    """Curves (x, y) by name in panels by title, side by side; a name looks the same in all."""
    figure = Figure((WIDTH * len(panels), HEIGHT), layout="constrained", facecolor="white")
    every = np.atleast_1d(figure.subplots(1, len(panels), sharey=same_scale))
    names = list(dict.fromkeys(name for curves in panels.values() for name in curves))
    for axes, (title, curves) in zip(every, panels.items(), strict=True):
        for number, name in enumerate(names):  # all of them, for the legend
            curve, mark = curves.get(name, ([], [])), (number / 30, 0.1)
            axes.plot(*curve, label=name, markevery=mark, **_style(number))
        axes.set_title(title, fontsize=FONT_SIZE)
        axes.set_xlabel(x)
        axes.yaxis.set_major_locator(MaxNLocator(6, steps=ROUND))
        _finish(axes)
    every[0].set_ylabel(y)
    _legend(figure, every[0])
    return figure


def topic_shares_figure(shares: Shares, names: Sequence[str]) -> Figure:
    """Shares of topics, of these names: by label a map, over time lines for those that change most.

    The map has a row for each topic, the largest first, up to 30, and a column for each label. The
    lines are six: topics that rise (↑) or fall (↓) for certain come before others, and those of the
    steeper slopes first.
    """
    owner, (T, G) = "topic_shares_figure", shares.shares.shape
    require(len(names) == T, owner, "names", f"one for each of {T} topics", len(names))
    require(T > 0 and G > 0, owner, "shares", "some of a topic and a group at least", (T, G))
    percent = 100 * shares.shares
    if shares.trend is None:
        return _share_map(shares, percent, names)
    trend = shares.trend
    order = np.lexsort((-np.abs(trend.slope), trend.direction == 0))[:MOST_LINES]
    size = (WIDTH, HEIGHT + 0.18 * len(order))  # the names stand above, in lines of their own
    figure = Figure(size, layout="constrained", facecolor="white")
    axes = figure.subplots()
    middles, documents, course = shares.course(MOST_POINTS)
    filled = np.flatnonzero(documents)
    for number, topic in enumerate(order):
        sign = {1: " ↑", -1: " ↓"}.get(int(trend.direction[topic]), "")
        every = max(1, len(filled) // 8)
        label = f"{_cut(names[topic])}{sign}"
        line = middles[filled], 100 * course[topic, filled]
        axes.plot(*line, label=label, markevery=every, **_style(number))
    ticks = _period_ticks(shares.groups)
    axes.set_xticks(ticks, [shares.groups[g] for g in ticks])
    axes.set_ylim(bottom=0)
    axes.set_xlabel(str(shares.period).capitalize())
    axes.set_ylabel("Share of\ndocuments (%)")
    axes.yaxis.set_major_locator(MaxNLocator(6, steps=ROUND))
    _finish(axes)
    _legend(figure, axes, columns=1)
    return figure


def topic_tree_figure(topics: Topics) -> Figure:
    """Topics beside the broader ones they belong to: each as high as its share of the documents."""
    owner = "topic_tree_figure"
    require(len(topics) > 0, owner, "topics", "one topic at least", topics)
    levels = sorted({topic.level for topic in topics})
    finest = [topic for topic in topics if topic.level == levels[-1]]
    figure = Figure(
        (3.0 * len(levels), max(HEIGHT, 0.24 * len(finest))),
        layout="constrained",
        facecolor="white",
    )
    axes = figure.subplots()
    # A name needs a line, however small its topic.
    total = sum(topic.documents for topic in finest) or 1
    high = {t.number: 1 + 0.5 * len(finest) * t.documents / total for t in finest}
    for level in reversed(levels[:-1]):
        for topic in (t for t in topics if t.level == level):
            high[topic.number] = sum(high[t.number] for t in topics if t.parent == topic.number)
    begin: dict[int | None, float] = {}
    colour: dict[int, str] = {}
    for topic in topics:
        at = begin.get(topic.parent, begin.get(None, 0.0))
        x, height = levels.index(topic.level), high[topic.number]
        own = len([t for t in colour if t in {u.number for u in topics if u.level == levels[0]}])
        parent = colour.get(topic.parent) if topic.parent is not None else None
        colour[topic.number] = parent or COLOURS[own % len(COLOURS)]
        axes.barh(
            at + height / 2, 1, height, x, color=colour[topic.number], alpha=0.25, edgecolor="white"
        )
        label = f"{_cut(topic.name)}  {topic.share:.1%}"
        axes.text(x + 0.03, at + height / 2, label, va="center", fontsize=FONT_SIZE)
        begin[topic.parent] = at + height
        begin[topic.number] = at
        if topic.level == levels[0]:
            begin[None] = at + height
    axes.set_xlim(0, len(levels))
    axes.set_ylim(sum(high[t.number] for t in topics if t.level == levels[0]), 0)
    axes.axis("off")
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    return figure


def _share_map(shares: Shares, percent: NDArray[np.float64], names: Sequence[str]) -> Figure:
    order = np.argsort(-(percent @ shares.documents), kind="stable")[:MOST_ROWS]
    rows, columns = len(order), len(shares.groups)
    topics, labels = ([_cut(name) for name in own] for own in (names, shares.groups))
    # As many inches as letters need, those of the colours' title included.
    wide, long = (LETTER * max(map(len, own)) for own in (topics, labels))
    size = (1.2 + wide + 0.22 * columns, 0.4 + long + max(0.2 * rows, 1.1))
    figure = Figure(size, layout="constrained", facecolor="white")
    axes = figure.subplots()
    image = axes.imshow(percent[order], cmap="Blues", vmin=0, aspect="auto")
    axes.set_yticks(range(rows), [topics[topic] for topic in order])
    axes.set_xticks(range(columns), labels, rotation=90)
    axes.tick_params(labelsize=FONT_SIZE, length=0)
    axes.set_xlabel("Label", fontsize=FONT_SIZE)
    axes.set_ylabel("Topic", fontsize=FONT_SIZE)
    bar = figure.colorbar(image, ax=axes)
    bar.set_label("Share of\ndocuments (%)", fontsize=FONT_SIZE)
    bar.ax.tick_params(labelsize=FONT_SIZE)
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    return figure


def _period_ticks(groups: Sequence[str]) -> NDArray[np.int64]:
    """Periods that are named on an axis: round years, and months counted from January."""
    most, steps = next(known for name, known in PERIOD_STEPS.items() if len(name) == len(groups[0]))
    step = next((step for step in steps if len(groups) <= most * step), len(groups))
    year, month = int(groups[0][:4]), int(groups[0][5:7] or 1)
    number = {4: year, 7: 12 * year + month - 1}.get(len(groups[0]), 0)
    return np.arange(-number % step, len(groups), step)


def save(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure as PNG or SVG, by the suffix: whole or not at all, and without dates."""
    target = Path(path)
    expected = " or ".join(FORMATS)
    known = target.suffix.lower() in FORMATS
    require(known, "save", "path", f"a name that ends in {expected}", str(path))
    with replacing(target) as draft:
        if target.suffix.lower() == ".png":
            figure.savefig(draft, format="png", dpi=DPI, metadata={"Software": None})
        else:
            draft.write_text(_svg(figure), encoding="utf-8")


def to_svg(figure: Figure) -> str:
    """The figure as an <svg> element, to put into a page of HTML."""
    svg = _svg(figure)
    return svg[svg.index("<svg") :]


def _figure() -> Figure:
    return Figure((WIDTH, HEIGHT), layout="constrained", facecolor="white")


def _style(number: int) -> dict[str, Any]:
    choices = {"color": COLOURS, "linestyle": DASHES, "marker": MARKERS}
    style = {name: values[number % len(values)] for name, values in choices.items()}
    return {**style, "linewidth": 1.4, "markersize": 4}


def _finish(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=FONT_SIZE)
    for label in (axes.xaxis.label, axes.yaxis.label):
        label.set_fontsize(FONT_SIZE)
    axes.grid(axis="y", color="#DDDDDD", linewidth=0.5)
    axes.set_axisbelow(True)


def _cut(name: str) -> str:
    """A name that fits, in which no dollar sign begins a formula."""
    cut = name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"
    return cut.replace("$", r"\$")


def _legend(figure: Figure, axes: Axes, columns: int = LONG_LEGEND) -> None:
    """Above the axes, where it hides no curve."""
    handles, names = axes.get_legend_handles_labels()
    figure.legend(
        handles,
        names,
        loc="outside upper center",
        ncols=min(len(names), columns),
        fontsize=FONT_SIZE,
        frameon=False,
        handlelength=2.6,
        columnspacing=1.0,
        borderaxespad=0.2,
    )
    # Laid out once: every further drawing would move the axes by a hair.
    figure.draw_without_rendering()
    figure.set_layout_engine("none")


def _at_lengths(curve: ByLength) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """One point for each length: the mean of the smoothed values of its queries."""
    length, where, n = np.unique(curve.length, return_inverse=True, return_counts=True)
    return length, np.bincount(where, curve.smoothed) / n


def _svg(figure: Figure) -> str:
    """SVG with letters as outlines, and nothing that changes from one run to the next."""
    buffer = io.BytesIO()
    none = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    with matplotlib.rc_context({"svg.hashsalt": SALT, "svg.fonttype": "path"}):
        figure.savefig(buffer, format="svg", metadata=none)
    return buffer.getvalue().decode("utf-8")
