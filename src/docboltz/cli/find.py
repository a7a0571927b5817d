"""docboltz search, similar, index: documents that are about the same things."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from docboltz.cli.corpus_options import CorpusSource
from docboltz.cli.options import By, Device, Json, ModelFolder, Neighbours, Quiet
from docboltz.cli.output import (
    count_of,
    print_hits,
    print_json,
    remark,
    remark_unknown,
)
from docboltz.cli.reading import reads_corpus


def search(
    model: ModelFolder,
    text: Annotated[
        list[str], typer.Argument(metavar="TEXT...", help="What to look for, in free text.")
    ],
    top: Neighbours = 10,
    by: By = "both",
    json: Json = False,
) -> None:
    """Find the documents that answer a text best, by what they are about and the words they have.

    Example:  docboltz search model "problems installing a graphics driver"
    """
    from docboltz.text_model import TextModel

    _show(TextModel.open(model).search(" ".join(text), top, by=by), json)  # type: ignore[arg-type]


def similar(
    model: ModelFolder,
    document_id: Annotated[
        str, typer.Argument(metavar="ID", help="Id of a document of the collection.")
    ],
    top: Neighbours = 10,
    by: By = "both",
    json: Json = False,
) -> None:
    """Find the documents most like one of the collection.

    Example:  docboltz similar model 42
    """
    from docboltz.text_model import TextModel

    _show(TextModel.open(model).similar(document_id, top, by=by), json)  # type: ignore[arg-type]


@reads_corpus
def index(
    model: ModelFolder,
    source: CorpusSource,
    device: Device = "auto",
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Make another collection the one that is searched; the model stays as it is.

    Columns are those the model was trained with, unless others are named.

    Example:  docboltz index model new-reviews.csv
    """
    from docboltz.text_model import TextModel

    text_model = TextModel.open(model, device=device)
    documents = source.documents(text_model.reading)
    indexed = text_model.index(documents, verbose=not quiet)
    if json:
        print_json(
            {
                "model": str(model),
                "documents": len(indexed),
                "without_words": indexed.n_empty,
                "read": documents.report.to_dict(),
            }
        )
    else:
        remark(f"{count_of(len(indexed), 'document')} can be searched in {model}", quiet=quiet)


def _show(hits: Any, json: bool) -> None:
    remark_unknown(hits.unknown)
    if json:
        print_json(hits.to_dicts())
    elif hits:
        print_hits(None, hits)
    else:
        remark("No document has any of these words.")
