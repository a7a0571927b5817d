"""Rows → documents: strings that can be written, and ids that differ.

The first step may be done for each file by another process, the second goes through all rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from docboltz.corpus.document import Document
from docboltz.corpus.report import ReadReport
from docboltz.corpus.rows import Row
from docboltz.corpus.taken_ids import TakenIds

Fields = tuple[int, str | None, str, tuple[str, ...], str | None, str, Mapping[str, str], bool]
"""Those of a row, which need not be one: to make millions of them takes time."""


def spelled(rows: Iterable[Row], report: ReadReport) -> Iterator[Row]:
    """Rows of strings that a file can hold, each with an id: its number if it has no other."""
    for row in rows:
        number, given, text, labels, date, title, columns, _ = row
        identity = str(number) if given is None else given
        if not all(map(str.isascii, (text, identity, title, *labels, *columns.values()))):
            row = row._replace(
                id=_spelled(identity),
                text=_spelled(text),
                labels=tuple(map(_spelled, labels)),
                title=_spelled(title),
                columns={name: _spelled(value) for name, value in columns.items()},
            )
        elif given is None:
            row = row._replace(id=identity)
        report.documents += 1
        report.numbered += given is None
        report.unlabelled += not labels
        report.undated += date == ""
        yield row


def named(rows: Iterable[Fields], taken: TakenIds | None, report: ReadReport) -> Iterator[Document]:
    """The documents of such rows; ids that are taken get a suffix, where that is asked for."""
    for _, identity, text, labels, date, title, columns, numbered in rows:
        assert identity is not None
        if taken is not None and not numbered:
            identity = taken.unique(identity, report)
        if date is None:
            report.note("invalid_dates", identity)
        if not text or text.isspace():
            report.note("empty", identity)
        yield Document(identity, text, labels, date or "", title, columns)


def _spelled(text: str) -> str:
    r"""Spell out half characters, which no file can hold: in b\udcff.txt they are a stray byte."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode()
    return text
