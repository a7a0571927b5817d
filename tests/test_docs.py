"""The documentation is kept true: nothing of the program is missing, nothing quoted is wrong."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import pkgutil
import re
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

import docboltz
import docboltz.baselines
import docboltz.errors
import docboltz.experiments
from docboltz.cli.options import RECIPES

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md"), *(ROOT / "src").rglob("*.md")])
DOCUMENTED = re.findall(
    r"^::: (\S+)", "\n".join(page.read_text("utf-8") for page in DOCS.rglob("*.md")), re.M
)
MEASURES = ("suite", "retrieval", "classification", "by_length", "topic_words")
LONGEST_LINE, LONGEST_README = 120, 120


def _program(name: str) -> ModuleType:
    """A program that makes pages, which is no part of the package."""
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


make_commands = _program("make_commands")
COMMANDS = make_commands.commands()


def _names(page: Path) -> str:
    return str(page.relative_to(ROOT))


# ---- nothing is missing ----


def _public_names() -> list[str]:
    names = [f"{docboltz._HOME[name]}.{name}" for name in docboltz.__all__]
    for package in (docboltz.baselines, docboltz.experiments):
        names += [f"{getattr(package, name).__module__}.{name}" for name in package.__all__]
    for name, value in vars(docboltz.errors).items():
        if inspect.isclass(value) and issubclass(value, Exception):
            names.append(f"docboltz.errors.{name}")
    for module in (importlib.import_module(f"docboltz.evaluation.{m}") for m in MEASURES):
        for name, value in vars(module).items():
            own = getattr(value, "__module__", None) == module.__name__
            if own and not name.startswith("_") and callable(value):
                names.append(f"{module.__name__}.{name}")
    return names


@pytest.mark.parametrize("name", _public_names())
def test_every_public_name_has_a_page(name: str) -> None:
    assert {name, name.rpartition(".")[0]} & set(DOCUMENTED)


@pytest.mark.parametrize("name", DOCUMENTED)
def test_every_name_of_the_reference_exists_and_is_described(name: str) -> None:
    assert inspect.getdoc(pkgutil.resolve_name(name))


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_a_page_with_every_option(command: str) -> None:
    page = (DOCS / "reference" / "commands" / f"docboltz-{command}.md").read_text("utf-8")
    for parameter in COMMANDS[command].params:
        typed = [*parameter.opts, *parameter.secondary_opts]
        options = [name for name in typed if name.startswith("-")]
        for name in options or [parameter.metavar]:
            assert f"`{name}`" in page


def test_the_pages_of_commands_are_those_of_the_program() -> None:
    there = {file.name: file.read_text("utf-8") for file in make_commands.FOLDER.glob("*.md")}
    assert there == make_commands.pages(), "run: python docs/make_commands.py"


@pytest.mark.parametrize("command", COMMANDS)
def test_a_guide_mentions_every_command(command: str) -> None:
    assert f"docboltz {command}" in (DOCS / "guide" / "shell.md").read_text("utf-8")


def test_a_guide_has_every_path_of_the_server() -> None:
    pytest.importorskip("fastapi")
    from docboltz.explorer.batching import Batches
    from docboltz.explorer.routes import make_router

    guide = (DOCS / "guide" / "serve.md").read_text("utf-8")
    routes = make_router(None, Batches(lambda questions: [])).routes  # type: ignore[arg-type]
    assert len(routes) > 10
    for route in routes:
        path = route.path.replace(":path", "")
        for method in route.methods:
            assert re.search(rf"^\| `{method} {re.escape(path)}[`?]", guide, re.M), (method, path)


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_guide_and_the_reference_mention_every_recipe(recipe: str) -> None:
    assert f"| `{recipe}` |" in (DOCS / "guide" / "choosing.md").read_text("utf-8")
    assert f'| `"{recipe}"` |' in (DOCS / "reference" / "training.md").read_text("utf-8")


def test_every_page_is_in_the_menu() -> None:
    menu = (ROOT / "mkdocs.yml").read_text("utf-8").partition("\nnav:\n")[2]
    listed = re.findall(r"\S+\.md$", menu, re.M)
    assert sorted(listed) == sorted(str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md"))


# ---- nothing is wrong ----


@pytest.mark.parametrize("page", PAGES, ids=_names)
def test_lines_are_short(page: Path) -> None:
    lines = page.read_text("utf-8").splitlines()
    assert [n for n, line in enumerate(lines, 1) if len(line) > LONGEST_LINE] == []


def test_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= LONGEST_README


@pytest.mark.parametrize("page", PAGES, ids=_names)
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" not in target:
            path, _, anchor = target.partition("#")
            linked = page.parent / path if path else page
            assert linked.is_file(), target
            assert not anchor or anchor in _anchors(linked), target


def _anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def _tables(text: str) -> list[list[dict[str, str]]]:
    """Every table as rows of cells by heading; the first cell's heading is ""."""
    tables = []
    for block in re.findall(r"(?:^\|.*\n)+", text, re.M):
        rows = [
            [cell.strip().strip("*") for cell in line.strip()[1:-1].split("|")]
            for line in block.splitlines()
        ]
        headings = ["", *rows[0][1:]]
        tables.append([dict(zip(headings, row, strict=True)) for row in rows[2:]])
    return tables


def _quoted_tables() -> list[tuple[str, str, list[dict[str, str]]]]:
    quoted = []
    for page in PAGES:
        parts = re.split(r"<!-- figures from (\S+) -->\s*", page.read_text("utf-8"))
        for source, text in zip(parts[1::2], parts[2::2], strict=True):
            quoted.append((_names(page), source, _tables(text)[0]))
    return quoted


QUOTED = _quoted_tables()


def test_readme_quotes_figures() -> None:
    assert [source for page, source, _ in QUOTED if page == "README.md"]


@pytest.mark.parametrize(("page", "source", "table"), QUOTED, ids=lambda value: str(value)[:40])
def test_quoted_figures_are_those_of_their_page(
    page: str, source: str, table: list[dict[str, str]]
) -> None:
    """A row that is quoted is there under the same name, with the same figures."""
    found = [row for rows in _tables((ROOT / source).read_text("utf-8")) for row in rows]
    for row in table:
        assert any(row.items() <= other.items() for other in found), row


def test_a_changed_figure_would_be_found() -> None:
    _, source, table = next(quoted for quoted in QUOTED if quoted[0] == "README.md")
    heading, value = list(table[0].items())[1]
    with pytest.raises(AssertionError):
        test_quoted_figures_are_those_of_their_page(
            "", source, [{**table[0], heading: value + "1"}]
        )


def test_docstrings_are_made_readable(monkeypatch: pytest.MonkeyPatch) -> None:
    # The tool is installed with the extra "docs" only, and the text is not its business.
    monkeypatch.setitem(sys.modules, "griffe", SimpleNamespace(Extension=object, Object=object))
    text = "What.\n\nParameters\n----------\na, b : two\n    lines.\nc : one.\n\nProse.\n\n>>> 1\n1"
    assert _program("docstrings").readable(text) == (
        "What.\n\nProse.\n\n```pycon\n>>> 1\n1\n```\n\n"
        "Parameters\n----------\na\n    two\n    lines.\nb\n    two\n    lines.\nc\n    one.\n\n\n"
    )
