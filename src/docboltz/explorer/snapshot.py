"""A model, its collection, topics and map as they were at one time, and what a page shows of them.

n documents. Whatever does not depend on a question is made once, when it is first asked for.
"""

from __future__ import annotations

import gzip
import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from docboltz.answers import Hit, Hits, Topic, best_window
from docboltz.errors import InvalidCorpus
from docboltz.explaining import topic_or_none
from docboltz.explanations import Reasons
from docboltz.explorer.batching import Wanted
from docboltz.search.score import By
from docboltz.text_model import TextModel

NONE = 65535
"""Code of a document without a topic, or without a label."""

PIECE = 2000
"""Characters of a hit's text; of a longer one those with most matches."""

Floats = NDArray[np.float32]


class Snapshot:
    """Answers about one state of the model; may be shared by threads."""

    def __init__(self, model: TextModel) -> None:
        """Read all that may be replaced on disk."""
        self.model = model
        self.store, self.tree = model.store, model.tree
        self.positions: Floats | None = None
        """Where documents lie on the map, −1 to 1, NaN for nowhere: (n, 2). None without a map."""
        if model.has_map:
            self.positions = self._scaled(model.map().positions)

    def __len__(self) -> int:
        return len(self.store)

    # ---- the collection ----

    @cached_property
    def build(self) -> str:
        """What tells this state of collection, topics and map from others."""
        state = hashlib.sha256(self.store.opened.build.encode())
        state.update(repr([(t.number, t.name, t.parent) for t in self.tree.topics]).encode())
        state.update(self.tree.assignment.topic.tobytes())
        if self.positions is not None:
            state.update(self.positions.tobytes())
        return state.hexdigest()[:16]

    @cached_property
    def collection(self) -> dict[str, Any]:
        """What there is to explore."""
        path = self.model.path
        return {
            "name": "" if path is None else path.name,
            "documents": len(self),
            "units": self.model.n_units,
            "words": len(self.model.vocabulary),
            "topics": self.tree.n_topics,
            "has_labels": bool(self._first_labels[0]),
            "has_dates": bool(np.isfinite(self._days).any()),
            "has_map": self.positions is not None,
            "build": self.build,
        }

    @cached_property
    def topics(self) -> list[dict[str, Any]]:
        """Topics as the command line writes them, each with the middle of its documents.

        Made once: whoever asks must not change them.
        """
        shown = self.model.topics().to_dicts()
        above = {topic["topic"]: topic["parent"] for topic in shown}
        own = self.tree.assignment.topic
        for topic in shown:
            leaves = [t for t in above if topic["topic"] in _ancestors(t, above)]
            x, y = self._middle(np.isin(own, leaves))
            topic.update(x=x, y=y)
        return shown

    @cached_property
    def leaves(self) -> list[Topic]:
        """The topics that documents are assigned to, largest first."""
        finest = self.model.topics(level=-1)
        return sorted(finest, key=lambda topic: (-topic.documents, topic.number))

    def topics_by(self, by: str, period: Any) -> list[dict[str, Any]]:
        """Shares of topics by label or date, as the command line writes them."""
        found = self.model.topics_by(by, period).to_dicts()
        return [
            {**each, "topic": topic.number, "name": topic.name}
            for each, topic in zip(found, self.leaves, strict=True)
        ]

    # ---- the map ----

    @cached_property
    def _first_labels(self) -> tuple[list[str], NDArray[np.uint16]]:
        """Labels by falling frequency, and the code of each document's first."""
        firsts = [own[:1] for own in self.store.labels_and_dates()[0]]
        counted = Counter(label for first in firsts for label in first)
        names = [label for label, _ in counted.most_common(NONE - 1)]
        codes: dict[tuple[str, ...], int] = {(label,): code for code, label in enumerate(names)}
        return names, np.array([codes.get(first, NONE) for first in firsts], "<u2")

    @cached_property
    def _days(self) -> Floats:
        """Days since 1970, NaN where there is no date."""
        dates = self.store.labels_and_dates()[1]
        known = {date: _day(date) for date in set(dates)}
        return np.array([known[date] for date in dates], "<f4")

    def map(self) -> dict[str, Any]:
        """What the columns of `points` mean."""
        days = self._days[~np.isnan(self._days)]
        return {
            "documents": len(self),
            "build": self.build,
            "topics": [topic.number for topic in self.leaves],
            "labels": self._first_labels[0],
            "first_day": float(days.min()) if len(days) else None,
            "last_day": float(days.max()) if len(days) else None,
        }

    @cached_property
    def columns(self) -> dict[str, NDArray[Any]]:
        """Of all documents, as the map shows them."""
        assert self.positions is not None
        codes = np.full(len(self), NONE, "<u2")
        for code, topic in enumerate(self.leaves):
            codes[self.tree.assignment.topic == topic.number] = code
        x, y = self.positions.astype("<f4").T
        return {"x": x, "y": y, "topic": codes, "label": self._first_labels[1], "day": self._days}

    @cached_property
    def points(self) -> bytes:
        """Columns of all documents, one after the other."""
        return b"".join(column.tobytes() for column in self.columns.values())

    @cached_property
    def packed_points(self) -> bytes:
        """`points`, packed quickly: positions hardly get smaller."""
        return gzip.compress(self.points, 1, mtime=0)

    def place(self, text: str) -> tuple[float | None, float | None]:
        """Where a text lies on the map; nowhere without one, or without a known word."""
        if self.positions is None:
            return None, None
        x, y = ((self.model.place([text]) - self._middle_of_map) / self._half)[0].tolist()
        return (x, y) if np.isfinite([x, y]).all() else (None, None)

    def place_of(self, row: int) -> tuple[float | None, float | None]:
        """Where a document of the collection lies on the map."""
        if self.positions is None or not np.isfinite(self.positions[row]).all():
            return None, None
        x, y = self.positions[row].tolist()
        return x, y

    def _scaled(self, positions: Floats) -> Floats:
        """Positions in [-1, 1], both directions by the same scale."""
        inside = positions[np.isfinite(positions).all(axis=1)]
        low, high = (inside.min(axis=0), inside.max(axis=0)) if len(inside) else (0.0, 0.0)
        self._middle_of_map = (np.asarray(low) + high) / 2
        self._half = max(float(np.max(np.asarray(high) - low)) / 2, 1e-12)
        return ((positions - self._middle_of_map) / self._half).clip(-1, 1).astype(np.float32)

    def _middle(self, inside: NDArray[np.bool_]) -> tuple[float | None, float | None]:
        if self.positions is None:
            return None, None
        own = self.positions[inside]
        own = own[np.isfinite(own).all(axis=1)]
        if not len(own):
            return None, None
        x, y = np.median(own, axis=0).tolist()
        return x, y

    # ---- answers ----

    def search(self, texts: Sequence[str], limit: int, by: By, wanted: Wanted) -> list[Hits]:
        """Hits of several texts."""
        return self.model.search_many(texts, limit, by=by, **wanted)

    def found(self, text: str, hits: Hits, reasons: Iterable[Reasons] = ()) -> dict[str, Any]:
        """The answer to a search, which says why where there are no hits."""
        why = "No document answers this." if text.strip() else "There is no word to search for."
        return self._answer(hits, reasons, " ".join(hits.remarks()) or why)

    def transform(
        self, texts: list[str]
    ) -> tuple[list[list[float]], list[int | None], list[float]]:
        """Features, topics and how sure these are."""
        if not texts:
            return [], [], []
        found = self.model.assign(texts)
        topics = [topic_or_none(number) for number in found.topic.tolist()]
        return self.model.transform(texts).tolist(), topics, found.probability.tolist()

    def hits(self, hits: Sequence[Hit], reasons: Iterable[Reasons] = ()) -> list[dict[str, Any]]:
        """Hits as the command line writes them, with their topics and perhaps reasons."""
        topics = self.tree.assignment.topic
        found = [{**_shown(hit), "topic": topic_or_none(topics[hit.row])} for hit in hits]
        for hit, why in zip(found, reasons, strict=False):
            hit["reasons"] = why.to_dict()
        return found

    def similar(
        self, id: str, limit: int, by: By, wanted: Wanted, *, reasons: bool
    ) -> dict[str, Any]:
        """The documents most like one of the collection."""
        hits = self.model.similar(id, limit, by=by, **wanted)
        why = self.model.similar_reasons(id, hits, by=by) if reasons and hits else ()
        return self._answer(hits, why, "No document is like it.")

    def _answer(self, hits: Hits, reasons: Iterable[Reasons], nothing: str) -> dict[str, Any]:
        return {
            **({} if hits else {"message": nothing}),
            "hits": self.hits(hits, reasons),
            "unknown": list(hits.unknown),
            "suggestions": hits.suggestions,
            "phrases": list(hits.phrases),
            "build": self.build,
        }

    def words(self, text: str, limit: int) -> list[dict[str, Any]]:
        """Words the model expects; none beside words it does not know."""
        try:
            return self.model.words(text, limit).to_dicts()
        except InvalidCorpus:
            return []

    def explain(self, text: str, limit: int) -> dict[str, Any]:
        """What the model makes of a text, where it lies and what lies near it."""
        found = self.model.explain(text)
        x, y = self.place(text) if found.known else (None, None)
        hits = self.hits(self.model.search_many([text], limit, operators=False)[0])
        return {**found.to_dict(), "x": x, "y": y, "hits": hits, "build": self.build}

    def document(self, id: str) -> dict[str, Any]:
        """A document, what the model makes of it and where it lies."""
        found = self.model.document(id)
        x, y = self.place_of(found.row)
        return {**found.to_dict(), "x": x, "y": y, "build": self.build}

    def row_of(self, id: str) -> int | None:
        """The row of a document, if there is one of that id."""
        rows = self.store.rows_of([id])
        return int(rows[0]) if len(rows) else None


def _shown(hit: Hit) -> dict[str, Any]:
    """A hit with the piece of its text that has most matches."""
    if len(hit.text) <= PIECE:
        return {**hit.to_dict(), "begin": 0, "whole": True}
    begin = min(best_window(hit.matches, PIECE), len(hit.text) - PIECE)
    end = begin + PIECE
    inside = [(b - begin, e - begin) for b, e in hit.matches if begin <= b and e <= end]
    own = {"text": hit.text[begin:end], "matches": inside, "begin": begin, "whole": False}
    return {**hit.to_dict(), **own}


def _ancestors(topic: int | None, above: dict[int, int | None]) -> list[int]:
    """A topic and those it belongs to."""
    found: list[int] = []
    while topic is not None:
        found.append(topic)
        topic = above.get(topic)
    return found


def _day(date: str) -> float:
    """Days since 1970 of "2013", "2013-08" or "2013-08-11…"; NaN of anything else."""
    try:
        return float(np.datetime64(date[:10], "D").astype(np.int64)) if date else np.nan
    except ValueError:
        return np.nan
