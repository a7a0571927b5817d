"""Text → counts: documents a second against scikit-learn, and a million documents.

    python benchmarks/text.py             ratio to CountVectorizer with the same analysis
    python benchmarks/text.py --million   rate and peak memory for 1,000,000 short documents

The first needs no data of its own: it takes the docstrings of the installed packages, or the files
given with --corpus.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np

from docboltz.corpus.analysis import TextAnalysis
from docboltz.corpus.counting import count
from docboltz.corpus.datasets import load_dataset
from docboltz.corpus.document import Document
from docboltz.corpus.reading import read

N_MILLION = 1_000_000


def main() -> int:
    """Run one of the two measurements; 1 if it misses its goal."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--million", action="store_true", help="a million short documents")
    parser.add_argument("--corpus", nargs="+", help="files to count instead of docstrings")
    parser.add_argument("--n-jobs", type=int, default=-1)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    if options.million:
        return million()
    documents = list(read(options.corpus)) if options.corpus else docstrings()
    return against_scikit_learn(documents, options.n_jobs, options.repeats)


def docstrings() -> list[Document]:
    """Real text that every machine has."""
    dataset = load_dataset("docstrings", log=print)
    return [*dataset.train, *dataset.test]


def against_scikit_learn(documents: list[Document], n_jobs: int, repeats: int) -> int:
    """Measure both in turn, so that a busy machine disturbs both alike; the best of each counts."""
    from sklearn.feature_extraction.text import CountVectorizer

    analysis = TextAnalysis.paper()
    texts = [document.text for document in documents]
    analysis.tokens(texts[0])  # stop words and stemmer are loaded before the clock starts
    ours, theirs = [], []
    for _ in range(repeats):
        start = time.perf_counter()
        corpus = count(documents, analysis, n_jobs=n_jobs)
        ours.append(time.perf_counter() - start)
        start = time.perf_counter()
        vectorizer = CountVectorizer(analyzer=analysis)
        expected = vectorizer.fit_transform(texts)
        theirs.append(time.perf_counter() - start)
    columns = [vectorizer.vocabulary_[word] for word in corpus.vocabulary]
    if len(columns) != expected.shape[1] or (corpus.counts != expected[:, columns]).nnz:
        print("The counts differ.")
        return 1
    n, megabytes = len(documents), sum(map(len, texts)) / 1e6
    print(f"{n:,} documents, {megabytes:.1f} MB, {expected.shape[1]:,} words, the same counts")
    print(f"docboltz      {n / min(ours):10,.0f} documents/s   ({min(ours):.2f} s)")
    print(f"scikit-learn  {n / min(theirs):10,.0f} documents/s   ({min(theirs):.2f} s)")
    ratio = min(theirs) / min(ours)
    print(f"ratio {ratio:.2f} (1 or more is the goal)")
    return 0 if ratio >= 1 else 1


def million() -> int:
    """Read, count and transform a file of a million short documents of a Zipf-like vocabulary."""
    from docboltz import OverReplicatedSoftmax, Pretraining
    from docboltz.text_model import TextModel

    with tempfile.TemporaryDirectory() as folder:
        path, features = Path(folder) / "short.txt", Path(folder) / "features.npy"
        with path.open("w") as lines:
            lines.writelines(short_documents(N_MILLION))
        model = OverReplicatedSoftmax(
            128, pretraining=Pretraining(updates=20), device="cpu", random_state=0
        )
        first = islice(read(path), 20_000)
        text_model = TextModel.fit(first, estimator=model, max_words=10_000)
        before = peak_gigabytes()
        start = time.perf_counter()
        n = len(text_model.save_features(read(path), features))
        seconds = time.perf_counter() - start
        megabytes, written = (os.path.getsize(file) / 1e6 for file in (path, features))
    peak = peak_gigabytes()
    print(f"{n:,} documents, {megabytes:.0f} MB of text, {written:.0f} MB of features")
    print(f"read, counted and transformed in {seconds:.1f} s: {n / seconds:,.0f} documents/s")
    print(f"peak memory {peak:.2f} GB with workers, {before:.2f} GB before (goal: under 3)")
    return 0 if peak < 3 else 1


def short_documents(n: int) -> Iterator[str]:
    """Lines of 5 to 15 made-up words."""
    rng = np.random.default_rng(0)
    syllables = [c + v for c in "bdfgklmnprstvz" for v in "aeiou"]
    words = [a + b + c for a in syllables for b in syllables[:30] for c in syllables[:20]]
    for _ in range(0, n, 10_000):
        lengths = rng.integers(5, 16, size=10_000)
        drawn = rng.zipf(1.3, size=int(lengths.sum())) % len(words)
        ends = np.cumsum(lengths)
        for first, end in zip(ends - lengths, ends, strict=True):
            yield " ".join([words[i] for i in drawn[first:end]]) + "\n"


def peak_gigabytes() -> float:
    """Peak of this process, and of the largest worker times their number at most."""
    unit = 1e9 if sys.platform == "darwin" else 1e6
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    largest_child = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return (own + (os.cpu_count() or 1) * largest_child) / unit


if __name__ == "__main__":
    raise SystemExit(main())
