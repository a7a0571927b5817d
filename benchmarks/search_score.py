"""What words should count for in the score of a search: MAP and P@10 for a grid of weights.

    python benchmarks/search_score.py --data FOLDER [--only NAME] [--device cuda] [--seeds 2]

A document's score is the cosine of centred features + λ · the cosine of tf-idf weights. Validation
documents, drawn from the training part of each collection, ask for the others of that part; test
documents play no role. A query is a whole document, or three or six of its words drawn at random;
what shares a label with it is relevant. FOLDER holds what there is of 20news-bydate.tar.xz,
rcv1v2-27k/{counts,topics}.npz and short/*.tsv.xz (columns text and label, words between spaces).
Prints a row for each collection and kind of query, means over seeds 0, 1, …, and mean differences
to λ = 0 over collections: docboltz.search.store.WORDS_PER_TOPIC_COSINE comes from them.
"""

from __future__ import annotations

import argparse
import lzma
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import MultiLabelBinarizer

from docboltz import OverReplicatedSoftmax
from docboltz.corpus.counting import count
from docboltz.corpus.datasets import load_dataset
from docboltz.device import choose_device
from docboltz.search.vectors import unit_vectors
from docboltz.search.words import WordIndex

LAMBDAS = (0.0, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0)
WAYS = (*map("{:g}".format, LAMBDAS), "words", "uncentred")
QUERY_LENGTHS = {"document": None, "6 words": 6, "3 words": 3}
N_TOPICS = 128
MOST_QUERIES = 2000
QUERIES_AT_ONCE = 250
ALL_WORDS = 1_000_000

Rows = NDArray[np.int64]
Measures = NDArray[np.float64]
"""MAP and P@10 of each way: (2, WAYS)."""


class Part(NamedTuple):
    """Documents of a collection."""

    counts: csr_array
    labels: csr_array

    def with_words(self) -> Part:
        """Only those with a word."""
        rows = np.flatnonzero(np.diff(self.counts.indptr))
        return Part(self.counts[rows], self.labels[rows])


def draw(training: Rows) -> tuple[Rows, Rows]:
    """Rows to learn from and to ask with: up to a fifth of the training part asks."""
    order = training[np.random.default_rng(1).permutation(len(training))]
    n = min(len(order) // 5, MOST_QUERIES)
    return order[n:], order[:n]


def newsgroups(path: Path, n_words: int) -> tuple[Part, Part]:
    """20 Newsgroups, its words chosen without the documents that ask."""
    data = load_dataset("20newsgroups", path=path)
    learn, ask = ([data.train[i] for i in rows] for rows in draw(np.arange(len(data.train))))
    learned = count(learn, data.analysis, max_words=n_words)
    asking = count(ask, data.analysis, vocabulary=learned.vocabulary)
    labels = MultiLabelBinarizer(sparse_output=True).fit(learned.labels)
    one, other = (Part(c.counts, csr_array(labels.transform(c.labels))) for c in (learned, asking))
    return one, other


def short(path: Path) -> tuple[Part, Part]:
    """A collection of short texts; its first four fifths, drawn by seed 0, are to learn from."""
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        next(lines)  # the names of the columns
        texts, labels = zip(*(line.rstrip("\n").split("\t") for line in lines), strict=True)
    order = np.random.default_rng(0).permutation(len(texts))
    learn, ask = draw(order[: int(0.8 * len(order))])
    words = CountVectorizer(analyzer=str.split, max_features=5000, min_df=2)
    words.fit(texts[i] for i in learn)
    counts = csr_array(words.transform(texts))
    table = csr_array(MultiLabelBinarizer(sparse_output=True).fit_transform([[y] for y in labels]))
    return Part(counts[learn], table[learn]), Part(counts[ask], table[ask])


def reuters(folder: Path) -> tuple[Part, Part]:
    """RCV1-v2: the training part, and of its words the 10,000 most frequent where nobody asks."""
    train = load_dataset("rcv1", path=folder, max_words=ALL_WORDS).train
    learn, ask = draw(np.arange(len(train)))
    counts = train.counts.astype(np.int64)
    frequent = np.sort(np.argsort(-counts[learn].sum(0), kind="stable")[:10_000])
    counts = counts[:, frequent]
    labels = csr_array(MultiLabelBinarizer(sparse_output=True).fit_transform(train.labels))
    return Part(counts[learn], labels[learn]), Part(counts[ask], labels[ask])


def collections(data: Path) -> dict[str, Callable[[], tuple[Part, Part]]]:
    """Those that the folder holds, each a function that reads it."""
    found: dict[str, Callable[[], tuple[Part, Part]]] = {}
    for path in data.glob("20news-bydate.tar*"):
        for n_words in (2000, 10_000):
            found[f"20news-{n_words}"] = partial(newsgroups, path, n_words)
    if (data / "rcv1v2-27k" / "counts.npz").exists():
        found["reuters"] = partial(reuters, data / "rcv1v2-27k")
    for path in sorted((data / "short").glob("*.tsv.xz")):
        found[path.name.removesuffix(".tsv.xz")] = partial(short, path)
    return found


def shortened(counts: csr_array, length: int, rng: np.random.Generator) -> csr_array:
    """So many words of each document, drawn at random, or all where it has fewer."""
    drawn = []
    for row in range(counts.shape[0]):
        own = slice(counts.indptr[row], counts.indptr[row + 1])
        words = np.repeat(counts.indices[own], counts.data[own].astype(np.int64))
        drawn.append(rng.permutation(words)[:length])
    starts = np.concatenate([[0], np.cumsum([len(words) for words in drawn])])
    words = np.concatenate(drawn)
    kept = csr_array((np.ones(len(words)), words, starts), shape=counts.shape)
    kept.sum_duplicates()
    return kept


def measure(model: OverReplicatedSoftmax, learn: Part, ask: Part, device: torch.device) -> Measures:
    """MAP and P@10 of every way, over the queries that have an answer."""

    def on_device(array: NDArray[np.float32]) -> torch.Tensor:
        return torch.from_numpy(array).to(device)

    index = WordIndex.of(learn.counts)
    words = index.vectors(ask.counts)
    features, questions = model.transform(learn.counts), model.transform(ask.counts)
    units = [
        [on_device(unit_vectors(each, mean)) for each in (features, questions)]
        for mean in (features.mean(0), None)
    ]
    total, n = torch.zeros(2, len(WAYS), dtype=torch.float64), 0
    for part in (slice(b, b + QUERIES_AT_ONCE) for b in range(0, len(questions), QUERIES_AT_ONCE)):
        topics, uncentred = (asked[part] @ documents.T for documents, asked in units)
        shared = on_device(index.scores(words[part]))
        relevant = on_device((ask.labels[part] @ learn.labels.T).toarray().astype(np.float32)) > 0
        answered = relevant.any(1)
        n += int(answered.sum())
        ranks = torch.arange(1, relevant.shape[1] + 1, device=device)
        for way, scores in enumerate([*(topics + x * shared for x in LAMBDAS), shared, uncentred]):
            order = scores[answered].argsort(dim=1, descending=True, stable=True)
            hits = torch.gather(relevant[answered], 1, order).double()  # (Q, n)
            precision = (hits.cumsum(1) / ranks * hits).sum(1) / hits.sum(1)
            total[0, way] += precision.sum().cpu()
            total[1, way] += hits[:, :10].mean(1).sum().cpu()
    return (total / n).numpy()


def trials(
    read: Callable[[], tuple[Part, Part]], seeds: int, device: torch.device
) -> Iterator[tuple[str, Measures]]:
    """Each kind of query with its measures, seed by seed."""
    learn, ask = (part.with_words() for part in read())
    for seed in range(seeds):
        model = OverReplicatedSoftmax(N_TOPICS, random_state=seed, device=str(device))
        model.fit(learn.counts)
        rng = np.random.default_rng(seed)
        for kind, length in QUERY_LENGTHS.items():
            asked = ask.counts if length is None else shortened(ask.counts, length, rng)
            yield kind, measure(model, learn, Part(asked, ask.labels), device)


def main() -> None:
    """Try all, print as it goes, and print the means."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only", action="append", help="name of a collection; may be repeated")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--seeds", type=int, default=2)
    given = parser.parse_args()
    found: dict[str, dict[str, Measures]] = {kind: {} for kind in QUERY_LENGTHS}
    print(f"{'':34s}" + "".join(f"{way:>10s}" for way in WAYS))

    def show(kind: str, name: str, measures: Measures, form: str) -> None:
        for measure_name, row in zip(("MAP", "P@10"), measures, strict=True):
            cells = "".join(f"{value:{form}}" for value in row)
            print(f"{name:16s}{kind:12s}{measure_name:6s}{cells}", flush=True)

    for name, read in collections(given.data).items():
        if given.only is None or name in given.only:
            done = list(trials(read, given.seeds, choose_device(given.device, "search_score.py")))
            for kind, of_kind in found.items():
                of_kind[name] = np.mean([each for what, each in done if what == kind], axis=0)
                show(kind, name, of_kind[name], "10.4f")
    for kind, of_kind in found.items():
        change = [measures - measures[:, :1] for measures in of_kind.values()]
        show(kind, "mean difference", np.mean(change, axis=0), "+10.4f")
    every = [m - m[:, :1] for of_kind in found.values() for m in of_kind.values()]
    show("all", "mean difference", np.mean(every, axis=0), "+10.4f")


if __name__ == "__main__":
    main()
