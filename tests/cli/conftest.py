from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from docboltz.cli.app import main

from .texts import ENGLISH, records

SMALL = ("--units", "4", "--updates", "20", "--min-df", "1")
"""Options that make a model in a moment."""


class Outcome(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output, which must be one JSON value and nothing else."""
        return json.loads(self.out)

    @property
    def complaint(self) -> str:
        """What wrong usage says: one line on standard error, exit code 2, no answer."""
        assert (self.code, self.out) == (2, ""), self
        assert self.err.startswith("docboltz: ")
        assert self.err.count("\n") == 1
        assert self.err.endswith("\n")
        return self.err


Command = Callable[..., Outcome]


@pytest.fixture
def docboltz(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """The command as a shell runs it, but in this process, where torch is imported once."""

    def run(*arguments: object) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["docboltz", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main()
        return Outcome(end.value.code, *capsys.readouterr())

    return run


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """English documents with ids and lists of labels, as JSON Lines."""
    return write_json_lines(tmp_path / "corpus.jsonl", records(ENGLISH))


@pytest.fixture(scope="session")
def _fitted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fitted")
    corpus = write_json_lines(folder / "corpus.jsonl", records(ENGLISH))
    model = folder / "model"
    arguments = ["docboltz", "fit", str(corpus), "--out", str(model), "-q", *SMALL]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", arguments)
        with pytest.raises(SystemExit) as end:
            main()
    assert end.value.code == 0
    return model


@pytest.fixture
def model(_fitted: Path, tmp_path: Path) -> Path:
    """A model fitted on the English documents; the test may do with it as it likes."""
    return Path(shutil.copytree(_fitted, tmp_path / "model"))


def write_json_lines(path: Path, rows: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path
