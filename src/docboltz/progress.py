"""A progress bar with rate and time left, for people who watch; now and then a line for others."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Protocol

LONGEST_SECONDS = 1e9  # some thirty years: nobody waits, and longer times overflow
LINE_SECONDS = 30.0
"""Time between lines where there is no terminal."""
FIRST_SECONDS = 3.0
"""Time to the first of them: what takes longer shows soon that it is under way."""
WIDE = 110
"""Columns of a terminal that has room for a note."""


def remark(message: str) -> None:
    """Say something that is not the answer, on standard error."""
    with suppress(OSError):  # a full disk behind a log is no reason to stop
        print(printable(message), file=sys.stderr, flush=True)


def printable(text: str) -> str:
    """Put a space for what would command the terminal instead of showing on it.

    >>> printable("a red\\x1b[31m word")
    'a red [31m word'
    """
    return "".join(char if char.isprintable() else " " for char in text)


class Update(Protocol):
    """Called with what is done and what there is to do, None where nobody knows, and a note."""

    def __call__(self, done: int, total: int | None, note: str = "") -> None:
        """Show it."""


@contextmanager
def progress_bar(label: str, unit: str, *, shown: bool) -> Iterator[Update]:
    """Give a function that draws a bar on standard error, if that is a terminal.

    If it is none, a log file say, it gets a line after FIRST_SECONDS and then every LINE_SECONDS,
    and at once where nothing is done yet and a note tells why.
    """
    if not shown:
        yield lambda done, total, note="": None
        return
    if not sys.stderr.isatty():
        yield _lines(label, unit)
        return
    from rich import progress
    from rich.console import Console
    from rich.text import Text

    class TimeLeft(progress.TimeRemainingColumn):
        def render(self, task: progress.Task) -> Text:
            return Text() if task.total is None else super().render(task).append(" left")

    console = Console(stderr=True)
    columns = (
        progress.TextColumn("{task.description:<12}", markup=False),
        progress.BarColumn(bar_width=20),
        progress.TextColumn("{task.fields[state]}", markup=False),
        progress.TimeElapsedColumn(),
        TimeLeft(),
    )
    with progress.Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task(label, total=None, state="")

        def update(done: int, total: int | None, note: str = "") -> None:
            of = f"/{total:,}" if total is not None else ""
            speed = bar.tasks[0].finished_speed or bar.tasks[0].speed
            rate = f", {speed:,.0f}/s" if speed else ""
            more = f"; {note}" if note and console.width >= WIDE else ""
            bar.update(task, completed=done, total=total, state=f"{done:,}{of} {unit}{rate}{more}")

        yield update


def _lines(label: str, unit: str) -> Update:
    begin = time.monotonic()
    due = begin + FIRST_SECONDS

    def update(done: int, total: int | None, note: str = "") -> None:
        nonlocal due
        if (now := time.monotonic()) >= due or (done == 0 and note):
            due = now + LINE_SECONDS
            of = f" of {total:,}" if total is not None else ""
            if total is not None and 0 < done < total:
                seconds = (now - begin) * (total - done) / done
                left = timedelta(seconds=round(min(seconds, LONGEST_SECONDS)))
                note = f"{left} left" + (f"; {note}" if note else "")
            more = f"; {note}" if note else ""
            remark(f"{label.strip()}: {done:,}{of} {unit}{more}")

    return update
