"""Streams that are closed or full, homes that are not there, options without end."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from docboltz.cli.app import LONGEST
from docboltz.errors import whole_number
from tests.cli.conftest import Command

MAIN = "import sys; sys.argv[0] = 'docboltz'; from docboltz.cli.app import main; main()"


def shell(command: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a line of a shell in which $D is the command and $1, $2, … are the arguments."""
    script = f'd() {{ "$PY" -c "$MAIN" "$@"; }}; {command}'
    return subprocess.run(
        ["bash", "-c", script, "bash", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "PY": sys.executable, "MAIN": MAIN},
    )


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        ('d search "$1" goal >&-', 2, "standard output is closed: the answer cannot be"),
        ('d search "$1" goal --json >&-', 2, "standard output is closed"),
        ('d search "$1" goal 2>&-', 0, ""),
        ('d search "$1" goal <&-', 0, ""),
        ('d search "$1" goal >&- 2>&- <&-', 2, ""),
        ('d search "$1" goal >/dev/full', 2, "No space left on device"),
        ('d search "$1" unknownword 2>/dev/full', 0, ""),
        ('d show "$1" sport-1 >&-', 2, "standard output is closed"),
        ('d words "$1" unknownword 2>/dev/full', 2, ""),
        ('d search "$1" goal 2>/dev/full', 0, ""),
        ('d index "$1" - <&-', 2, "There are no documents"),
        ("d nosuch 2>&-", 2, ""),
        ("d --help >&-", 2, "standard output is closed"),
        ('d fit "~nobody-at-all/x" --out "$1-new"', 2, "The home folder in"),
        ('d datasets 20newsgroups --path "~nobody-at-all/x"', 2, "The home folder in"),
        ('DOCBOLTZ_CACHE="~nobody-at-all" d datasets 20newsgroups', 2, "The home folder in"),
    ],
)
def test_closed_and_full_streams_and_lost_homes_give_no_traceback(
    model: Path, command: str, code: int, said: str
) -> None:
    done = shell(command, model)
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    assert (done.returncode, said in done.stderr) == (code, True), done
    assert done.stderr.count("\n") <= 1


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
@pytest.mark.parametrize(
    "command",
    [
        '(sleep 1; d search "$1" goal; echo $? >&2) | true',
        '(sleep 1; d search "$1" goal --json; echo $? >&2) | true',
        "(sleep 1; d --help; echo $? >&2) | true",
        "(sleep 1; d search --help; echo $? >&2) | true",
        "(sleep 1; d --version; echo $? >&2) | true",
        "(seq 1000000; echo $? >&2) | true",
    ],
)
def test_a_closed_pipe_ends_a_command_as_it_ends_others(model: Path, command: str) -> None:
    assert shell(command, model).stderr == "141\n"


def test_who_exits_for_another_reason_met_no_closed_pipe() -> None:
    done = shell("_DOCBOLTZ_COMPLETE=bash_source d")
    assert (done.returncode, done.stderr) == (0, "")
    assert "complete" in done.stdout


def test_a_list_in_a_pipe_is_told_about_standard_input(model: Path) -> None:
    done = shell('d delete "$1" --file <(echo nobody)', model)
    assert done.returncode == 2
    assert "- is standard input" in done.stderr


ENDLESS = "9" * 5000


@pytest.mark.parametrize(
    "arguments",
    [
        "fit CORPUS --out NEW --units X",
        "fit CORPUS --out NEW --updates X",
        "fit CORPUS --out NEW --seed X",
        "fit CORPUS --out NEW --latent-words X",
        "fit CORPUS --out NEW --min-df X",
        "fit CORPUS --out NEW --validation X",
        "fit CORPUS --out NEW --words X",
        "search MODEL goal --top X",
        "similar MODEL sport-1 -k X",
        "words MODEL goal --top -X",
        "topics MODEL --number X",
        "topics MODEL --level X",
        "topics MODEL --words X",
        "topics MODEL --merge X",
        "topics MODEL --merge 1,X",
        "topics MODEL --split X",
        "topics MODEL --split 0,X",
        "topics MODEL --rename X=name",
        "tune CORPUS --units X",
        "tune CORPUS --latent X",
        "compare CORPUS --out NEW --number X",
        "compare CORPUS --out NEW --test-share X",
        "perplexity MODEL CORPUS --documents X",
        "reproduce --out NEW --part X/X",
        "reproduce --out NEW --part 1/X",
        "reproduce --out NEW --seeds X",
        "serve MODEL --port X",
        "explore MODEL --out NEW --characters X",
        "fit CORPUS --out NEW --units 1000000000000",
        "tune CORPUS --units 1000000000000 --latent 0 --updates 1",
        "reproduce --out NEW --seeds 1000000000000",
        "demo --units X",
    ],
)
def test_options_without_end_are_one_short_line(
    docboltz: Command, model: Path, corpus: Path, tmp_path: Path, arguments: str
) -> None:
    names = {"CORPUS": str(corpus), "MODEL": str(model), "NEW": str(tmp_path / "new")}
    given = [names.get(each, each.replace("X", ENDLESS)) for each in arguments.split()]
    outcome = docboltz(*given, *(["-q"] if given[0] in ("tune", "compare", "fit") else []))
    complaint = outcome.complaint
    assert len(complaint) < LONGEST + 100
    assert not (tmp_path / "new").exists() or not any((tmp_path / "new").iterdir())


@pytest.mark.parametrize(
    ("text", "number"),
    [
        *[("7", 7), (" 7 ", 7), ("٣", 3), ("", None), ("-1", None), ("1e3", None), ("²", None)],
        *[("9" * 12, 10**12 - 1), ("9" * 13, None), (ENDLESS, None), ("0x1", None), ("1_0", None)],
    ],
)
def test_whole_numbers_are_those_a_person_types(text: str, number: int | None) -> None:
    assert whole_number(text) == number
