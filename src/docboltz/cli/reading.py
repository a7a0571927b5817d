"""The corpus argument and the options that say how to read it, for every command that reads one.

Typer knows parameters, not groups of them. `reads_corpus` shows it the fields of `CorpusSource` in
place of a command's parameter `source` and hands the command the filled object.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docboltz.cli.output import remark

if TYPE_CHECKING:
    from docboltz.corpus.document import Document
    from docboltz.corpus.report import ReadReport


@dataclass(frozen=True, kw_only=True)
class CorpusSource:
    """What a command was told about its corpus. Each field is an argument or an option."""

    corpus: Annotated[
        list[str],
        typer.Argument(
            metavar="CORPUS",
            help="Folder of text files (sub-folder = label), or .csv .tsv .jsonl .parquet .txt "
            "files, also .gz .xz .zst; several, a glob, or - for standard input.",
        ),
    ]
    format: Annotated[
        str | None,
        typer.Option(help="files, csv, tsv, jsonl, parquet or lines; found by default."),
    ] = None
    text: Annotated[
        list[str] | None, typer.Option(help="Column with the text; repeat it to join several.")
    ] = None
    id: Annotated[str | None, typer.Option(help="Column with the document's id.")] = None
    label: Annotated[str | None, typer.Option(help="Column with the label or labels.")] = None
    label_separator: Annotated[
        str | None, typer.Option(help="Splits labels kept in one string.")
    ] = None
    encoding: Annotated[str | None, typer.Option(help="UTF-8, else detected, by default.")] = None

    def documents(self, report: ReadReport) -> Iterator[Document]:
        """Check the paths now; stream the documents, and fill the report, as they are asked for."""
        from docboltz.corpus.readers import read_documents

        documents = read_documents(
            self.corpus,
            format=self.format,  # type: ignore[arg-type]  # checked there, with a message
            text=self.text or None,
            id=self.id,
            label=self.label,
            label_separator=self.label_separator,
            encoding=self.encoding,
            report=report,
        )
        return map(_spelled, documents)


def _spelled(document: Document) -> Document:
    r"""Spell out half characters, which no file can hold: in b\udcff.txt they are a stray byte."""
    pieces = (document.id, document.text, *document.labels)
    if all(map(str.isascii, pieces)):
        return document
    id, text, *labels = (p.encode("utf-8", "backslashreplace").decode() for p in pieces)
    return replace(document, id=id, text=text, labels=tuple(labels))


def reads_corpus(command: Callable[..., None]) -> Callable[..., None]:
    """Spread the parameter `source: CorpusSource` of a command into its fields."""
    of_source = inspect.signature(CorpusSource, eval_str=True).parameters
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command, eval_str=True).parameters.items():
        parameters += of_source.values() if name == "source" else [parameter]

    @functools.wraps(command)
    def run(**given: Any) -> None:
        source = CorpusSource(**{name: given.pop(name) for name in of_source})
        command(source=source, **given)

    keyword_only = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters]
    run.__signature__ = inspect.Signature(keyword_only)  # type: ignore[attr-defined]
    return run


def remark_reading(report: ReadReport, *, quiet: bool, json: bool) -> None:
    """Say how the corpus was read (JSON says so itself), what was left out, and why."""
    for way, files in report.read_as.most_common(3):
        remark(f"Read {'' if files == 1 else f'{files:,} files '}as {way}", quiet=quiet or json)
    for problem in report.problems():
        remark(problem, quiet=quiet)
