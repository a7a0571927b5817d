"""What a reader yields and everything else passes on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Document:
    """A text with a name and labels."""

    id: str
    text: str
    labels: tuple[str, ...] = ()
