"""docboltz tune: how many topics and latent words suit these documents?"""

from __future__ import annotations

import shlex
from typing import Annotated

import typer

from docboltz.cli.options import Device, Json, Quiet, require_recipe
from docboltz.cli.output import count_of, print_json, print_table, remark
from docboltz.cli.reading import (
    CorpusSource,
    WordOptions,
    reads_corpus,
    remark_reading,
    spelled_options,
)


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
    updates: Annotated[
        int | None, typer.Option(min=1, help="Minibatches of each phase, not the recipe's.")
    ] = None,
    validation: Annotated[
        float, typer.Option(min=0.01, max=0.9, help="Share of documents to judge on.")
    ] = 0.2,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of all chance.")] = 0,
    device: Device = "auto",
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Try numbers of topics and latent words on documents held out, and say which is best.

    It trains a model for each pair of numbers and writes nothing; the last line is the command
    that makes the best model.

    Example:  docboltz tune reviews.csv
    """
    from docboltz.errors import InvalidParameter

    sizes = _numbers("--topics", topics, 1), _numbers("--latent", latent, 0)
    if by not in (None, "retrieval", "classification", "likelihood"):
        raise InvalidParameter(
            f"--by must be retrieval, classification or likelihood. Got {by!r} instead."
        )
    if recipe is not None:
        require_recipe(recipe)
    analysis = counting.analysis()
    documents = source.documents()

    # All that can be wrong without them is found out: now torch may take its seconds.
    from docboltz.comparison.contenders import Effort
    from docboltz.comparison.parts import Counting, count_parts
    from docboltz.comparison.tuning import MEASURES
    from docboltz.comparison.tuning import tune as run
    from docboltz.device import choose_device

    choose_device(device, "docboltz tune")
    silent = quiet or json
    min_df, max_df = counting.limits()
    parts = count_parts(
        documents,
        Counting(analysis, min_df, max_df, counting.words),
        test_share=validation,
        seed=seed,
        shown=not quiet,
    )
    remark_reading(documents.report, quiet=quiet, json=json)
    remark(
        f"{count_of(len(parts.train), 'document')} to learn from, {len(parts.test):,} to judge on, "
        f"{count_of(len(parts.train.vocabulary), 'word')}",
        quiet=silent,
    )
    found = run(
        parts,
        *sizes,
        by=by,  # type: ignore[arg-type]  # checked above
        recipe=recipe,
        effort=Effort(updates=updates, device=device, seed=seed, verbose=not quiet),
        say=lambda said: remark(said, quiet=silent),
    )
    best = found.best
    use = ["docboltz", "fit", *source.corpus, "--out", "model"]
    use += ["--topics", str(best.topics), "--latent-words", str(best.latent_words)]
    use += ["--recipe", found.recipe, *spelled_options(source), *spelled_options(counting)]
    if updates is not None and found.recipe == "quick":  # fit's are those of pretraining alone
        use += ["--updates", str(updates)]
    use += ["--seed", str(seed)] if seed else []
    use += ["--device", device] if device != "auto" else []
    command = shlex.join(use)
    if json:
        print_json({**found.to_dict(), "command": command, "read": documents.report.to_dict()})
    else:
        digits = ",.1f" if found.by == "likelihood" else ".3f"
        rows = []
        for trial in found.trials:
            value = "failed" if trial.value is None else f"{trial.value:{digits}}"
            error = "" if trial.error is None else f" ± {trial.error:{digits}}"
            said = "best" if trial is best else trial.failure or ""
            sized = [str(trial.topics), str(trial.latent_words)]
            rows.append([*sized, value + error, f"{trial.seconds:,.1f}", said])
        columns = dict.fromkeys(("topics", "latent words", MEASURES[found.by], "seconds"), "right")
        print_table(None, {**columns, "": "left"}, rows)
        typer.echo(f"\nBest by {found.by}: {best.topics} topics, {best.latent_words} latent words")
        typer.echo(f"Use it: {command}")
        if updates is not None and found.recipe != "quick":
            typer.echo("(It trains for as long as the recipe says, not for --updates.)")
    if found.interrupted:
        raise KeyboardInterrupt("the best is that of the models tried until then.")


def _numbers(option: str, given: str, least: int) -> list[int]:
    """Whole numbers split by commas."""
    from docboltz.errors import InvalidParameter

    parts = [part.strip() for part in given.split(",") if part.strip()]
    if not parts or any(not part.isdecimal() or int(part) < least for part in parts):
        raise InvalidParameter(
            f"{option} must be whole numbers of at least {least}, split by commas. "
            f"Got {given!r} instead."
        )
    return [int(part) for part in parts]
