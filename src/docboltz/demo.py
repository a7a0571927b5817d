"""The whole job on real text: what `docboltz demo` shows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from docboltz.corpus.datasets import TextDataset, load_dataset
from docboltz.errors import InvalidCorpus, require
from docboltz.progress import remark
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


def load(name: str, path: Path | None, log: Callable[[str], None]) -> TextDataset:
    """The dataset asked for, or docstrings where it cannot be had."""
    require(name in QUERIES, "docboltz demo", "dataset", " or ".join(QUERIES), name)
    try:
        data = load_dataset(name, path=path, log=log)
    except InvalidCorpus as error:
        if name == "docstrings" or path is not None:
            raise
        remark(f"{error} Going on with text that is here: the docstrings of Python packages.")
        data = load_dataset("docstrings", log=log)
    return data  # type: ignore[return-value]  # both names are texts


def measure(model: TextModel, data: TextDataset, clock: Clock) -> list[list[str]]:
    """Retrieval and classification on the test part, beside LSI on the same counts: a table."""
    from docboltz.baselines import LSI
    from docboltz.corpus.split import Split
    from docboltz.evaluation.classification import FIXED_C
    from docboltz.evaluation.suite import evaluate_features

    split = Split(model.count(data.train), model.count(data.test))
    train, test = split.train.counts, split.test.counts
    n_components = min(model.n_units, train.shape[1])
    with clock("fit LSI"):
        lsi = LSI(n_components, random_state=0).fit(train)
    rows = []
    for name, transformer in (("Over-Replicated Softmax", model.estimator), ("LSI", lsi)):
        with clock(f"evaluate {name}"):
            features = transformer.transform(train), transformer.transform(test)
            scores = evaluate_features(*features, split, C=FIXED_C)
        found, right = scores.retrieval, scores.classification.score
        figures = found.mean_average_precision, found.mean_precision_at_10, right
        rows.append([f"{name}, {n_components} features", *(f"{figure:.3f}" for figure in figures)])
    return rows


class Clock:
    """Wall-clock time of named steps."""

    def __init__(self) -> None:
        self._steps: list[tuple[str, float]] = []

    @contextmanager
    def __call__(self, step: str) -> Iterator[None]:
        """Time what is done inside."""
        begin = time.perf_counter()
        yield
        self._steps.append((step, time.perf_counter() - begin))

    def rows(self) -> list[list[str]]:
        """Steps and their seconds, with the total last."""
        total = sum(seconds for _, seconds in self._steps)
        return [[step, f"{seconds:.1f}"] for step, seconds in [*self._steps, ("total", total)]]
