"""How well searches find known documents, and documents on the same subject, beside BM25.

    python benchmarks/search.py --data FOLDER [--part test] [--only NAME] [--by-weights]

FOLDER holds what there is of short/*.tsv.xz (columns text and label, words between spaces) and
20news-bydate.tar.xz; the cleaned 20 Newsgroups are fetched, and Python's own docstrings are made.
A model is trained on the documents that are searched (128 units, recipe "quick", seed 0).

Known item: two and three random words of a document that is searched; is it among the first ten?
Subject: two, four and eight random words of another document, or all of it; the share of the first
ten that have its label. Other documents are validation documents out of the training part, by which
settings are chosen, or with --part test the test documents, which are looked at once.

Beside the product's score: features alone, BM25 alone by the package bm25s, and the score of
version 0.1 (cosines of features and, counting 0.3, of tf-idf weights of the model's words). The
last columns say by how much the product misses a bound; see docs/lab/search.md. --by-weights
prints the product with other constants instead.
"""

from __future__ import annotations

import argparse
import itertools
import lzma
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from docboltz import TextAnalysis, TextModel, load_dataset
from docboltz.search import score
from docboltz.search.vectors import unit_vectors
from docboltz.search.words import K1, B, index_analysis

MOST_QUERIES, MOST_DOCUMENTS, AT_ONCE = 1000, 15_000, 200
KINDS = {"item 2": 2, "item 3": 3, "subject 2": 2, "subject 4": 4, "subject 8": 8, "whole": None}
WEIGHTS = itertools.product((0.05, 0.1, 0.2), (0.7, 0.75, 0.8, 1.0))
Measures = dict[str, float]


class Collection(NamedTuple):
    """Documents that are searched, and others that ask."""

    texts: list[str]
    labels: list[str]
    asking: list[str]
    asking_labels: list[str]
    analysis: TextAnalysis


def collections(data: Path, part: str) -> Iterator[tuple[str, Collection]]:
    """All that can be had."""
    for path in sorted((data / "short").glob("*.tsv.xz")):
        with lzma.open(path, "rt", encoding="utf-8") as lines:
            next(lines)  # the names of the columns
            rows = [line.rstrip("\n").split("\t") for line in lines]
        order, n = np.random.default_rng(0).permutation(len(rows)), int(0.8 * len(rows))
        learn, test = ([rows[i] for i in some.tolist()] for some in (order[:n], order[n:]))
        analysis = TextAnalysis(pretokenised=True)
        yield path.name.removesuffix(".tsv.xz"), split(learn, test, analysis, part)
    raw = data / "20news-bydate.tar.xz"
    sources: dict[str, dict[str, Any]] = {"20news": {}, "docstrings": {}}
    if raw.exists():
        sources["20news-raw"] = {"path": raw}
    for name, how in sources.items():
        found = load_dataset("docstrings" if name == "docstrings" else "20newsgroups", **how)
        sides = [
            [[document.text, document.labels[0]] for document in side if document.labels]
            for side in (found.train, found.test)
        ]
        yield name, split(*sides, TextAnalysis(), part)


def split(
    learn: list[list[str]], test: list[list[str]], analysis: TextAnalysis, part: str
) -> Collection:
    """The training part and the test part, or the training part cut in two."""
    if part == "validation":
        order, n = np.random.default_rng(1).permutation(len(learn)), min(len(learn) // 5, 2000)
        test, learn = ([learn[i] for i in some.tolist()] for some in (order[:n], order[n:]))
    rng = np.random.default_rng(3)
    learn, test = (
        [side[i] for i in np.sort(rng.permutation(len(side))[:most]).tolist()]
        for side, most in ((learn, MOST_DOCUMENTS), (test, MOST_QUERIES))
    )
    (texts, labels), (asking, asking_labels) = (
        tuple(map(list, zip(*side, strict=True))) for side in (learn, test)
    )
    return Collection(texts, labels, asking, asking_labels, analysis)


def queries(
    found: Collection, kind: str, rng: np.random.Generator
) -> tuple[list[str], list[NDArray[np.bool_]]]:
    """Queries of a kind, and which documents each should find."""
    length, labels = KINDS[kind], np.array(found.labels)
    analysis, texts = index_analysis(found.analysis), found.asking
    rows = rng.permutation(len(found.texts))[:MOST_QUERIES]
    if kind.startswith("item"):
        texts = [found.texts[row] for row in rows.tolist()]
    asked, wanted = [], []
    for i, text in enumerate(texts):
        term_of = analysis.term_of()
        words = [w for block in analysis.words(text) for w in block if term_of(w) is not None]
        words = list(dict.fromkeys(words))
        if len(words) < (length or 1):
            continue
        some = text if length is None else " ".join(rng.permutation(words)[:length].tolist())
        asked.append(some)
        same = labels == found.asking_labels[i] if not kind.startswith("item") else None
        wanted.append(np.arange(len(labels)) == rows[i] if same is None else same)
    return asked, wanted


def hit_share(rows: NDArray[np.int64], wanted: NDArray[np.bool_], item: bool) -> float:
    """Whether one of the first ten is wanted, or what share of ten."""
    hits = wanted[rows[rows >= 0]]
    return float(hits.any()) if item else float(hits.sum() / 10)


def best_rows(scores: NDArray[Any]) -> NDArray[np.int64]:
    """The rows of the ten highest scores, equal ones in order; −1 for those of 0 and less."""
    best = np.argsort(-scores, kind="stable")[:10]
    return np.where(scores[best] > 0, best, -1)


class Rivals:
    """BM25 by another package, and the score of version 0.1."""

    def __init__(self, model: TextModel, found: Collection) -> None:
        import bm25s

        self._model, self._analysis = model, index_analysis(found.analysis)
        self._bm25 = bm25s.BM25(method="lucene", k1=K1, b=B)
        self._bm25.index([self._analysis.tokens(text) for text in found.texts], show_progress=False)
        counts = model.count(found.texts).counts
        df = np.bincount(counts.indices, minlength=counts.shape[1])
        self._idf = 1 + np.log((1 + len(found.texts)) / (1 + df))
        self._words = self._weighted(counts).T.tocsr()
        self._features = np.asarray(model.store.features)

    def rows(self, texts: Sequence[str]) -> dict[str, list[NDArray[np.int64]]]:
        """The rows that each finds, text by text."""
        found: dict[str, list[NDArray[np.int64]]] = {"BM25": [], "0.1": []}
        counts = self._model.count(list(texts)).counts
        vectors = unit_vectors(self._model.search_features(counts), self._model.activity)
        joined = vectors @ self._features.T + 0.3 * (self._weighted(counts) @ self._words).toarray()
        for text, scores in zip(texts, joined, strict=True):
            found["0.1"].append(best_rows(scores))
            known = [t for t in self._analysis.tokens(text) if t in self._bm25.vocab_dict]
            empty = np.zeros(len(self._features))
            found["BM25"].append(best_rows(self._bm25.get_scores(known) if known else empty))
        return found

    def _weighted(self, counts: csr_array) -> csr_array:
        data = (1 + np.log(counts.data)) * self._idf[counts.indices]
        owner = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
        norm = np.sqrt(np.bincount(owner, data**2, minlength=counts.shape[0]))
        return csr_array((data / norm[owner], counts.indices, counts.indptr), shape=counts.shape)


def measure(model: TextModel, found: Collection, by_weights: bool) -> dict[str, Measures]:
    """Each measure of each way."""
    ways: dict[str, tuple[float, float]] = {"product": (score.BM25_WEIGHT, score.SHARE_WEIGHT)}
    if by_weights:
        ways = {f"{bm25:g}, {share:g}": (bm25, share) for bm25, share in WEIGHTS}
    rivals, measures = Rivals(model, found), dict[str, Measures]()
    for kind in KINDS:
        asked, wanted = queries(found, kind, np.random.default_rng(2))
        total: dict[str, float] = {}

        def add(way: str, rows: list[Any], first: int) -> None:
            item = kind.startswith("item")  # noqa: B023
            for i, own in enumerate(rows, first):
                share = hit_share(np.asarray(own, np.int64), wanted[i], item)  # noqa: B023
                total[way] = total.get(way, 0.0) + share / len(asked)  # noqa: B023

        for begin in range(0, len(asked), AT_ONCE):
            some = asked[begin : begin + AT_ONCE]
            for way, (score.BM25_WEIGHT, score.SHARE_WEIGHT) in ways.items():
                hits = model.search_many(some)
                add(way, [[hit.row for hit in own] for own in hits], begin)
            hits = model.search_many(some, by="features")
            add("features", [[hit.row for hit in own] for own in hits], begin)
            for way, rows in rivals.rows(some).items():
                add(way, rows, begin)
        measures[kind] = total
    return measures


def bound(kind: str, found: Measures) -> float:
    """The least that the product should reach."""
    best = max(found["BM25"], found["features"])
    if kind.startswith("item"):
        return found["BM25"] - 0.01
    return max(found["0.1"] - 0.01, best if kind == "whole" else best - 0.03)


def main() -> None:
    """Measure all, and print as it goes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--part", choices=("validation", "test"), default="validation")
    parser.add_argument("--only", action="append", help="name of a collection; may be repeated")
    parser.add_argument("--by-weights", action="store_true", help="try other constants")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    for name, found in collections(given.data, given.part):
        if given.only and name not in given.only:
            continue
        model = TextModel.fit(found.texts, analysis=found.analysis, random_state=given.seed)
        for kind, measures in measure(model, found, given.by_weights).items():
            if kind == "item 2":
                print(f"\n| {name}, {len(found.texts):,} | {' | '.join(measures)} | above bound |")
                print("|---" * (len(measures) + 2) + "|")
            cells = " | ".join(f"{value:.3f}" for value in measures.values())
            first = next(iter(measures))
            slack = measures[first] - bound(kind, measures)
            print(f"| {kind} | {cells} | {slack:+.3f} |", flush=True)


if __name__ == "__main__":
    main()
