"""docboltz perplexity: how well a model predicts documents it has not seen."""

from __future__ import annotations

import math
import warnings
from typing import Annotated

import typer

from docboltz.cli.options import Device, Json, ModelFolder, Quiet
from docboltz.cli.output import count_of, print_json, print_table, remark, remark_empty
from docboltz.cli.reading import CorpusSource, reads_corpus, remark_reading

FEW = 100
NO_DENSITY = (
    "warning: this model was trained by contrastive divergence alone, the recipe quick, which "
    "makes good features and no density worth the name: its perplexity means little. Fit with "
    "--recipe full or density."
)


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
    import numpy as np

    from docboltz.corpus.report import ReadReport
    from docboltz.device import choose_device
    from docboltz.errors import InvalidCorpus, InvalidParameter, NoDensityWarning
    from docboltz.text_model import TextModel

    if method not in (None, "exact", "bound", "importance"):
        raise InvalidParameter(
            f"--method must be exact, bound or importance. Got {method!r} instead."
        )
    report = ReadReport()
    stream = source.documents(report)
    text_model = TextModel.load(model, device=device)
    corpus = text_model.count(stream)
    remark_reading(report, quiet=quiet, json=json)
    remark_empty(corpus.n_empty, quiet=quiet)
    counts = corpus.without_empty().counts
    if not counts.shape[0]:
        raise InvalidCorpus(
            "No document has a word of the model's vocabulary: there is nothing to predict. Check "
            "that these are texts of the kind it was trained on."
        )
    if counts.shape[0] > documents:
        chosen = np.random.RandomState(seed).permutation(counts.shape[0])[:documents]
        counts = counts[np.sort(chosen)]
    remark(f"Measuring {count_of(counts.shape[0], 'document')} …", quiet=quiet or json)
    if counts.shape[0] > FEW and choose_device(device, "docboltz perplexity").type == "cpu":
        remark(
            f"On a CPU this may take minutes; --documents {FEW} is quicker.", quiet=quiet or json
        )
    text_model.model.set_params(verbose=not (quiet or json))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoDensityWarning)  # said below
        found = text_model.model.perplexity(counts, method=method, random_state=seed)  # type: ignore[arg-type]
    unigram = text_model.model.unigram_perplexity(counts)
    zeta = found.log_partition
    assert zeta is not None  # only baselines have none
    rough = not text_model.model.has_density_
    if rough:
        remark(NO_DENSITY, quiet=quiet)
    if json:
        print_json(
            {
                "perplexity": found.value,
                "error": _or_none(found.error),
                "errors": {
                    "documents": _or_none(found.documents_error),
                    "numerator": found.numerator_error,
                    "log_partition": found.partition_error,
                },
                "unigram": unigram,
                "contrastive_divergence_only": rough,
                "method": found.method,
                "documents": found.n_documents,
                "without_words": corpus.n_empty,
                "log_partition": {
                    "largest_error": float(zeta.error.max()),
                    "least_effective_share": float(zeta.effective.min()),
                    "resamplings": zeta.resamplings,
                    "steps": zeta.steps,
                    "largest_share_missed_by_particles": float(zeta.missed.max()),
                },
                "read": report.to_dict(),
            }
        )
        return
    rows = [[type(text_model.model).__name__, f"{found.value:,.1f}", _error(found.error)]]
    rows += [["  from the choice of documents", "", _error(found.documents_error)]]
    rows += [["  from the sum over topics", "", _error(found.numerator_error)]]
    rows += [["  from log Z", "", _error(found.partition_error)]]
    rows += [["unigram", f"{unigram:,.1f}", ""]]
    columns = {"perplexity per word": "left", found.method: "right", "error": "right"}
    print_table(None, columns, rows)


def _or_none(error: float) -> float | None:
    """JSON has no NaN: a single document has no error."""
    return None if math.isnan(error) else error


def _error(error: float) -> str:
    return "–" if math.isnan(error) else f"± {error:,.1f}"
