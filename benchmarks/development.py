"""The collections that defaults are chosen on, split so that nobody's choice sees a test document.

    python benchmarks/development.py --data FOLDER --out COUNTS    # to take to another machine

FOLDER holds what there is of rcv1v2-27k/{counts,topics}.npz and short/*.tsv.xz (columns text and
label, words between spaces); 20 Newsgroups is fetched, as `docboltz.load_dataset` does. Collections
with longer documents are there once more with the first 5 and the first 10 words of each (Reuters,
whose documents are counts, with words drawn at random).

A collection has a training and a test part. To choose, the training part is split again: up to a
fifth of its documents, at most 2,000, are queries for those that are left, which models learn from.
Words are always those of the documents that are learnt from.
"""

from __future__ import annotations

import argparse
import lzma
import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, load_npz, save_npz, vstack

if TYPE_CHECKING:
    from docboltz.estimator.base import TopicModel

CUTS = (5, 10)
MOST_QUERIES = 2000
REUTERS_WORDS = 10_000
SHORT_WORDS = 5000

Rows = NDArray[np.int64]


class Part(NamedTuple):
    """Documents of a collection: counts of words, and 0 or 1 for each label."""

    counts: csr_array
    labels: csr_array

    def with_words(self) -> Part:
        """Only those with a word."""
        rows = np.flatnonzero(np.diff(self.counts.indptr))
        return Part(self.counts[rows], self.labels[rows])


class Split(NamedTuple):
    """Documents to learn from, and documents that ask for them."""

    learn: Part
    ask: Part

    def save(self, path: Path) -> None:
        """Write all of it into a folder."""
        path.mkdir(parents=True)
        for side, part in zip(self._fields, self, strict=True):
            for name, matrix in zip(part._fields, part, strict=True):
                save_npz(path / f"{side}-{name}.npz", matrix)

    @classmethod
    def load(cls, path: Path) -> Split:
        """Read what `save` wrote."""
        learn, ask = (
            Part(*(csr_array(load_npz(path / f"{side}-{name}.npz")) for name in Part._fields))
            for side in cls._fields
        )
        return cls(learn, ask)


class Collection(NamedTuple):
    """A collection by its rows: which are for training, and how to count any of them."""

    training: Rows
    testing: Rows
    count: Callable[[Rows, Rows], Split]
    """Counts of the documents to learn from and of those that ask."""

    def validation(self) -> Split:
        """Queries drawn from the training part, for what is left of it."""
        order = self.training[np.random.default_rng(1).permutation(len(self.training))]
        n = min(len(order) // 5, MOST_QUERIES)
        return self.count(order[n:], order[:n])

    def test(self) -> Split:
        """The test documents as queries for the whole training part."""
        return self.count(self.training, self.testing)


def count_tokens(
    tokens: Sequence[Sequence[str]], labels: csr_array, max_words: int, learn: Rows, ask: Rows
) -> Split:
    """Count the words most frequent in the documents to learn from, each in two at least."""
    from sklearn.feature_extraction.text import CountVectorizer

    words = CountVectorizer(analyzer=list, max_features=max_words, min_df=2, dtype=np.int32)
    words.fit(tokens[i] for i in learn)
    parts = (
        Part(csr_array(words.transform(tokens[i] for i in rows)), labels[rows]).with_words()
        for rows in (learn, ask)
    )
    return Split(*parts)


def label_table(labels: Sequence[Sequence[str]]) -> csr_array:
    """A column for each label: (documents, labels)."""
    from sklearn.preprocessing import MultiLabelBinarizer

    return csr_array(MultiLabelBinarizer(sparse_output=True).fit_transform(labels))


def newsgroups(n_words: int, cut: int | None) -> Collection:
    """20 Newsgroups in the paper's preparation."""
    from docboltz.corpus.datasets import load_dataset

    data = load_dataset("20newsgroups")
    documents = [*data.train, *data.test]
    tokens = [data.analysis.tokens(document.text)[:cut] for document in documents]
    labels = label_table([document.labels for document in documents])
    rows = np.arange(len(documents))
    training, testing = rows[: len(data.train)], rows[len(data.train) :]
    return Collection(training, testing, partial(count_tokens, tokens, labels, n_words))


def short(path: Path, cut: int | None) -> Collection:
    """A collection of short texts; its first four fifths, drawn by seed 0, are to learn from."""
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        next(lines)  # the names of the columns
        texts, labels = zip(*(line.rstrip("\n").split("\t") for line in lines), strict=True)
    tokens = [text.split()[:cut] for text in texts]
    order, n = np.random.default_rng(0).permutation(len(texts)), int(0.8 * len(texts))
    table = label_table([[label] for label in labels])
    return Collection(order[:n], order[n:], partial(count_tokens, tokens, table, SHORT_WORDS))


def reuters(folder: Path, cut: int | None) -> Collection:
    """RCV1-v2, whose documents are counts of terms."""
    from docboltz.corpus.datasets import load_dataset

    parts = load_dataset("rcv1", path=folder, max_words=1_000_000)
    counts = csr_array(vstack([parts.train.counts, parts.test.counts])).astype(np.int32)
    labels = label_table([*parts.train.labels, *parts.test.labels])
    if cut is not None:
        counts = shortened(counts, cut, np.random.default_rng(0))

    def count(learn: Rows, ask: Rows) -> Split:
        frequent = np.sort(np.argsort(-counts[learn].sum(0), kind="stable")[:REUTERS_WORDS])
        one, other = (
            Part(counts[rows][:, frequent], labels[rows]).with_words() for rows in (learn, ask)
        )
        return Split(one, other)

    rows, n = np.arange(counts.shape[0]), parts.train.counts.shape[0]
    return Collection(rows[:n], rows[n:], count)


def shortened(counts: csr_array, length: int, rng: np.random.Generator) -> csr_array:
    """So many words of each document, drawn at random, or all where it has fewer."""
    drawn = []
    for row in range(counts.shape[0]):
        own = slice(counts.indptr[row], counts.indptr[row + 1])
        words = np.repeat(counts.indices[own], counts.data[own].astype(np.int64))
        drawn.append(rng.permutation(words)[:length])
    starts = np.concatenate([[0], np.cumsum([len(words) for words in drawn])])
    words = np.concatenate(drawn)
    kept = csr_array((np.ones(len(words), np.int32), words, starts), shape=counts.shape)
    kept.sum_duplicates()
    return kept


def read_collections(data: Path) -> Iterator[tuple[str, Collection]]:
    """All that can be had, each cut to fewer words after it as a whole."""
    readers: dict[str, Callable[[int | None], Collection]] = {
        "20news-2000": partial(newsgroups, 2000),
        "20news-10000": partial(newsgroups, 10_000),
    }
    if (data / "rcv1v2-27k" / "counts.npz").exists():
        readers["reuters"] = partial(reuters, data / "rcv1v2-27k")
    for path in sorted((data / "short").glob("*.tsv.xz")):
        readers[path.name.removesuffix(".tsv.xz")] = partial(short, path)
    for name, read in readers.items():
        whole = read(None)
        yield name, whole
        counts = whole.test().learn.counts
        for cut in CUTS:
            if counts.sum() > cut * counts.shape[0]:
                yield f"{name}-first{cut}", read(cut)


def features_scored(
    model: TopicModel, split: Split, device: str, *, classify: bool = True
) -> dict[str, float]:
    """MAP, P@10 and accuracy (of many labels: classification MAP) of a fitted model's features."""
    from docboltz.evaluation.classification import evaluate_classification, fixed_penalty
    from docboltz.evaluation.retrieval import evaluate_retrieval

    learn, ask = model.transform(split.learn.counts), model.transform(split.ask.counts)
    labels: list[Any] = [part.labels for part in split]
    if split.learn.labels.sum(1).max() == 1:
        labels = [part.labels.argmax(1) for part in split]
    ranked = evaluate_retrieval(learn, labels[0], ask, labels[1], device=device)
    found = {"MAP": ranked.mean_average_precision, "P@10": ranked.mean_precision_at_10}
    if classify:
        C = fixed_penalty(learn)
        judged = evaluate_classification(learn, labels[0], ask, labels[1], C=C, device=device)
        found["accuracy"] = judged.score
    return found


Task = TypeVar("Task")
Result = TypeVar("Result")


def in_parallel(
    function: Callable[[Task], Result], tasks: Sequence[Task], workers: int
) -> Iterator[tuple[Task, Result]]:
    """What a function makes of each task, as it is done; one thread each.

    A GPU trains many small models in the time of one where its processes share it: start
    `nvidia-cuda-mps-control -d` before.
    """
    if workers == 1:
        yield from ((task, function(task)) for task in tasks)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context, initializer=_one_thread) as pool:
        futures = {pool.submit(function, task): task for task in tasks}
        for future in as_completed(futures):
            yield futures[future], future.result()


def _one_thread() -> None:
    import torch

    torch.set_num_threads(1)


@lru_cache(maxsize=4)
def load_split(counts: Path, name: str, part: str) -> Split:
    """A split that this program has written."""
    return Split.load(counts / name / part)


def main() -> None:
    """Write the counts of every collection, to choose by and to test."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    for name, collection in read_collections(given.data):
        for part in ("validation", "test"):
            split: Split = getattr(collection, part)()
            split.save(given.out / name / part)
            n, K = split.learn.counts.shape
            print(
                f"{name} {part}: {n:,} documents of {split.learn.counts.sum() / n:.1f} words, "
                f"{K:,} different ones, {split.ask.counts.shape[0]:,} queries, "
                f"{split.learn.labels.shape[1]} labels"
            )


if __name__ == "__main__":
    main()
