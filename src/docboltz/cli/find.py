"""docboltz search, similar, show: documents that are about the same things, and one of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from docboltz.cli import options
from docboltz.cli.options import option
from docboltz.cli.output import print_answer, print_json, print_text, remark
from docboltz.errors import require


def filters(command: Callable[..., Any]) -> Callable[..., Any]:
    """--label, --since, --until and --where: which documents may be hits."""
    label = option(
        "--label", "Only documents with this label; repeat it for several.", (), multiple=True
    )
    since = option("--since", "Only documents of this date or later, such as 2013-08.", "")
    until = option("--until", "Only documents of this date or earlier.", "")
    where = option(
        "--where",
        "Only documents with this value in a column that was kept, such as author=Smith.",
        (),
        multiple=True,
        metavar="COLUMN=VALUE",
    )
    return label(since(until(where(command))))


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

    A query may hold "a phrase", -word for documents without it, label:name, since:2013, until:2014
    and column:value. Put quotes around such a query, and --
    before one that begins with a minus.

    Example:  docboltz search model "problems installing a graphics driver"
    """
    from docboltz.text_model import TextModel

    found = TextModel.open(model).search(" ".join(text), top, **_how(**how))
    _print(found, json, **how)


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

    found = TextModel.open(model).similar(document_id, top, **_how(**how))
    _print(found, json, **how)


@click.command()
@options.model_folder
@click.argument("document_id", metavar="ID", help="Id of a document of the collection.")
@options.as_json
def show(model: Path, document_id: str, json: bool) -> None:
    """Print a document of the collection.

    Example:  docboltz show model 42
    """
    from docboltz.text_model import TextModel

    store = TextModel.open(model).store
    (found,) = store.documents([store.row_of(document_id)])
    if json:
        print_json(asdict(found))
        return
    about = {"id": found.id, "title": found.title, "labels": ", ".join(found.labels)}
    about |= {"date": found.date, **found.columns}
    print_text("\n".join(f"{name}: {value}" for name, value in about.items() if value))
    print_text(f"\n{found.text}")


def _how(where: tuple[str, ...], **how: Any) -> dict[str, Any]:
    """Arguments of a search."""
    pairs = [each.partition("=") for each in where]
    for each, (name, equals, _) in zip(where, pairs, strict=True):
        require(name and equals, "docboltz", "where", "a column and its value, column=value", each)
    return {**how, "where": {name: value for name, _, value in pairs}}


def _print(hits: Any, json: bool, *, by: str, **filters: Any) -> None:
    """Print hits, and what is to be said of the query."""
    for line in hits.remarks():
        remark(line)
    if json:
        print_json(hits.to_dicts())
    elif hits:
        print_answer(hits)
    elif any(filters.values()):
        remark("No document that fits the filters answers the query.")
    elif not hits.unknown:
        remark("No document answers the query.")
