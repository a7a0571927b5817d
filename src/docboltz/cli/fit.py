"""docboltz fit: from a pile of documents to a model that can be searched."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from docboltz.cli.corpus_options import CorpusSource, WordOptions
from docboltz.cli.options import Device, Json, Quiet, latent_words_of, require_recipe
from docboltz.cli.output import count_of, print_json, remark
from docboltz.cli.reading import reads_corpus


@reads_corpus
def fit(
    source: CorpusSource,
    counting: WordOptions,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the model.")],
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace the model in that folder, if there is one.")
    ] = False,
    topics: Annotated[int, typer.Option(min=1, help="Number of topic units.")] = 128,
    latent_words: Annotated[
        str, typer.Option(help="Latent words per document: auto, or a number (0: none).")
    ] = "auto",
    recipe: Annotated[
        str, typer.Option(help="quick, full (then maximum likelihood: better), density or paper.")
    ] = "quick",
    updates: Annotated[
        int | None,
        typer.Option(min=1, help="Minibatches of each phase; by default what the recipe says."),
    ] = None,
    validation: Annotated[
        float, typer.Option(min=0, max=0.9, help="Share of documents to hold out and stop on.")
    ] = 0,
    restart: Annotated[
        bool, typer.Option("--restart", help="Start anew instead of going on after an interrupt.")
    ] = False,
    seed: Annotated[
        int, typer.Option(min=0, max=2**32 - 1, help="Same seed, same machine: same model.")
    ] = 0,
    device: Device = "auto",
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Learn topics from documents and make them searchable.

    Example:  docboltz fit reviews.csv --out model
    """
    require_recipe(recipe)
    latent = latent_words_of(latent_words)
    analysis = counting.analysis()
    min_df, max_df = counting.limits()
    documents = source.documents()

    # All that can be wrong without them is found out: now torch may take its seconds.
    from docboltz.fitting import TrainingInterrupted
    from docboltz.text_model import TextModel

    stopped = None
    try:
        model = TextModel.fit(
            documents,
            folder=out,
            topics=topics,
            latent_words=latent,
            recipe=recipe,
            updates=updates,
            validation=validation,
            analysis=analysis,
            max_words=counting.words,
            min_df=min_df,
            max_df=max_df,
            replace=replace,
            restart=restart,
            random_state=seed,
            device=device,
            verbose=not quiet,
        )
    except TrainingInterrupted as stop:
        model, stopped = stop.model, stop
    if json:
        print_json(
            {
                "model": str(model.path),
                "documents": len(model.store),
                "without_words": model.store.n_wordless,
                "vocabulary": len(model.vocabulary),
                "topics": topics,
                "updates": model.estimator.n_updates_,
                "interrupted": stopped is not None,
                "read": documents.report.to_dict(),
            }
        )
    if stopped is not None:
        raise KeyboardInterrupt(
            f"{stopped} Run the same command again to go on from there; --restart starts anew."
        )
    n = len(model.store)
    sizes = (n, "document"), (len(model.vocabulary), "word"), (topics, "topic")
    summary = ", ".join(count_of(*size) for size in sizes)
    remark(f"{summary}: saved to {out}", quiet=quiet or json)
    if n < 4 * topics:
        remark(
            f"{count_of(n, 'document')} are few for {topics} topics, which will say little. Fewer "
            "(--topics) or more documents make clearer ones.",
            quiet=quiet or json,
        )
    remark(f'Try: docboltz topics {out}   docboltz search {out} "…"', quiet=quiet or json)
