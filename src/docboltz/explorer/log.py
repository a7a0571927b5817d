"""A line of JSON on standard error for every request and everything else that happens."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import MutableMapping
from datetime import UTC, datetime
from typing import Any


class Log:
    """Writes events; what people ask stays out of it unless it is `verbose`."""

    def __init__(self, *, quiet: bool = False, verbose: bool = False) -> None:
        self.quiet, self.verbose = quiet, verbose

    def event(self, event: str, **fields: Any) -> None:
        """Write a line."""
        if not self.quiet:
            _write(event, **fields)

    def failure(self, problem: str) -> None:
        """Write what nobody should meet, however quiet the log is."""
        _write("failed", problem=problem)

    def request(self, scope: MutableMapping[str, Any], status: int, begin: float) -> None:
        """Write the line of a request that began at a time of `time.perf_counter`."""
        if self.quiet:
            return
        asked: dict[str, Any] = {}
        if self.verbose:
            pairs = scope["query_string"].decode("latin-1").split("&")
            asked = {"query": "&".join(p for p in pairs if not p.startswith("token="))}
        self.event(
            "request",
            method=scope["method"],
            path=scope["path"],
            status=status,
            ms=round(1000 * (time.perf_counter() - begin), 2),
            **asked,
        )


def _write(event: str, **fields: Any) -> None:
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    # In ASCII: what a path holds must not command a terminal.
    sys.stderr.write(json.dumps({"time": now, "event": event, **fields}) + "\n")
