"""What a file with many documents gives: rows. And how to look at the first of them."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeVar

from docboltz.corpus.columns import ColumnChoice, Columns
from docboltz.corpus.dates import date_finder
from docboltz.corpus.decoding import Decoder, decoded_lines, looks_binary, peek
from docboltz.corpus.read_options import ReadOptions
from docboltz.corpus.report import ReadReport
from docboltz.errors import InvalidCorpus

ENOUGH_ROWS = 100
"""Rows after which it is known which columns hold dates, and without header which is the text."""
ENOUGH_TEXT = 1 << 22
"""Characters after which it has to be known, too: rows may be long."""

T = TypeVar("T")


class Row(NamedTuple):
    """A document as a file gives it: its number in the file, and an id if the file has one."""

    number: int
    id: str | None
    text: str
    labels: tuple[str, ...]
    date: str | None = ""
    """None for a value that is no date."""
    title: str = ""
    columns: Mapping[str, str] = {}
    numbered: bool = False
    """No row of its file has an id, so that numbers are ids which differ and need not be held."""


@dataclass(frozen=True)
class TableFile:
    """An open file, the name to call it in messages, how to read it, and where to report."""

    name: str
    stream: io.BufferedReader
    choice: ColumnChoice
    report: ReadReport

    @property
    def options(self) -> ReadOptions:
        """How to read it."""
        return self.choice.options

    def find_columns(
        self,
        names: list[str],
        is_text: Callable[[str], bool] = lambda name: True,
        sample: Callable[[str], Iterable[Any]] = lambda name: (),
    ) -> Columns:
        """The columns to read among those of the file; `sample` gives first values of one."""
        absent = partial(self.report.note, "absent_columns")
        columns = self.choice.find(names, self.name, is_text, absent, dates=date_finder(sample))
        self.report.note_repeated(columns.used, names, self.name)
        return columns

    def lines(self) -> Iterator[str | None]:
        """Decoded lines; None for one that is not text."""
        head = peek(self.stream)
        if self.options.encoding is None and looks_binary(head):
            raise InvalidCorpus(
                f"{self.name} does not look like text: it holds control characters. docboltz reads "
                "text, CSV, TSV, JSON Lines and Parquet, also as .gz, .xz, .bz2 or .zst.",
                hint="If it is text in a rare encoding, name it with {encoding}.",
                settings=("encoding",),
            )
        decoder = Decoder(self.report, self.options.encoding, head)
        return decoded_lines(self.stream, decoder, self.name)


def first_of(rows: Iterator[T], size: Callable[[T], int]) -> list[T]:
    """Take the first rows of a stream: enough to know it by, and not too much of it."""
    taken: list[T] = []
    total = 0
    while len(taken) < ENOUGH_ROWS and total < ENOUGH_TEXT:
        try:
            row = next(rows)
        except StopIteration:
            break
        taken.append(row)
        total += size(row)
    return taken
