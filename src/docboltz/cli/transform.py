"""docboltz transform: features of documents, for whatever comes next."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from docboltz.cli import options
from docboltz.cli.options import flag, option
from docboltz.cli.output import as_json, count_of, print_json, remark
from docboltz.cli.reading import reads_corpus


@reads_corpus
@click.command()
@options.model_folder
@option(
    "--out -o",
    "features.parquet, features.csv or features.npy; a folder with --ray.",
    type=options.PATH,
    required=True,
)
@flag("--wide", "A Parquet column for each feature, not one of lists.")
@flag("--spreadsheet", "In a CSV, put ' before ids and labels that would be formulas.")
@flag("--replace", "Replace that file, if there is one.")
@option(
    "--inference",
    "How features are inferred; mean_field takes longer.",
    "fast",
    click.Choice(("fast", "mean_field")),
)
@options.ray
@options.usual
def transform(
    model: Path,
    corpus: dict[str, Any],
    out: Path,
    device: str,
    quiet: bool,
    json: bool,
    **how: Any,
) -> None:
    """Write features and topics of documents, one row each, in the order they were read.

    Parquet and CSV hold ids, labels, the number of known words and features; .npy the features
    alone, float32. Columns are those the model was trained with, unless others are named.

    Example:  docboltz transform model reviews.csv --out features.parquet
    """
    from docboltz.text_model import TextModel

    text_model = TextModel.open(model, device=device)
    documents = text_model.read(**corpus)
    counts = text_model.save_features(documents, out, **how, verbose=not quiet)
    if json:
        print_json({"features": str(out), **as_json(documents, counts)})
    else:
        remark(f"{count_of(len(counts), 'document')}: features saved to {out}", quiet=quiet)
