"""docboltz search, similar: documents that are about the same things."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from docboltz.cli import options
from docboltz.cli.options import option
from docboltz.cli.output import print_answer, print_json, remark, remark_unknown


def filters(command: Callable[..., Any]) -> Callable[..., Any]:
    """--label, --since and --until: which documents may be hits."""
    label = option(
        "--label", "Only documents with this label; repeat it for several.", (), multiple=True
    )
    since = option("--since", "Only documents of this date or later, such as 2013-08.", "")
    until = option("--until", "Only documents of this date or earlier.", "")
    return label(since(until(command)))


@click.command()
@options.model_folder
@click.argument(
    "text", nargs=-1, required=True, metavar="TEXT...", help="What to look for, in free text."
)
@options.top(10)
@options.by
@filters
@options.as_json
def search(model: Path, text: tuple[str, ...], top: int, json: bool, **how: Any) -> None:
    """Find the documents that answer a text best, by what they are about and the words they have.

    Example:  docboltz search model "problems installing a graphics driver"
    """
    from docboltz.text_model import TextModel

    _show(TextModel.open(model).search(" ".join(text), top, **how), json, **how)


@click.command()
@options.model_folder
@click.argument("document_id", metavar="ID", help="Id of a document of the collection.")
@options.top(10)
@options.by
@filters
@options.as_json
def similar(model: Path, document_id: str, top: int, json: bool, **how: Any) -> None:
    """Find the documents most like one of the collection.

    Example:  docboltz similar model 42
    """
    from docboltz.text_model import TextModel

    _show(TextModel.open(model).similar(document_id, top, **how), json, **how)


def _show(
    hits: Any, json: bool, *, by: str, label: tuple[str, ...], since: str, until: str
) -> None:
    remark_unknown(hits.unknown)
    if json:
        print_json(hits.to_dicts())
    elif hits:
        print_answer(hits)
    else:
        asked = [f"with the label {' or '.join(label)}"] if label else []
        asked += [f"of {since} or later"] if since else []
        asked += [f"of {until} or earlier"] if until else []
        words = "any of these words" if by == "words" else "a known word"
        if asked:
            remark(f"There is no document {' and '.join(asked)} to be found.")
        else:
            remark(f"No document has {words}.")
