"""Anything at all as the value of any option of any command: an answer, or one line and code 2."""

from __future__ import annotations

import sys
from pathlib import Path

import click
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from docboltz.cli.app import COMMANDS, app, main
from tests.fuzz.runs import examples, one_input

WAITING = {"serve", "explore", "demo", "datasets", "reproduce", "tune", "compare", "perplexity"}
"""Commands that work for long, listen or fetch where all is right: only what is wrong is given."""
VALUES = st.one_of(
    st.text(max_size=20),
    st.integers().map(str),
    st.floats().map(str),
    st.sampled_from(
        [
            *["", " ", "-", "--", "-1", "0", "1", "2", "auto", "nan", "inf", "-inf", "1e400"],
            *["9" * 5000, "0x10", "1_000", "true", "None", "\x1b[31m", "\u202e", "\ud800", "a\nb"],
            *[
                "٣",
                "²",
                "%s",
                "{}",
                "{0}",
                "../..",
                "/dev/null",
                "/dev/zero",
                "/proc/self/mem",
                "*",
            ],
            *["~nobody-at-all"],
        ]
    ),
)


def option_names(command: click.Command) -> list[str]:
    return [name for p in command.params if isinstance(p, click.Option) for name in p.opts]


def command_of(name: str) -> click.Command:
    found = app.get_command(click.Context(app), name)
    assert found is not None
    return found


CHOICES = [
    (name, option)
    for name in COMMANDS
    if name not in WAITING
    for option in option_names(command_of(name))
    if option not in ("--help", "-h", "--ray")  # "auto" would look for a cluster
]


def run(arguments: list[str]) -> tuple[int, str, str]:
    """What a shell would see."""
    import contextlib
    import io

    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8", "replace"), io.StringIO()
    before, sys.argv = sys.argv, ["docboltz", *arguments]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
    except SystemExit as end:
        out.flush()
        said = out.buffer.getvalue().decode("utf-8", "replace")  # type: ignore[attr-defined]
        return int(end.code or 0), said, err.getvalue()
    finally:
        sys.argv = before
    raise AssertionError("a command ends")


ARGUMENTS = {
    "fit": ["CORPUS", "--out", "NEW", "--units", "2", "--updates", "1", "--min-df", "1", "-q"],
    "topics": ["MODEL"],
    "search": ["MODEL", "goal"],
    "similar": ["MODEL", "sport-1"],
    "show": ["MODEL", "sport-1"],
    "words": ["MODEL", "goal"],
    "transform": ["MODEL", "CORPUS", "--out", "NEW.csv", "--replace", "-q"],
    "index": ["MODEL", "CORPUS", "-q"],
    "delete": ["MODEL", "nobody"],
}


@pytest.mark.filterwarnings("ignore")
@settings(
    max_examples=examples(60, 3000),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(choice=st.sampled_from(CHOICES), value=VALUES)
@example(choice=("topics", "--merge"), value="9" * 5000)
@example(choice=("topics", "--rename"), value="9" * 5000 + "=x")
@example(choice=("fit", "--out"), value="")
@example(choice=("fit", "--out"), value="\ud800")
@example(choice=("fit", "--stop-words"), value="\ud800")
@example(choice=("fit", "--stop-words"), value="\0")
@example(choice=("delete", "--file"), value="\0")
@one_input()
def test_any_value_of_any_option_is_an_answer_or_one_line(
    model: Path, corpus: Path, choice: tuple[str, str], value: str
) -> None:
    name, option = choice
    places = {"MODEL": model, "CORPUS": corpus, "NEW": corpus.parent / "new"}
    places["NEW.csv"] = corpus.parent / "new.csv"
    own = [str(places.get(each, each)) for each in ARGUMENTS[name]]
    if option in ("--out", "-o"):
        value = str(corpus.parent / "out" / (value.replace("\0", "") or "x")) if value else ""
    parameter = next(p for p in command_of(name).params if option in p.opts)
    flag = isinstance(parameter, click.Option) and parameter.is_flag
    slow = {"--units", "--updates", "--recipe", "--validation"}
    if option in slow and len(value) < 12 and value.strip("0123456789") == "":
        value = "0"  # what is right trains as long as it says
    code, out, err = run([name, *own, option, *([] if flag else [value])])
    assert code in (0, 2), (code, out, err)
    assert "Traceback" not in err
    assert "not enough memory" not in err
    if code == 2:
        assert err.count("docboltz: ") >= 1
        assert "\x1b" not in err


@pytest.mark.parametrize("name", sorted(WAITING))
def test_values_that_no_option_takes_are_one_line(name: str) -> None:
    for option in option_names(command_of(name)):
        parameter = next(p for p in command_of(name).params if option in p.opts)
        typed = isinstance(parameter.type, click.IntRange | click.FloatRange | click.Choice)
        if not typed or (isinstance(parameter, click.Option) and parameter.is_flag):
            continue
        for value in ("", "nonsense", "9" * 5000, "-5", "nan", "\x1b[31m"):
            code, _, err = run([name, "nowhere", "nothing", option, value])
            assert (code, err.count("\n")) == (2, 1), (option, value, err)
