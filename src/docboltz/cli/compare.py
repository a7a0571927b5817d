"""docboltz compare: which model is best on these documents?"""

from __future__ import annotations

import dataclasses
import shlex
from pathlib import Path
from typing import Annotated

import typer

from docboltz.cli.options import Device, Json, Quiet, latent_words_of, require_recipe
from docboltz.cli.output import count_of, print_json, print_table, remark
from docboltz.cli.reading import CorpusSource, WordOptions, reads_corpus, remark_reading


@reads_corpus
def compare(
    source: CorpusSource,
    counting: WordOptions,
    models: Annotated[
        str, typer.Option(help="Names split by commas; unigram is one more.")
    ] = "ors,rs,docnade,lda,lsi,tfidf",
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the reports.")] = Path(
        "compare"
    ),
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
    updates: Annotated[
        int | None,
        typer.Option(min=1, help="Minibatches of each phase of training, and sweeps of LDA."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of all chance.")] = 0,
    device: Device = "auto",
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Train several models on documents and measure them on others: a table and a report.

    A fifth of the documents is kept for testing. With labels, retrieval and classification are
    measured; without, only how well words are predicted, and topics.

    Example:  docboltz compare reviews.csv
    """
    if recipe is not None:
        require_recipe(recipe)
    latent = latent_words_of(latent_words)
    analysis = counting.analysis()
    documents = source.documents()
    others = None
    if test:
        others = dataclasses.replace(source, corpus=test).documents()

    # All that can be wrong without them is found out: now torch may take its seconds.
    from docboltz.comparison.contenders import Effort
    from docboltz.comparison.parts import Counting, count_parts
    from docboltz.comparison.report import table, write
    from docboltz.comparison.run import choose_models
    from docboltz.comparison.run import compare as run
    from docboltz.device import choose_device
    from docboltz.files import require_writable

    names = [name.strip().lower() for name in models.split(",") if name.strip()]
    choose_models(names)
    on_cpu = choose_device(device, "docboltz compare").type == "cpu"
    require_writable(out)
    silent = quiet or json
    min_df, max_df = counting.limits()
    parts = count_parts(
        documents,
        Counting(analysis, min_df, max_df, counting.words),
        test=others,
        test_share=test_share,
        seed=seed,
        shown=not quiet,
    )
    remark_reading(documents.report, quiet=quiet, json=json)
    if others is not None:
        remark_reading(others.report, quiet=quiet, json=json)
    remark(
        f"{count_of(len(parts.train), 'document')} to learn from, {len(parts.test):,} to test on, "
        f"{count_of(len(parts.train.vocabulary), 'word')}",
        quiet=silent,
    )
    if recipe is None:
        recipe = "quick" if on_cpu else "full"
        if on_cpu and {"ors", "rs"} & {*names}:
            remark(
                "On a CPU the recipe is quick. With --recipe full, ors and rs have perplexities "
                "too, and take some ten minutes each.",
                quiet=silent,
            )
    effort = Effort(topics, recipe, latent, updates, device, seed, verbose=not quiet)
    found = run(parts, names, effort, say=lambda said: remark(said, quiet=silent))
    page, data = write(found, out)
    if json:
        print_json({**found.to_dict(), "report": str(page), "read": documents.report.to_dict()})
    else:
        sides, rows = table(found)
        print_table(None, sides, rows)
        for said in found.remarks:
            remark(said, quiet=quiet)
        for model in found.models:
            for note in model.notes:
                remark(f"{model.title}: {note}", quiet=quiet)
    if found.interrupted:
        raise KeyboardInterrupt(f"what was measured until then is in {page} and {data}.")
    remark(f"The report is in {shlex.quote(str(page))}", quiet=silent)
