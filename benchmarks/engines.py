"""Engines for an index of words by BM25, on the same documents: FTS5, tantivy, postings in NumPy.

    pip install tantivy  # it is skipped where it is missing
    OMP_NUM_THREADS=1 python benchmarks/engines.py [--documents 1000000] [--folder SCRATCH]

Documents are synthetic: ten words of 600,000 by Zipf's law, given as terms; no text is kept. FTS5
has a contentless table with positions and lengths, without which its `bm25` finds no counts;
tantivy has one thread and no positions. Postings are memory-mapped arrays: a query adds to scores
of all documents, and `np.argpartition` finds the ten best. All find documents with any word. FTS5
and postings merge the first index into one piece. Then 1,000 documents are added, three times.
Queries go to the engines in turn; files are in the system's cache, and the first query of a kind is
not counted. Scores agree where they are within a thousandth of those of postings.
"""

from __future__ import annotations

import argparse
import importlib
import math
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

K, K1, B = 10, 1.2, 0.75
VOCABULARY, LENGTH, QUERIES, NEW, ROUNDS = 600_000, 10, 30, 1000, 3


class FTS5:
    """A contentless table of SQLite's full-text search."""

    def __init__(self, folder: Path) -> None:
        self._db = sqlite3.connect(folder / "words.sqlite")
        self._db.execute("CREATE VIRTUAL TABLE t USING fts5(terms, content='', tokenize='ascii')")

    def add(self, n: int, texts: list[str]) -> None:
        """Add documents to n that are there."""
        with self._db:
            self._db.executemany("INSERT INTO t(rowid, terms) VALUES (?, ?)", enumerate(texts, n))
        if not n:
            self._db.executescript("INSERT INTO t(t) VALUES ('optimize'); VACUUM")

    def search(self, words: list[str]) -> list[tuple[int, float]]:
        """Rows and scores of the best."""
        sql = "SELECT rowid, -rank FROM t WHERE t MATCH ? ORDER BY rank LIMIT ?"
        return self._db.execute(sql, (" OR ".join(words), K)).fetchall()


class Tantivy:
    """Tantivy's index, with a column of rows."""

    def __init__(self, folder: Path) -> None:
        self._library = tantivy = importlib.import_module("tantivy")
        schema = tantivy.SchemaBuilder().add_integer_field("row", fast=True)
        schema.add_text_field("terms", tokenizer_name="whitespace", index_option="freq")
        self._index = tantivy.Index(schema.build(), path=str(folder))

    def add(self, n: int, texts: list[str]) -> None:
        """Add documents to n that are there."""
        writer = self._index.writer(heap_size=256_000_000, num_threads=1)
        for row, text in enumerate(texts, n):
            writer.add_document(self._library.Document(row=row, terms=text))
        writer.commit()
        writer.wait_merging_threads()
        self._index.reload()
        self._searcher = self._index.searcher()

    def search(self, words: list[str]) -> list[tuple[int, float]]:
        """Rows and scores of the best."""
        query, should = self._library.Query, self._library.Occur.Should
        each = [(should, query.term_query(self._index.schema, "terms", w, "freq")) for w in words]
        hits = self._searcher.search(query.boolean_query(each), K, count=False).hits
        rows = self._searcher.fast_field_values("row", [address for _, address in hits])
        return [(row, score) for row, (score, _) in zip(rows, hits, strict=True)]


class Postings:
    """Memory-mapped arrays; adding documents writes all of them anew."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._db = folder, sqlite3.connect(folder / "terms.sqlite")
        self._db.execute("CREATE TABLE t (term TEXT PRIMARY KEY, number INTEGER) WITHOUT ROWID")
        self._starts, self._rows = np.zeros(1, np.int64), np.zeros(0, np.uint32)
        self._counts, self._lengths = np.zeros(0, np.uint16), np.zeros(0, np.uint16)

    def _number(self, word: str) -> int | None:
        found = self._db.execute("SELECT number FROM t WHERE term = ?", (word,)).fetchone()
        return None if found is None else int(found[0])

    def _written(self, name: str, array: np.ndarray) -> np.ndarray:
        with open(self._folder / "new", "wb") as file:
            array.tofile(file)
            os.fsync(file.fileno())
        path = (self._folder / "new").replace(self._folder / name)
        return np.memmap(path, array.dtype, mode="r")

    def add(self, n: int, texts: list[str]) -> None:
        """Give numbers to new terms, and put new rows behind those that each term has."""
        old, words = len(self._starts) - 1, [text.split() for text in texts]
        numbers = {w: self._number(w) if n else None for w in sorted(set().union(*words))}
        new = {w: i for i, w in enumerate((w for w in numbers if numbers[w] is None), old)}
        with self._db:
            self._db.executemany("INSERT INTO t VALUES (?, ?)", new.items())
        numbers |= new
        lengths = np.array([len(each) for each in words], np.uint16)
        drawn = np.fromiter((numbers[w] for each in words for w in each), np.int64)
        pairs = drawn * len(texts) + np.repeat(np.arange(len(texts)), lengths)
        pairs, counts = np.unique(pairs, return_counts=True)
        terms, rows = np.divmod(pairs, len(texts))
        starts = np.append(self._starts, np.full(len(new), self._starts[-1]))
        where = starts[terms + 1]
        starts[1:] += np.bincount(terms, minlength=len(starts) - 1).cumsum()
        self._starts = self._written("starts", starts)
        self._rows = self._written("rows", np.insert(self._rows, where, rows + n))
        self._counts = self._written("counts", np.insert(self._counts, where, counts))
        self._lengths = self._written("lengths", np.append(self._lengths, lengths))
        self._average = float(self._lengths.mean())

    def search(self, words: list[str]) -> list[tuple[int, float]]:
        """Rows and scores of the best."""
        scores = np.zeros(len(self._lengths), np.float32)
        for number in map(self._number, words):
            if number is not None:
                part = slice(*self._starts[number : number + 2])
                rows, tf = self._rows[part], self._counts[part].astype(np.float32)
                idf = math.log(1 + (len(scores) - len(rows) + 0.5) / (len(rows) + 0.5))
                norms = K1 * (1 - B + B / self._average * self._lengths[rows].astype(np.float32))
                scores[rows] += idf * (K1 + 1) * tf / (tf + norms)
        found = np.flatnonzero(scores > 0)  # to partition a million zeros would take 20 ms
        best = found[np.argpartition(-scores[found], min(K, len(found)) - 1)[:K]]
        return [(int(row), float(scores[row])) for row in best[np.argsort(-scores[best])]]


def timed(call: Any, *given: object) -> tuple[float, Any]:
    """How many seconds one call takes, and what it returns."""
    begin = time.perf_counter()
    found = call(*given)
    return time.perf_counter() - begin, found


def main() -> None:
    """Index, ask, append; print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, help="where indexes are for the time being")
    given = parser.parse_args()
    n, rng, f = given.documents, np.random.default_rng(0), 1 / np.arange(1, VOCABULARY + 1)
    drawn = rng.choice(VOCABULARY, (n + ROUNDS * NEW, LENGTH), p=f / f.sum())
    texts = [" ".join(f"w{i}" for i in row) for row in drawn.tolist()]
    ordered = np.sort(drawn[:n], axis=1)
    df = np.bincount(ordered[np.diff(ordered, axis=1, prepend=-1) > 0], minlength=VOCABULARY)
    print(f"{n:,} documents, {np.count_nonzero(df):,} terms, {df.sum():,} postings\n")
    kinds = {
        "two rare words (in 10 to 49)": (2, np.flatnonzero((df >= 10) & (df < 50))),
        "two middling (.1 to 1 %)": (2, np.flatnonzero((df >= n / 1000) & (df <= n / 100))),
        "two of the 20 most common": (2, np.argsort(-df)[:20]),
        "eight as in documents": (8, drawn[:n].ravel()),
    }
    engines: dict[str, FTS5 | Tantivy | Postings] = {}
    table: dict[str, list[str]] = defaultdict(list)
    with tempfile.TemporaryDirectory(dir=given.folder) as scratch:
        for kind, needs in ((FTS5, "sqlite3"), (Tantivy, "tantivy"), (Postings, "numpy")):
            (folder := Path(scratch, title := kind.__name__)).mkdir()
            try:
                engines[title] = kind(folder)
            except ImportError:
                print(f"{title}: skipped: pip install tantivy\n")
                continue
            table["index, s"].append(f"{timed(engines[title].add, 0, texts[:n])[0]:.1f}")
            size = sum(path.stat().st_size for path in folder.rglob("*")) / n
            table["on disk, bytes a document"].append(f"{size:.1f}")
            code = f"import time; t = time.time(); import {needs}; print(time.time() - t)"
            took = [float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(7)]
            table["import, s"].append(f"{np.median(took):.3f}")
        for what, (size, pool) in kinds.items():
            asked = [[f"w{i}" for i in rng.choice(pool, size, False)] for _ in range(QUERIES + 1)]
            found = [[timed(e.search, q) for e in engines.values()] for q in asked][1:]
            times, hits = ([[pair[i] for pair in each] for each in found] for i in (0, 1))
            for median, most in 1e3 * np.percentile(times, [50, 95], axis=0).T:
                table[f"{what}, ms"].append(f"{median:.2f} ({most:.2f})")
            scores = np.array(hits)[..., 1]
            agree = np.isclose(scores, scores[:, -1:], 1e-3).mean((0, 2))
            table[f"{what}, scores that agree"] = [f"{share:.3f}" for share in agree]
        for e in engines.values():
            took = [timed(e.add, i, texts[i : i + NEW])[0] for i in range(n, len(texts), NEW)]
            table["appended, documents/s"].append(f"{NEW / np.median(took):,.0f}")
    table = {"median (95th percentile)": [*engines], "---": ["---"] * len(engines), **table}
    print("\n".join(f"| {' | '.join([what, *cells])} |" for what, cells in table.items()))


if __name__ == "__main__":
    main()
