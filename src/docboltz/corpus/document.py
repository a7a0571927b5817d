"""What a reader yields and everything else passes on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Document:
    """A text with a name, labels and a date."""

    id: str
    text: str
    labels: tuple[str, ...] = ()
    date: str = ""
    """By ISO 8601: a year, month, day, or a time in UTC; "" where there is none.

    "2013", "2013-08", "2013-08-11" or "2013-08-11T10:20:00".
    """
