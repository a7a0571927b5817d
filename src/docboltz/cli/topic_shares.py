"""Shares of topics by label or over time, as a table, as JSON and as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from docboltz.cli.output import count_of, print_json, print_table, remark
from docboltz.text_table import sparkline

if TYPE_CHECKING:
    from docboltz.answers import Topic
    from docboltz.topics.over import Shares

MOST_LABELS = 20
"""In a table or a picture; JSON has all."""
MOST_COLUMNS = 8
"""Periods that have a column each; of more, a line of blocks shows the course."""
BLOCKS = 16
"""Of that line, at most: where there are more periods, several make a block. So many fit into a
terminal of 80 places."""


def show_shares(shares: Shares, topics: Sequence[Topic], *, json: bool, out: Path | None) -> None:
    """Print or draw the share of each of these topics, and which of them rise and fall."""
    cut = shares if shares.period else shares.cut(MOST_LABELS)
    if out is not None:
        from docboltz.plots import save, topic_shares_figure

        save(topic_shares_figure(cut, [topic.name for topic in topics]), out)
        remark(f"Written: {out}")
    found = [
        {**each, "topic": topic.number, "name": topic.name}
        for each, topic in zip(shares.to_dicts(), topics, strict=True)
    ]
    if json:
        print_json(found)
        return
    shares = cut
    columns = _of_periods if shares.period and len(shares.groups) > MOST_COLUMNS else _of_groups
    heads, cells = columns(shares)
    trend = {} if shares.trend is None else {"trend": "left"}
    rows = [
        [str(each["topic"]), each["name"], *(each["trend"] or "" for _ in trend), *row]
        for each, row in zip(found, cells[:-1], strict=True)
    ]
    rows.append(["all", "documents", *("" for _ in trend), *cells[-1]])
    over = shares.period and f"From {shares.groups[0]} to {shares.groups[-1]}, by {shares.period}"
    print_table(over or None, {"topic": "right", "name": "left", **trend, **heads}, rows)
    _remark_left_out(shares)


def _of_groups(shares: Shares) -> tuple[dict[str, str], list[list[str]]]:
    """A column for each group: headings, and the cells of each topic and of all documents."""
    cells = [[f"{share:.0%}" for share in row] for row in shares.shares.tolist()]
    cells.append([f"{n:,}" for n in shares.documents.tolist()])
    return dict.fromkeys(shares.groups, "right"), cells


def _of_periods(shares: Shares) -> tuple[dict[str, str], list[list[str]]]:
    """Columns for the first period, the highest, the last and the course between them."""
    heads = dict.fromkeys(("first", "last", "highest", "course"), "right")
    _, documents, courses = shares.course(BLOCKS)
    cells = []
    for row, course in zip(shares.shares, courses, strict=True):
        highest = int(row.argmax())
        shown = [f"{share:.0%}" for share in (row[0], row[-1], row[highest])]
        cells.append([*_with_period(shown, shares.groups[highest]), sparkline(course)])
    most = int(shares.documents.argmax())
    shown = [f"{n:,}" for n in (shares.documents[0], shares.documents[-1], shares.documents[most])]
    cells.append([*_with_period(shown, shares.groups[most]), sparkline(documents)])
    return heads, cells


def _with_period(shown: list[str], period: str) -> list[str]:
    """The last of these with the period it belongs to."""
    return [*shown[:-1], f"{shown[-1]} in {period}"]


def _remark_left_out(shares: Shares) -> None:
    if shares.n_groups_left_out:
        remark(f"{count_of(shares.n_groups_left_out, 'rarer label')} not shown")
    if shares.n_without:
        what = "label" if shares.period is None else "date"
        remark(f"{count_of(shares.n_without, 'document')} without a {what} left out")
    if shares.n_stray:
        remark(f"{count_of(shares.n_stray, 'document')} left out, dated far from all others")
