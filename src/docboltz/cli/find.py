"""docboltz search, similar, index: documents that are about the same things."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from docboltz.cli.options import Device, Json, ModelFolder, Neighbours, Quiet
from docboltz.cli.output import (
    count_of,
    print_json,
    print_table,
    remark,
    remark_empty,
    remark_unknown,
)
from docboltz.cli.reading import CorpusSource, reads_corpus, remark_reading

if TYPE_CHECKING:
    from docboltz.search.store import SearchStore


def search(
    model: ModelFolder,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What to look for, in free text.")],
    top: Neighbours = 10,
    json: Json = False,
) -> None:
    """Find the documents nearest in topic to a text.

    Example:  docboltz search model "problems installing a graphics driver"
    """
    from docboltz.text_model import TextModel

    text_model = TextModel.load(model, device="cpu")
    features = text_model.search_features(text_model.query(text))
    remark_unknown(text_model.unknown_words(text))
    store = _open(model)
    rows, scores = store.search(features, top)
    _print_hits(store, rows[0].tolist(), scores[0].tolist(), json)


def similar(
    model: ModelFolder,
    document_id: Annotated[
        str, typer.Argument(metavar="ID", help="Id of a document of the collection.")
    ],
    top: Neighbours = 10,
    json: Json = False,
) -> None:
    """Find the documents nearest in topic to one of the collection.

    Example:  docboltz similar model 42
    """
    store = _open(model)
    rows, scores = store.similar([store.row_of(document_id)], top)
    _print_hits(store, rows[0].tolist(), scores[0].tolist(), json)


@reads_corpus
def index(
    model: ModelFolder,
    source: CorpusSource,
    device: Device = "auto",
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Make another collection the one that is searched; the model stays as it is.

    Example:  docboltz index model new-reviews.csv
    """
    from docboltz.building import index_documents
    from docboltz.text_model import TextModel

    documents = source.documents()
    text_model = TextModel.load(model, device=device)
    indexed = index_documents(text_model, documents, model, shown=not quiet)
    n = len(indexed)
    remark_reading(documents.report, quiet=quiet, json=json)
    remark_empty(indexed.n_empty, quiet=quiet)
    if json:
        print_json(
            {
                "model": str(model),
                "documents": n,
                "without_words": indexed.n_empty,
                "read": documents.report.to_dict(),
            }
        )
    else:
        remark(f"{count_of(n, 'document')} can be searched in {model}", quiet=quiet)


def _open(model: Path) -> SearchStore:
    """The model's store, if it was made by the model as it is now."""
    from docboltz.building import store_folder
    from docboltz.search.store import SearchStore
    from docboltz.storage import fingerprint

    return SearchStore.open(store_folder(model), model=fingerprint(model))


def _print_hits(store: SearchStore, rows: list[int], scores: list[float], json: bool) -> None:
    hits = store.documents(rows)
    if json:
        print_json(
            [
                {"id": h.id, "score": round(s, 6), "labels": list(h.labels), "snippet": h.snippet}
                for h, s in zip(hits, scores, strict=True)
            ]
        )
        return
    columns = {"cosine": "right", "id": "left", "labels": "left", "text": "cut"}
    table = [
        [f"{s:.3f}", h.id, ", ".join(h.labels), h.snippet]
        for h, s in zip(hits, scores, strict=True)
    ]
    if not any(hit.labels for hit in hits):
        del columns["labels"]
        table = [[cosine, id, text] for cosine, id, _, text in table]
    print_table(None, columns, table)
