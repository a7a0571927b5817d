"""The command as a whole: help, wrong usage, and what is imported when."""

import subprocess
import sys
from pathlib import Path

import pytest

from docboltz.cli import app as app_module

from .conftest import SMALL

COMMANDS = (
    "fit",
    "explore",
    "topics",
    "search",
    "similar",
    "show",
    "words",
    "transform",
    "index",
    "delete",
    "serve",
    "perplexity",
    "compare",
    "tune",
    "datasets",
    "demo",
    "reproduce",
)
README = Path(__file__).parents[2] / "README.md"


def test_help_names_every_command(docboltz):
    outcome = docboltz("--help")
    assert outcome.code == 0
    assert all(f" {command} " in outcome.out for command in COMMANDS)
    assert app_module.COMMANDS == COMMANDS


def test_readme_names_every_command():
    text = README.read_text(encoding="utf-8")
    named = {c for c in COMMANDS if f"docboltz {c}" in text or f"`{c}" in text}
    missing = set(COMMANDS) - named
    assert not missing, f"README.md does not mention: {missing}"


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example(docboltz, command):
    outcome = docboltz(command, "--help")
    assert (outcome.code, outcome.err) == (0, "")
    assert f"Example:  docboltz {command}" in outcome.out


def test_no_arguments_show_the_help(docboltz):
    assert docboltz().out == docboltz("--help").out


def test_version(docboltz):
    assert docboltz("--version").out.startswith("docboltz ")


def test_the_package_runs_as_a_module():
    done = subprocess.run(
        [sys.executable, "-m", "docboltz", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("docboltz ")


def test_help_and_wrong_usage_wait_for_no_heavy_import():
    program = """
import sys
from docboltz.cli.app import _run
assert _run(["--help"]) == 0 and _run(["fit", "--help"]) == 0 and _run(["fit"]) == 2
heavy = {"torch", "numpy", "scipy", "sklearn", "pyarrow", "pandas"} & set(sys.modules)
sys.exit(f"imported: {heavy}" if heavy else 0)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["bogus"], "No such command 'bogus'"),
        (["fit"], "Missing argument 'CORPUS'"),
        (["fit", "CORPUS"], "Missing option '--out'"),
        (["fit", "CORPUS", "--out", "new", "--units", "many"], "'--units'"),
        (["fit", "CORPUS", "--out", "new", "--units", "0"], "'--units'"),
        (["fit", "CORPUS", "--out", "new", "--topics", "9"], "Did you mean '--units'?"),
        (["tune", "CORPUS", "--topics=4,8"], "Did you mean '--units'?"),
        (["compare", "CORPUS", "--topics", "9"], "Did you mean '--units'?"),
        (["demo", "--topics", "9"], "Did you mean '--units'?"),
        (["topics", "nowhere", "--topics", "9"], "No such option '--topics'. Try"),
        (["fit", "CORPUS", "--out", "new", "--seed", str(2**32)], "'--seed'"),
        (["fit", "CORPUS", "--out", "new", "--latent-words", "some"], "--latent-words must be"),
        (["fit", "CORPUS", "--out", "new", "--min-df", "2.5"], "--min-df must be"),
        (["fit", "CORPUS", "--out", "new", "--max-df", "inf"], "--max-df must be"),
        (["fit", "CORPUS", "--out", "new", "--language", "klingon"], "'klingon'"),
        (["fit", "CORPUS", "--out", "new", "--language", "thai"], "--no-stem"),
        (["fit", "CORPUS", "--out", "new", "--encoding", "klingon"], "'klingon'"),
        (["fit", "CORPUS", "--out", "new", "--format", "pdf"], "'pdf'"),
        (["fit", "CORPUS", "--out", "new", "--device", "abacus"], "'abacus'"),
        (["fit", "CORPUS", "--out", "CORPUS"], "it is a file"),
        (["fit", "CORPUS", "--out", "."], "holds other things"),
        (["fit", "nowhere.csv", "--out", "new"], "no file or folder 'nowhere.csv'"),
        (["fit", "*.csv", "--out", "new"], "Nothing matches '*.csv'"),
        (["topics"], "Missing argument 'MODEL'"),
        (["topics", "."], "no docboltz model in ."),
        (["topics", "nowhere"], "no docboltz model in nowhere"),
        (["search", "CORPUS", "words"], "no docboltz model"),
        (["similar", "nowhere", "1"], "nowhere"),
        (["datasets", "klingon"], "no dataset 'klingon'"),
        (["datasets", "--out", "new"], "Name the dataset"),
        (
            ["datasets", "docstrings", "--part", "half"],
            "'half' is not one of",
        ),
        (["demo", "--dataset", "klingon"], "'klingon'"),
    ],
    ids=" ".join,
)
def test_wrong_usage_is_one_line_and_writes_nothing(docboltz, corpus, monkeypatch, arguments, said):
    monkeypatch.chdir(corpus.parent)
    monkeypatch.setenv("DOCBOLTZ_CACHE", str(corpus.parent / "cache"))
    arguments = [corpus.name if argument == "CORPUS" else argument for argument in arguments]
    assert said in docboltz(*arguments).complaint
    assert list(corpus.parent.iterdir()) == [corpus]


def test_an_interrupt_is_one_line_and_exit_code_130(docboltz, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("docboltz.corpus.datasets.load_dataset", interrupted)
    outcome = docboltz("datasets", "docstrings")
    assert outcome == (130, "", "docboltz: interrupted: nothing was written.\n")


def test_what_the_system_refuses_is_one_line(docboltz, corpus, tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device", str(tmp_path / "new"))

    monkeypatch.setattr("docboltz.fitting.save_model", full)
    said = docboltz("fit", corpus, "--out", tmp_path / "new", "-q", *SMALL).complaint
    assert f"{tmp_path / 'new'}: No space left on device" in said


def test_a_message_of_several_lines_becomes_one(capsys):
    app_module._complain("first\nsecond")
    assert capsys.readouterr().err == "docboltz: first second\n"


def test_a_warning_is_one_line(docboltz, monkeypatch):
    import warnings

    def warn(*_, **__):
        warnings.warn("beware", UserWarning, stacklevel=1)
        raise KeyboardInterrupt

    monkeypatch.setattr("docboltz.corpus.datasets.load_dataset", warn)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        outcome = docboltz("datasets", "docstrings")
    assert outcome.err.splitlines()[0] == "docboltz: warning: beware"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (MemoryError(), "there is not enough memory for this. Ask for less at a time."),
        (MemoryError("no 3 GiB"), "memory for this (no 3 GiB). Ask for less at a time."),
    ],
)
def test_a_lack_of_memory_has_no_empty_reason(docboltz, model, monkeypatch, error, said):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr("docboltz.text_model.TextModel.open", fail)
    assert said in docboltz("search", model, "goal").complaint
