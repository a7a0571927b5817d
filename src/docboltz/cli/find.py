"""docboltz search, similar: documents that are about the same things."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from docboltz.cli import options
from docboltz.cli.output import print_answer, print_json, remark, remark_unknown


@click.command()
@options.model_folder
@click.argument(
    "text", nargs=-1, required=True, metavar="TEXT...", help="What to look for, in free text."
)
@options.top(10)
@options.by
@options.as_json
def search(model: Path, text: tuple[str, ...], top: int, by: Any, json: bool) -> None:
    """Find the documents that answer a text best, by what they are about and the words they have.

    Example:  docboltz search model "problems installing a graphics driver"
    """
    from docboltz.text_model import TextModel

    _show(TextModel.open(model).search(" ".join(text), top, by=by), json)


@click.command()
@options.model_folder
@click.argument("document_id", metavar="ID", help="Id of a document of the collection.")
@options.top(10)
@options.by
@options.as_json
def similar(model: Path, document_id: str, top: int, by: Any, json: bool) -> None:
    """Find the documents most like one of the collection.

    Example:  docboltz similar model 42
    """
    from docboltz.text_model import TextModel

    _show(TextModel.open(model).similar(document_id, top, by=by), json)


def _show(hits: Any, json: bool) -> None:
    remark_unknown(hits.unknown)
    if json:
        print_json(hits.to_dicts())
    elif hits:
        print_answer(hits)
    else:
        remark("No document has any of these words.")
