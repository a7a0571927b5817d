"""Small collections, written and asked as a model does it, in files or in Milvus."""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from docboltz.corpus.analysis import TextAnalysis
from docboltz.corpus.document import Document
from docboltz.search.milvus import write_milvus
from docboltz.search.query import Phrase, parse
from docboltz.search.score import By
from docboltz.search.store import About, Block, Question, Store, open_store, write_store
from docboltz.search.vectors import unit_vectors
from docboltz.search.words import index_analysis
from docboltz.storage import Fingerprint, digest

ANALYSIS = TextAnalysis()
INDEXED = index_analysis(ANALYSIS)
KNOWN = ["goal", "match", "rain", "oven", "bread", "north"]
"""The model's words. Others are in the word index only."""
WORDS = [*KNOWN, "paint", "river", "stone", "lamp", "42", "x"]
F, K = 8, len(KNOWN)
NOTHING = np.zeros(F, np.float32)


def texts(n: int, *, length: int = 0, seed: int = 0) -> list[str]:
    """Random texts, of a number of words that varies if none is given."""
    rng = np.random.default_rng(seed)
    odds = 1 / np.arange(1, len(WORDS) + 1)
    sizes = (length or rng.integers(1, 20) for _ in range(n))
    return [" ".join(rng.choice(WORDS, size, p=odds / odds.sum())) for size in sizes]


def documents(n: int, **how: Any) -> list[Document]:
    """Documents d0, d1, … with labels, dates and a column."""
    dates = ("2013", "", "2014-05-06", "no date")
    return [
        Document(f"d{i}", text, (f"l{i % 4}", "x"), dates[i % 4], f"T{i}", {"author": f"a{i % 3}"})
        for i, text in enumerate(texts(n, **how))
    ]


def features_of(given: Sequence[Document]) -> np.ndarray:
    """Features that a document always has, whichever others there are."""
    seeds = (zlib.crc32(document.id.encode()) for document in given)
    rows = [np.random.default_rng(seed).normal(size=F) for seed in seeds]
    return np.array(rows, np.float32).reshape(-1, F)


def blocks_of(given: Sequence[Document], features: Any, size: int) -> Iterator[Block]:
    """The documents in blocks, with counts of the model's words."""
    tokens = [Counter(ANALYSIS.tokens(document.text)) for document in given]
    counts = np.array([[own[word] for word in KNOWN] for own in tokens]).reshape(-1, K)
    for begin in range(0, len(given), size):
        part = slice(begin, begin + size)
        yield Block(np.asarray(features)[part], csr_array(counts[part]), given[part])


class Place(NamedTuple):
    """Where a store is, or will be."""

    folder: Path
    address: str | None = None
    """In Milvus; None for files."""

    def write(
        self,
        given: Sequence[Document] = (),
        features: Any = None,
        *,
        model: str = "m",
        mean: Any = None,
        block: int = 1000,
        blocks: Any = None,
        **how: Any,
    ) -> int:
        """Write documents as `write_store` and `write_milvus` do."""
        features = features_of(given) if features is None else np.asarray(features)
        about = About(model, features.shape[1], K, None if mean is None else tuple(mean))
        blocks = blocks_of(given, features, block) if blocks is None else blocks
        if self.address is None:
            return write_store(self.folder, blocks, ANALYSIS, about, **how)
        return write_milvus(
            self.folder,
            None if how.get("append") else self.address,
            blocks,
            ANALYSIS,
            about,
            **how,
        )

    def open(self) -> Store:
        """The store that is there."""
        return open_store(self.folder, model="m")

    def store(self, given: Sequence[Document], *arguments: Any, **how: Any) -> Store:
        """Write documents and open the store of them."""
        self.write(given, *arguments, **how)
        return self.open()

    def changed(self, given: Sequence[Document] = (), drop: Sequence[str] = ()) -> Store:
        """The store after some documents were dropped and others added."""
        self.write(given, append=True, drop=drop)
        return self.open()


def ask(query: str = "", vector: Any = NOTHING, **more: Any) -> Question:
    """What a query asks, as `TextModel.search` does."""
    found = parse(query, ("author",))
    terms = Counter(INDEXED.tokens(found.text))
    unknown = 1 - sum(terms[word] for word in KNOWN) / max(terms.total(), 1)
    unit = unit_vectors(np.float32([vector]), None)[0]
    phrases = [Phrase(text, tuple(INDEXED.tokens(text))) for text in found.phrases]
    without = [Phrase(t, tuple(INDEXED.tokens(t)), literal=" " in t) for t in found.without]
    return Question(
        **{
            "vector": unit,
            "unknown": unknown,
            "terms": terms,
            "phrases": phrases,
            "without": without,
            "wanted": found.wanted,
            **more,
        }
    )


def questions(n: int, *, seed: int = 1) -> list[Question]:
    """Random ones, of words and features."""
    vectors = np.random.default_rng(seed).normal(size=(n, F))
    return [ask(t, v) for t, v in zip(texts(n, length=3, seed=seed), vectors, strict=True)]


def hits(store: Store, question: Question, by: By = "both", k: int = 99) -> list[str]:
    """Ids of the documents that are found, best first."""
    rows = store.search([question], k, by).rows[0]
    return [document.id for document in store.documents(rows[rows >= 0])]


def answers(store: Store, asked: Sequence[Question], by: By = "both") -> list[dict[str, float]]:
    """Scores by id, best first, for each question."""
    best = store.search(asked, len(store), by)
    found = []
    for rows, scores in zip(best.rows, best.features + best.words, strict=True):
        ids = [document.id for document in store.documents(rows[rows >= 0])]
        found.append(dict(zip(ids, scores.tolist(), strict=False)))
    return found


def data_file(folder: Path, name: str) -> Path:
    """A file of a store."""
    return folder / json.loads((folder / "store.json").read_text())["build"] / name


def forge(manifest: Path, **content: Any) -> None:
    """Give a manifest other content, and sizes and checksums that fit its files."""
    saved = json.loads(manifest.read_text())
    build = manifest.parent / saved["build"]
    inner = {
        "build": build.name,
        "files": {name: vars(Fingerprint.of(build / name)) for name in saved["files"]},
        "content": saved["content"] | content,
    }
    manifest.write_text(json.dumps(saved | inner | {"checksum": digest(inner)}))


def names(path: Path) -> set[str]:
    """All files and folders below `path`, but for locks."""
    return {str(file.relative_to(path)) for file in path.rglob("*") if file.name != ".lock"}
