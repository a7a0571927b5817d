"""What commands print: tables for people, JSON for programs, remarks on standard error."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

from docboltz.progress import printable
from docboltz.progress import remark as _remark
from docboltz.text_table import Columns, table_lines

if TYPE_CHECKING:
    from docboltz.answers import Answer
    from docboltz.corpus.corpus import Corpus
    from docboltz.corpus.reading import Documents, ReadReport
    from docboltz.corpus.split import Split

MARK = ("\1", "\2")
"""Stand for the beginning and the end of bold type until a line is printed."""
BOLD = ("\033[1m", "\033[0m")


def remark(message: str, *, quiet: bool = False) -> None:
    """Say something on standard error that is not the answer."""
    if not quiet:
        _remark(message)


def print_json(value: Any) -> None:
    """Print one JSON value on standard output, in UTF-8 whatever the terminal's encoding."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    click.echo(text.encode("utf-8", "backslashreplace"))


def as_json(read: Documents, counts: Corpus) -> dict[str, Any]:
    """What JSON says of documents that were read and counted."""
    numbers = {"documents": len(counts), "without_words": counts.n_empty}
    return {**numbers, "read": read.report.to_dict()}


def print_table(title: str | None, columns: Columns, rows: Iterable[Sequence[str]]) -> None:
    """Print a table."""
    _print(title, columns, [[*map(printable, row)] for row in rows])


def print_answer(answer: Answer[Any], title: str | None = None) -> None:
    """Print hits, topics or words; the words that were searched for are bold."""
    _print(title, *answer.table(MARK, printable))


def _print(title: str | None, columns: Columns, rows: list[list[str]]) -> None:
    terminal = sys.stdout.isatty()
    # Piped into another program, a row stays on one line, as that program expects.
    width = shutil.get_terminal_size().columns if terminal else None
    head, *lines = table_lines(_headings(columns), rows, width)
    begin, end = BOLD if terminal else ("", "")
    if title is not None:
        print_text(title)
    print(begin + head + end)
    for line in lines:
        marked = MARK[0] in line  # of which a cut may have lost the end
        print(line.replace(MARK[0], begin).replace(MARK[1], end) + (end if marked else ""))


def print_text(text: str) -> None:
    """Print lines of text, whatever names and labels are in them."""
    print("\n".join(map(printable, text.split("\n"))))


def _headings(columns: Columns) -> Columns:
    """Headings that command nothing; labels that then look alike stay columns of their own."""
    clean: dict[str, str] = {}
    for heading, side in columns.items():
        name = printable(heading)
        while name in clean:
            name += " "
        clean[name] = side
    return clean


def remark_reading(report: ReadReport, *, quiet: bool, json: bool) -> None:
    """Say how the corpus was read (JSON says so itself), what was left out, and why."""
    for line in report.problems() if json else report.summary():
        remark(line, quiet=quiet)


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
