from __future__ import annotations

import os

import hypothesis
import pytest

from tests.cli.conftest import _fitted, corpus, docboltz, model

__all__ = ["_fitted", "corpus", "docboltz", "model"]

LONG = "DOCBOLTZ_FUZZ"
"""Environment variable: a seed, and then the tests here run long and on other input each time."""
SHORT_RUN = 37
"""In the suite every so-manieth place of a manifest is made wrong: a prime number."""

hypothesis.settings.register_profile("fuzz_short", deadline=None, derandomize=True, max_examples=40)
hypothesis.settings.register_profile(
    "fuzz_long", deadline=None, max_examples=2000, print_blob=True, database=None
)


@pytest.fixture(scope="session")
def fuzz_every() -> int:
    """Every so-manieth case is tried: all of them in a long run."""
    return 1 if os.environ.get(LONG) else SHORT_RUN


@pytest.fixture(autouse=True, scope="session")
def _profile() -> None:
    hypothesis.settings.load_profile("fuzz_long" if os.environ.get(LONG) else "fuzz_short")
