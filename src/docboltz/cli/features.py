"""docboltz transform: topic features of documents, for whatever comes next."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from docboltz.cli.corpus_options import CorpusSource
from docboltz.cli.options import Device, Json, ModelFolder, Quiet
from docboltz.cli.output import count_of, print_json, remark
from docboltz.cli.reading import reads_corpus


@reads_corpus
def transform(
    model: ModelFolder,
    source: CorpusSource,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="features.parquet, features.csv or features.npy.")
    ],
    wide: Annotated[
        bool, typer.Option("--wide", help="A Parquet column for each feature, not one of lists.")
    ] = False,
    inference: Annotated[str, typer.Option(help="fast or mean_field.")] = "fast",
    device: Device = "auto",
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Write the topic features of documents, one row each, in the order they were read.

    Parquet and CSV hold ids, labels, the number of known words and features; .npy the features
    alone, float32. Columns are those the model was trained with, unless others are named.

    Example:  docboltz transform model reviews.csv --out features.parquet
    """
    from docboltz.text_model import TextModel

    text_model = TextModel.open(model, device=device)
    documents = source.documents(text_model.reading)
    corpus = text_model.save_features(
        documents,
        out,
        wide=wide,
        inference=inference,  # type: ignore[arg-type]  # checked there, with a message
        verbose=not quiet,
    )
    if json:
        print_json(
            {
                "features": str(out),
                "documents": len(corpus),
                "without_words": corpus.n_empty,
                "read": documents.report.to_dict(),
            }
        )
    else:
        remark(f"{count_of(len(corpus), 'document')}: features saved to {out}", quiet=quiet)
