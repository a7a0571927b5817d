"""All words of all documents, and BM25. n documents, V terms.

A term is what the model's analysis makes of a word, numbers and single letters included, without
any limit of frequency. Its *postings* are the keys of the documents that have it, in order, and how
often each does. They are kept in an SQLite file, a piece for each some million postings.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from docboltz.corpus.analysis import TextAnalysis
from docboltz.corpus.counting import TextCounter
from docboltz.corpus.disk import mapped
from docboltz.search.sqlite import SavedTables, close, create, remembered, writing

TERMS, DF = "terms.sqlite", "df.i8"
SCHEMA = (
    "CREATE TABLE terms (number INTEGER PRIMARY KEY, term TEXT UNIQUE, form TEXT)",
    "CREATE TABLE postings (number INTEGER, piece INTEGER, keys BLOB, counts BLOB, "
    "PRIMARY KEY (number, piece)) WITHOUT ROWID",
)
"""The form is a word that the term was made of, to show. Keys are of four bytes, counts of two."""
K1, B = 1.2, 0.75
"""Of BM25: chosen by benchmarks/search.py."""
PIECE = 1 << 22
"""Postings that are sorted in memory: some 100 MB."""
MOST_COUNTED = 65_535
TERMS_AT_ONCE = 500
"""Of one statement."""
KEPT_SUGGESTIONS = 1024
SUGGESTED = 200_000
"""Terms that are compared with a misspelt word, the most frequent ones of like length."""


def index_analysis(analysis: TextAnalysis) -> TextAnalysis:
    """How texts are analysed to be searched: as for the model, but numbers and letters count.

    So do links: people search for a part of an address, too.
    """
    return replace(analysis, numbers=True, links=True, min_letters=1, ngrams=1)


class WordWriter:
    """Writes the words of documents to a folder, behind those of an older file."""

    def __init__(self, folder: Path, analysis: TextAnalysis, old: Terms | None = None) -> None:
        self._folder, self._old = folder, old
        self._counter = TextCounter(index_analysis(analysis))
        self._numbers: dict[str, int] = {}
        """In the index, of the terms that were met."""
        self._df = np.empty(0, np.int64) if old is None else np.array(old.df)
        self._connection = create(folder / TERMS, SCHEMA, None if old is None else old.file)
        select = "SELECT coalesce(max(piece), -1) + 1 FROM postings"
        ((self._piece,),) = self._connection.execute(select)
        self._waiting: list[tuple[NDArray[Any], ...]] = []

    def count(self, texts: Sequence[str], sign: int = 1) -> csr_array:
        """How often texts that are added or, with −1, left out have each term: (B, V so far)."""
        matrix, found, _ = self._counter.count(texts)
        first: dict[int, str] = {}
        for place, word in zip(found.word_terms.tolist(), found.words, strict=True):
            first.setdefault(place, word)
        new = [(t, first[i]) for i, t in enumerate(found.terms) if t not in self._numbers]
        self._numbers.update(zip((term for term, _ in new), self._number(new), strict=True))
        numbers = np.array([self._numbers[term] for term in found.terms], np.int64)
        arrays = matrix.data, numbers[matrix.indices], matrix.indptr
        counts = csr_array(arrays, shape=(len(texts), len(self._df)))
        self._df += sign * np.bincount(counts.indices, minlength=len(self._df))
        return counts

    def append(self, keys: NDArray[Any], texts: Sequence[str]) -> NDArray[Any]:
        """Add the postings of documents; give how many words each has."""
        counts = self.count(texts)
        owners = np.repeat(keys, np.diff(counts.indptr)).astype("<u4")
        often = np.minimum(counts.data, MOST_COUNTED).astype("<u2")
        self._waiting.append((counts.indices, owners, often))
        if sum(len(numbers) for numbers, *_ in self._waiting) > PIECE:
            self._write_piece()
        lengths: NDArray[Any] = counts.sum(axis=1)
        return lengths

    def finish(self) -> None:
        """Write what is left, and how many documents have each term."""
        self._write_piece()
        close(self._connection)
        (self._folder / DF).write_bytes(self._df.astype("<i8").data)

    def _number(self, new: list[tuple[str, str]]) -> list[int]:
        """The numbers of terms, with their forms, that the counter has not met before."""
        terms = [term for term, _ in new]
        with writing():
            known = {} if self._old is None else self._old.numbers(terms)
        n = len(self._df)
        numbers = {term: n + i for i, term in enumerate(t for t in terms if t not in known)}
        rows = ((numbers[term], term, form) for term, form in new if term in numbers)
        with writing():
            self._connection.executemany("INSERT INTO terms VALUES (?, ?, ?)", rows)
        self._df = np.pad(self._df, (0, len(numbers)))
        return [known.get(term, (numbers.get(term, -1), ""))[0] for term in terms]

    def _write_piece(self) -> None:
        """Write postings that wait, term by term."""
        if not self._waiting:
            return
        whole = [np.concatenate(each) for each in zip(*self._waiting, strict=True)]
        order = np.argsort(whole[0], kind="stable")
        numbers, (keys, counts) = whole[0][order], (each[order].tobytes() for each in whole[1:])
        terms, begins = np.unique(numbers, return_index=True)
        places = [*begins.tolist(), len(numbers)]
        pieces = zip(terms.tolist(), places, places[1:], strict=False)
        rows = ((t, self._piece, keys[4 * a : 4 * b], counts[2 * a : 2 * b]) for t, a, b in pieces)
        self._waiting = []
        with writing():
            self._connection.executemany("INSERT INTO postings VALUES (?, ?, ?, ?)", rows)
        self._piece += 1


class Terms:
    """Looks up terms of an index, their postings, and words that are spelt like others.

    May be shared by threads. Whatever the files hold, a method gives an answer, or LookupError,
    TypeError or ValueError.
    """

    def __init__(self, folder: Path) -> None:
        self.file, self.df = folder / TERMS, mapped(folder / DF, "<i8")
        self._tables, self._size = SavedTables(self.file, SCHEMA), self.file.stat().st_size
        ((n,),) = self._tables.rows("SELECT coalesce(max(number), -1) + 1 FROM terms")
        if n != len(self.df):
            raise ValueError(f"{TERMS} has other terms than {DF}")
        self.suggest = remembered(self._suggest, KEPT_SUGGESTIONS)

    def numbers(self, terms: Iterable[str]) -> dict[str, tuple[int, str]]:
        """Number and form of those terms that are, or were, in a document."""
        asked, found = list(terms), dict[str, tuple[int, str]]()
        for begin in range(0, len(asked), TERMS_AT_ONCE):
            some = asked[begin : begin + TERMS_AT_ONCE]
            marks = ", ".join("?" * len(some))
            select = f"SELECT term, number, form FROM terms WHERE term IN ({marks})"
            found |= {t: (int(n), str(form)) for t, n, form in self._tables.rows(select, some)}
        if not all(0 <= number < len(self.df) for number, _ in found.values()):
            raise ValueError(f"{TERMS} has other terms than {DF}")
        return found

    def find(self, terms: Iterable[str]) -> dict[str, tuple[int, str]]:
        """Number and form of those terms that some document has."""
        return {t: found for t, found in self.numbers(terms).items() if self.df[found[0]] > 0}

    def postings(self, number: int) -> tuple[NDArray[np.uint32], NDArray[np.uint16]]:
        """Keys of the documents that have a term, in order, and how often each has it.

        Those that were deleted since are among them.
        """
        select = "SELECT keys, counts FROM postings WHERE number = ? ORDER BY piece"
        keys, counts = bytearray(), bytearray()
        for some_keys, some_counts in self._tables.rows(select, (number,)):
            keys += some_keys
            counts += some_counts
            if len(keys) + len(counts) > self._size:
                raise ValueError(f"{TERMS} has the same bytes in several postings")
        return np.frombuffer(keys, "<u4"), np.frombuffer(counts, "<u2")

    def _suggest(self, word: str, n: int = 3) -> tuple[str, ...]:
        """Words of the documents that are spelt nearly like one that none has, likeliest first."""
        most = 1 if len(word) < 5 else 2
        select = "SELECT number, form FROM terms WHERE length(form) BETWEEN ? AND ?"
        lengths = len(word) - most, len(word) + most
        found = self._tables.rows(select, lengths, len(self.df))
        # What comes after a NUL SQLite does not count.
        near = {n: form for n, form in found if abs(len(str(form)) - len(word)) <= most}
        numbers = np.array([number for number in near if self.df[number] > 0], np.int64)
        if not len(numbers):
            return ()
        numbers = numbers[np.argsort(-self.df[numbers], kind="stable")[:SUGGESTED]]
        forms = [str(near[number]) for number in numbers.tolist()]
        distance = edit_distances(word, forms)
        # An edit is worth as much as a hundredfold frequency.
        best = np.argsort(np.log(100) * distance - np.log(self.df[numbers]), kind="stable")
        return tuple(forms[i] for i in best[distance[best] <= most][:n].tolist())


def idf_of(n: int, df: int) -> float:
    """What a term weighs in a collection of n documents, `df` of which have it."""
    return float(np.log1p((n - df + 0.5) / (df + 0.5)))


def edit_distances(word: str, others: Sequence[str]) -> NDArray[np.int64]:
    """Insertions, deletions, replacements and swaps of neighbours from a word to each of others.

    >>> edit_distances("goaly", ["goal", "goalie", "gaoly", "rain"]).tolist()
    [1, 2, 1, 4]
    """
    longest = max(map(len, others))
    table = np.array([other.ljust(longest, "\0") for other in others], f"<U{longest}")
    letters = table.view("<u4").reshape(len(others), longest)
    lengths = np.array(list(map(len, others)))
    before_last = last = np.tile(np.arange(longest + 1), (len(others), 1))
    for i, letter in enumerate(word):
        row = np.empty_like(last)
        row[:, 0] = i + 1
        other_letter = letters != ord(letter)
        for j in range(longest):
            cost = np.minimum(
                np.minimum(row[:, j], last[:, j + 1]) + 1,
                last[:, j] + other_letter[:, j],
            )
            if i and j:
                swapped = (letters[:, j - 1] == ord(letter)) & (letters[:, j] == ord(word[i - 1]))
                cost = np.where(swapped, np.minimum(cost, before_last[:, j - 1] + 1), cost)
            row[:, j + 1] = cost
        before_last, last = last, row
    found: NDArray[np.int64] = last[np.arange(len(others)), lengths]
    return found
