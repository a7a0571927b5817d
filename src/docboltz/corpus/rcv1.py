"""Reuters RCV1-v2: newswire stories as counts of stemmed terms, with 103 overlapping topics.

scikit-learn fetches the collection as tf-idf weights; `recovery` turns them into counts, which are
cached. A folder with counts.npz, topics.npz and topic_names.txt is read as it is. Terms come as
numbers, without their words.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from scipy.sparse import csr_array, load_npz, save_npz

from docboltz.corpus.counts import Corpus, split_rows
from docboltz.corpus.split import Split
from docboltz.corpus.vocabulary import Vocabulary
from docboltz.errors import InvalidCorpus
from docboltz.files import cache_folder, replacing

N_TEST = {804_414: 10_000, 27_579: 2_579}
"""Test documents of the full collection (the paper's) and of the part rebuilt for development."""
_LOCAL = ("counts.npz", "topics.npz", "topic_names.txt")
WHAT_TO_DO = (
    "On a machine with a network run: python -c 'from sklearn.datasets import fetch_rcv1; "
    "fetch_rcv1()'. Then copy the folder RCV1 from its scikit-learn data folder "
    "(~/scikit_learn_data) into the one here, or give the path of the folder it is in. A folder "
    f"with {', '.join(_LOCAL)} will do too."
)


def load_rcv1(path: Path | None, max_words: int, seed: int, log: Callable[[str], None]) -> Split:
    """Training and test counts of the most frequent terms of the training documents."""
    if path is None:
        corpus = _full(None, log)
    elif all((path / name).is_file() for name in _LOCAL):
        corpus = _local(path)
    elif (path / "RCV1").is_dir():
        corpus = _full(path, log)
    else:
        raise InvalidCorpus(f"{path} does not hold RCV1-v2.", hint=WHAT_TO_DO)
    rows, test_rows = split_rows(len(corpus), N_TEST.get(len(corpus), 0.1), seed)
    train = corpus.rows(rows).most_frequent(max_words)
    columns = [int(word) for word in train.vocabulary]
    return Split(train, corpus.rows(test_rows).columns(columns))


def _corpus(counts: Any, topics: Any, names: Sequence[str], ids: Sequence[str]) -> Corpus:
    matrix = csr_array(counts, dtype=np.int32)
    matrix.sort_indices()
    topics = csr_array(topics)
    labels = tuple(
        tuple(names[topic] for topic in sorted(topics.indices[first:end]))
        for first, end in zip(topics.indptr[:-1], topics.indptr[1:], strict=True)
    )
    vocabulary = Vocabulary(map(str, range(matrix.shape[1])))
    return Corpus(matrix, tuple(ids), labels, vocabulary)


def _local(folder: Path) -> Corpus:
    try:
        counts = load_npz(folder / "counts.npz")
        topics = load_npz(folder / "topics.npz")
        names = (folder / "topic_names.txt").read_text("utf-8").split()
    except (OSError, ValueError, KeyError, BadZipFile) as error:
        raise InvalidCorpus(f"The files in {folder} could not be read: {error}.") from error
    if topics.shape != (counts.shape[0], len(names)):
        raise InvalidCorpus(
            f"{folder} has {counts.shape[0]} documents and {len(names)} topic names, but topics of "
            f"shape {topics.shape}."
        )
    return _corpus(counts, topics, names, [str(i) for i in range(counts.shape[0])])


def _full(data_home: Path | None, log: Callable[[str], None]) -> Corpus:
    from sklearn.datasets import fetch_rcv1

    home = None if data_home is None else str(data_home)
    log("Loading RCV1-v2 through scikit-learn (656 MB to download the first time)")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # one for every retry; the error says it all
            rcv1 = fetch_rcv1(data_home=home, download_if_missing=home is None)
    except (OSError, EOFError) as error:  # no network is an OSError too
        raise InvalidCorpus(f"RCV1-v2 could not be loaded: {error}.", hint=WHAT_TO_DO) from error
    counts = _recovered(rcv1.data, log)
    ids = [str(number) for number in rcv1.sample_id]
    return _corpus(counts, rcv1.target, list(map(str, rcv1.target_names)), ids)


def _recovered(weights: Any, log: Callable[[str], None]) -> csr_array:
    cached = cache_folder() / "rcv1" / "counts.npz"
    if cached.is_file():
        with contextlib.suppress(OSError, ValueError, KeyError, EOFError, BadZipFile):
            counts = csr_array(load_npz(cached))  # a damaged one is made anew
            if counts.shape == weights.shape and counts.nnz == weights.nnz:
                return counts
    from docboltz.corpus.recovery import recover_counts

    log("Recovering counts from the weights (minutes, once)")
    counts = recover_counts(csr_array(weights))
    with replacing(cached) as target:
        save_npz(target, counts)
    return counts
