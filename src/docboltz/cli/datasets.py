"""docboltz datasets: collections to try things on."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import click

from docboltz.cli import options
from docboltz.cli.options import option
from docboltz.cli.output import count_of, print_json, print_table, remark


@click.command()
@click.argument("name", required=False, metavar="NAME", help="Fetch this one.")
@option("--out -o", "Write it as JSON Lines to this file.", type=options.PATH)
@option("--part", "Of the collection.", "all", click.Choice(("train", "test", "all")))
@option("--path", "Where the data is, if it is not to be fetched.", type=options.PATH)
@options.as_json
@options.quiet
def datasets(
    name: str | None, out: Path | None, part: str, path: Path | None, json: bool, quiet: bool
) -> None:
    """List the collections docboltz can fetch, or fetch one.

    Example:  docboltz datasets 20newsgroups --part train --out news.jsonl
    """
    from docboltz.corpus.datasets import DATASETS, load_dataset, write_json_lines
    from docboltz.errors import InvalidParameter
    from docboltz.storage import replacing, require_apart

    if name is None and (out is not None or path is not None):
        raise InvalidParameter(f"Name the dataset as well: one of {', '.join(DATASETS)}.")
    if name is None:
        infos = [vars(info) for info in DATASETS.values()]
        if json:
            print_json(infos)
            return
        columns = {"name": "left", "what": "left", "size": "left", "from": "left"}
        rows = [[i["name"], i["description"], i["size"], i["source"]] for i in infos]
        print_table(None, columns, rows)
        return
    if out is not None:
        require_apart(out, [path])
    with nullcontext() if out is None else replacing(out) as draft:  # refused before the download
        data = load_dataset(name, path=path, log=lambda message: remark(message, quiet=quiet))
        n = 0 if draft is None else write_json_lines(data, part, draft)
    sizes = {"train": len(data.train), "test": len(data.test)}
    if out is not None:
        remark(f"{count_of(n, 'document')} written to {out}", quiet=quiet)
    if json:
        print_json({"name": name, **sizes})
    elif out is None:
        remark(
            f"{name}: {sizes['train']:,} training and {sizes['test']:,} test documents", quiet=quiet
        )
