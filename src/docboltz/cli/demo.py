"""docboltz demo: the whole job on real text, with figures and times."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from docboltz.cli.options import Device, Quiet
from docboltz.cli.output import print_hits, print_table, remark


def demo(
    dataset: Annotated[str, typer.Option(help="20newsgroups or docstrings.")] = "20newsgroups",
    path: Annotated[
        Path | None, typer.Option(help="20 Newsgroups on this machine, not to be fetched.")
    ] = None,
    topics: Annotated[int, typer.Option(min=1, help="Number of topic units.")] = 128,
    updates: Annotated[int, typer.Option(min=1, help="Minibatches to learn from.")] = 3000,
    device: Device = "auto",
    quiet: Quiet = False,
) -> None:
    """Train on real text, show topics, search, and measure against LSI.

    Example:  docboltz demo
    """
    from docboltz.demo import QUERIES, Clock, load, measure
    from docboltz.files import cache_folder
    from docboltz.text_model import TextModel

    clock = Clock()
    with clock("fetch the text"):
        data = load(dataset, path, lambda message: remark(message, quiet=quiet))
    name = data.info.name
    out = cache_folder() / f"demo-{name}"
    with clock("read, train, index"):
        model = TextModel.fit(
            data.train,
            folder=out,
            replace=True,
            restart=True,
            topics=topics,
            updates=updates,
            analysis=data.analysis,
            max_words=data.max_words,
            min_df=1,
            max_df=1.0,
            device=device,
            verbose=not quiet,
        )
    try:
        remark(f"{name}: {len(data.train):,} documents, {len(model.vocabulary):,} words\n")
        rows = [[f"{t.sharpness:.2f}", " ".join(t.words)] for t in model.topics(12, words=9)]
        columns = {"bits": "right", "words": "left"}
        print_table("A dozen of the topics, sharpest first", columns, rows)
        with clock("three searches"):
            for query in QUERIES[name]:
                print_hits(f'Search: "{query}"', model.search(query, 4))
        columns = {"test documents": "left", "MAP": "right", "P@10": "right", "accuracy": "right"}
        title = f"{len(data.test):,} test documents as queries, then classified"
        print_table(title, columns, measure(model, data, clock))
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"the model in {out} is usable as it is.") from None
    print_table("Time", {"step": "left", "seconds": "right"}, clock.rows())
    typer.echo(f'\nThe model is in {out}\nTry: docboltz search "{out}" "your own words"')
