"""docboltz perplexity: how well a model predicts documents it has not seen."""

from __future__ import annotations

import math
import sys
import warnings
from pathlib import Path
from typing import Any

import click

from docboltz.cli import options
from docboltz.cli.options import flag, option
from docboltz.cli.output import as_json, count_of, print_json, print_table, remark
from docboltz.cli.reading import reads_corpus
from docboltz.cli.spelling import OptionNames

FEW = 100


@reads_corpus
@click.command()
@options.model_folder
@option("--documents", "Most documents to measure on, chosen at random.", 1000, options.COUNT)
@option("--method", "By default the best one.", type=click.Choice(("exact", "bound", "importance")))
@flag("--yes -y", "Do not ask whether a figure is worth its time.")
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
    models fitted with --recipe density have a density worth measuring.

    Example:  docboltz perplexity model held-out.csv
    """
    from docboltz.corpus.counting import ABOUT
    from docboltz.device import choose_device
    from docboltz.errors import InvalidParameter, NoDensityWarning
    from docboltz.indexing import count_documents, counting_beside
    from docboltz.text_model import TextModel

    text_model = TextModel.open(model, device=device)
    read = text_model.read(**corpus)
    worth = text_model.estimator.density_warning(OptionNames(["recipe"]))
    if worth is not None:
        remark(f"warning: {worth}", quiet=quiet)
        if not yes and not (sys.stdin.isatty() and click.confirm("Measure it all the same?")):
            raise InvalidParameter(
                "Nothing was measured.",
                hint="Add {yes} for a figure all the same.",
                settings=["yes"],
            )
    analysis = text_model.analysis
    with counting_beside(None, read, analysis, text_model.vocabulary) as parts:
        counts = count_documents(parts, read, analysis, verbose=not quiet, kept=ABOUT)
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
        about = {**as_json(read, counts), "contrastive_divergence_only": worth is not None}
        print_json({**about, **found.to_dict()})
        return
    rows = [[type(text_model.estimator).__name__, f"{found.value:,.1f}", _error(found.error)]]
    rows += [["  from the choice of documents", "", _error(found.documents_error)]]
    rows += [["  from the sum over units", "", _error(found.numerator_error)]]
    rows += [["  from log Z", "", _error(found.partition_error)]]
    rows += [["unigram", f"{found.unigram:,.1f}", ""]]
    columns = {"perplexity per word": "left", found.method: "right", "error": "right"}
    print_table(None, columns, rows)


def _error(error: float) -> str:
    return "–" if math.isnan(error) else f"± {error:,.1f}"
