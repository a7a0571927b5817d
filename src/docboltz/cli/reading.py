"""The argument CORPUS and the options that say how to read it, for all commands that do."""

from __future__ import annotations

import click

from docboltz.cli.groups import with_group

READING: tuple[click.Parameter, ...] = (
    click.Argument(
        ["source"],
        nargs=-1,
        required=True,
        metavar="CORPUS",
        help="Folder of text files (sub-folder = label), or .csv .tsv .jsonl .parquet .txt files, "
        "also .gz .xz .zst; several, a glob, or - for standard input.",
    ),
    click.Option(["--format"], help="files, csv, tsv, jsonl, parquet or lines; found by default."),
    click.Option(
        ["--text"], multiple=True, help="Column with the text; repeat it to join several."
    ),
    click.Option(["--id"], help="Column with the document's id."),
    click.Option(["--label"], help="Column with the label or labels."),
    click.Option(["--label-separator"], help="Splits labels kept in one string."),
    click.Option(["--encoding"], help="UTF-8, else detected, by default."),
    click.Option(["--delimiter"], help="What separates the columns of a CSV: a character, or tab."),
    click.Option(
        ["--header/--no-header"], default=None, help="A CSV's first line names its columns, or not."
    ),
    click.Option(
        ["--quotes/--no-quotes"], default=None, help="Quotes around a field are not part of it."
    ),
)


def reads_corpus(command: click.Command) -> click.Command:
    """Add them to a command, which gets `corpus`: the arguments of `docboltz.read`."""
    return with_group(command, "corpus", READING, dict)
