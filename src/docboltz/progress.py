"""A progress bar with rate and time left, for people who watch; silent for everyone else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Update = Callable[[int, int | None], None]
"""Called with what is done and what there is to do, None where nobody knows."""


@contextmanager
def progress_bar(label: str, unit: str, *, shown: bool) -> Iterator[Update]:
    """Give a function that draws a bar on standard error, if that is a terminal."""
    if not shown:
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description:<12}"),
        BarColumn(bar_width=30),
        TextColumn("{task.fields[state]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task(label, total=None, state="")

        def update(done: int, total: int | None) -> None:
            of = f"/{total:,}" if total is not None else ""
            speed = bar.tasks[0].finished_speed or bar.tasks[0].speed
            rate = f", {speed:,.0f}/s" if speed else ""
            bar.update(task, completed=done, total=total, state=f"{done:,}{of} {unit}{rate}")

        yield update
