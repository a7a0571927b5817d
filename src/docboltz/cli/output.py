"""What commands print: tables for people, JSON for programs, remarks on standard error."""

from __future__ import annotations

import json
import sys
from typing import Any

import typer
from rich.console import Console
from rich.table import Table


def remark(message: str, *, quiet: bool = False) -> None:
    """Say something on standard error that is not the answer."""
    if not quiet:
        typer.echo(message, err=True)


def print_json(value: Any) -> None:
    """Print one JSON value on standard output."""
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2))


def print_table(title: str | None, columns: dict[str, str], rows: list[list[str]]) -> None:
    """Print a table: `columns` maps headings to "left" or "right"."""
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for heading, justify in columns.items():
        table.add_column(heading, justify=justify, overflow="fold")  # type: ignore[arg-type]
    for row in rows:
        table.add_row(*row)
    # Piped into a file, a table keeps its words on one line each instead of folding at 80.
    width = None if sys.stdout.isatty() else 160
    Console(width=width, highlight=False, markup=False).print(table)


def count_of(n: int, noun: str) -> str:
    """Spell a number of things.

    >>> count_of(1, "document"), count_of(1200, "word")
    ('1 document', '1,200 words')
    """
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"
