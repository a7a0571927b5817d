"""Texts that are in memory already: data frames, columns, lists and streams of texts → rows.

pandas, polars and pyarrow are told by what their objects can do, so none of them is imported.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import chain, islice
from typing import Any

from docboltz.corpus.columns import ColumnChoice
from docboltz.corpus.dates import DateReading, date_finder
from docboltz.corpus.document import Document
from docboltz.corpus.report import ReadAs, ReadReport
from docboltz.corpus.rows import ENOUGH_ROWS, Row
from docboltz.corpus.values import UNDECODABLE, cell_value, column_values, is_missing
from docboltz.errors import InvalidCorpus, shown


def is_frame(value: object) -> bool:
    """Tell whether a value is a data frame of pandas or polars, or a table of pyarrow."""
    kind = type(value)  # whose properties compute nothing
    own = ("iloc", "to_series", "column_names")  # of pandas, polars and pyarrow
    return hasattr(kind, "columns") and any(hasattr(kind, name) for name in own)


def read_frame(frame: Any, choice: ColumnChoice, report: ReadReport) -> Iterator[Row]:
    """The rows of a data frame, numbered from 0."""
    names = [str(name) for name in getattr(frame, "column_names", frame.columns)]
    kind = type(frame).__name__

    def column(name: str) -> Iterator[Any]:
        return _column(frame, names.index(name))

    def is_text(name: str) -> bool:
        values = (value for value in column(name) if value is not UNDECODABLE)
        first = next((value for value in values if not is_missing(value)), "")
        return isinstance(first, (str, list)) or len(getattr(first, "shape", ())) == 1

    try:
        absent = partial(report.note, "absent_columns")
        dates = date_finder(lambda name: islice(column(name), ENOUGH_ROWS))
        columns = choice.find(names, f"The {kind}", is_text, absent, dates=dates)
    except InvalidCorpus as error:
        if "text" in error.settings:
            error.hint = "Name the one that holds the text, as in docboltz.read(frame, text='…')."
        raise
    report.note_repeated(columns.used, names, f"The {kind}")
    report.read_as[ReadAs(kind, columns)] += 1
    for number, values in enumerate(zip(*map(column, columns.used), strict=True)):
        if any(value is UNDECODABLE for value in values):
            report.note("undecodable", f"The {kind}, row {number}")
            continue
        record = dict(zip(columns.used, values, strict=True))
        yield Row(number, *columns.get(record), numbered=columns.id is None)


def _column(frame: Any, position: int) -> Iterator[Any]:
    """Its values. By position, because pandas allows names that are numbers, or the same twice."""
    if hasattr(frame, "iloc"):
        values = frame.iloc[:, position]
    elif hasattr(frame, "to_series"):
        values = frame.to_series(position)
    else:
        column = frame.column(position)
        return chain.from_iterable(map(column_values, getattr(column, "chunks", [column])))
    return map(cell_value, values)  # which may be pyarrow's


def read_texts(texts: Iterable[Any], owner: str) -> Iterator[Row]:
    """The texts and documents of any iterable, numbered from 0."""
    dates = DateReading()
    for number, value in enumerate(texts):
        if isinstance(value, str):
            yield Row(number, None, str(value), ())  # NumPy's strings become Python's
        elif isinstance(value, Document):
            more = value.title, value.columns
            yield Row(number, value.id, value.text, value.labels, dates(value.date), *more)
        else:
            yield Row(number, None, _as_text(value, number, owner), ())


def _as_text(value: Any, position: int, owner: str) -> str:
    value = cell_value(value)
    if value is UNDECODABLE:
        raise InvalidCorpus(f"{owner} got a value at position {position} that is not UTF-8.")
    if isinstance(value, bytes):
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError as error:
            raise InvalidCorpus(
                f"{owner} got bytes at position {position} that are not UTF-8: {error.reason} at "
                f"byte {error.start}.",
                hint="Decode them first, as in data.decode('latin-1').",
            ) from error
    if isinstance(value, str):
        return value
    if is_missing(value):
        return ""
    raise InvalidCorpus(
        f"{owner} expects texts; got {type(value).__name__} {shown(value)} at position {position}.",
        hint="Pass strings, or a table to docboltz.read with the name of its text column.",
    )


def check_texts(texts: object, owner: str) -> Iterable[Any]:
    """Refuse what would be one text, no text at all, or something else than it seems."""
    if isinstance(texts, (str, bytes, os.PathLike)):
        raise InvalidCorpus(
            f"{owner} expects several texts; got one {type(texts).__name__}, {shown(texts)}.",
            hint="Pass a list of texts, or docboltz.read(path) for those of a file.",
        )
    if isinstance(texts, Mapping) or not isinstance(texts, Iterable):
        raise InvalidCorpus(
            f"{owner} expects texts; got {type(texts).__name__}, {shown(texts)}.",
            hint="Pass a list, a generator or a column of texts, or what docboltz.read gives.",
        )
    return texts
