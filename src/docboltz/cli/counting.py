"""The options that say what counts as a word, for all commands that make a vocabulary."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from docboltz.cli.groups import with_group
from docboltz.cli.options import FILE, flag, option

COUNTING = (
    option("--words", "Most words to keep in the vocabulary.", 5000, click.IntRange(min=2)),
    option("--min-df", "Drop words in fewer documents (share if below 1).", 2, float),
    option("--max-df", "Drop words in more documents (share if 1 or below).", 0.5, float),
    option("--language", "Stop words and stems: english, german, fr, …, or none.", "english"),
    option(
        "--stop-words",
        "More stop words, one a line; - is standard input.",
        type=FILE,
        metavar="FILE",
    ),
    flag("--no-stop-words", "Do without the language's stop words."),
    option("--stem/--no-stem", "Count words by the language's stems.", True),
    flag("--pretokenised", "Text is words split by spaces: only count them."),
    option("--ngrams", '2 counts pairs of words too, such as "new york".', 1, click.IntRange(1, 2)),
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
    from docboltz.corpus.analysis import TextAnalysis, read_stop_words

    analysis = TextAnalysis(None if language == "none" else language, not no_stop_words, **settings)
    if stop_words is not None:
        analysis = analysis.with_stop_words(read_stop_words(stop_words))
    return {
        "analysis": analysis,
        "min_df": int(min_df) if min_df >= 1 and min_df.is_integer() else min_df,
        "max_df": int(max_df) if max_df > 1 and max_df.is_integer() else max_df,
        "max_words": words,
    }
