"""What commands print: tables for people, JSON for programs, remarks on standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from docboltz.progress import printable
from docboltz.progress import remark as _remark

if TYPE_CHECKING:
    from rich.text import Text

    from docboltz.answers import Answer, Hits
    from docboltz.corpus.split import Split

UNFOLDED = 10_000  # columns: more than any row of a table needs


def remark(message: str, *, quiet: bool = False) -> None:
    """Say something on standard error that is not the answer."""
    if not quiet:
        _remark(message)


def print_json(value: Any) -> None:
    """Print one JSON value on standard output, in UTF-8 whatever the terminal's encoding."""
    text = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    data = text.encode("utf-8", "backslashreplace")
    stream = getattr(sys.stdout, "buffer", None)
    if stream is None:
        sys.stdout.write(text)
    else:
        sys.stdout.flush()
        stream.write(data)
        stream.flush()


def print_table(
    title: str | None, columns: dict[str, str], rows: Iterable[Sequence[str | Text]]
) -> None:
    """Print a table: `columns` maps headings to "left", "right" or "cut".

    A "cut" column is one line a row: on a terminal what does not fit is left out.
    """
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for heading, justify in columns.items():
        if justify == "cut" and sys.stdout.isatty():
            table.expand = True  # so that this column, the only one with a ratio, gets the rest
            table.add_column(heading, no_wrap=True, overflow="ellipsis", ratio=1)
        else:
            side = "right" if justify == "right" else "left"
            table.add_column(heading, justify=side, overflow="fold")  # type: ignore[arg-type]
    for row in rows:
        table.add_row(*(printable(cell) if isinstance(cell, str) else cell for cell in row))
    # Piped into another program, a row stays on one line, as that program expects.
    width = None if sys.stdout.isatty() else UNFOLDED
    Console(width=width, highlight=False, markup=False, emoji=False).print(table)


def print_answer(answer: Answer[Any]) -> None:
    """Print topics or words by their own columns."""
    heads, rows = answer.table(("", ""), str)
    sides = {name: "right" if name in answer.numbers else "left" for name in heads}
    print_table(None, sides, rows)


def print_hits(title: str | None, hits: Hits) -> None:
    """Print hits with the query's own words in bold, the best piece of each text."""
    from rich.text import Text

    columns = {"score": "right", "id": "left", "labels": "left", "text": "cut"}
    rows: list[list[str | Text]] = []
    for hit in hits:
        text, bold = Text(), False
        for piece in hit.snippet(mark=("\0", "\0")).split("\0"):
            text.append(printable(piece), "bold" if bold else "")
            bold = not bold
        rows.append([f"{hit.score:.3f}", hit.id, ", ".join(hit.labels), text])
    if not any(hit.labels for hit in hits):
        del columns["labels"]
        rows = [[score, id, text] for score, id, _, text in rows]
    print_table(title, columns, rows)


def remark_empty(n: int, *, quiet: bool) -> None:
    """Say how many documents hold nothing that the model knows."""
    if n:
        have = "document has" if n == 1 else "documents have"
        remark(f"{n:,} {have} no word of the vocabulary", quiet=quiet)


def remark_unknown(words: Sequence[str]) -> None:
    """Say which words of a query did not count."""
    if words:
        remark(f"Not in the vocabulary: {', '.join(words)}")


def remark_split(split: Split, purpose: str, *, quiet: bool) -> None:
    """Say how many documents and words there are, and what for."""
    remark(
        f"{count_of(len(split.train), 'document')} to learn from, {len(split.test):,} to "
        f"{purpose}, {count_of(len(split.train.vocabulary), 'word')}",
        quiet=quiet,
    )


def count_of(n: int, noun: str) -> str:
    """Spell a number of things.

    >>> count_of(1, "document"), count_of(1200, "word")
    ('1 document', '1,200 words')
    """
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"
