"""docboltz topics, docboltz words: what a model has learnt."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Annotated

import typer

from docboltz.cli.options import Json, ModelFolder, Neighbours
from docboltz.cli.output import print_json, print_table, remark_unknown


def topics(
    model: ModelFolder,
    number: Annotated[
        int | None, typer.Option(min=1, help="Show only so many, none that repeats another.")
    ] = None,
    words: Annotated[int, typer.Option(min=1, max=20, help="Words per topic.")] = 10,
    json: Json = False,
) -> None:
    """Show the words of each topic, sharpest topic first.

    Sharpness: how far, in bits, the words of documents with the topic are from those without it.
    Activity: the share of documents that have the topic.

    Example:  docboltz topics model --number 20
    """
    from docboltz.text_model import TextModel

    chosen = TextModel.load(model, device="cpu").sharpest_topics(number)
    found = [replace(topic, words=topic.words[:words]) for topic in chosen]
    if json:
        print_json([asdict(topic) for topic in found])
        return
    rows = [
        [str(t.number), f"{t.sharpness:.2f}", f"{t.activity:.0%}", " ".join(t.words)] for t in found
    ]
    columns = {"topic": "right", "sharpness": "right", "activity": "right", "words": "left"}
    print_table(None, columns, rows)


def words(
    model: ModelFolder,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="A few words.")],
    top: Neighbours = 15,
    json: Json = False,
) -> None:
    """Show the words the model expects beside yours, those it says most about first.

    Example:  docboltz words model "shuttle launch"
    """
    from docboltz.text_model import TextModel

    text_model = TextModel.load(model, device="cpu")
    found = text_model.next_words(text, top)
    remark_unknown(text_model.unknown_words(text))
    if json:
        print_json([{"word": w, "probability": p, "lift": lift} for w, p, lift in found])
        return
    rows = [[word, f"{p:.4f}", f"{lift:,.1f} ×"] for word, p, lift in found]
    print_table(None, {"word": "left", "probability": "right", "than usual": "right"}, rows)
