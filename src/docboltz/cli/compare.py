"""docboltz compare: which model is best on these documents?"""

from __future__ import annotations

import dataclasses
import shlex
from pathlib import Path
from typing import Annotated

import typer

from docboltz.cli.corpus_options import CorpusSource, WordOptions
from docboltz.cli.options import Device, Json, Quiet, Seed, Updates, latent_words_of, require_recipe
from docboltz.cli.output import print_json, print_table, remark, remark_split
from docboltz.cli.reading import reads_corpus, remark_reading


@reads_corpus
def compare(
    source: CorpusSource,
    counting: WordOptions,
    models: Annotated[
        str, typer.Option(help="Names split by commas; unigram is one more.")
    ] = "ors,rs,docnade,lda,lsi,tfidf",
    out: Annotated[Path, typer.Option("--out", "-o", help="For the reports.")] = Path("compare"),
    test: Annotated[
        list[str] | None,
        typer.Option(help="Documents to test on, read as CORPUS is; repeat it for several."),
    ] = None,
    test_share: Annotated[
        float, typer.Option(min=0.01, max=0.9, help="Else this share of CORPUS, drawn by seed.")
    ] = 0.2,
    topics: Annotated[int, typer.Option(min=1, help="Number of topics of each model.")] = 128,
    latent_words: Annotated[
        str, typer.Option(help="Of ors, per document: auto, or a number.")
    ] = "auto",
    recipe: Annotated[
        str | None,
        typer.Option(
            help="quick (contrastive divergence: minutes, no perplexity), full, density or paper; "
            "by default full on a GPU and quick on a CPU."
        ),
    ] = None,
    updates: Updates = None,
    seed: Seed = 0,
    device: Device = "auto",
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Train several models on documents and measure them on others: a table and a report.

    A fifth of the documents is kept for testing. With labels, retrieval and classification are
    measured; without, only how well words are predicted, and topics. The same command goes on
    after Ctrl-C.

    Example:  docboltz compare reviews.csv
    """
    require_recipe(recipe)
    latent = latent_words_of(latent_words)
    analysis = counting.analysis()
    documents = source.documents()
    others = dataclasses.replace(source, corpus=test).documents() if test else None

    # All that can be wrong without them is found out: now torch may take its seconds.
    from docboltz.corpus.split import Counting, count_split
    from docboltz.experiments import comparison, comparison_report
    from docboltz.experiments.models import Settings, choose_models
    from docboltz.files import require_writable

    names = [name.strip().lower() for name in models.split(",") if name.strip()]
    choose_models(names)
    usual = comparison.usual_recipe(device)
    require_writable(out)
    silent = quiet or json
    split = count_split(
        documents,
        Counting(analysis, *counting.limits(), counting.words),
        test=others,
        test_share=test_share,
        seed=seed,
        shown=not quiet,
    )
    for read in filter(None, (documents, others)):
        remark_reading(read.report, quiet=quiet, json=json)
    remark_split(split, "test on", quiet=silent)
    if recipe is None and usual == "quick" and {"ors", "rs"} & {*names}:
        remark(
            "On a CPU the recipe is quick. With --recipe full, ors and rs have perplexities too, "
            "and take some ten minutes each.",
            quiet=silent,
        )
    found = comparison.compare(
        split,
        names,
        Settings(topics, recipe or usual, latent, updates, seed),
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
