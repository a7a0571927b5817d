"""Documents in an SQLite file: what a hit shows, and which documents a filter lets through."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from docboltz.corpus.document import Document
from docboltz.errors import InvalidCorpus
from docboltz.search.query import Filter, is_text
from docboltz.search.sqlite import SavedTables, close, create, remembered, writing
from docboltz.search.vectors import Rows

DOCUMENTS = "documents.sqlite"
SCHEMA = (
    "CREATE TABLE documents (key INTEGER PRIMARY KEY, id TEXT UNIQUE, date TEXT, seconds INTEGER, "
    "labels TEXT, columns TEXT, words BLOB, title TEXT, text TEXT)",
    "CREATE TABLE labels (label TEXT, key INTEGER, PRIMARY KEY (label, key)) WITHOUT ROWID",
    "CREATE INDEX dates ON documents (seconds)",
)
"""Labels and columns are JSON; seconds, since 1970, are when the date begins; words are columns of
the model's words. The text is last: SQLite reads a row up to what is asked for."""
SHOWN = "key, id, text, labels, date, title, columns"
AT_ONCE = 500
"""Documents of one statement."""
KEPT_FILTERS = 64
"""Filters whose keys are remembered."""
FEW, KEPT_DOCUMENTS = 100, 4096
"""Documents that are read one by one, and remembered: the same ones are hits again and again."""
END_OF_NUMBERS = 10**18
"""An id of more digits is no number that others could go on from."""


def next_number(ids: Iterable[str], least: int = 0) -> int:
    """The first number behind all ids that are numbers, and at least `least`.

    >>> next_number(["7", "d9", "008", "1e3"])
    9
    """
    numbers = (int(id) for id in ids if len(id) <= 18 and id.isascii() and id.isdigit())
    return max(least, 1 + max(numbers, default=-1))


def seconds_of(date: str) -> int | None:
    """The second, since 1970, that a date by ISO 8601 begins with; None for no date."""
    try:
        return None if not date else int(np.datetime64(date, "s").astype(int))
    except ValueError:
        return None


class DocumentWriter:
    """Writes documents to a folder, behind those of an older file."""

    def __init__(self, folder: Path, old: Path | None = None) -> None:
        self._connection = create(folder / DOCUMENTS, SCHEMA, old)

    def append(self, keys: Sequence[int], documents: Sequence[Document], words: csr_array) -> None:
        """Add documents with the model's words of each; InvalidCorpus for an id that is taken."""
        seconds, encoded = lru_cache(1024)(seconds_of), lru_cache(1024)(_encoded)
        columns, starts = words.indices.astype("<u4"), words.indptr.tolist()
        rows = (
            (
                key, d.id, d.date, seconds(d.date), encoded(tuple(d.labels)),
                _encoded(dict(d.columns)) if d.columns else "{}",
                columns[starts[i] : starts[i + 1]].tobytes(), d.title, d.text,
            )
            for i, (key, d) in enumerate(zip(keys, documents, strict=True))
        )  # fmt: skip
        labels = (
            (label, key) for key, d in zip(keys, documents, strict=True) for label in d.labels
        )
        insert = "INSERT OR IGNORE INTO documents VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
        with writing():
            try:
                n = self._connection.executemany(insert, rows).rowcount
                self._connection.executemany("INSERT OR IGNORE INTO labels VALUES (?, ?)", labels)
            except UnicodeEncodeError as error:
                raise InvalidCorpus(f"A document has half of a character: {error}.") from None
            if n < len(documents):
                known = self._connection.execute("SELECT id, key FROM documents")
                taken = dict(known.fetchall())
                both = zip(keys, documents, strict=True)
                same = [d.id for key, d in both if taken[d.id] != key]
                raise same_id(same[0])

    def delete(self, keys: Iterable[int]) -> None:
        """Remove documents."""
        select = "SELECT labels FROM documents WHERE key = ?"
        with writing():
            for key in keys:  # nothing finds labels by key alone
                ((encoded,),) = self._connection.execute(select, (key,))
                own = ((label, key) for label in _labels(encoded))
                self._connection.executemany("DELETE FROM labels WHERE label = ? AND key = ?", own)
                self._connection.execute("DELETE FROM documents WHERE key = ?", (key,))

    def finish(self) -> None:
        """Close the file."""
        close(self._connection)


def same_id(id: str) -> InvalidCorpus:
    """An error for an id that two documents have."""
    return InvalidCorpus(
        f"Two documents have the id {id!r}.",
        hint="Hits are told apart by their ids: make them unique, or name another column with "
        "{id}.",
        settings=("id",),
    )


class StoredDocuments:
    """Reads documents by key. Whatever the file holds: an answer, LookupError or ValueError."""

    def __init__(self, folder: Path, n: int) -> None:
        """Of n documents."""
        self._tables, self._n = SavedTables(folder / DOCUMENTS, SCHEMA), n
        self.wanted = remembered(self._wanted, KEPT_FILTERS)
        self._document = remembered(self._read, KEPT_DOCUMENTS)

    def take(self, keys: Rows) -> list[Document]:
        """The documents of these keys, in their order."""
        asked = keys.tolist()
        if len(asked) <= FEW:
            return [self._document(key) for key in asked]
        found = {key: _document(*about) for key, *about in self._select(SHOWN, "key", asked)}
        return [found[key] for key in asked]

    def _read(self, key: int) -> Document:
        """The document of a key."""
        for _, *about in self._select(SHOWN, "key", [key]):
            return _document(*about)
        raise KeyError(key)

    def words(self, keys: Rows | None) -> list[NDArray[np.uint32]]:
        """The model's words that each document has; None for all documents, in order."""
        if keys is None:
            every = self._tables.rows("SELECT words FROM documents ORDER BY key", most=self._n)
            return [np.frombuffer(own, "<u4") for (own,) in every]
        found = dict(self._select("key, words", "key", keys.tolist()))
        return [np.frombuffer(found[key], "<u4") for key in keys.tolist()]

    def labels_and_dates(self) -> tuple[list[tuple[str, ...]], list[str]]:
        """The labels and the date of every document, in the order of the keys."""
        select = "SELECT labels, date FROM documents ORDER BY key"
        found = list(self._tables.rows(select, most=self._n))
        return [_labels(labels) for labels, _ in found], [_text(date) for _, date in found]

    def keys_of(self, ids: Iterable[str]) -> Rows:
        """Keys of the documents that have these ids, in order."""
        found = self._select("key", "id", list(filter(is_text, ids)))
        return np.unique(np.array([key for (key,) in found], np.int64))

    def texts(self) -> Iterator[tuple[Any, ...]]:
        """Key of every document, and its title and text."""
        select = "SELECT key, title || char(10) || text FROM documents"
        return self._tables.rows(select, most=self._n)

    def some_labels(self) -> list[str]:
        """A few labels that documents have."""
        found = self._tables.rows("SELECT label FROM labels LIMIT 1000")
        return list(dict.fromkeys(_text(label) for (label,) in found))[:5]

    def _wanted(self, wanted: Filter) -> Rows:
        """Keys of the documents that a filter lets through, in order."""
        condition, values = _condition(wanted)
        select = f"SELECT key FROM documents WHERE {condition} ORDER BY key"
        return np.array([key for (key,) in self._tables.rows(select, values, self._n)], np.int64)

    def _select(self, fields: str, by: str, values: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
        """Fields of the documents that have one of the values, some at a time."""
        for begin in range(0, len(values), AT_ONCE):
            some = values[begin : begin + AT_ONCE]
            marks = ", ".join("?" * len(some))
            select = f"SELECT {fields} FROM documents WHERE {by} IN ({marks})"
            yield from self._tables.rows(select, some)


def _encoded(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _condition(wanted: Filter) -> tuple[str, list[Any]]:
    """What SQL asks of a document, and the values in it."""
    clauses, values = ["1"], list[Any]()
    if wanted.labels:
        marks = ", ".join("?" * len(wanted.labels))
        clauses.append(f"documents.key IN (SELECT labels.key FROM labels WHERE label IN ({marks}))")
        values += wanted.labels
    if wanted.since or wanted.until:
        clauses.append("seconds >= ? AND seconds < ?")
        values += wanted.span
    for name, value in wanted.columns:
        clauses.append(
            "EXISTS (SELECT 1 FROM json_each(columns) AS c WHERE c.key = ? AND c.value = ?)"
        )
        values += [name, value]
    return " AND ".join(clauses), values


def _document(id: str, text: str, labels: str, date: str, title: str, columns: str) -> Document:
    kept = {}
    if columns != "{}":
        kept = {_text(name): _text(value) for name, value in dict(json.loads(columns)).items()}
    return Document(_text(id), _text(text), _labels(labels), _text(date), _text(title), kept)


@lru_cache(1024)
def _labels(encoded: str) -> tuple[str, ...]:
    labels = json.loads(encoded)
    if not isinstance(labels, list):
        raise ValueError(f"{DOCUMENTS} holds other things than documents")
    return tuple(map(_text, labels))


def _text(value: Any) -> str:
    if not is_text(value):
        raise ValueError(f"{DOCUMENTS} holds other things than documents")
    return str(value)
