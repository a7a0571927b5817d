"""The argument CORPUS and the options that say how to read it, for all commands that do."""

from __future__ import annotations

import click

from docboltz.cli.groups import with_group
from docboltz.cli.options import option

READING = (
    click.argument(
        "source",
        nargs=-1,
        required=True,
        metavar="CORPUS",
        help="Folder of text files (sub-folder = label), or .csv .tsv .jsonl .parquet .txt files, "
        "also .gz .xz .bz2 .zst; several, a glob, a URL (s3://…), or - for standard input.",
    ),
    option("--format", "files, csv, tsv, jsonl, parquet or lines; found by default."),
    option("--text", "Column with the text; repeat it to join several.", multiple=True),
    option("--id", "Column with the document's id."),
    option("--label", "Column with the label or labels."),
    option("--date", "Column with the document's date."),
    option("--title", "Column with the document's title."),
    option("--keep", "Further columns to keep with each document, split by commas."),
    option("--label-separator", "Splits labels kept in one string."),
    option("--date-format", "Format of dates, such as %d.%m.%Y; ISO 8601 by default."),
    option("--encoding", "Encoding of text files; UTF-8 by default."),
    option("--delimiter", "What separates the columns of a CSV: a character, or tab."),
    option("--header/--no-header", "A CSV's first line names its columns, or not.", None),
    option("--quotes/--no-quotes", "Quotes around a field are not part of it.", None),
)


def reads_corpus(command: click.Command) -> click.Command:
    """Add them to a command, which gets `corpus`: the arguments of `docboltz.read`."""
    return with_group(command, "corpus", READING, dict)
