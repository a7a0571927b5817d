"""docboltz topics: what a collection is about; over labels and time; changed by hand."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from docboltz.cli import options
from docboltz.cli.options import flag, option
from docboltz.cli.output import count_of, print_answer, print_json, remark
from docboltz.cli.topic_shares import show_shares
from docboltz.errors import InvalidParameter, require, shown, whole_number
from docboltz.storage import require_apart

if TYPE_CHECKING:
    from docboltz.text_model import TextModel
    from docboltz.topics.topic_tree import TopicTree

AUTO = "auto"


@click.command()
@options.model_folder
@option("--number", "Look for so many topics, or 'auto' for as many as there are; keep them.")
@option("--level", "Topics of one level: 0 the broadest, -1 the finest.", type=click.INT)
@option("--words", "Words per topic.", 10, click.IntRange(1, 20))
@option("--by", "Shares by 'label' or 'date', or the name of that column.")
@option(
    "--period", "With --by date: day, month or year.", type=click.Choice(("day", "month", "year"))
)
@option("--out -o", "Draw them: a .png or .svg file.", type=options.PATH)
@flag("--units", "Single units of the model instead, sharpest first.")
@option("--merge", "Make one of several: 3,7.")
@option("--split", "Make two of one: 4; or more: 4,3.")
@option("--rename", "Call a topic by another name: '3=super bowl'.")
@option("--hide", "Words that are not to be shown, split by commas.")
@option("--show", "Hidden words to show again, split by commas.")
@flag("--replace", "Let --number replace topics that were changed by hand.")
@options.as_json
def topics(model: Path, json: bool, out: Path | None, **given: Any) -> None:
    """Show what the documents are about: topics, and the broader ones they join into.

    Each with its share of the documents, the words that set its documents apart, their labels, and
    a typical one. Topics are found when documents are indexed. Those that are merged, split or
    renamed are kept so.

    Example:  docboltz topics model
    """
    from docboltz.text_model import TextModel

    if given["period"] is not None and given["by"] is None:
        raise click.UsageError("--period says how --by counts time; --by is missing.")
    given["number"] = _number(given["number"])
    if out is not None:
        require_apart(out, [model])
    text_model = TextModel.open(model)
    if given["units"]:
        _show_units(text_model, {**given, "out": out}, json=json)
        return
    if given["number"] == AUTO:
        text_model.find_topics(replace=given["replace"])
    elif given["number"] is not None:
        text_model.topics(given["number"], replace=given["replace"])
    _change(text_model, given)
    level = given["level"]
    if given["by"] is not None:
        level = -1 if level is None else level
        shares = text_model.topics_by(given["by"], given["period"], level=level)
        show_shares(shares, text_model.tree.of_level(level), json=json, out=out)
        return
    answer = text_model.topics(level=level, words=given["words"])
    if out is not None:
        from docboltz.plots import save, topic_tree_figure

        save(topic_tree_figure(answer), out)
        remark(f"Written: {out}")
    if json:
        print_json(answer.to_dicts())
    else:
        print_answer(answer, answer.title)
    if isinstance(given["number"], int) and text_model.tree.n_topics < given["number"]:
        remark(f"No more than {text_model.tree.n_topics} topics have documents.")
    if not json and given["number"] is None and level is None:
        remark(_finer_and_broader(text_model.tree))
    nowhere = int((text_model.tree.assignment.topic < 0).sum())
    if nowhere:
        remark(f"{count_of(nowhere, 'document')} in no topic: without a known word, or like none")


def _finer_and_broader(tree: TopicTree) -> str:
    """How to see other topics than those that are shown by themselves."""
    from docboltz.topic_verbs import MOST_TOPICS  # help does not wait for NumPy

    number = min(3 * tree.n_topics, MOST_TOPICS)
    more = f"Finer topics: --number {number}, or any other number; they are kept."
    broader = len(tree.of_level(0))
    if broader == tree.n_topics:
        return more
    return f"{more} Only the {broader} broadest: --level 0, only the finest: --level -1."


def _show_units(model: TextModel, given: dict[str, Any], *, json: bool) -> None:
    """Units instead of topics; with a number those that do not repeat each other."""
    number, words = given["number"], given["words"]
    fitting = {"units", "number", "words"}
    if number == AUTO:
        raise click.UsageError("--units shows no topics, and --number auto looks for those.")
    for name, value in given.items():
        if name not in fitting and value is not None and value is not False:
            raise click.UsageError(f"--units shows no topics, and --{name} is about those.")
    found = model.units(number, words=words)
    if json:
        print_json(found.to_dicts())
    else:
        print_answer(found)
    if number is not None and len(found) < number:
        others = "the others repeat their first words; without --number all are shown"
        why = others if len(found) < model.n_units else "the model has no more"
        remark(f"{len(found)} of {model.n_units} units: {why}.")


def _change(model: TextModel, given: dict[str, Any]) -> None:
    """What a person asks to be changed."""
    if given["merge"] is not None:
        model.merge_topics(options.whole_numbers("merge", given["merge"], 0))
    if given["split"] is not None:
        number, *into = options.whole_numbers("split", given["split"], 0)
        model.split_topic(number, *into[:1])
    if given["rename"] is not None:
        number, equals, name = given["rename"].partition("=")
        topic = whole_number(number)
        if not equals or topic is None:
            got = shown(given["rename"])
            raise InvalidParameter(f"--rename is a number and a name, '3=name'. Got {got} instead.")
        model.rename_topic(topic, name.strip())
    if given["hide"] is not None:
        model.hide_words(_split(given["hide"]))
    if given["show"] is not None:
        model.show_words(_split(given["show"]))


def _number(given: str | None) -> int | str | None:
    """How many topics are asked for: a whole number, "auto" or nothing."""
    if given is None or given == AUTO:
        return given
    number = whole_number(given)
    require(number, "docboltz", "number", "auto or a whole number of at least 1", given)
    return number


def _split(words: str) -> list[str]:
    return [word.strip() for word in words.split(",") if word.strip()]
