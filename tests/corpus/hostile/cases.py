"""A case: some input, how it is read, and what becomes of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Outcome = int | str
"""So many documents, or what the message says."""


@dataclass(frozen=True)
class Case:
    kind: str
    name: str
    make: Callable[[Path], Any]
    """Makes the input in a folder and returns what is read."""
    outcome: Outcome
    options: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.kind}: {self.name}"


CASES: list[Case] = []


def add(kind: str, name: str, make: Callable[[Path], Any], outcome: Outcome, **options: Any):
    CASES.append(Case(kind, name, make, outcome, options))


def add_file(kind: str, name: str, file: str, data: bytes | str, outcome: Outcome, **options: Any):
    def make(folder: Path) -> Path:
        (folder / file).write_bytes(data.encode() if isinstance(data, str) else data)
        return folder / file

    add(kind, name, make, outcome, **options)
