"""What happened while documents were read: nothing is passed over in silence."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class ReadReport:
    """Counts of what a reader met. Filled while the stream is consumed."""

    documents: int = 0
    """Documents that were read, empty ones included."""
    empty: int = 0
    """Documents without text. They keep their place, so that rows match the input."""
    undecodable: int = 0
    """Documents left out because their bytes are not text in any known encoding."""
    malformed: int = 0
    """Lines left out because they are not what the format asks for."""
    unreadable: int = 0
    """Files of a folder left out because they could not be opened or are damaged."""
    duplicate_ids: int = 0
    """Documents whose id was taken; they got a suffix: "a", "a#2", "a#3"."""
    encodings: Counter[str] = field(default_factory=Counter)
    """How many pieces of text (lines, or files of a folder) each encoding decoded."""
    read_as: Counter[str] = field(default_factory=Counter)
    """How many files were read in which way, in words."""
    first: dict[str, str] = field(default_factory=dict)
    """Where each kind of problem was met first."""

    def note(self, kind: str, where: str) -> None:
        """Count a problem and keep the first place it was met."""
        setattr(self, kind, getattr(self, kind) + 1)
        self.first.setdefault(kind, where)

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
            ("unreadable", "unreadable file left out", "unreadable files left out"),
            ("empty", "document has no text", "documents have no text"),
            ("duplicate_ids", "id used twice, renamed", "ids used twice, renamed"),
        ):
            if n := getattr(self, kind):
                where = f" (first: {self.first[kind]})" if kind in self.first else ""
                sentences.append(f"{n:,} {one if n == 1 else many}{where}")
        return sentences

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON can hold it."""
        return {
            "documents": self.documents,
            "empty": self.empty,
            "undecodable": self.undecodable,
            "malformed": self.malformed,
            "unreadable": self.unreadable,
            "duplicate_ids": self.duplicate_ids,
            "encodings": dict(self.encodings),
            "read_as": dict(self.read_as),
            "first": dict(self.first),
        }
