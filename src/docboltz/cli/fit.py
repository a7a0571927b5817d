"""docboltz fit: from a pile of documents to a model that can be searched."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated

import typer

from docboltz.cli.options import Device, Json, Quiet, latent_words_of, require_recipe
from docboltz.cli.output import count_of, print_json, remark, remark_empty
from docboltz.cli.reading import CorpusSource, WordOptions, reads_corpus, remark_reading


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
        typer.Option(min=1, help="Minibatches of pretraining; by default what the recipe says."),
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
    from docboltz.corpus.report import ReadReport
    from docboltz.errors import InvalidParameter, OtherRun

    require_recipe(recipe)
    latent = latent_words_of(latent_words)
    analysis = counting.analysis()
    min_df, max_df = counting.limits()
    report = ReadReport()
    documents = source.documents(report)

    # All that can be wrong without them is found out: now torch may take its seconds.
    from docboltz.building import build_model, checkpoint_folder, interrupted_folder
    from docboltz.device import choose_device
    from docboltz.estimator.models import OverReplicatedSoftmax
    from docboltz.storage import CHECKPOINT, MODEL
    from docboltz.training.recipes import RECIPES
    from docboltz.training.validation import Validation

    choose_device(device, "docboltz fit")
    pretraining = None
    if updates is not None:
        pretraining = dataclasses.replace(RECIPES[recipe]["pretraining"], updates=updates)
    checkpoint = checkpoint_folder(out)
    # Beside a checkpoint the model in OUT is the interrupted one, unless that was put elsewhere.
    interrupted = CHECKPOINT.exists(checkpoint) and not MODEL.exists(interrupted_folder(out))
    if MODEL.exists(out) and not (replace or interrupted):
        raise InvalidParameter(
            f"There is a model in {out} already. Name another folder, or add --replace."
        )
    if restart:
        CHECKPOINT.remove(checkpoint)
    elif CHECKPOINT.exists(checkpoint):
        remark(f"There is a checkpoint in {checkpoint}: going on.", quiet=quiet or json)
    model = OverReplicatedSoftmax(
        topics,
        latent_words=latent,
        recipe=recipe,  # type: ignore[arg-type]
        pretraining=pretraining,
        validation=Validation(share=validation) if validation else None,
        checkpoint=checkpoint,
        device=device,
        random_state=seed,
        verbose=not quiet,
    )
    try:
        built = build_model(
            documents,
            model,
            out,
            analysis=analysis,
            min_df=min_df,
            max_df=max_df,
            max_words=counting.words,
            shown=not quiet,
        )
    except OtherRun as error:  # there it is a matter of folders, here of an option
        raise InvalidParameter(
            f"{checkpoint} holds the state of an interrupted training with other settings or "
            f"documents ({', '.join(error.changed)}). Give the options it was begun with to go on, "
            "or add --restart to start anew."
        ) from error
    remark_reading(report, quiet=quiet, json=json)
    remark_empty(built.n_empty, quiet=quiet)
    if json:
        print_json(
            {
                "model": str(built.folder),
                "documents": built.n_documents,
                "without_words": built.n_empty,
                "vocabulary": len(built.text_model.vocabulary),
                "topics": topics,
                "updates": model.n_updates_,
                "interrupted": built.interrupted,
                "read": report.to_dict(),
            }
        )
    if built.interrupted:
        kept = f" The model that was in {out} is untouched." if built.folder != out else ""
        raise KeyboardInterrupt(
            f"the model in {built.folder} is usable as it is, after "
            f"{count_of(model.n_updates_, 'update')}.{kept} Run the same command again to go on "
            "from there; --restart starts anew."
        )
    remark(
        f"{count_of(built.n_documents, 'document')}, "
        f"{count_of(len(built.text_model.vocabulary), 'word')}, "
        f"{count_of(topics, 'topic')}: saved to {out}",
        quiet=quiet or json,
    )
    if built.n_documents < 4 * topics:
        remark(
            f"{count_of(built.n_documents, 'document')} are few for {topics} topics, which will "
            "say little. Fewer (--topics) or more documents make clearer ones.",
            quiet=quiet or json,
        )
    remark(f'Try: docboltz topics {out}   docboltz search {out} "…"', quiet=quiet or json)
