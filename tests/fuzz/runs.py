"""How long a test goes on: a moment in the suite, by a fixed seed; long by `make fuzz`."""

from __future__ import annotations

import os

LONG = "DOCBOLTZ_FUZZ"
"""Environment variable: set, and tests run long and on other input each time."""


def is_long() -> bool:
    return bool(os.environ.get(LONG))


def examples(short: int, long: int) -> int:
    """So many examples of a property."""
    return long if is_long() else short


executions = 0
"""Inputs that were tried in this process."""


def tried() -> None:
    """Count an input."""
    global executions
    executions += 1
