"""Rows of text as lines of aligned columns, for terminals and files."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Mapping, Sequence

Columns = Mapping[str, str]
"""Headings, each with its side: "left" or "right", or "cut" for a last column of one line."""


def table_lines(
    columns: Columns, rows: Sequence[Sequence[str]], width: int | None = None
) -> list[str]:
    """The headings and the rows; within `width`, the last column is cut or wrapped.

    Letters of Asian scripts take two places, and control characters, such as marks, none.

    >>> table_lines({"n": "right", "text": "left"}, [["1", "one"], ["10", "日本"]])
    [' n  text', ' 1  one', '10  日本']
    """
    widths = [max(map(cells, column)) for column in zip(columns, *rows, strict=True)]
    room = None if width is None else max(8, width - sum(widths[:-1]) - 2 * len(widths[:-1]))
    lines = []
    for row in (list(columns), *rows):
        padded = [
            pad + cell if side == "right" else cell + pad
            for side, cell, wide in zip(columns.values(), row, widths, strict=True)
            for pad in [" " * (wide - cells(cell))]
        ]
        last = padded.pop().rstrip()
        pieces = [last]
        if room is not None and cells(last) > room:
            cut = list(columns.values())[-1] == "cut"
            pieces = [_shortened(last, room)] if cut else textwrap.wrap(last, room)
        lead = "".join(f"{cell}  " for cell in padded)
        lines += [lead + pieces[0], *(" " * cells(lead) + piece for piece in pieces[1:])]
    return [line.rstrip() for line in lines]


def cells(text: str) -> int:
    """Places that a text takes on a terminal.

    >>> cells("naïve"), cells("日本"), cells("e\\u0301")
    (5, 4, 1)
    """
    return len(text) if text.isascii() and text.isprintable() else sum(map(_cells, text))


def _cells(char: str) -> int:
    if unicodedata.category(char) in ("Cc", "Cf", "Me", "Mn"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def _shortened(text: str, room: int) -> str:
    while cells(text) >= room:
        text = text[:-1]
    return f"{text}…"
