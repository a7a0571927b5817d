"""Semantic hashing: documents as bits, and the distance of a query to all of them. F features.

Features lie near 0 and 1, so that one bit of each, whether it is above its mean, says most of what
there is to say: 16 bytes for 128 features. Of ten million documents that is 160 MB, which stay in
memory and are read in 20 ms. Bits find a few thousand documents, whose features decide.

Blocks of rows are laid out word by word, (W, rows), W = F / 64 rounded up: so that each step
of the count runs over neighbours in memory, and four times as fast as row by row.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from docboltz.corpus.stored import mapped
from docboltz.search.vectors import Floats
from docboltz.search.words import Rows

CODES = "codes.u8"
ROWS_AT_ONCE = 1 << 15
"""Rows of a block, whose distances stay in a core's own cache."""
Words = NDArray[np.uint64]


def codes_of(vectors: Floats) -> Words:
    """A bit for each feature above 0, which is the mean of centred ones: (n, W)."""
    n, F = vectors.shape
    packed = np.zeros((n, 8 * n_words(F)), np.uint8)
    packed[:, : (F + 7) // 8] = np.packbits(vectors > 0, axis=1)
    return packed.view("<u8")


def n_words(n_features: int) -> int:
    """64-bit words of a code."""
    return -(-n_features // 64)


class CodeWriter(ExitStack):
    """Writes the codes of documents to a folder: a context that closes its file."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._file: IO[bytes] = self.enter_context((folder / CODES).open("xb"))
        self._waiting: list[Words] = []

    def append(self, vectors: Floats) -> None:
        """Add documents at the end."""
        self._waiting.append(codes_of(vectors))
        if sum(map(len, self._waiting)) >= ROWS_AT_ONCE:
            whole = np.concatenate(self._waiting)
            end = len(whole) - len(whole) % ROWS_AT_ONCE
            self._write(whole[:end])
            self._waiting = [whole[end:]]

    def finish(self) -> None:
        """Write what waits for a block to be full."""
        self._write(np.concatenate(self._waiting))
        self.close()

    def _write(self, codes: Words) -> None:
        for begin in range(0, len(codes), ROWS_AT_ONCE):
            self._file.write(np.ascontiguousarray(codes[begin : begin + ROWS_AT_ONCE].T).data)


class Codes:
    """The codes of n documents, mapped."""

    def __init__(self, folder: Path, n: int, n_features: int) -> None:
        """ValueError if the file is not of as many."""
        self._data: Words = mapped(folder / CODES, "<u8")
        self._n, self._width, self._n_features = n, n_words(n_features), n_features
        self._distance = np.uint8 if n_features < 256 else np.uint16
        if len(self._data) != n * self._width:
            raise ValueError(f"{CODES} is not of {n:,} documents")

    def save(self, folder: Path) -> None:
        """Write the file again."""
        (folder / CODES).write_bytes(self._data.data)

    def distances(self, query: Words) -> Iterator[tuple[int, NDArray[Any]]]:
        """Bits in which documents differ from a query (W,), and the row of the first of them."""
        differing = np.empty(ROWS_AT_ONCE, np.uint64)
        count = np.empty(ROWS_AT_ONCE, np.uint8)
        for first in range(0, self._n, ROWS_AT_ONCE):
            rows = min(ROWS_AT_ONCE, self._n - first)
            begin = first * self._width
            found: NDArray[Any] = np.zeros(rows, self._distance)
            for word in query:
                block = self._data[begin : begin + rows]
                np.bitwise_xor(block, word, out=differing[:rows])
                found += np.bitwise_count(differing[:rows], out=count[:rows])
                begin += rows
            yield first, found

    def likely(
        self, query: Words, n: int, weight: float, others: Floats | None, excluded: Rows
    ) -> Rows:
        """The n rows of the highest estimated scores, in order of rows.

        A score is `weight` times the cosine of features, for which that of bits stands, and what
        `others` adds for each document, (documents,). Rows in `excluded`, sorted, are left out.
        """
        lost = np.float32(-2 * weight / self._n_features)  # by a bit that differs
        rows, scores, low = np.empty(0, np.int64), np.empty(0, np.float32), -np.inf
        for first, distance in self.distances(query):
            begin, end = np.searchsorted(excluded, (first, first + len(distance)))
            out = excluded[begin:end] - first
            if others is None and low > -np.inf:  # few can be better: compare small integers
                found = np.flatnonzero(distance < math.ceil(low / lost))
                found = found[~np.isin(found, out)] if len(out) else found
                score = distance[found] * lost
            else:
                score = distance * lost
                if others is not None:
                    score += others[first : first + len(score)]
                score[out] = -np.inf
                found = np.flatnonzero(score > low)
                score = score[found]
            rows, scores = np.concatenate([rows, found + first]), np.concatenate([scores, score])
            if len(rows) > 4 * n:  # the first of equals are kept, as in an exact search
                best = np.sort(np.argsort(-scores, kind="stable")[:n])
                rows, scores = rows[best], scores[best]
                low = float(scores.min())
        best = np.argsort(-scores, kind="stable")[:n]
        return np.sort(rows[best])
