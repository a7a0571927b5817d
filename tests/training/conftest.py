"""Ctrl-C as it is in the foreground."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def plain_interrupts() -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt, even where the tests run in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler, "handler not put back"
    signal.signal(signal.SIGINT, before)
