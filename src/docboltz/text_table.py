"""Rows of text as lines of aligned columns, for terminals and files."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from math import isnan

Columns = Mapping[str, str]
"""Headings, each with its side: "left" or "right", or "cut" for text that stays on one line."""
BLOCKS = "▁▂▃▄▅▆▇█"
NARROW = 12
"""Places that a column of texts keeps."""


def table_lines(
    columns: Columns, rows: Sequence[Sequence[str]], width: int | None = None
) -> list[str]:
    """The headings and the rows; within `width`, the widest texts are wrapped or cut.

    Letters of Asian scripts take two places, and control characters, such as marks, none.

    >>> table_lines({"n": "right", "text": "left"}, [["1", "one"], ["10", "日本"]])
    [' n  text', ' 1  one', '10  日本']
    """
    sides, table = list(columns.values()), [list(columns), *rows]
    widths = [max(map(cells, column)) for column in zip(*table, strict=True)]

    def first_to_shrink(column: int) -> tuple[bool, int]:
        return sides[column] == "cut" and widths[column] > NARROW, widths[column]

    texts = [i for i, side in enumerate(sides) if side != "right" and widths[i] > NARROW]
    while texts and width is not None and sum(widths) + 2 * (len(widths) - 1) > width:
        widest = max(texts, key=first_to_shrink)
        widths[widest] -= 1
        texts = [i for i in texts if widths[i] > NARROW]
    lines = []
    for row in table:
        cut = [_pieces(*cell) for cell in zip(row, widths, sides, strict=True)]
        for pieces in zip_longest(*cut, fillvalue=""):
            pads = [" " * (wide - cells(each)) for each, wide in zip(pieces, widths, strict=True)]
            padded = (
                pad + each if side == "right" else each + pad
                for each, pad, side in zip(pieces, pads, sides, strict=True)
            )
            lines.append("  ".join(padded).rstrip())
    return lines


def sparkline(values: Iterable[float]) -> str:
    """A block for each value, as high as its share of the largest; a space for NaN.

    >>> sparkline([0.0, 0.5, float("nan"), 1.0])
    '▁▅ █'
    """
    own = [float(value) for value in values]
    most = max((value for value in own if not isnan(value)), default=0.0) or 1.0
    highest = len(BLOCKS) - 1
    return "".join(" " if isnan(v) else BLOCKS[int(v / most * highest + 0.5)] for v in own)


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


def _pieces(text: str, width: int, side: str) -> list[str]:
    """A text in lines of that width, or the beginning of one that is to be cut."""
    if cells(text) <= width:
        return [text]
    if side != "cut":
        return textwrap.wrap(text, width)
    while cells(text) >= width:
        text = text[:-1]
    return [f"{text}…"]
