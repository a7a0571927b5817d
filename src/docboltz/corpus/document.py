"""What a reader yields and everything else passes on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Document:
    """A text with a name, labels, a date, a title and further columns."""

    id: str
    text: str
    labels: tuple[str, ...] = ()
    date: str = ""
    """By ISO 8601: a year, month, day, or a time in UTC; "" where there is none.

    "2013", "2013-08", "2013-08-11" or "2013-08-11T10:20:00".
    """
    title: str = ""
    """The title; "" where there is none."""
    columns: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Columns that were kept, by name."""

    @property
    def searched(self) -> str:
        """What a search for words looks in: the title, if there is one, and the text."""
        return f"{self.title}\n{self.text}" if self.title else self.text
