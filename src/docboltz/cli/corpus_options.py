"""The corpus argument and the options that say how to read and count it, for all commands."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from docboltz.corpus.readers import Documents, ReadOptions
    from docboltz.corpus.text import TextAnalysis


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
    delimiter: Annotated[
        str | None, typer.Option(help="What separates the columns of a CSV: a character, or tab.")
    ] = None
    header: Annotated[
        bool | None,
        typer.Option("--header/--no-header", help="A CSV's first line names its columns, or not."),
    ] = None
    quotes: Annotated[
        bool | None,
        typer.Option("--quotes/--no-quotes", help="Quotes around a field are not part of it."),
    ] = None

    def documents(self, options: ReadOptions | None = None) -> Documents:
        """Check the paths now; read as the documents are asked for.

        `options` are those a model was saved with; what the command was told counts more.
        """
        from docboltz.corpus.readers import read

        told = {field.name: getattr(self, field.name) for field in fields(self)}
        return read(told.pop("corpus"), options=options, **told)


@dataclass(frozen=True, kw_only=True)
class WordOptions:
    """What a command was told about words. Each field is an option."""

    words: Annotated[int, typer.Option(min=2, help="Most words to keep in the vocabulary.")] = 5000
    min_df: Annotated[
        float, typer.Option(help="Drop words in fewer documents (share if below 1).")
    ] = 2
    max_df: Annotated[
        float, typer.Option(help="Drop words in more documents (share if 1 or below).")
    ] = 0.5
    language: Annotated[
        str, typer.Option(help="Stop words and stems: english, german, fr, …, or none.")
    ] = "english"
    stop_words: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", exists=True, dir_okay=False, help="More stop words, one a line."
        ),
    ] = None
    no_stop_words: Annotated[
        bool, typer.Option("--no-stop-words", help="Do without the language's stop words.")
    ] = False
    stem: Annotated[
        bool, typer.Option("--stem/--no-stem", help="Count words by the language's stems.")
    ] = True
    pretokenised: Annotated[
        bool, typer.Option("--pretokenised", help="Text is words split by spaces: only count them.")
    ] = False
    ngrams: Annotated[
        int, typer.Option(min=1, max=2, help='2 counts pairs of words too, such as "new york".')
    ] = 1

    def analysis(self) -> TextAnalysis:
        """How text becomes words, or what is wrong with the options."""
        from docboltz.corpus.languages import read_stop_words
        from docboltz.corpus.text import TextAnalysis

        analysis = TextAnalysis(
            None if self.language == "none" else self.language,
            not self.no_stop_words,
            self.stem,
            pretokenised=self.pretokenised,
            ngrams=self.ngrams,
        )
        if self.stop_words is None:
            return analysis
        return analysis.with_stop_words(read_stop_words(self.stop_words))

    def limits(self) -> tuple[int | float, int | float]:
        """The least and the most documents of a word: numbers of them, or shares."""
        low, high = self.min_df, self.max_df
        return (
            int(low) if low >= 1 and low.is_integer() else low,
            int(high) if high > 1 and high.is_integer() else high,
        )
