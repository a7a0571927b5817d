"""What a search asks for: words, phrases, words that must not occur, and a filter.

| in a query | finds documents |
|---|---|
| `battery screen` | about these words, those that have them first |
| `"refs #420"` | in whose text this phrase stands: as typed, but for case and white space |
| `-cracked`, `-"no signal"` | without the word, or the phrase |
| `label:phone`, `label:"old phone"` | with the label; of several labels, with one of them |
| `since:2013-08`, `until:2014` | of this date or later, of this date or earlier |
| `author:smith` | with this value in a column that was kept |

A query of several lines, or of more than 300 characters, is taken as a text: nothing in it has
a special meaning.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from docboltz.corpus.analysis import is_spaceless
from docboltz.corpus.columns import iso_date
from docboltz.errors import NoAnswer, require

LONGEST = 300
"""Characters of a query in which operators are looked for."""
SURROGATE = re.compile("[\ud800-\udfff]")
NO_DATE = np.iinfo(np.int64).min
_PART = re.compile(r'(?<!\S)(-?)(?:([^\s":-][^\s":]*):)?(?:"([^"]+)"(?!\w)|(\S+))')
_QUOTES = str.maketrans("“”„", '"""')


def is_text(value: object) -> bool:
    """Tell whether it is a string UTF-8 can write; a file's name may hold half a surrogate pair."""
    return isinstance(value, str) and (value.isascii() or not SURROGATE.search(value))


@dataclass(frozen=True)
class Filter:
    """What a document must have to be a hit. An empty one lets all documents through.

    >>> Filter(since="2013-05-02T10:20+02:00").since
    '2013-05-02T08:20:00'
    """

    labels: tuple[str, ...] = ()
    """One of these labels."""
    since: str = ""
    """A date that begins at the beginning of this one or later."""
    until: str = ""
    """A date that begins before the end of this one."""
    columns: tuple[tuple[str, str], ...] = ()
    """Names of kept columns and the value in each."""

    def __post_init__(self) -> None:
        listed = not isinstance(self.labels, str) and all(map(is_text, self.labels))
        require(listed, "TextModel.search", "label", "a label or several", self.labels)
        object.__setattr__(self, "labels", tuple(self.labels))
        for name in ("since", "until"):
            given = getattr(self, name)
            found = iso_date(given)
            expected = "a date such as 2013, 2013-08 or 2013-08-11"
            require(found is not None, "TextModel.search", name, expected, given)
            object.__setattr__(self, name, found)
        begin, end = self.span
        expected = f"a date no later than {self.until}, where the range ends"
        require(begin < end, "TextModel.search", "since", expected, self.since)
        for pair in self.columns:
            named = all(map(is_text, pair)) and '"' not in pair[0]
            expected = "names of columns, without quotes, and a string for each"
            require(named, "TextModel.search", "where", expected, dict(self.columns))

    def __bool__(self) -> bool:
        return self != ANY

    @property
    def span(self) -> tuple[int, int]:
        """First second that is in, and first that is out again; all seconds there are."""
        begin = np.datetime64(self.since, "s").astype(int) if self.since else NO_DATE
        last = np.datetime64(self.until) + 1 if self.until else None  # of the same precision
        end = np.iinfo(np.int64).max if last is None else last.astype("M8[s]").astype(int)
        return int(begin), int(end)

    def __str__(self) -> str:
        """What it asks for, in words.

        >>> print(Filter(("a", "b"), since="2013", columns=(("author", "me"),)))
        the label 'a' or 'b', a date from 2013 and author 'me'
        """
        parts = [f"the label {' or '.join(map(repr, self.labels))}"] if self.labels else []
        dates = [f"from {self.since}"] * bool(self.since) + [f"to {self.until}"] * bool(self.until)
        parts += [f"a date {' '.join(dates)}"] if dates else []
        parts += [f"{name} {value!r}" for name, value in self.columns]
        return ", ".join(parts[:-1]) + " and " * (len(parts) > 1) + "".join(parts[-1:])


ANY = Filter()


@dataclass(frozen=True)
class Query:
    """A query, taken apart."""

    text: str
    """Its words, those of phrases included."""
    phrases: tuple[str, ...] = ()
    """That must stand in the text."""
    without: tuple[str, ...] = ()
    """Words and phrases that must not."""
    wanted: Filter = ANY

    def without_phrases(self, absent: Collection[str]) -> Query:
        """The same, but for some phrases, whose words are still asked for."""
        return replace(self, phrases=tuple(each for each in self.phrases if each not in absent))


def parse(text: str, columns: Collection[str] = (), wanted: Filter = ANY) -> Query:
    """Take a query apart; its filter is added to the one that is `wanted`.

    >>> query = parse('cracked "left side" -repair label:phone since:2013 16:9')
    >>> query.text, query.phrases, query.without
    ('cracked left side 16:9', ('left side',), ('repair',))
    >>> query.wanted
    Filter(labels=('phone',), since='2013', until='', columns=())
    """
    if len(text) > LONGEST or "\n" in text.strip():
        return Query(text, wanted=wanted)
    words: list[str] = []
    phrases: list[str] = []
    without: list[str] = []
    labels, dates, kept = list(wanted.labels), dict[str, str](), list(wanted.columns)
    for match in _PART.finditer(text.translate(_QUOTES)):
        minus, name, phrase, word = match.groups()
        value = phrase or word
        field = name.lower() if name else ""
        if minus and (field in ("label", "since", "until") or name in columns):
            raise NoAnswer(f"Filters cannot be excluded: {match[0]}.")
        if minus and (phrase.strip() if phrase else any(map(str.isalnum, value))):
            without.append(f"{name}:{value}" if name else value)
        elif field == "label":
            labels.append(value)
        elif field in ("since", "until"):
            dates[field] = value
        elif name in columns:
            kept.append((name, value))
        elif phrase and not name:
            phrases.append(phrase.strip())
            words.append(phrase)
        else:
            words.append(match[0])
    found = replace(wanted, labels=tuple(labels), columns=tuple(kept), **dates)
    return Query(" ".join(words), tuple(filter(None, phrases)), tuple(without), found)


@dataclass(frozen=True)
class Phrase:
    """Words that stand side by side in a text, with the punctuation between them.

    >>> Phrase("refs #420", ("ref", "420")).is_in("Refs  #420: fixed.")
    True
    """

    text: str
    terms: tuple[str, ...]
    """What its words are in the word index."""
    literal: bool = True
    """Whether it must stand in the text as it is; else its terms are enough, if it has any."""
    turkish: bool = False
    """Whether I is the capital of ı, and İ that of i."""

    def is_in(self, text: str) -> bool:
        """Tell whether it stands in a text: whole words, any case, any white space."""
        return self._pattern.search(self._plain(text)) is not None

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        words = self._plain(self.text).split()
        inner = r"\s+".join(map(re.escape, words))
        begin, end = words[0][0], words[-1][-1]
        before = r"(?<!\w)" if begin.isalnum() and not is_spaceless(begin) else ""
        after = r"(?!\w)" if end.isalnum() and not is_spaceless(end) else ""
        return re.compile(before + inner + after)

    def _plain(self, text: str) -> str:
        if self.turkish:
            text = text.replace("İ", "i").replace("I", "ı")
        return (text if text.isascii() else unicodedata.normalize("NFKC", text)).casefold()
