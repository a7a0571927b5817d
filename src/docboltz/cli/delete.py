"""docboltz delete: documents that are searched no more."""

from __future__ import annotations

from pathlib import Path

import click

from docboltz.cli import options
from docboltz.cli.options import option
from docboltz.cli.output import count_of, print_json, remark
from docboltz.storage import read_text


def _listed(file: Path) -> list[str]:
    """The ids of a file; only the ends of its lines part them."""
    lines = read_text(file, "ids").split("\n")
    return [line for each in lines if (line := each.removesuffix("\r"))]


@click.command()
@options.model_folder
@click.argument("ids", nargs=-1, metavar="[ID]...", help="Ids of documents of the collection.")
@option(
    "--file",
    "A file of ids, one a line; - is standard input.",
    type=options.FILE,
    metavar="FILE",
)
@options.quiet
@options.as_json
def delete(model: Path, ids: tuple[str, ...], file: Path | None, quiet: bool, json: bool) -> None:
    """Take documents out of the collection that is searched; the model stays as it is.

    Example:  docboltz delete model 42 43
    """
    from docboltz.text_model import TextModel

    gone = [*ids, *(_listed(file) if file is not None else ())]
    if not gone:
        raise click.UsageError("Name the ids of the documents to delete, or a --file of them.")
    text_model = TextModel.open(model)
    deleted = text_model.delete(gone)
    if json:
        print_json({"model": str(model), "deleted": deleted, "documents": len(text_model.store)})
    else:
        left = f"{len(text_model.store):,} can be searched in {model}"
        remark(f"{count_of(deleted, 'document')} deleted, {left}", quiet=quiet)
