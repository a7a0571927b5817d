"""docboltz demo: the whole job on real text, with figures and times."""

from __future__ import annotations

from pathlib import Path

import click

from docboltz.cli import options
from docboltz.cli.options import option
from docboltz.cli.output import print_answer, print_table, print_text, remark


@click.command()
@option("--dataset", "20newsgroups or docstrings.", "20newsgroups")
@option("--path", "20 Newsgroups on this machine, not to be fetched.", type=options.PATH)
@option("--units", "Number of hidden units.", 128, options.COUNT)
@option("--updates", "Minibatches to learn from.", 3000, options.COUNT)
@options.device
@options.quiet
def demo(
    dataset: str, path: Path | None, units: int, updates: int, device: str, quiet: bool
) -> None:
    """Train on real text, show topics, search, and measure against LSI.

    Example:  docboltz demo
    """
    from docboltz.demo import QUERIES, Clock, load, measure
    from docboltz.storage import cache_folder
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
            units=units,
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
        found = model.topics(words=9)
        print_answer(found, found.title)
        with clock("three searches"):
            for query in QUERIES[name]:
                print_answer(model.search(query, 4), f'Search: "{query}"')
        columns = {"test documents": "left", "MAP": "right", "P@10": "right", "accuracy": "right"}
        title = f"{len(data.test):,} test documents as queries, then classified"
        print_table(title, columns, measure(model, data, clock))
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"the model in {out} is usable as it is.") from None
    print_table("Time", {"step": "left", "seconds": "right"}, clock.rows())
    print_text(f'\nThe model is in {out}\nTry: docboltz search "{out}" "your own words"')
