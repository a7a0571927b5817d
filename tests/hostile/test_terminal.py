"""What documents, names and models say to a terminal: text, and no commands."""

from __future__ import annotations

import csv
import json
import sys
import unicodedata
from pathlib import Path

import pytest

from docboltz.feature_files import FORMULA
from docboltz.progress import printable
from tests.cli.conftest import SMALL, Command, Outcome, write_json_lines
from tests.cli.texts import ENGLISH, records
from tests.fuzz.mutations import adopt, seal

PAYLOADS = {
    "colour": "\x1b[31mred\x1b[0m",
    "cleared screen": "\x1b[2J\x1b[Hgone",
    "link": "\x1b]8;;http://evil.example\x1b\\click\x1b]8;;\x1b\\",
    "clipboard": "\x1b]52;c;ZXZpbA==\x07",
    "title": "\x1b]0;title\x07",
    "one-byte controls": "\x9b31m\x9d0;title\x9c",
    "carriage return": "honest\rforged",
    "backspaces": "abc\x08\x08\x08xyz",
    "bell and null": "\x07\x00\x7f",
    "right-to-left override": "\u202egnp.exe",
    "isolates": "\u2066\u2067\u2068 a \u2069",
    "marks of direction": "\u200e\u200f\u061c",
    "line separators": "one\u2028two\u2029three\x85four\x0bfive",
    "invisible": "a\u200bb\ufeffc\u2060d",
    "tags": "\U000e0041\U000e007f",
    "markup": "[bold red]text[/] [link=http://evil.example]x[/link]",
}
HARMFUL = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def commands_in(text: str) -> set[str]:
    """Characters that are no text; ends of lines are."""
    return {c for c in text if c != "\n" and unicodedata.category(c) in HARMFUL}


def assert_text(outcome: Outcome) -> None:
    assert not commands_in(outcome.out + outcome.err), outcome
    assert "Traceback" not in outcome.err


@pytest.mark.parametrize("payload", PAYLOADS)
def test_printable_text_commands_nothing(payload: str) -> None:
    assert not commands_in(printable(PAYLOADS[payload]))


def test_markup_stays_text() -> None:
    assert printable(PAYLOADS["markup"]) == PAYLOADS["markup"]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus whose ids, labels and texts hold all of it."""
    rows = records(ENGLISH)
    for row, payload in zip(rows, PAYLOADS.values(), strict=False):
        row["id"] = f"{payload} {row['id']}"
        row["labels"] = [payload, *row["labels"]]
        row["text"] = f"{payload} {row['text']} {payload}goal butter"
    return write_json_lines(tmp_path_factory.mktemp("hostile") / "corpus.jsonl", rows)


@pytest.fixture(scope="module")
def hostile_model(hostile: Path) -> Path:
    from docboltz import TextModel, read

    folder = hostile.parent / "model"
    TextModel.fit(read(hostile), folder=folder, units=4, updates=20, min_df=1)
    return folder


SHOWN = [
    ("search", "MODEL", "goal"),
    ("search", "MODEL", "goal", "--by", "words", "-k", "24"),
    ("search", "MODEL", "goal \x1b[31munknown"),
    ("words", "MODEL", "bread"),
    ("topics", "MODEL"),
    ("topics", "MODEL", "--units"),
    ("topics", "MODEL", "--by", "label"),
    ("index", "MODEL", "CORPUS", "-q"),
    ("transform", "MODEL", "CORPUS", "-q", "--out", "NEW.csv"),
]


@pytest.mark.parametrize("terminal", [False, True])
@pytest.mark.parametrize("arguments", SHOWN, ids=lambda a: " ".join(a[:1] + a[2:]).encode().hex())
def test_answers_are_text(
    docboltz: Command,
    hostile: Path,
    hostile_model: Path,
    tmp_path: Path,
    arguments: tuple[str, ...],
    terminal: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = {"MODEL": hostile_model, "CORPUS": hostile, "NEW.csv": tmp_path / "new.csv"}
    if terminal:
        monkeypatch.setattr(type(sys.stdout), "isatty", lambda self: True)
    outcome = docboltz(*(names.get(each, each) for each in arguments))
    assert outcome.code == 0, outcome
    bold = outcome.out.replace("\033[1m", "").replace("\033[0m", "")
    assert_text(outcome._replace(out=bold))


@pytest.mark.parametrize("payload", PAYLOADS)
def test_complaints_are_text(
    docboltz: Command, corpus: Path, model: Path, tmp_path: Path, payload: str
) -> None:
    bad = PAYLOADS[payload].replace("\0", "\1").replace("/", "_")
    for arguments in (
        ["search", model, f"{bad} zzz"],
        ["similar", model, bad],
        ["words", model, bad],
        ["topics", model, "--by", bad],
        ["topics", model, "--rename", bad],
        ["topics", model, "--show", bad],
        ["topics", model, "--merge", bad],
        ["topics", model, "--out", tmp_path / bad],
        ["fit", tmp_path / bad, "--out", tmp_path / "new"],
        ["fit", corpus, "--text", bad, "--out", tmp_path / "new"],
        ["fit", corpus, "--encoding", bad, "--out", tmp_path / "new"],
        ["fit", corpus, "--delimiter", bad, "--out", tmp_path / "new"],
        ["fit", corpus, "--language", bad, "--out", tmp_path / "new"],
        ["fit", corpus, "--recipe", bad, "--out", tmp_path / "new"],
        ["fit", corpus, f"--{bad}", "--out", tmp_path / "new"],
        ["fit", corpus, "--device", bad, "--out", tmp_path / "new"],
        ["compare", corpus, "--models", bad, "--out", tmp_path / "new"],
        ["datasets", bad],
        ["search", tmp_path / bad, "goal"],
        [bad],
    ):
        outcome = docboltz(*arguments)
        assert outcome.code in (0, 2), (arguments, outcome)  # "title" is a word it knows
        assert_text(outcome)


@pytest.mark.parametrize("payload", PAYLOADS)
def test_what_a_model_says_of_itself_is_text(docboltz: Command, model: Path, payload: str) -> None:
    file, bad = model / "model.json", PAYLOADS[payload]
    described = json.loads(file.read_text("utf-8"))
    seal(file, {**described, "version": 99, "docboltz": bad})
    assert_text(docboltz("topics", model))
    text = described["content"]["text"]
    text["forms"] = [f"{bad}{form}" for form in text["forms"]]
    text["units"] = [{**unit, "words": [bad]} for unit in text["units"]]
    seal(file, described)
    adopt(model)
    for arguments in (
        ("search", model, "zzzz"),
        ("words", model, "butter"),
        ("topics", model),
        ("topics", model, "--units"),
        ("topics", model, "--number", "3", "--replace"),
    ):
        assert_text(docboltz(*arguments))


@pytest.mark.parametrize("payload", PAYLOADS)
def test_names_of_files_and_columns_are_text(
    docboltz: Command, tmp_path: Path, payload: str
) -> None:
    bad = PAYLOADS[payload].replace("\0", "\1").replace("/", "_")
    folder = tmp_path / bad
    folder.mkdir()
    names = ["id", f"{bad} text", "label"]
    with (folder / f"{bad}.csv").open("w", encoding="utf-8", newline="") as stream:
        table = csv.writer(stream)
        table.writerow(names)
        table.writerows([r["id"], r["text"], r["labels"][0]] for r in records(ENGLISH))
    out = tmp_path / f"{bad} model"
    outcome = docboltz("fit", folder, "--out", out, *SMALL)
    assert outcome.code in (0, 2)
    assert_text(outcome)
    assert_text(docboltz("topics", out, "--by", "date"))


def test_json_is_exact(docboltz: Command, hostile: Path, hostile_model: Path) -> None:
    found = docboltz("search", hostile_model, "goal", "-k", "24", "--json").json
    ids = {json.loads(line)["id"] for line in hostile.read_text("utf-8").splitlines()}
    assert {hit["id"] for hit in found} <= ids


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "＝", "＋"])
def test_a_spreadsheet_computes_no_cell(
    docboltz: Command, model: Path, tmp_path: Path, start: str
) -> None:
    id, out = f"{start}cmd|' /C calc'!A0", tmp_path / "out.csv"
    row = {"id": id, "text": "a goal", "labels": [f"{start}1", "b"]}
    corpus = write_json_lines(tmp_path / "in.jsonl", [row])
    cells = {}
    for option in ((), ("--spreadsheet",)):
        assert (
            docboltz("transform", model, corpus, "-q", "--replace", "--out", out, *option).code == 0
        )
        with out.open(encoding="utf-8", newline="") as stream:
            cells[option] = next(csv.DictReader(stream))
    exact, safe = cells.values()
    if start.strip():  # else the reader has dropped it already
        assert (exact["id"], exact["labels"]) == (id, f"{start}1;b")
        assert (safe["id"], safe["labels"]) == (f"'{id}", f"'{start}1;b")
    assert not any(value.startswith(FORMULA) for value in (safe["id"], safe["labels"]))
