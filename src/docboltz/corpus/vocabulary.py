"""Word ↔ column."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

from docboltz.errors import InvalidCorpus


class Vocabulary(tuple[str, ...]):
    """The words of a document-term matrix, in the order of its columns: a tuple that can look up.

    >>> v = Vocabulary(["sea", "ship"])
    >>> v[1], v.column("ship"), v.column("sky"), "sea" in v, len(v)
    ('ship', 1, None, True, 2)

    A stem is no word: `forms` says how to show each to people. It does not count in comparisons.

    >>> Vocabulary(["hockei"], ["hockey"]).forms
    ('hockey',)
    """

    forms: tuple[str, ...]
    """Each word as it is shown to people."""
    _columns: dict[str, int]

    def __new__(cls, words: Iterable[str], forms: Iterable[str] | None = None) -> Self:
        """Take the words and, where they are not words as people write them, their forms."""
        self = super().__new__(cls, words)
        self.forms = self.words if forms is None else tuple(forms)
        self._columns = {word: column for column, word in enumerate(self)}
        if len(self.forms) != len(self):
            raise InvalidCorpus(
                f"A vocabulary of {len(self)} words needs as many forms; got {len(self.forms)}."
            )
        for column, word in enumerate(self):
            if not isinstance(word, str):
                raise InvalidCorpus(
                    f"A vocabulary holds words; got {word!r}.", hint="Pass str(...) of it."
                )
            if self._columns[word] != column:
                raise InvalidCorpus(f"A vocabulary holds each word once; {word!r} is there twice.")
        return self

    @property
    def words(self) -> tuple[str, ...]:
        """All words in the order of their columns."""
        return tuple(self)

    def column(self, word: str) -> int | None:
        """The word's column, or None if the vocabulary lacks it."""
        return self._columns.get(word)

    def columns(self) -> dict[str, int]:
        """The column of every word, in a new dictionary."""
        return dict(self._columns)

    def __contains__(self, word: object) -> bool:
        return word in self._columns

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self[:5]))
        return f"Vocabulary({len(self)} words: {shown}{', …' if len(self) > 5 else ''})"
