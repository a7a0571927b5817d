"""docboltz topics, docboltz words: what a model has learnt."""

from __future__ import annotations

from pathlib import Path

import click

from docboltz.cli import options
from docboltz.cli.options import option
from docboltz.cli.output import print_answer, print_json, remark, remark_unknown


@click.command()
@options.model_folder
@option("--number", "Show only so many, none that repeats another.", type=options.COUNT)
@option("--words", "Words per topic.", 10, click.IntRange(1, 20))
@options.as_json
def topics(model: Path, number: int | None, words: int, json: bool) -> None:
    """Show the words of each topic, sharpest topic first.

    Sharpness: how far, in bits, the words of documents with the topic are from those without it.
    Activity: the share of documents that have the topic.

    Example:  docboltz topics model --number 20
    """
    from docboltz.text_model import TextModel

    text_model = TextModel.open(model)
    found = text_model.topics(number, words=words)
    if json:
        print_json(found.to_dicts())
    else:
        print_answer(found)
    if number is not None and len(found) < number:
        others = "the others repeat their first words; without --number all are shown"
        why = others if len(found) < text_model.n_topics else "the model has no more"
        remark(f"{len(found)} of {text_model.n_topics} topics: {why}.")


@click.command()
@options.model_folder
@click.argument("text", nargs=-1, required=True, metavar="TEXT...", help="A few words.")
@options.top(15)
@options.as_json
def words(model: Path, text: tuple[str, ...], top: int, json: bool) -> None:
    """Show the words the model expects beside yours, those it says most about first.

    Lift: how many times as often as usual.

    Example:  docboltz words model "shuttle launch"
    """
    from docboltz.text_model import TextModel

    found = TextModel.open(model).words(" ".join(text), top)
    remark_unknown(found.unknown)
    if json:
        print_json(found.to_dicts())
    else:
        print_answer(found)
