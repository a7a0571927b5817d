"""Whatever is sent is read or refused in one line: no traceback, no hang, no control sequence."""

from __future__ import annotations

import re
import signal
from collections import Counter
from pathlib import Path

import pytest

from docboltz.cli.app import _run
from docboltz.corpus.readers import read
from docboltz.errors import DocboltzError

from .hostile import CASES, Case

LONGEST_SECONDS = 20
"""A case takes milliseconds; one that hangs is stopped."""


@pytest.fixture(autouse=True)
def stopped_if_it_hangs():
    def stop(*_):
        raise AssertionError("it hangs")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(LONGEST_SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_it_is_read_or_refused(case: Case, tmp_path):
    source = case.make(tmp_path)
    try:
        documents = read(source, **case.options)
        found: int | str = len(list(documents))
        said = [str(documents.report.summary()), *documents.report.summary()]
    except DocboltzError as error:
        found, said = str(error), [str(error)]
    assert all(line.isprintable() for line in said), said
    assert all(len(line) < 10_000 for line in said)
    if isinstance(case.outcome, str) and isinstance(found, str):
        assert re.search(case.outcome, found), found
    elif case.outcome != "":
        assert found == case.outcome


def test_there_are_many_of_every_kind():
    kinds = Counter(case.kind for case in CASES)
    assert len({str(case) for case in CASES}) == len(CASES) >= 300
    assert min(kinds.values()) >= 2


TYPED = [
    case
    for case in CASES
    if case.kind in ("not a file", "encodings", "file names", "CSV", "paths")
    and set(case.options) <= {"encoding", "delimiter", "format", "label_separator"}
    and isinstance(case.outcome, str)
    and case.outcome
][::4]


@pytest.mark.parametrize("case", TYPED, ids=str)
def test_the_command_refuses_it_in_a_line_with_code_2(case: Case, tmp_path, capfd):
    source = case.make(tmp_path)
    if not isinstance(source, str | Path) or "\0" in f"{source}{case.options}":
        pytest.skip("nobody can type it")
    options = [f"--{name.replace('_', '-')}={value}" for name, value in case.options.items()]
    assert _run(["fit", str(source), "--out", str(tmp_path / "model"), *options]) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith("docboltz: ")
    assert err.endswith("\n")
    assert err[:-1].isprintable()
    assert not (tmp_path / "model").exists()
