"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from docboltz.corpus.document import Document
    from docboltz.corpus.report import ReadReport

ModelFolder = Annotated[Path, typer.Argument(help="Folder of a model made by 'docboltz fit'.")]
CorpusPaths = Annotated[
    list[str],
    typer.Argument(
        metavar="CORPUS...",
        help="Folder of text files (sub-folder = label), or .csv .tsv .jsonl .parquet .txt files, "
        "also .gz .xz .zst; several, a glob, or - for standard input.",
    ),
]
FormatOption = Annotated[
    str | None,
    typer.Option("--format", help="files, csv, tsv, jsonl, parquet or lines; found by default."),
]
TextColumn = Annotated[
    list[str] | None,
    typer.Option("--text", help="Column with the text; repeat it to join several."),
]
IdColumn = Annotated[str | None, typer.Option("--id", help="Column with the document's id.")]
LabelColumn = Annotated[
    str | None, typer.Option("--label", help="Column with the label or labels.")
]
LabelSeparator = Annotated[
    str | None, typer.Option("--label-separator", help="Splits labels kept in one string.")
]
Encoding = Annotated[
    str | None, typer.Option("--encoding", help="UTF-8, else detected, by default.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no remarks.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Device = Annotated[str, typer.Option("--device", help="auto, cpu or cuda.")]
Neighbours = Annotated[int, typer.Option("--top", "-k", min=1, help="How many to show.")]


def read(
    paths: list[str],
    report: ReadReport,
    *,
    format: str | None,
    text: list[str] | None,
    id: str | None,
    label: str | None,
    label_separator: str | None,
    encoding: str | None,
) -> Iterator[Document]:
    """Stream the documents that a command's arguments name."""
    from docboltz.corpus.readers import read_documents

    return read_documents(
        paths,
        format=format,  # type: ignore[arg-type]  # checked there, with a message
        text=text or None,
        id=id,
        label=label,
        label_separator=label_separator,
        encoding=encoding,
        report=report,
    )
