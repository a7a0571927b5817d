"""Datasets as JSON Lines, which every command reads."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from docboltz.corpus.counts import Corpus
from docboltz.corpus.datasets import TextDataset
from docboltz.corpus.document import Document
from docboltz.corpus.split import Split
from docboltz.files import replacing


def write_json_lines(data: TextDataset | Split, part: str, out: Path) -> int:
    """Write a part of a dataset to `out`, whole or not at all; return the number of documents.

    Counts become texts that repeat each word as often as it was counted: read them pretokenised.
    """
    parts = [data.train, data.test] if part == "all" else [getattr(data, part)]
    n = 0
    with replacing(out) as file, file.open("w", encoding="utf-8") as stream:
        for documents in parts:
            for d in spelled_out(documents) if isinstance(documents, Corpus) else documents:
                record = {"id": d.id, "text": d.text, "labels": list(d.labels)}
                record |= {"date": d.date} if d.date else {}
                stream.write(json.dumps(record, ensure_ascii=False) + "\n")
                n += 1
    return n


def spelled_out(corpus: Corpus) -> Iterator[Document]:
    """Documents whose text repeats each word as often as it was counted."""
    words = np.array(corpus.vocabulary.words, dtype=object)
    about = zip(corpus.ids, corpus.labels, corpus.dates, strict=True)
    for row, (identity, labels, date) in enumerate(about):
        entries = slice(corpus.counts.indptr[row], corpus.counts.indptr[row + 1])
        text = np.repeat(words[corpus.counts.indices[entries]], corpus.counts.data[entries])
        yield Document(identity, " ".join(text), labels, date)
