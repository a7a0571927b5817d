"""docboltz compare: which model is best on these documents?"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click

from docboltz.cli import options
from docboltz.cli.counting import counts_words
from docboltz.cli.options import option
from docboltz.cli.output import print_json, print_table, remark, remark_reading, remark_split
from docboltz.cli.reading import reads_corpus


@reads_corpus
@counts_words
@click.command()
@option("--models", "Names, by commas; unigram is one more.", "ors,rs,docnade,lda,nmf,lsi,tfidf")
@option("--out -o", "For the reports.", "compare", options.PATH)
@option("--test", "Documents to test on, read as CORPUS is; repeat it for several.", multiple=True)
@option("--test-share", "Else this share of CORPUS, drawn by seed.", 0.2, options.SHARE)
@option("--units", "Number of units of each model.", 128, options.COUNT)
@option("--number", "Topics to judge; else as many as labels, or 20.", None, click.IntRange(min=2))
@option("--latent-words", "Of ors, per document: auto, or a number.", "auto")
@options.recipe(
    None,
    "Only density gives ors and rs a perplexity. By default full on a GPU and quick on a CPU.",
)
@options.updates
@options.seed
@options.usual
def compare(
    corpus: dict[str, Any],
    counting: dict[str, Any],
    models: str,
    out: Path,
    test: tuple[str, ...],
    test_share: float,
    units: int,
    number: int | None,
    latent_words: str,
    recipe: str | None,
    updates: int | None,
    seed: int,
    device: str,
    quiet: bool,
    json: bool,
) -> None:
    """Train several models on documents and measure them on others: a table and a report.

    A fifth of the documents is kept for testing. With labels, retrieval and classification are
    measured; without, only how well words are predicted, and topics. The same command goes on
    after Ctrl-C.

    Example:  docboltz compare reviews.csv
    """
    from docboltz.corpus.reading import read

    latent = options.latent_words_of(latent_words)
    documents = read(**corpus)
    others = read(**{**corpus, "source": test}) if test else None

    # All that can be wrong without them is found out: now torch may take its seconds.
    from docboltz.corpus.split import Counting, count_split
    from docboltz.experiments import comparison, comparison_report
    from docboltz.experiments.models import Settings, choose_models
    from docboltz.storage import require_apart, require_writable

    names = [name.strip().lower() for name in models.split(",") if name.strip()]
    choose_models(names)
    usual = comparison.usual_recipe(device)
    require_writable(out)
    require_apart(out, [*documents.paths, *(others.paths if others else ())])
    silent = quiet or json
    split = count_split(
        documents,
        Counting(**counting),
        test=others,
        test_share=test_share,
        seed=seed,
        shown=not quiet,
    )
    for each in filter(None, (documents, others)):
        remark_reading(each.report, quiet=quiet, json=json)
    remark_split(split, "test on", quiet=silent)
    if recipe is None and usual == "quick" and {"ors", "rs"} & {*names}:
        remark(
            "On a CPU the recipe is quick. --recipe full makes better features of ors and rs and "
            "takes longer; --recipe density, for their perplexities, wants a GPU.",
            quiet=silent,
        )
    found = comparison.compare(
        split,
        names,
        Settings(units, recipe or usual, latent, updates, seed),
        n_topics=number,
        device=device,
        folder=out,
        verbose=not quiet,
        log=lambda message: remark(message, quiet=silent),
    )
    page, data = comparison_report.write(found, out)
    if json:
        print_json({**found.to_dict(), "report": str(page), "read": documents.report.to_dict()})
    else:
        print_table(None, *comparison_report.table(found))
        for note in comparison_report.notes(found):
            remark(note, quiet=quiet)
    if found.interrupted:
        raise KeyboardInterrupt(f"what was measured until then is in {page} and {data}.")
    remark(f"The report is in {shlex.quote(str(page))}", quiet=silent)
