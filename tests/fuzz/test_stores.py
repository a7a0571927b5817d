"""Bytes changed inside the files of a store: refused, or an answer; no traceback."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from docboltz.search import store
from docboltz.search.store import STORE
from tests.fuzz.runs import examples, one_input
from tests.fuzz.test_manifests import ask, attempt


@pytest.mark.filterwarnings("ignore")
@settings(
    max_examples=examples(30, 300),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    name=st.sampled_from(STORE.files),
    place=st.floats(0, 1, exclude_max=True),
    bits=st.integers(1, 255),
    n=st.integers(1, 8),
)
@one_input()
def test_other_bytes_in_a_large_store_are_refused_or_give_answers(
    model: Path, name: str, place: float, bits: int, n: int
) -> None:
    """As far as checksums go, which only small files are compared with."""
    copy = Path(shutil.copytree(model, model.with_name("spoilt")))
    try:
        (file,) = copy.glob(f"search/build-*/{name}")
        data = bytearray(file.read_bytes())
        begin = int(place * len(data))
        data[begin : begin + n] = bytes(byte ^ bits for byte in data[begin : begin + n])
        file.write_bytes(data)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(store, "CHECKED_BYTES", 0)
            attempt(lambda: ask(copy))
    finally:
        shutil.rmtree(copy)
