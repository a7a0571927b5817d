"""docboltz perplexity: how well a model predicts documents it has not seen."""

from __future__ import annotations

import math
import sys
import warnings
from pathlib import Path
from typing import Any

import click

from docboltz.cli import options
from docboltz.cli.output import (
    count_of,
    print_json,
    print_table,
    remark,
    remark_empty,
    remark_reading,
)
from docboltz.cli.reading import reads_corpus

FEW = 100


@reads_corpus
@click.command()
@options.model_folder
@click.option(
    "--documents",
    type=options.COUNT,
    default=1000,
    help="Most documents to measure on, chosen at random.",
)
@click.option(
    "--method", type=click.Choice(("exact", "bound", "importance")), help="By default the best one."
)
@click.option("--yes", "-y", is_flag=True, help="Do not ask whether a figure is worth its time.")
@options.seed
@options.usual
def perplexity(
    model: Path,
    corpus: dict[str, Any],
    documents: int,
    method: str | None,
    yes: bool,
    seed: int,
    device: str,
    quiet: bool,
    json: bool,
) -> None:
    """Measure perplexity per word on documents the model was not trained on.

    Lower is better; each document counts once. Words outside the vocabulary do not count. Only
    models fitted with --recipe full or density have a density worth measuring.

    Example:  docboltz perplexity model held-out.csv
    """
    from docboltz.device import choose_device
    from docboltz.errors import InvalidParameter, NoDensityWarning
    from docboltz.estimator.density import no_density
    from docboltz.text_model import TextModel

    text_model = TextModel.open(model, device=device)
    read = text_model.read(**corpus)
    rough = not text_model.estimator.has_density_
    if rough:
        remark(f"warning: {no_density(options.OptionNames(['recipe']))}", quiet=quiet)
        if not yes and not (sys.stdin.isatty() and click.confirm("Measure it all the same?")):
            raise InvalidParameter(
                "Nothing was measured.",
                hint="Add {yes} for a figure all the same.",
                settings=["yes"],
            )
    counts = text_model.count(read)
    remark_reading(read.report, quiet=quiet, json=json)
    remark_empty(counts.n_empty, quiet=quiet)
    n = min(documents, len(counts) - counts.n_empty)
    remark(f"Measuring {count_of(n, 'document')} …", quiet=quiet or json)
    if n > FEW and choose_device(device, "docboltz perplexity").type == "cpu":
        remark(
            f"On a CPU this may take minutes; --documents {FEW} is quicker.", quiet=quiet or json
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoDensityWarning)  # it was said already
        found = text_model.perplexity(
            counts, n=documents, method=method, random_state=seed, verbose=not quiet
        )
    if found.unigram is not None and found.value > found.unigram:
        remark("It predicts worse than the frequencies of words alone: train longer.", quiet=quiet)
    if json:
        print_json(
            {
                **found.to_dict(),
                "contrastive_divergence_only": rough,
                "without_words": counts.n_empty,
                "read": read.report.to_dict(),
            }
        )
        return
    rows = [[type(text_model.estimator).__name__, f"{found.value:,.1f}", _error(found.error)]]
    rows += [["  from the choice of documents", "", _error(found.documents_error)]]
    rows += [["  from the sum over topics", "", _error(found.numerator_error)]]
    rows += [["  from log Z", "", _error(found.partition_error)]]
    rows += [["unigram", f"{found.unigram:,.1f}", ""]]
    columns = {"perplexity per word": "left", found.method: "right", "error": "right"}
    print_table(None, columns, rows)


def _error(error: float) -> str:
    return "–" if math.isnan(error) else f"± {error:,.1f}"
