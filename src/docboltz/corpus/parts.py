"""Counted documents that wait on disk, a part after the other, until the vocabulary is known.

A part holds the counts of some documents over provisional numbers of terms, with what is known of
the documents, the terms that are new in it, and how words were spelled. Each is a bundle: whole or
not there, with checksums. So a count that was interrupted goes on after the last of them.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from docboltz.corpus.corpus import index_type, select_columns, starts_of
from docboltz.corpus.stored import StoredLabels, StoredStrings, StringFiles, mapped
from docboltz.errors import InvalidParameter
from docboltz.storage import LOCK, Bundle, Opened

Integers = NDArray[np.int32]

LENGTHS, TERMS, COUNTS = "lengths.i4", "terms.i4", "counts.i4"
WORD_TERMS, WORD_COUNTS = "word-terms.i4", "word-counts.i8"
IDS, LABELS, DATES = map(StringFiles.of, ("ids", "labels", "dates"))
NEW_TERMS, WORDS = map(StringFiles.of, ("new-terms", "words"))
_ARRAYS = (LENGTHS, TERMS, COUNTS, WORD_TERMS, WORD_COUNTS)

PART = Bundle(
    noun="part of a count",
    format="docboltz-counted",
    version=1,
    manifest="part.json",
    files=(*_ARRAYS, *IDS, *LABELS, *DATES, *NEW_TERMS, *WORDS),
    remedy="Remove the folder: what is missing is counted again.",
)
JOINED = "joined-"
"""How folders of counts begin that were made of parts."""
BLOCK_DOCUMENTS = 65_536
BLOCK_ENTRIES = 1 << 22


@dataclass(frozen=True, eq=False)
class Part:
    """Some documents, counted."""

    lengths: Integers
    """Number of entries of each document."""
    terms: Integers
    """The provisional number of each entry's term."""
    counts: Integers
    """How often the document has it."""
    ids: Sequence[str]
    labels: Sequence[tuple[str, ...]]
    dates: Sequence[str]
    new_terms: Sequence[str]
    """Terms that got the next free numbers."""
    words: Sequence[str]
    """Words behind the terms."""
    word_terms: Integers
    """The number of each word's term."""
    word_counts: NDArray[np.int64]
    """How often it was met in these documents."""
    n_outside: int
    """Tokens outside a fixed vocabulary."""

    def entries(self) -> Iterator[tuple[Integers, Integers]]:
        """Terms and counts, some at a time."""
        for begin in range(0, len(self.terms), BLOCK_ENTRIES):
            some = slice(begin, begin + BLOCK_ENTRIES)
            yield self.terms[some], self.counts[some]

    def whole(self, n_terms: int) -> csr_array:
        """The counts of all its documents at once."""
        arrays = self.counts, self.terms, starts_of(self.lengths)
        return csr_array(arrays, shape=(len(self.lengths), n_terms))

    def blocks(self, n_terms: int) -> Iterator[csr_array]:
        """The counts of some documents at a time: (B, n_terms)."""
        starts = starts_of(self.lengths)
        for begin in range(0, len(self.lengths), BLOCK_DOCUMENTS):
            own = starts[begin : begin + BLOCK_DOCUMENTS + 1]
            some = slice(own[0], own[-1])
            arrays = self.counts[some], self.terms[some], own - own[0]
            yield csr_array(arrays, shape=(len(own) - 1, n_terms))


class Parts:
    """The parts of a count, in a folder of their own: `part-000000`, `part-000001`, …

    `run` tells this count from others: what is read, and how. Parts of the same are taken up, and
    others removed; with "" none is taken up. What earlier counts joined is removed as well: whoever
    still has it mapped keeps it.
    """

    def __init__(self, folder: Path, run: str) -> None:
        self.folder, self._run = folder, run
        self._opened: list[Opened] = []
        left = _parts_in(folder)
        for place in left if run else ():
            if place.name != self._name or not PART.exists(place):
                break
            opened = PART.open(place)
            if opened.content.get("run") != run:
                break
            PART.verify(opened)
            self._opened.append(opened)
        for place in left[len(self._opened) :]:
            PART.remove(place)
        _remove_joined(folder)

    @property
    def _name(self) -> str:
        return f"part-{len(self._opened):06d}"

    def __len__(self) -> int:
        return len(self._opened)

    def __iter__(self) -> Iterator[Part]:
        """The parts, in order, mapped."""
        return map(_read, self._opened)

    def add(self, part: Part) -> None:
        """Write one more."""
        place = self.folder / self._name
        with PART.saving(place) as build:
            for file, array in (
                (LENGTHS, part.lengths),
                (TERMS, part.terms),
                (COUNTS, part.counts),
                (WORD_TERMS, part.word_terms),
                (WORD_COUNTS, part.word_counts),
            ):
                (build.path / file).write_bytes(array.astype(_dtype(file), copy=False).data)
            for files, strings in (
                (IDS, part.ids),
                (LABELS, StoredLabels.encode(part.labels)),
                (DATES, part.dates),
                (NEW_TERMS, part.new_terms),
                (WORDS, part.words),
            ):
                files.write(build.path, strings)
            build.publish({"run": self._run, "n_outside": part.n_outside})
        self._opened.append(PART.open(place))

    def about(self) -> tuple[StoredStrings, StoredLabels, StoredStrings]:
        """Ids, labels and dates of all documents."""
        folders = [opened.file("") for opened in self._opened]
        ids, labels, dates = (StoredStrings(folders, each) for each in (IDS, LABELS, DATES))
        return ids, StoredLabels(labels), dates

    def joined(self, columns: NDArray[np.int64], n_terms: int, n_entries: int) -> csr_array:
        """The counts of all documents over some of the terms, on disk, as `select_columns` would
        give them. `n_entries` is how many entries these have."""
        n = sum(len(part.lengths) for part in self)
        whole = index_type(n_entries)
        place = Path(tempfile.mkdtemp(dir=self.folder, prefix=JOINED))
        data, indices = place / COUNTS, place / TERMS
        starts = np.zeros(n + 1, whole)
        done = 0
        with data.open("xb") as of_data, indices.open("xb") as of_indices:
            for part in self:
                for block in part.blocks(n_terms):
                    kept = select_columns(block, columns)
                    of_data.write(kept.data.astype("<i4", copy=False).data)
                    of_indices.write(kept.indices.astype(whole, copy=False).data)
                    size = kept.shape[0]
                    starts[done + 1 : done + size + 1] = kept.indptr[1:] + starts[done]
                    done += size
        arrays = mapped(data, "<i4"), mapped(indices, whole), starts
        counts = csr_array(arrays, shape=(n, len(columns)))
        counts.has_sorted_indices = counts.has_canonical_format = True
        return counts


def remove_parts(folder: Path) -> None:
    """Remove parts that are left of a count, and their folder if nothing else is in it.

    Those of a count that another process is at are left alone.
    """
    if not folder.is_dir():
        return
    try:
        with PART.locked(folder):
            for place in _parts_in(folder):
                PART.remove(place)
            _remove_joined(folder)
    except InvalidParameter:
        return
    (folder / LOCK).unlink(missing_ok=True)
    if not any(folder.iterdir()):
        folder.rmdir()


def _remove_joined(folder: Path) -> None:
    for place in folder.glob(f"{JOINED}*"):
        shutil.rmtree(place, ignore_errors=True)


def _parts_in(folder: Path) -> list[Path]:
    return sorted(folder.glob("part-" + 6 * "[0-9]")) if folder.is_dir() else []


def _dtype(file: str) -> str:
    return f"<{file.rpartition('.')[2]}"


def _read(opened: Opened) -> Part:
    place = opened.file("")
    arrays = (mapped(place / file, _dtype(file)) for file in _ARRAYS)
    lengths, terms, counts, word_terms, word_counts = arrays
    ids, labels, dates, new, words = (
        StoredStrings([place], files) for files in (IDS, LABELS, DATES, NEW_TERMS, WORDS)
    )
    return Part(
        lengths,
        terms,
        counts,
        ids,
        StoredLabels(labels),
        dates,
        new,
        words,
        word_terms,
        word_counts,
        int(opened.content["n_outside"]),
    )
