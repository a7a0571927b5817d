from __future__ import annotations

import sys

import hypothesis
import pytest

from tests.cli.conftest import _fitted, corpus, docboltz, model
from tests.fuzz import runs
from tests.fuzz.runs import is_long

__all__ = ["_fitted", "corpus", "docboltz", "model"]

SHORT_RUN = 37
"""In the suite every so-manieth place of a manifest is made wrong: a prime number."""

hypothesis.settings.register_profile(
    "fuzz", parent=hypothesis.settings.get_profile("busy"), derandomize=not is_long()
)


@pytest.fixture(scope="session")
def fuzz_every() -> int:
    """Every so-manieth case is tried: all of them in a long run."""
    return 1 if is_long() else SHORT_RUN


def pytest_configure() -> None:
    hypothesis.settings.load_profile("fuzz")
    if is_long() and sys.platform != "win32":
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        most = runs.MOST_ADDRESSES
        resource.setrlimit(resource.RLIMIT_AS, (most if hard < 0 else min(most, hard), hard))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.write_line(f"{runs.executions} executions")
