"""Rows without gaps over keys with gaps: what is deleted leaves its key free for good.

So nothing ever takes the key of something else, and whoever read the keys before a change still
finds under each what was there, or nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from docboltz.search.words import Rows


@dataclass(frozen=True, eq=False)
class Keys:
    """Keys 0, …, end − 1 without those of some spans; what is left has the rows 0, …, n − 1."""

    end: int
    begins: Rows
    """First keys of the spans that are gone, in order."""
    ends: Rows
    """First keys behind them."""

    @classmethod
    def of(cls, n: int, gone: Any) -> Keys:
        """Of n rows and spans [begin, end) as `gone` gives them; or ValueError."""
        spans = np.array(gone, np.int64).reshape(-1, 2)
        flat = spans.ravel()
        if n < 0 or (flat[:1] < 0).any() or not (flat[1:] > flat[:-1]).all():
            raise ValueError("its keys make no sense")
        end = n + int((spans[:, 1] - spans[:, 0]).sum())
        if (flat[-1:] > end).any():
            raise ValueError("its keys make no sense")
        return cls(end, spans[:, 0], spans[:, 1])

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.end - int(self._gone_before[-1])

    @property
    def gone(self) -> list[list[int]]:
        """The spans that are gone."""
        spans: list[list[int]] = np.column_stack([self.begins, self.ends]).tolist()
        return spans

    @property
    def _gone_before(self) -> Rows:
        """How many keys are gone before each span, and in all."""
        return np.concatenate([[0], np.cumsum(self.ends - self.begins)])

    def of_rows(self, rows: Rows) -> Rows:
        """The keys of rows."""
        next_rows = self.begins - self._gone_before[:-1]  # of what comes behind each span
        return rows + self._gone_before[np.searchsorted(next_rows, rows, "right")]

    def to_rows(self, keys: Rows) -> Rows:
        """The rows of keys, none of which is gone."""
        return keys - self._gone_before[np.searchsorted(self.begins, keys, "right")]

    def changed(self, gone: Rows, more: int) -> Keys:
        """Without some keys, and with so many more at the end."""
        begins, ends = np.append(self.begins, gone), np.append(self.ends, gone + 1)
        begins, ends = np.sort(begins), np.sort(ends)  # spans do not overlap: pairs stay pairs
        touching = np.flatnonzero(begins[1:] == ends[:-1])
        return Keys(self.end + more, np.delete(begins, touching + 1), np.delete(ends, touching))
