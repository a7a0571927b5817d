"""What was met while documents were read, for the lines that a person sees."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any

from docboltz.corpus.columns import Columns
from docboltz.progress import printable

if TYPE_CHECKING:
    import pyarrow as pa

PROBLEMS = {
    "malformed": ("malformed row left out", "malformed rows left out"),
    "unreadable": ("file could not be read to its end", "files could not be read to their end"),
    "replaced": (
        "character is not valid in the encoding (UTF-8 by default) and was replaced",
        "characters are not valid in the encoding (UTF-8 by default) and were replaced",
    ),
    "unclosed": (
        "quote is never closed: the rest of its file was read as one value",
        "quotes are never closed: the rest of their files was read as one value",
    ),
    "empty": ("document has no text", "documents have no text"),
    "repeated_ids": (
        "id occurs twice, so documents are numbered by row",
        "ids occur more than once, so documents are numbered by row",
    ),
    "invalid_dates": ("value is not a date", "values are not dates"),
    "absent_columns": ("column of the training documents is missing", "columns are missing"),
    "repeated_columns": (
        "column name occurs twice; the first column was read",
        "column names occur more than once; the first column of each was read",
    ),
}
"""Each kind of problem, for one and for several of them."""
SHOWN = 3
"""Formats that a summary shows; a folder may hold files of many kinds."""
LONGEST_PLACE = 500
"""Characters that are kept of a place where a problem was met."""


@dataclass(frozen=True)
class ReadAs:
    """How a file or a data frame was read.

    >>> print(ReadAs("CSV", Columns(("body",), "nr", "stars", unused=("date", "shop"))))
    CSV: text 'body', id 'nr', label 'stars'; not used: 'date', 'shop'
    """

    format: str
    """In words, such as "CSV" or "one document per line"."""
    columns: Columns | None = None

    def __str__(self) -> str:
        return self.format if self.columns is None else f"{self.format}: {self.columns}"


@dataclass(slots=True)
class ReadReport:
    """Counts of what was met. Filled while documents are read."""

    documents: int = 0
    """Documents that were read, empty ones included."""
    empty: int = 0
    """Documents without text. They keep their place, so that rows match the input."""
    numbered: int = 0
    """Documents without an id of their own: the number of their row is their id."""
    unlabelled: int = 0
    """Documents without a label."""
    undated: int = 0
    """Documents without a date."""
    invalid_dates: int = 0
    """Documents whose value in the date column is not a date. They are read without one."""
    replaced: int = 0
    """Characters that are not valid in the encoding. U+FFFD replaces them."""
    malformed: int = 0
    """Rows left out because they are not what the format asks for."""
    unclosed: int = 0
    """Files in which a quote is never closed."""
    unreadable: int = 0
    """Files that could not be opened or are damaged. What comes before the damage is read."""
    repeated_ids: int = 0
    """Ids that occur more than once, where the id column was not asked for."""
    absent_columns: int = 0
    """Columns of the training documents, other than the text, that a file does not have."""
    repeated_columns: int = 0
    """Columns that are read and whose name another column has, too."""
    read_as: Counter[ReadAs] = field(default_factory=Counter)
    """How many files were read in which way."""
    first: dict[str, str] = field(default_factory=dict)
    """Where each kind of problem was met first."""

    def note(self, kind: str, where: str, times: int = 1) -> None:
        """Count a problem and keep the first place where it was met."""
        setattr(self, kind, getattr(self, kind) + times)
        more = "…" if len(where) > LONGEST_PLACE else ""
        self.first.setdefault(kind, printable(where[:LONGEST_PLACE]) + more)

    def note_rows(self, kind: str, place: str, rows: pa.Array | None, first: int) -> None:
        """Count a problem of rows; `rows` tells which of them have it."""
        import pyarrow.compute as pc

        if rows is not None and (times := pc.sum(rows).as_py()):
            self.note(kind, f"{place}, document {first + pc.index(rows, True).as_py()}", times)

    def count(self, documents: pa.RecordBatch, place: str, first: int) -> None:
        """Count documents, and what they do not have. A null date is a value that is not one."""
        import pyarrow.compute as pc

        ids, texts, labels, dates = (documents.column(i) for i in range(4))
        self.documents += len(texts)
        self.numbered += ids.null_count
        self.unlabelled += pc.sum(pc.equal(pc.list_value_length(labels), 0)).as_py() or 0
        self.undated += dates.null_count + (pc.sum(pc.equal(dates, "")).as_py() or 0)
        self.note_rows("empty", place, pc.equal(pc.utf8_trim_whitespace(texts), ""), first)
        self.note_rows("invalid_dates", place, pc.is_null(dates), first)

    def add(self, other: ReadReport) -> None:
        """Add what was met in documents that come after these."""
        for each in fields(self):
            own, more = getattr(self, each.name), getattr(other, each.name)
            setattr(self, each.name, {**more, **own} if each.name == "first" else own + more)

    def summary(self) -> list[str]:
        """The lines that a person should see before training: how it was read, what is odd."""
        ways = self.read_as.most_common(SHOWN)
        lines = [f"Read {'' if n == 1 else f'{n:,} files '}as {way}" for way, n in ways]
        if len(self.read_as) > SHOWN:
            lines.append(f"Read in {len(self.read_as) - SHOWN:,} more ways")
        return [*lines, *self.problems()]

    def problems(self) -> list[str]:
        """One sentence for each kind of problem.

        >>> report = ReadReport()
        >>> report.note("malformed", "a.jsonl, line 3: not JSON")
        >>> report.problems()
        ['1 malformed row left out (first: a.jsonl, line 3: not JSON)']
        """
        found = []
        for kind, (one, many) in PROBLEMS.items():
            if n := getattr(self, kind):
                where = f" (first: {self.first[kind]})" if kind in self.first else ""
                found.append(f"{n:,} {one if n == 1 else many}{where}")
        for n, what in ((self.unlabelled, "label"), (self.undated, "date")):
            if 0 < n < self.documents:
                have = "has" if n == 1 else "have"
                found.append(f"{n:,} of {self.documents:,} documents {have} no {what}")
        return found

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON can hold it."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        ways = [{**asdict(way), "files": n} for way, n in self.read_as.items()]
        return {**values, "read_as": ways}
