"""Datasets as JSON Lines: what is written reads back as what it was."""

import json

import numpy as np
import pytest
from scipy.sparse import csr_array

from docboltz.corpus.analysis import TextAnalysis
from docboltz.corpus.corpus import Corpus, Vocabulary
from docboltz.corpus.counting import count
from docboltz.corpus.datasets import DATASETS, TextDataset, spelled_out, write_json_lines
from docboltz.corpus.document import Document
from docboltz.corpus.reading import read
from docboltz.corpus.split import Split

TRAIN = (Document("a", "Größe\nzählt \u2028", ("x", "y")), Document("b", "", ()))
TEST = (Document("c", 'say "no"', ("x",)),)
TEXTS = TextDataset(DATASETS["docstrings"], TRAIN, TEST, TextAnalysis(), 10)


def counts(rows, *names):
    vocabulary = Vocabulary(["17", "4", "99"])
    return Corpus(csr_array(np.array(rows)), names, (("x",),) * len(names), vocabulary)


COUNTS = Split(counts([[2, 0, 1], [0, 0, 0]], "a", "b"), counts([[0, 3, 0]], "c"))


@pytest.mark.parametrize(
    ("part", "documents"), [("train", TRAIN), ("test", TEST), ("all", (*TRAIN, *TEST))]
)
def test_texts(tmp_path, part, documents):
    out = tmp_path / "out.jsonl"
    assert write_json_lines(TEXTS, part, out) == len(documents)
    assert tuple(read(out)) == documents
    lines = out.read_text(encoding="utf-8").split("\n")
    assert [json.loads(line).keys() for line in lines[:-1]] == [{"id", "text", "labels"}] * len(
        documents
    )


def test_counts_become_words_as_often_as_they_were_counted(tmp_path):
    assert [d.text for d in spelled_out(COUNTS.train)] == ["17 17 99", ""]
    out = tmp_path / "out.jsonl"
    assert write_json_lines(COUNTS, "all", out) == 3
    analysis = TextAnalysis(pretokenised=True)
    corpus = count(read(out), analysis, vocabulary=COUNTS.train.vocabulary)
    assert corpus.counts.toarray().tolist() == [[2, 0, 1], [0, 0, 0], [0, 3, 0]]
    assert (corpus.ids, corpus.labels) == (("a", "b", "c"), (("x",),) * 3)


def test_whole_or_not_at_all(tmp_path):
    class Broken:
        train = (TRAIN[0], None)

    with pytest.raises(AttributeError):
        write_json_lines(Broken(), "train", tmp_path / "out.jsonl")
    assert list(tmp_path.iterdir()) == []
