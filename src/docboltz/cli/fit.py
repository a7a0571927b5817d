"""docboltz fit: from a pile of documents to a model that can be searched."""

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
    Json,
    LabelColumn,
    LabelSeparator,
    Quiet,
    TextColumn,
    read,
)
from docboltz.cli.output import count_of, print_json, remark


def fit(
    corpus: CorpusPaths,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the model.")],
    topics: Annotated[int, typer.Option(min=1, help="Number of topic units.")] = 128,
    latent_words: Annotated[
        str, typer.Option(help="Latent words per document: auto, or a number (0: none).")
    ] = "auto",
    updates: Annotated[int, typer.Option(min=1, help="Minibatches to learn from.")] = 3000,
    words: Annotated[int, typer.Option(min=2, help="Most words to keep in the vocabulary.")] = 5000,
    min_df: Annotated[
        float, typer.Option(help="Drop words in fewer documents (share if below 1).")
    ] = 2,
    max_df: Annotated[
        float, typer.Option(help="Drop words in more documents (share if 1 or below).")
    ] = 0.5,
    language: Annotated[
        str, typer.Option(help="Stop words and stems: english, german, fr, …, or none.")
    ] = "english",
    pretokenised: Annotated[
        bool, typer.Option("--pretokenised", help="Text is words split by spaces: only count them.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same machine: same model.")] = 0,
    device: Device = "auto",
    format: FormatOption = None,
    text: TextColumn = None,
    id: IdColumn = None,
    label: LabelColumn = None,
    label_separator: LabelSeparator = None,
    encoding: Encoding = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Learn topics from documents and make them searchable.

    Example:  docboltz fit reviews.csv --out model
    """
    from docboltz.building import build_model
    from docboltz.corpus.report import ReadReport
    from docboltz.corpus.text import TextAnalysis
    from docboltz.errors import InvalidParameter
    from docboltz.estimator.models import OverReplicatedSoftmax
    from docboltz.training.pretrain import Pretraining

    if latent_words != "auto" and not latent_words.isdigit():
        raise InvalidParameter(
            f"--latent-words must be auto or a whole number. Got {latent_words!r} instead."
        )
    if pretokenised:
        analysis = TextAnalysis(pretokenised=True)
    else:
        analysis = TextAnalysis(language=None if language == "none" else language)
    model = OverReplicatedSoftmax(
        topics,
        latent_words="auto" if latent_words == "auto" else int(latent_words),
        pretraining=Pretraining(updates=updates),
        device=device,
        random_state=seed,
        verbose=not quiet,
    )
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
    built = build_model(
        documents,
        model,
        out,
        analysis=analysis,
        min_df=int(min_df) if min_df >= 1 else min_df,
        max_df=int(max_df) if max_df > 1 else max_df,
        max_words=words,
        shown=not quiet,
    )
    for problem in report.problems():
        remark(problem, quiet=quiet)
    summary = {
        "model": str(out),
        "documents": built.n_documents,
        "without_words": built.n_empty,
        "vocabulary": len(built.text_model.vocabulary),
        "topics": topics,
        "updates": model.n_updates_,
        "interrupted": built.interrupted,
        "read": report.to_dict(),
    }
    if json:
        print_json(summary)
    else:
        remark(
            f"{count_of(built.n_documents, 'document')}, "
            f"{count_of(len(built.text_model.vocabulary), 'word')}, "
            f"{count_of(topics, 'topic')}: saved to {out}",
            quiet=quiet,
        )
        remark(f'Try: docboltz topics {out}   docboltz search {out} "…"', quiet=quiet)
    if built.interrupted:
        remark(
            f"Interrupted after {count_of(model.n_updates_, 'update')} of {updates:,}: the model "
            f"in {out} is usable as it is. Run the same command again for the full training."
        )
        raise typer.Exit(130)
