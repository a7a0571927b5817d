"""Word ↔ column."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import overload

from docboltz.errors import InvalidCorpus


class Vocabulary(Sequence[str]):
    """The words of a document-term matrix, in the order of its columns. Never changes.

    >>> v = Vocabulary(["sea", "ship"])
    >>> v[1], v.column("ship"), v.column("sky"), "sea" in v, len(v)
    ('ship', 1, None, True, 2)

    A stem is no word: `forms` says how to show each to people. It does not count in comparisons.

    >>> Vocabulary(["hockei"], ["hockey"]).forms
    ('hockey',)
    """

    __slots__ = ("_columns", "_forms", "_words")

    def __init__(self, words: Iterable[str], forms: Iterable[str] | None = None) -> None:
        self._words = tuple(words)
        self._forms = self._words if forms is None else tuple(forms)
        if len(self._forms) != len(self._words):
            raise InvalidCorpus(
                f"A vocabulary of {len(self._words)} words needs as many forms; "
                f"got {len(self._forms)}."
            )
        self._columns = {word: column for column, word in enumerate(self._words)}
        for word in self._words:
            if not isinstance(word, str):
                raise InvalidCorpus(
                    f"A vocabulary holds words; got {word!r}.", hint="Pass str(...) of it."
                )
        if len(self._columns) != len(self._words):
            twice = next(w for i, w in enumerate(self._words) if self._columns[w] != i)
            raise InvalidCorpus(f"A vocabulary holds each word once; {twice!r} is there twice.")

    @property
    def words(self) -> tuple[str, ...]:
        """All words in the order of their columns."""
        return self._words

    @property
    def forms(self) -> tuple[str, ...]:
        """Each word as it is shown to people."""
        return self._forms

    def column(self, word: str) -> int | None:
        """The word's column, or None if the vocabulary lacks it."""
        return self._columns.get(word)

    def __len__(self) -> int:
        return len(self._words)

    def __iter__(self) -> Iterator[str]:
        return iter(self._words)

    @overload
    def __getitem__(self, column: int) -> str: ...
    @overload
    def __getitem__(self, column: slice) -> tuple[str, ...]: ...
    def __getitem__(self, column: int | slice) -> str | tuple[str, ...]:
        return self._words[column]

    def __contains__(self, word: object) -> bool:
        return word in self._columns

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and self._words == other._words

    def __hash__(self) -> int:
        return hash(self._words)

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self._words[:5]))
        return f"Vocabulary({len(self)} words: {shown}{', …' if len(self) > 5 else ''})"
