"""docboltz demo: the whole job on real text, with figures and times."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from docboltz.cli.options import Device, Quiet
from docboltz.cli.output import print_table, remark

if TYPE_CHECKING:
    from docboltz.corpus.datasets import TextDataset
    from docboltz.text_model import TextModel

QUERIES = {
    "20newsgroups": (
        "the shuttle launch was delayed again",
        "which graphics card works with windows",
        "goalie saved the playoff game",
    ),
    "docstrings": (
        "eigenvalues of a sparse matrix",
        "draw random samples from a distribution",
        "convolution layer of a neural network",
    ),
}


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
    from docboltz.building import build_model
    from docboltz.estimator.models import OverReplicatedSoftmax
    from docboltz.files import cache_folder
    from docboltz.training.pretrain import Pretraining

    clock = _Clock()
    with clock("fetch the text"):
        data = _load(dataset, path, quiet)
    out = cache_folder() / f"demo-{data.info.name}"
    model = OverReplicatedSoftmax(
        topics,
        pretraining=Pretraining(updates=updates),
        device=device,
        random_state=0,
        verbose=not quiet,
    )
    with clock("read, train, index"):
        built = build_model(
            data.train,
            model,
            out,
            analysis=data.analysis,
            min_df=1,
            max_df=1.0,
            max_words=data.max_words,
            shown=not quiet,
        )
    try:
        if built.interrupted:
            raise KeyboardInterrupt
        _show(built.text_model, data, out, clock)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"the model in {out} is usable as it is.") from None


def _show(text_model: TextModel, data: TextDataset, folder: Path, clock: _Clock) -> None:
    sizes = f"{len(data.train):,} documents, {len(text_model.vocabulary):,} words"
    Console(highlight=False).rule(f"{data.info.name}: {sizes}", align="left")
    rows = [[f"{t.sharpness:.2f}", " ".join(t.words[:9])] for t in text_model.sharpest_topics(12)]
    print_table("A dozen of the topics, sharpest first", {"bits": "right", "words": "left"}, rows)
    with clock("three searches"):
        _show_searches(text_model, folder, QUERIES[data.info.name])
    _show_figures(text_model, data, clock)
    print_table("Time", {"step": "left", "seconds": "right"}, clock.rows())
    typer.echo(f'\nThe model is in {folder}\nTry: docboltz search "{folder}" "your own words"')


def _load(name: str, path: Path | None, quiet: bool) -> TextDataset:
    """The dataset asked for, or docstrings where it cannot be had."""
    from docboltz.corpus.datasets import load_dataset
    from docboltz.errors import InvalidCorpus, require

    require(name in QUERIES, "docboltz demo", "dataset", " or ".join(QUERIES), name)

    def say(message: str) -> None:
        remark(message, quiet=quiet)

    try:
        data = load_dataset(name, path=path, say=say)
    except InvalidCorpus as error:
        if name == "docstrings" or path is not None:
            raise
        remark(f"{error}\nGoing on with text that is here: the docstrings of Python packages.")
        data = load_dataset("docstrings", say=say)
    return data  # type: ignore[return-value]  # both names are texts


def _show_searches(text_model: TextModel, folder: Path, queries: tuple[str, ...]) -> None:
    from docboltz.building import store_folder
    from docboltz.search.store import SearchStore

    store = SearchStore.open(store_folder(folder))
    rows, scores = store.search(text_model.search_features(text_model.count(queries).counts), 4)
    for query, hits, cosines in zip(queries, rows, scores, strict=True):
        found = store.documents(hits)
        table = [
            [f"{cosine:.2f}", ", ".join(hit.labels), hit.snippet[:90]]
            for hit, cosine in zip(found, cosines, strict=True)
        ]
        columns = {"cosine": "right", "label": "left", "text": "cut"}
        print_table(f'Search: "{query}"', columns, table)


def _show_figures(text_model: TextModel, data: TextDataset, clock: _Clock) -> None:
    """Retrieval and classification on the test part, beside LSI on the same counts."""
    from docboltz.baselines import LSI
    from docboltz.corpus.split import Split
    from docboltz.evaluation.classification import FIXED_C
    from docboltz.evaluation.suite import evaluate_features

    split = Split(text_model.count(data.train), text_model.count(data.test))
    train, test = split.train.counts, split.test.counts
    n_components = min(len(text_model.topics), train.shape[1])
    with clock("fit LSI"):
        lsi = LSI(n_components, random_state=0).fit(train)
    rows = []
    for name, transformer in (("Over-Replicated Softmax", text_model.model), ("LSI", lsi)):
        with clock(f"evaluate {name}"):
            features: Any = transformer.transform(train)
            scores = evaluate_features(features, transformer.transform(test), split, C=FIXED_C)
        rows.append(
            [
                f"{name}, {n_components} features",
                f"{scores.retrieval.mean_average_precision:.3f}",
                f"{scores.retrieval.mean_precision_at_10:.3f}",
                f"{scores.classification.score:.3f}",
            ]
        )
    columns = {"test documents": "left", "MAP": "right", "P@10": "right", "accuracy": "right"}
    print_table(f"{test.shape[0]:,} test documents as queries, then classified", columns, rows)


class _Clock:
    """Wall-clock time of named steps."""

    def __init__(self) -> None:
        self._steps: list[tuple[str, float]] = []

    @contextmanager
    def __call__(self, step: str) -> Iterator[None]:
        begin = time.perf_counter()
        yield
        self._steps.append((step, time.perf_counter() - begin))

    def rows(self) -> list[list[str]]:
        """Steps and their seconds, with the total last."""
        total = sum(seconds for _, seconds in self._steps)
        return [[step, f"{seconds:.1f}"] for step, seconds in [*self._steps, ("total", total)]]
