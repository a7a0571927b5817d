"""docboltz fit: from a pile of documents to a model that can be searched."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import click

from docboltz.cli import options
from docboltz.cli.counting import counts_words
from docboltz.cli.options import flag, option
from docboltz.cli.output import count_of, print_json, remark
from docboltz.cli.reading import reads_corpus
from docboltz.errors import FewDocumentsWarning
from docboltz.text_table import sparkline

NOTICEABLE = 0.02
"""Nats per word, about the same share of the perplexity, by which a course is said to move."""


def likelihood_course(history: list[dict[str, Any]]) -> str | None:
    """How the perplexity of held-out documents went, or None where it was not followed.

    >>> looks = [(100, -7.02), (200, -6.52), (300, -6.42), (400, -6.415), (500, -6.41)]
    >>> names = ("update", "held_out_log_likelihood")
    >>> numbers = {"phase": "Fine-tuning", "held_out_documents": 200}
    >>> print(likelihood_course([dict(zip(names, look)) | numbers for look in looks]))
    Held-out perplexity █▂▁▁▁ 1,119 → 608 (200 documents that were not learned from).
    """
    from docboltz.training.run import perplexity_of

    looks = [look for look in history if "held_out_log_likelihood" in look]
    if not looks:
        return None
    nats = [-look["held_out_log_likelihood"] for look in looks]
    first, last = (f"{perplexity_of(-each):,.0f}" for each in (nats[0], nats[-1]))
    curve = sparkline(each - min(nats) for each in nats)
    course = f"{curve} {first} → {last}" if len(looks) > 1 else last
    documents = count_of(looks[-1]["held_out_documents"], "document")
    said = f"Held-out perplexity {course} ({documents} that were not learned from)."
    end = looks[-1]["update"]
    lowest = min(range(len(nats)), key=nats.__getitem__)
    before = [each for each, look in zip(nats, looks, strict=True) if look["update"] <= 0.8 * end]
    if nats[-1] - nats[lowest] > NOTICEABLE:
        said += f" It was lowest after {looks[lowest]['update']:,} updates of fine-tuning."
    elif before and before[-1] - nats[-1] > NOTICEABLE:
        said += " It was still falling when training ended."
    return said


@reads_corpus
@counts_words
@click.command()
@option("--out -o", "Folder for the model.", type=options.PATH, required=True)
@flag("--replace", "Replace the model in that folder, if there is one.")
@option("--units", "Number of hidden units: features of a document.", 128, options.COUNT)
@option("--latent-words", "Latent words per document: auto, or a number (0: none).", "auto")
@options.recipe("quick", "full: better features. density: likelihoods.")
@options.updates
@option(
    "--validation", "Share of documents to hold out, to choose by.", 0, click.FloatRange(0, 0.9)
)
@flag("--restart", "Start anew instead of going on after an interrupt.")
@options.store
@options.seed
@options.ray
@option("--workers", "Processes of the cluster that train together.", 1, options.COUNT)
@options.usual
def fit(
    corpus: dict[str, Any],
    counting: dict[str, Any],
    out: Path,
    units: int,
    latent_words: str,
    seed: int,
    quiet: bool,
    json: bool,
    **settings: Any,
) -> None:
    """Learn from documents, make them searchable and find their topics.

    Example:  docboltz fit reviews.csv --out model
    """
    from docboltz.corpus.reading import read

    latent = options.latent_words_of(latent_words)
    documents = read(**corpus)

    # All that can be wrong without them is found out: now torch may take its seconds.
    from docboltz.estimator.learning import few_documents
    from docboltz.fitting import TrainingInterrupted
    from docboltz.text_model import TextModel

    stopped = None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FewDocumentsWarning)  # it is said at the end
            model = TextModel.fit(
                documents,
                folder=out,
                units=units,
                latent_words=latent,
                random_state=seed,
                verbose=not quiet,
                **counting,
                **settings,
            )
    except TrainingInterrupted as stop:
        model, stopped = stop.model, stop
    if json:
        print_json(
            {
                "model": str(model.path),
                "documents": len(model.store),
                "without_words": model.n_wordless,
                "vocabulary": len(model.vocabulary),
                "units": units,
                "topics": model.tree.n_topics,
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
    sizes = [(n, "document"), (len(model.vocabulary), "word"), (units, "unit")]
    sizes.append((model.tree.n_topics, "topic"))
    summary = ", ".join(count_of(*size) for size in sizes)
    remark(f"{summary}: saved to {out}", quiet=quiet or json)
    if (course := likelihood_course(model.estimator.history_)) is not None:
        remark(course, quiet=quiet or json)
    if (few := few_documents(n - model.n_wordless, units, "--units")) is not None:
        remark(few, quiet=quiet or json)
    remark(f'Try: docboltz topics {out}   docboltz search {out} "…"', quiet=quiet or json)
