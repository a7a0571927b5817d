"""docboltz words: what a model expects."""

from __future__ import annotations

from pathlib import Path

import click

from docboltz.cli import options
from docboltz.cli.output import print_answer, print_json, remark_unknown


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
