"""Write a page for every command of `docboltz`, from the command itself: what `--help` shows.

python docs/make_commands.py

`tests/test_docs.py` fails if the pages are not those that this program writes.
"""

from __future__ import annotations

import inspect
import textwrap
from pathlib import Path
from typing import Any

import click

from docboltz.cli.app import app

FOLDER = Path(__file__).parent / "reference" / "commands"
WIDTH = 110
GUIDES = {
    "fit": "search.md",
    "topics": "topics.md",
    "search": "search.md",
    "similar": "search.md",
    "show": "search.md",
    "words": "search.md",
    "index": "search.md",
    "delete": "search.md",
    "explore": "explore.md",
    "serve": "serve.md",
    "transform": "features.md",
    "perplexity": "likelihoods.md",
    "compare": "choosing.md",
    "tune": "choosing.md",
}
"""The guide that shows a command at work."""


def commands() -> dict[str, Any]:
    """Every command of the program, by name."""
    context = click.Context(app)
    return {name: app.get_command(context, name) for name in app.list_commands(context)}


def spellings(parameter: Any) -> list[str]:
    """What is typed for an option; nothing for an argument."""
    return [name for name in (*parameter.opts, *parameter.secondary_opts) if name.startswith("-")]


def page(name: str, command: Any) -> str:
    """The page of a command."""
    summary, *rest = inspect.cleandoc(command.help).split("\n\n")
    example = next(part for part in rest if part.startswith("Example:"))
    lines = [f"# docboltz {name}", "", _filled(summary)]
    for part in rest:
        if part is not example:
            lines += ["", _filled(part)]
    lines += ["", "```sh", example.removeprefix("Example:").strip(), "```", ""]
    if name in GUIDES:
        lines += [f"At work: [the guide](../../guide/{GUIDES[name]}).", ""]
    arguments = [p for p in command.params if not spellings(p)]
    options = [p for p in command.params if spellings(p)]
    for title, some in (("Arguments", arguments), ("Options", options)):
        if some:
            lines += [f"## {title}", "", *map(_item, some), ""]
    return "\n".join(lines)


def _item(parameter: Any) -> str:
    names = ", ".join(f"`{name}`" for name in spellings(parameter)) or f"`{parameter.metavar}`"
    default = parameter.to_info_dict()["default"]
    choices = ", ".join(f"`{choice}`" for choice in getattr(parameter.type, "choices", ()))
    notes = [f"One of {choices}." if choices else "", parameter.help or ""]
    if parameter.required:
        notes.append("Required.")
    elif default not in (None, False, ()) and spellings(parameter):
        notes.append(f"Default: `{spellings(parameter)[0] if default is True else default}`.")
    return _filled(f"{names}: {' '.join(notes)}", "- ")


def _filled(text: str, lead: str = "") -> str:
    return textwrap.fill(
        " ".join(text.split()),
        WIDTH,
        initial_indent=lead,
        subsequent_indent=" " * len(lead),
        break_long_words=False,
        break_on_hyphens=False,
    )


def overview() -> str:
    """The page that lists the commands."""
    lines = [
        "# Commands",
        "",
        _filled(
            "Every command explains itself with `--help`; these pages say the same. All end with "
            "exit code 0, with 2 and one line on standard error where something is wrong, and with "
            "130 after Ctrl-C. Answers go to standard output, remarks to standard error."
        ),
        "",
    ]
    for name, command in commands().items():
        summary = inspect.cleandoc(command.help).split("\n\n")[0]
        lines.append(
            _filled(f"[`docboltz {name}`](docboltz-{name}.md): {' '.join(summary.split())}", "- ")
        )
    lines += [
        "",
        "`docboltz --version` tells the version, `docboltz --help` lists the commands.",
        "",
    ]
    return "\n".join(lines)


def pages() -> dict[str, str]:
    """Every page by the name of its file; index.md is the list of them."""
    found = {f"docboltz-{name}.md": page(name, command) for name, command in commands().items()}
    return {"index.md": overview(), **found}


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for file in FOLDER.glob("*.md"):
        file.unlink()
    for file_name, text in pages().items():
        (FOLDER / file_name).write_text(text, encoding="utf-8")
