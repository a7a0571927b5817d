"""docboltz index: another collection to search, or more documents for the one that is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from docboltz.cli import options
from docboltz.cli.options import flag
from docboltz.cli.output import as_json, count_of, print_json, remark
from docboltz.cli.reading import reads_corpus


@reads_corpus
@click.command()
@options.model_folder
@flag("--append", "Add to the collection; documents of the same ids are replaced.")
@options.store
@options.usual
def index(
    model: Path, corpus: dict[str, Any], device: str, quiet: bool, json: bool, **how: Any
) -> None:
    """Make another collection the one that is searched, or add to it; the model stays as it is.

    Columns are those the model was trained with, unless others are named.

    Example:  docboltz index model new-reviews.csv
    """
    from docboltz.text_model import TextModel

    text_model = TextModel.open(model, device=device)
    documents = text_model.read(**corpus)
    indexed = text_model.index(documents, **how, verbose=not quiet)
    if json:
        print_json({"model": str(model), **as_json(documents, indexed)})
    else:
        n = len(text_model.store)
        remark(f"{count_of(n, 'document')} can be searched in {model}", quiet=quiet)
