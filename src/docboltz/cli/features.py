"""docboltz transform: topic features of documents, for whatever comes next."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from docboltz.cli.options import Device, Json, ModelFolder, Quiet
from docboltz.cli.output import count_of, print_json, remark, remark_empty
from docboltz.cli.reading import CorpusSource, reads_corpus, remark_reading


@reads_corpus
def transform(
    model: ModelFolder,
    source: CorpusSource,
    out: Annotated[Path, typer.Option("--out", "-o", help="features.parquet or features.npy.")],
    inference: Annotated[str, typer.Option(help="fast or mean_field.")] = "fast",
    device: Device = "auto",
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Write the topic features of documents, one row each, in the order they were read.

    Parquet holds ids, labels and features; .npy the features alone, float32.

    Example:  docboltz transform model reviews.csv --out features.parquet
    """
    from docboltz.feature_files import write_features
    from docboltz.text_model import TextModel

    documents = source.documents()
    text_model = TextModel.load(model, device=device)
    corpus = write_features(text_model, documents, out, inference=inference, shown=not quiet)
    n = len(corpus)
    remark_reading(documents.report, quiet=quiet, json=json)
    remark_empty(corpus.n_empty, quiet=quiet)
    if json:
        print_json(
            {
                "features": str(out),
                "documents": n,
                "without_words": corpus.n_empty,
                "read": documents.report.to_dict(),
            }
        )
    else:
        remark(f"{count_of(n, 'document')}: features saved to {out}", quiet=quiet)
