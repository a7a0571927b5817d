"""docboltz transform: topic features of documents, for whatever comes next."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from docboltz.cli.options import (
    CorpusPaths,
    Device,
    Encoding,
    FormatOption,
    IdColumn,
    LabelColumn,
    LabelSeparator,
    ModelFolder,
    Quiet,
    TextColumn,
    read,
)
from docboltz.cli.output import count_of, remark


def transform(
    model: ModelFolder,
    corpus: CorpusPaths,
    out: Annotated[Path, typer.Option("--out", "-o", help="features.parquet or features.npy.")],
    inference: Annotated[str, typer.Option(help="fast or mean_field.")] = "fast",
    device: Device = "auto",
    format: FormatOption = None,
    text: TextColumn = None,
    id: IdColumn = None,
    label: LabelColumn = None,
    label_separator: LabelSeparator = None,
    encoding: Encoding = None,
    quiet: Quiet = False,
) -> None:
    """Write the topic features of documents, one row each, in the order they were read.

    Parquet holds ids, labels and features; .npy the features alone, float32.

    Example:  docboltz transform model reviews.csv --out features.parquet
    """
    from docboltz.corpus.report import ReadReport
    from docboltz.feature_files import write_features
    from docboltz.text_model import TextModel

    report = ReadReport()
    documents = read(
        corpus,
        report,
        format=format,
        text=text,
        id=id,
        label=label,
        label_separator=label_separator,
        encoding=encoding,
    )
    text_model = TextModel.load(model, device=device)
    n = write_features(text_model, documents, out, inference=inference, shown=not quiet)
    for problem in report.problems():
        remark(problem, quiet=quiet)
    remark(f"{count_of(n, 'document')}: features saved to {out}", quiet=quiet)
