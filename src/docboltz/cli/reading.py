"""The corpus argument and the options that say how to read and count it, for all commands.

Typer knows parameters, not groups of them. `reads_corpus` shows it the fields of `CorpusSource` in
place of a command's parameter `source`, and those of `WordOptions` in place of `counting`, and
hands the command the filled objects.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docboltz.cli.output import remark

if TYPE_CHECKING:
    from docboltz.corpus.readers import Documents, ReadOptions
    from docboltz.corpus.report import ReadReport
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
        bool, typer.Option("--stop-words/--no-stop-words", help="Drop the language's stop words.")
    ] = True
    stem: Annotated[
        bool, typer.Option("--stem/--no-stem", help="Count words by the language's stems.")
    ] = True
    pretokenised: Annotated[
        bool, typer.Option("--pretokenised", help="Text is words split by spaces: only count them.")
    ] = False

    def analysis(self) -> TextAnalysis:
        """How text becomes words, or what is wrong with the options."""
        from docboltz.corpus.text import TextAnalysis
        from docboltz.errors import InvalidParameter

        spoken = None if self.language == "none" else self.language
        try:
            return TextAnalysis(spoken, self.stop_words, self.stem, pretokenised=self.pretokenised)
        except InvalidParameter as error:  # there it names keywords, here they are options
            said = str(error).replace("stem=False", "--no-stem").replace("None", "none")
            raise InvalidParameter(said.replace("stop_words=False", "--no-stop-words")) from error

    def limits(self) -> tuple[int | float, int | float]:
        """The least and the most documents of a word: numbers of them, or shares."""
        low, high = self.min_df, self.max_df
        return (
            int(low) if low >= 1 and low.is_integer() else low,
            int(high) if high > 1 and high.is_integer() else high,
        )


GROUPS: dict[str, type] = {"source": CorpusSource, "counting": WordOptions}


def reads_corpus(command: Callable[..., None]) -> Callable[..., None]:
    """Spread the parameters `source` and `counting` of a command into their fields."""
    own = inspect.signature(command, eval_str=True).parameters
    groups = {
        name: inspect.signature(kind, eval_str=True).parameters
        for name, kind in GROUPS.items()
        if name in own
    }
    parameters: list[inspect.Parameter] = []
    for name, parameter in own.items():
        parameters += groups[name].values() if name in groups else [parameter]

    @functools.wraps(command)
    def run(**given: Any) -> None:
        filled = {
            name: GROUPS[name](**{field: given.pop(field) for field in of_group})
            for name, of_group in groups.items()
        }
        command(**filled, **given)

    keyword_only = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters]
    run.__signature__ = inspect.Signature(keyword_only)  # type: ignore[attr-defined]
    return run


def spelled_options(group: CorpusSource | WordOptions) -> list[str]:
    """The options that make a group what it is, as a command line has them.

    >>> spelled_options(WordOptions(stem=False, min_df=1.0))
    ['--min-df', '1', '--no-stem']
    """
    spelled: list[str] = []
    for field in fields(group):
        value, name = getattr(group, field.name), field.name.replace("_", "-")
        if field.name == "corpus" or value == field.default or value is None:
            continue
        if isinstance(value, bool):
            spelled.append(f"--{'' if value else 'no-'}{name}")
        else:
            for each in value if isinstance(value, list) else [value]:
                spelled += [f"--{name}", f"{each:g}" if isinstance(each, float) else str(each)]
    return spelled


def remark_reading(report: ReadReport, *, quiet: bool, json: bool) -> None:
    """Say how the corpus was read (JSON says so itself), what was left out, and why."""
    for line in report.problems() if json else report.summary():
        remark(line, quiet=quiet)
