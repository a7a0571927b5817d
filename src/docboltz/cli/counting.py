"""The options that say what counts as a word, for all commands that make a vocabulary."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from docboltz.cli.groups import with_group

COUNTING: tuple[click.Parameter, ...] = (
    click.Option(
        ["--words"],
        type=click.IntRange(min=2),
        default=5000,
        help="Most words to keep in the vocabulary.",
    ),
    click.Option(
        ["--min-df"],
        type=float,
        default=2,
        help="Drop words in fewer documents (share if below 1).",
    ),
    click.Option(
        ["--max-df"],
        type=float,
        default=0.5,
        help="Drop words in more documents (share if 1 or below).",
    ),
    click.Option(
        ["--language"],
        default="english",
        help="Stop words and stems: english, german, fr, …, or none.",
    ),
    click.Option(
        ["--stop-words"],
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        metavar="FILE",
        help="More stop words, one a line.",
    ),
    click.Option(["--no-stop-words"], is_flag=True, help="Do without the language's stop words."),
    click.Option(["--stem/--no-stem"], default=True, help="Count words by the language's stems."),
    click.Option(
        ["--pretokenised"], is_flag=True, help="Text is words split by spaces: only count them."
    ),
    click.Option(
        ["--ngrams"],
        type=click.IntRange(1, 2),
        default=1,
        help='2 counts pairs of words too, such as "new york".',
    ),
)


def counts_words(command: click.Command) -> click.Command:
    """Add them to a command, which gets `counting`: arguments of `TextModel.fit`."""
    return with_group(command, "counting", COUNTING, _counting)


def _counting(
    words: int,
    min_df: float,
    max_df: float,
    language: str,
    stop_words: Path | None,
    no_stop_words: bool,
    **settings: Any,
) -> dict[str, Any]:
    """Arguments of `TextModel.fit`: the least and most documents are numbers of them, or shares."""
    from docboltz.corpus.languages import read_stop_words
    from docboltz.corpus.text import TextAnalysis

    analysis = TextAnalysis(None if language == "none" else language, not no_stop_words, **settings)
    if stop_words is not None:
        analysis = analysis.with_stop_words(read_stop_words(stop_words))
    return {
        "analysis": analysis,
        "min_df": int(min_df) if min_df >= 1 and min_df.is_integer() else min_df,
        "max_df": int(max_df) if max_df > 1 and max_df.is_integer() else max_df,
        "max_words": words,
    }
