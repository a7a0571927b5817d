"""docboltz tune: how many topics and latent words suit these documents?"""

from __future__ import annotations

import shlex
from typing import Annotated

import typer

from docboltz.cli.corpus_options import CorpusSource, WordOptions
from docboltz.cli.options import Device, Json, Quiet, Seed, Updates, require_recipe, whole_numbers
from docboltz.cli.output import print_json, print_table, remark, remark_split
from docboltz.cli.reading import reads_corpus, remark_reading, spelled_options


@reads_corpus
def tune(
    source: CorpusSource,
    counting: WordOptions,
    topics: Annotated[
        str, typer.Option(help="Numbers of topics to try, split by commas.")
    ] = "64,128,256",
    latent: Annotated[
        str, typer.Option(help="Numbers of latent words to try; 0 is the Replicated Softmax.")
    ] = "0,50,100",
    by: Annotated[
        str | None,
        typer.Option(
            help="retrieval, classification or likelihood; by default retrieval where there are "
            "labels, else likelihood."
        ),
    ] = None,
    recipe: Annotated[
        str | None,
        typer.Option(
            help="quick, full, density or paper; by default quick, for the likelihood full."
        ),
    ] = None,
    updates: Updates = None,
    validation: Annotated[
        float, typer.Option(min=0.01, max=0.9, help="Share of documents to judge on.")
    ] = 0.2,
    seed: Seed = 0,
    device: Device = "auto",
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Try numbers of topics and latent words on documents held out, and say which is best.

    It trains a model for each pair of numbers and writes nothing; the last line is the command
    that makes the best model.

    Example:  docboltz tune reviews.csv
    """
    from docboltz.errors import require

    sizes = whole_numbers("topics", topics, 1), whole_numbers("latent", latent, 0)
    ways = (None, "retrieval", "classification", "likelihood")
    require(by in ways, "tune", "by", "retrieval, classification or likelihood", by)
    require_recipe(recipe)
    analysis = counting.analysis()
    documents = source.documents()

    # All that can be wrong without them is found out: now torch may take its seconds.
    from docboltz.corpus.split import Counting, count_split
    from docboltz.device import choose_device
    from docboltz.experiments.tuning import size_of, table
    from docboltz.experiments.tuning import tune as run

    choose_device(device, "tune")
    silent = quiet or json
    split = count_split(
        documents,
        Counting(analysis, *counting.limits(), counting.words),
        test_share=validation,
        seed=seed,
        shown=not quiet,
    )
    remark_reading(documents.report, quiet=quiet, json=json)
    remark_split(split, "judge on", quiet=silent)
    found = run(
        split,
        *sizes,
        by=by,  # type: ignore[arg-type]  # checked there, with a message
        recipe=recipe,
        updates=updates,
        seed=seed,
        device=device,
        verbose=not quiet,
        log=lambda message: remark(message, quiet=silent),
    )
    n_topics, n_latent = size_of(found.best)
    use = ["docboltz", "fit", *source.corpus, "--out", "model"]
    use += ["--topics", str(n_topics), "--latent-words", str(n_latent), "--recipe", found.recipe]
    use += [*spelled_options(source), *spelled_options(counting)]
    use += ["--updates", str(updates)] if updates is not None else []
    use += ["--seed", str(seed)] if seed else []
    use += ["--device", device] if device != "auto" else []
    command = shlex.join(use)
    if json:
        print_json({**found.to_dict(), "command": command, "read": documents.report.to_dict()})
    else:
        print_table(None, *table(found))
        typer.echo(f"\nBest by {found.by}: {n_topics} topics, {n_latent} latent words")
        typer.echo(f"Use it: {command}")
    if found.interrupted:
        raise KeyboardInterrupt("the best is that of the models tried until then.")
