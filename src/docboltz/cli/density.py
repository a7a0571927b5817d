"""docboltz perplexity: how well a model predicts documents it has not seen."""

from __future__ import annotations

import math
import sys
import warnings
from typing import Annotated

import typer

from docboltz.cli.corpus_options import CorpusSource
from docboltz.cli.options import Device, Json, ModelFolder, OptionNames, Quiet
from docboltz.cli.output import count_of, print_json, print_table, remark, remark_empty
from docboltz.cli.reading import reads_corpus, remark_reading

FEW = 100


@reads_corpus
def perplexity(
    model: ModelFolder,
    source: CorpusSource,
    documents: Annotated[
        int, typer.Option(min=1, help="Most documents to measure on, chosen at random.")
    ] = 1000,
    method: Annotated[
        str | None, typer.Option(help="exact, bound or importance; by default the best one.")
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Do not ask whether a figure is worth its time.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of the estimate.")] = 0,
    device: Device = "auto",
    quiet: Quiet = False,
    json: Json = False,
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
    read = source.documents(text_model.reading)
    rough = not text_model.estimator.has_density_
    if rough:
        remark(f"warning: {no_density(OptionNames(['recipe']))}", quiet=quiet)
        if not yes and not (sys.stdin.isatty() and typer.confirm("Measure it all the same?")):
            raise InvalidParameter(
                "Nothing was measured.",
                hint="Add {yes} for a figure all the same.",
                settings=["yes"],
            )
    corpus = text_model.count(read)
    remark_reading(read.report, quiet=quiet, json=json)
    remark_empty(corpus.n_empty, quiet=quiet)
    n = min(documents, len(corpus) - corpus.n_empty)
    remark(f"Measuring {count_of(n, 'document')} …", quiet=quiet or json)
    if n > FEW and choose_device(device, "docboltz perplexity").type == "cpu":
        remark(
            f"On a CPU this may take minutes; --documents {FEW} is quicker.", quiet=quiet or json
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoDensityWarning)  # it was said already
        found = text_model.perplexity(
            corpus, n=documents, method=method, random_state=seed, verbose=not quiet
        )
    if found.unigram is not None and found.value > found.unigram:
        remark("It predicts worse than the frequencies of words alone: train longer.", quiet=quiet)
    if json:
        print_json(
            {
                **found.to_dict(),
                "contrastive_divergence_only": rough,
                "without_words": corpus.n_empty,
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
