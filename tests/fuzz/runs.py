"""How long a test goes on: a moment in the suite, by a fixed seed; long by `make fuzz`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

LONG = "DOCBOLTZ_FUZZ"
"""Environment variable: set, and tests run long and on other input each time."""
MOST_MEMORY = 4 << 30
"""Bytes that an input may take: more is a fault."""
MOST_ADDRESSES = 16 << 30
"""Bytes that a long run may ask for, so that a fault does not take the machine with it."""


def is_long() -> bool:
    return bool(os.environ.get(LONG))


def examples(short: int, long: int) -> int:
    """So many examples of a property."""
    return long if is_long() else short


executions = 0
"""Inputs that were tried in this process."""


@contextmanager
def one_input() -> Iterator[None]:
    """Count an input, and fail if it takes too much memory, whatever comes of it; a decorator too.

    A command that says that there is none left has tried to take all there is.
    """
    global executions
    executions += 1
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here
    before = _memory("VmRSS")
    yield
    taken = _memory("VmHWM") - before
    assert taken <= MOST_MEMORY, f"this input took {taken / 1e9:.1f} GB of memory"


def _memory(name: str) -> int:
    """Bytes that Linux says this process has, or had at most; 0 elsewhere."""
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text("utf-8").splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1]) << 10
    return 0
