"""Which documents of a collection may be hits: those of a label, or of a time. n documents.

Two columns beside the documents: the number of each one's labels among all there are together, and
the second its date begins with. Reading the documents themselves would take longer than a search.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from docboltz.corpus.dates import DateReading
from docboltz.corpus.document import Document
from docboltz.corpus.stored import mapped
from docboltz.errors import InvalidParameter, require
from docboltz.search.documents import is_text
from docboltz.search.words import Rows

LABEL_SETS, LABELS, SECONDS = "label-sets.json", "labels.u4", "seconds.i8"
FILES = (LABEL_SETS, LABELS, SECONDS)
NO_DATE = np.iinfo(np.int64).min
"""NumPy's "not a time"."""


@dataclass(frozen=True)
class Filter:
    """What a document must have to be a hit. Nothing given: any may be.

    >>> Filter(since="May 2, 2013").since
    '2013-05-02'
    """

    labels: tuple[str, ...] = ()
    """One of these labels."""
    since: str = ""
    """A date that begins at the beginning of this one or later."""
    until: str = ""
    """A date that begins before the end of this one."""

    def __post_init__(self) -> None:
        listed = not isinstance(self.labels, str) and all(isinstance(x, str) for x in self.labels)
        require(listed, "TextModel.search", "label", "a label or several", self.labels)
        object.__setattr__(self, "labels", tuple(self.labels))
        for name in ("since", "until"):
            given = getattr(self, name)
            found = DateReading()(given)
            expected = "a date such as 2013, 2013-08 or 2013-08-11"
            require(found is not None, "TextModel.search", name, expected, given)
            object.__setattr__(self, name, found)
        begin, end = self.span
        expected = f"a date no later than {self.until}, the last that is asked for"
        require(begin < end, "TextModel.search", "since", expected, self.since)

    def __bool__(self) -> bool:
        return bool(self.labels or self.since or self.until)

    @property
    def span(self) -> tuple[int, int]:
        """First second that is in, and first that is out again; all seconds there are."""
        begin = np.datetime64(self.since, "s").astype(int) if self.since else NO_DATE
        last = np.datetime64(self.until) + 1 if self.until else None  # of the same precision
        end = np.iinfo(np.int64).max if last is None else last.astype("M8[s]").astype(int)
        return int(begin), int(end)


ANY = Filter()


def require_known(asked: Sequence[str], known: Collection[str]) -> None:
    """Say so if no document has one of these labels."""
    if not asked or not {*asked}.isdisjoint(known):
        return
    what = " or ".join(map(repr, asked))
    if not known:
        raise InvalidParameter(
            f"No document has the label {what}: none has any.",
            hint="Name their column when they are read: {TextModel.read(label=…)}.",
            settings=("TextModel.read(label=…)",),
        )
    some = ", ".join(map(repr, islice(known, 5)))
    raise InvalidParameter(
        f"No document has the label {what}. There are {len(known):,}, such as {some}."
    )


def require_dates(wanted: Filter, dated: bool) -> None:
    """Say so if documents are asked for by date and none has one."""
    if (wanted.since or wanted.until) and not dated:
        raise InvalidParameter(
            "No document has a date.",
            hint="Name their column when they are read: {TextModel.read(date=…)}.",
            settings=("TextModel.read(date=…)",),
        )


def seconds_of(dates: Iterable[str]) -> NDArray[np.int64]:
    """The seconds, since 1970, that dates begin with; NO_DATE for what is none."""
    listed = list(dates)
    try:
        seconds = np.array(listed, "M8[s]")
    except ValueError:
        seconds = np.array([_moment(date) for date in listed], "M8[s]")
    return seconds.astype(np.int64)


def _moment(date: str) -> np.datetime64:
    try:
        return np.datetime64(date, "s")
    except ValueError:
        return np.datetime64("NaT", "s")


class FilterWriter(ExitStack):
    """Writes both columns to a folder, block by block: a context that closes its files."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder
        self._numbers: dict[tuple[str, ...], int] = {}
        self._labels = self.enter_context((folder / LABELS).open("xb"))
        self._seconds = self.enter_context((folder / SECONDS).open("xb"))

    def append(self, documents: Sequence[Document]) -> None:
        """Add documents at the end."""
        self._write([d.labels for d in documents], seconds_of(d.date for d in documents))

    def copy(self, stored: StoredFilters, rows: Rows) -> None:
        """Add documents of another collection at the end."""
        sets = stored.label_sets
        own = [sets[number] for number in stored.labels[rows].tolist()]
        self._write(own, stored.seconds[rows])

    def finish(self) -> None:
        """Write which labels there are."""
        sets = json.dumps(list(self._numbers), ensure_ascii=False)
        (self._folder / LABEL_SETS).write_text(sets, encoding="utf-8")
        self.close()

    def _write(self, labels: list[tuple[str, ...]], seconds: NDArray[np.int64]) -> None:
        known = self._numbers
        numbers = [known.setdefault(each, len(known)) for each in labels]
        self._labels.write(np.array(numbers, "<u4").data)
        self._seconds.write(seconds.astype("<i8", copy=False).data)


class StoredFilters:
    """Both columns, mapped. Whatever they hold: an answer, LookupError, TypeError or ValueError."""

    def __init__(self, folder: Path, n: int) -> None:
        """Of n documents."""
        self.labels: NDArray[np.uint32] = mapped(folder / LABELS, "<u4")
        self.seconds: NDArray[np.int64] = mapped(folder / SECONDS, "<i8")
        self._sets: NDArray[np.uint8] = mapped(folder / LABEL_SETS, np.uint8)
        if (len(self.labels), len(self.seconds)) != (n, n):
            raise ValueError(f"labels and dates are not those of {n:,} documents")

    @cached_property
    def label_sets(self) -> list[tuple[str, ...]]:
        """The labels of documents, each combination once."""
        sets = json.loads(self._sets.tobytes())
        if not all(isinstance(each, list) and all(map(is_text, each)) for each in sets):
            raise ValueError(f"{LABEL_SETS} holds other things than labels")
        return [tuple(each) for each in sets]

    def rows_without(self, wanted: Filter) -> Rows:
        """Rows of documents that cannot be hits, in order."""
        allowed = np.ones(len(self.labels), bool)
        if wanted.labels:
            asked = set(wanted.labels)
            fits = np.array([not asked.isdisjoint(own) for own in self.label_sets], bool)
            allowed &= fits[self.labels]
        if wanted.since or wanted.until:
            begin, end = wanted.span
            allowed &= (self.seconds != NO_DATE) & (self.seconds >= begin) & (self.seconds < end)
        return np.flatnonzero(~allowed)

    @cached_property
    def dated(self) -> bool:
        """Whether any document has a date."""
        return bool((self.seconds != NO_DATE).any())

    @cached_property
    def known_labels(self) -> dict[str, None]:
        """All labels, in the order of documents."""
        return dict.fromkeys(label for own in self.label_sets for label in own)

    def save(self, folder: Path) -> None:
        """Write all files again."""
        arrays: tuple[NDArray[Any], ...] = (self._sets, self.labels, self.seconds)
        for name, array in zip(FILES, arrays, strict=True):
            (folder / name).write_bytes(array.data)
