"""What happened while documents were read: nothing is passed over in silence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from docboltz.corpus.columns import Columns
from docboltz.progress import printable

_DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", " ": "spaces"}
_SHOWN = 3
"""Ways of reading that a summary shows; a folder may hold files of many kinds."""
_LONGEST_PLACE = 500
"""Characters that are kept of a place where something was met; an id may be of any length."""


@dataclass(frozen=True)
class ReadAs:
    """How a file, or a data frame, was read.

    >>> columns = Columns(("body",), "nr", "stars", unused=("date", "shop"))
    >>> print(ReadAs("CSV", columns, delimiter=";"))
    CSV (semicolons): text 'body', id 'nr', label 'stars'; not used: 'date', 'shop'
    """

    format: str
    """In words, such as "CSV" or "one document per line"."""
    columns: Columns | None = None
    delimiter: str | None = None
    header: bool = True

    def __str__(self) -> str:
        details = []
        if self.delimiter is not None:
            details.append(_DELIMITERS.get(self.delimiter, repr(self.delimiter)))
        if not self.header:
            details.append("no header")
        way = f"{self.format} ({', '.join(details)})" if details else self.format
        return way if self.columns is None else f"{way}: {self.columns}"

    def to_dict(self) -> dict[str, Any]:
        """The way as JSON can hold it."""
        return {key: value for key, value in asdict(self).items() if value is not None}


@dataclass(slots=True)
class ReadReport:
    """Counts of what a reader met. Filled while the stream is consumed."""

    documents: int = 0
    """Documents that were read, empty ones included."""
    empty: int = 0
    """Documents without text. They keep their place, so that rows match the input."""
    numbered: int = 0
    """Documents without an id of their own: their number, of a row or line, is their id."""
    unlabelled: int = 0
    """Documents without a label."""
    undated: int = 0
    """Documents without a value that might be a date."""
    invalid_dates: int = 0
    """Documents whose value in the date column is no date; they are read without one."""
    undecodable: int = 0
    """Documents left out because their bytes are not text in any known encoding."""
    malformed: int = 0
    """Lines left out because they are not what the format asks for."""
    joined: int = 0
    """Rows of several lines that a stray quote has probably made of several rows; they are read."""
    unreadable: int = 0
    """Files of a folder left out because they could not be opened or are damaged."""
    duplicate_ids: int = 0
    """Documents whose id was taken; they got a suffix: "a", "a#2", "a#3"."""
    absent_columns: int = 0
    """Columns of the training corpus that a file does not have, other than the text."""
    repeated_columns: int = 0
    """Columns that are read of which a file has several of the same name; the first is read."""
    encodings: Counter[str] = field(default_factory=Counter)
    """How many pieces of text (lines, or files of a folder) each encoding decoded."""
    read_as: Counter[ReadAs] = field(default_factory=Counter)
    """How many files were read in which way."""
    first: dict[str, str] = field(default_factory=dict)
    """Where each kind of problem was met first."""

    def note(self, kind: str, where: str) -> None:
        """Count a problem and keep the first place it was met."""
        setattr(self, kind, getattr(self, kind) + 1)
        if kind not in self.first:
            more = "…" if len(where) > _LONGEST_PLACE else ""
            self.first[kind] = printable(where[:_LONGEST_PLACE]) + more

    def note_repeated(self, used: Sequence[str], names: Sequence[str], where: str) -> None:
        """Count columns that are read and have the name of others."""
        for name in used:
            if names.count(name) > 1:
                self.note("repeated_columns", f"{where}: {name!r}")

    def add(self, other: ReadReport) -> None:
        """Take in what was met in documents that come after these."""
        for each in fields(self):
            own, more = getattr(self, each.name), getattr(other, each.name)
            if isinstance(own, Counter):
                own.update(more)
            elif isinstance(own, dict):
                setattr(self, each.name, {**more, **own})
            else:
                setattr(self, each.name, own + more)

    def summary(self) -> list[str]:
        """The lines that a person should see before training: how it was read, what is odd."""
        lines = []
        for way, files in self.read_as.most_common(_SHOWN):
            lines.append(f"Read {'' if files == 1 else f'{files:,} files '}as {way}")
        if len(self.read_as) > _SHOWN:
            lines.append(f"Read in {len(self.read_as) - _SHOWN:,} more ways")
        if other := [name for name in self.encodings if name != "utf-8"]:
            lines.append(f"Not everything is UTF-8; also read: {', '.join(other)}")
        return [*lines, *self.problems()]

    def problems(self) -> list[str]:
        """One sentence for each kind of problem, fit to be shown.

        >>> report = ReadReport()
        >>> report.note("malformed", "a.jsonl, line 3: not JSON")
        >>> report.problems()
        ['1 malformed line left out (first: a.jsonl, line 3: not JSON)']
        """
        sentences = []
        for kind, one, many in (
            ("undecodable", "undecodable document left out", "undecodable documents left out"),
            ("malformed", "malformed line left out", "malformed lines left out"),
            (
                "joined",
                "row of several lines may be rows that a stray quote has joined",
                "rows of several lines may be rows that stray quotes have joined",
            ),
            ("unreadable", "unreadable file left out", "unreadable files left out"),
            ("empty", "document has no text", "documents have no text"),
            ("duplicate_ids", "id used twice, renamed", "ids used twice, renamed"),
            (
                "invalid_dates",
                "value in place of a date is none",
                "values in place of dates are none",
            ),
            ("absent_columns", "column of the training corpus missing", "columns missing"),
            (
                "repeated_columns",
                "column has the name of another, the first was read",
                "columns have the name of others, the first was read",
            ),
        ):
            if n := getattr(self, kind):
                where = f" (first: {self.first[kind]})" if kind in self.first else ""
                sentences.append(f"{n:,} {one if n == 1 else many}{where}")
        for n, what in ((self.unlabelled, "label"), (self.undated, "date")):
            if 0 < n < self.documents:
                have = "has" if n == 1 else "have"
                sentences.append(f"{n:,} of {self.documents:,} documents {have} no {what}")
        return sentences

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON can hold it."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        ways = [{**way.to_dict(), "files": files} for way, files in self.read_as.items()]
        return {**values, "encodings": dict(self.encodings), "read_as": ways}
