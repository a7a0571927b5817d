"""docboltz tune: how many units and latent words suit these documents?"""

from __future__ import annotations

import shlex
from typing import Any

import click

from docboltz.cli import options
from docboltz.cli.counting import counts_words
from docboltz.cli.groups import given_options
from docboltz.cli.options import option
from docboltz.cli.output import (
    print_json,
    print_table,
    print_text,
    remark,
    remark_reading,
    remark_split,
)
from docboltz.cli.reading import reads_corpus


@reads_corpus
@counts_words
@click.command()
@option("--units", "Numbers of units to try, split by commas.", "32,64,128,256")
@option("--latent", "Numbers of latent words to try; 0 is the Replicated Softmax.", "50,100")
@option(
    "--by",
    "halves needs no labels: how many halves of documents find the other half of theirs.",
    "halves",
    click.Choice(("halves", "retrieval", "classification", "likelihood")),
)
@options.recipe(None, "By default quick; for the likelihood density, hours on a CPU.")
@options.updates
@option("--validation", "Share of documents to judge on.", 0.2, options.SHARE)
@options.seed
@options.usual
def tune(
    corpus: dict[str, Any],
    counting: dict[str, Any],
    units: str,
    latent: str,
    validation: float,
    seed: int,
    device: str,
    quiet: bool,
    json: bool,
    **settings: Any,
) -> None:
    """Try numbers of units and latent words on documents held out, and say which is best.

    It trains a model for each pair of numbers and writes nothing; the last line is the command
    that makes the best model.

    Example:  docboltz tune reviews.csv
    """
    from docboltz.corpus.reading import read

    numbers = options.whole_numbers("latent", latent, 0, options.MOST_LATENT_WORDS)
    sizes = options.whole_numbers("units", units, 1), numbers
    documents = read(**corpus)

    # All that can be wrong without them is found out: now torch may take its seconds.
    from docboltz.cli.fit import fit
    from docboltz.corpus.split import Counting, count_split
    from docboltz.device import choose_device
    from docboltz.experiments.tuning import size_of, table
    from docboltz.experiments.tuning import tune as run

    choose_device(device, "tune")
    silent = quiet or json
    split = count_split(
        documents, Counting(**counting), test_share=validation, seed=seed, shown=not quiet
    )
    remark_reading(documents.report, quiet=quiet, json=json)
    remark_split(split, "judge on", quiet=silent)
    found = run(
        split,
        *sizes,
        seed=seed,
        device=device,
        verbose=not quiet,
        log=lambda message: remark(message, quiet=silent),
        **settings,
    )
    n_units, n_latent = size_of(found.best)
    again = {str(p.name) for p in fit.params} - {"units", "recipe", "validation", "quiet", "json"}
    use = ["docboltz", "fit", *corpus["source"], "--out", "model"]
    use += ["--units", str(n_units), "--latent-words", str(n_latent), "--recipe", found.recipe]
    use += given_options(click.get_current_context(), again)
    command = shlex.join(use)
    if json:
        print_json({**found.to_dict(), "command": command, "read": documents.report.to_dict()})
    else:
        print_table(None, *table(found))
        fewest = (
            ", the fewest that find nearly as many halves as any" if found.by == "halves" else ""
        )
        print_text(f"\nBest by {found.by}: {n_units} units{fewest}; {n_latent} latent words")
        if found.by == "halves":
            print_text("For broad subjects take fewer units, for fine ones more.")
        print_text(f"Use it: {command}")
    if found.interrupted:
        raise KeyboardInterrupt("the best is that of the models tried until then.")
