"""Reuters RCV1-v2: newswire stories as counts of stemmed terms, with 103 overlapping topics.

scikit-learn fetches the collection as tf-idf weights; `recovery` turns them into counts. These are
kept in a folder with counts.npz, topics.npz and topic_names.txt, which can be copied to where there
is no network. scikit-learn's own copy is not read: it is a pickle. Terms come as numbers, without
their words.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from scipy.sparse import csr_array, save_npz

from docboltz.corpus.counts import Corpus, split_rows
from docboltz.corpus.npz import load_matrix
from docboltz.corpus.split import Split
from docboltz.corpus.vocabulary import Vocabulary
from docboltz.errors import InvalidCorpus
from docboltz.files import cache_folder, read_file, replacing, write_text

N_TEST = {804_414: 10_000, 27_579: 2_579}
"""Test documents of the full collection (the paper's) and of the part rebuilt for development."""
_LOCAL = ("counts.npz", "topics.npz", "topic_names.txt")
IDS = "ids.txt"
"""Numbers of the documents, a line each, if they have any."""


def _what_to_do() -> str:
    return (
        "On a machine with a network run 'docboltz datasets rcv1', then copy the folder rcv1 from "
        f"its cache to {_cached()}, or give the copy's path: it holds {', '.join(_LOCAL)}."
    )


def _cached() -> Path:
    return cache_folder() / "rcv1"


def load_rcv1(path: Path | None, max_words: int, seed: int, log: Callable[[str], None]) -> Split:
    """Training and test counts of the most frequent terms of the training documents."""
    if path is None:
        if not _is_local(_cached()):
            _fetch(_cached(), log)
        path = _cached()
    if not _is_local(path):
        raise InvalidCorpus(f"{path} does not hold RCV1-v2.", hint=_what_to_do())
    corpus = _local(path)
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


def _is_local(folder: Path) -> bool:
    return all((folder / name).is_file() for name in _LOCAL)


def _local(folder: Path) -> Corpus:
    try:
        counts, topics = (load_matrix(folder / name) for name in _LOCAL[:2])
        names = read_file(folder / _LOCAL[2]).decode("utf-8").split()
        n = counts.shape[0]
        named = (folder / IDS).is_file()
        ids = read_file(folder / IDS).decode("ascii").split() if named else list(map(str, range(n)))
    except (OSError, ValueError) as error:
        raise InvalidCorpus(
            f"The files in {folder} could not be read: {error}.", hint=_what_to_do()
        ) from error
    if topics.shape != (n, len(names)) or len(ids) != n:
        raise InvalidCorpus(
            f"{folder} has {n} documents, {len(ids)} ids and {len(names)} topic names, but topics "
            f"of shape {topics.shape}."
        )
    return _corpus(counts, topics, names, ids)


def _fetch(folder: Path, log: Callable[[str], None]) -> None:
    """Have scikit-learn fetch the collection, and keep its counts in a folder."""
    from sklearn.datasets import fetch_rcv1

    log("Loading RCV1-v2 through scikit-learn (656 MB to download)")
    try:
        # To a folder of its own: what lies in scikit-learn's it would unpickle.
        with TemporaryDirectory(prefix="docboltz-") as home, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # one for every retry; the error says it all
            rcv1 = fetch_rcv1(data_home=home)
    except (OSError, EOFError) as error:  # no network is an OSError too
        raise InvalidCorpus(f"RCV1-v2 could not be loaded: {error}.", hint=_what_to_do()) from error
    from docboltz.corpus.recovery import recover_counts

    log("Recovering counts from the weights (minutes, once)")
    counts = recover_counts(csr_array(rcv1.data))
    write_text(folder / IDS, "".join(f"{number}\n" for number in rcv1.sample_id))
    write_text(folder / _LOCAL[2], "".join(f"{name}\n" for name in rcv1.target_names))
    for name, matrix in zip(_LOCAL[:2], (counts, csr_array(rcv1.target)), strict=True):
        with replacing(folder / name) as draft:
            save_npz(draft, matrix)
