"""How to read documents: what a person may say about their files. Saved with a model."""

from __future__ import annotations

import codecs
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from docboltz.errors import require
from docboltz.storage import SavedSettings

Format = Literal["files", "csv", "tsv", "jsonl", "parquet", "lines"]
FORMATS: tuple[Format, ...] = get_args(Format)
"""`files`: every file is one document. `lines`: every line is."""


@dataclass(frozen=True, repr=False)
class ReadOptions(SavedSettings):
    """Everything that `docboltz.read` can be told. None means: find out.

    >>> ReadOptions(text=["title", "body"], delimiter="tab")
    ReadOptions(text=('title', 'body'), delimiter='\\t')
    """

    format: Format | None = None
    text: str | tuple[str, ...] | None = None
    """The column with the text, or several whose texts are joined."""
    id: str | None = None
    """The column with the document's id."""
    label: str | None = None
    """The column with the label or labels."""
    date: str | None = None
    """The column with the document's date."""
    title: str | None = None
    """The column with the document's title."""
    keep: str | tuple[str, ...] | None = None
    """Further columns that are kept with the document; in one string, split by commas."""
    label_separator: str | None = None
    """Splits labels that are one string: "a;b" with ";"."""
    encoding: str | None = None
    delimiter: str | None = None
    """What separates the columns of a CSV: one character, or "tab"."""
    header: bool = True
    """The first row of a CSV or TSV names its columns; otherwise they are "1", "2", …"""
    quotes: bool = True
    """Quotes around a field of a CSV or TSV are not part of it."""

    def __post_init__(self) -> None:
        def check(ok: bool, name: str, expected: str) -> None:
            require(ok, "read", name, expected, getattr(self, name))

        check(self.format is None or self.format in FORMATS, "format", " or ".join(FORMATS))
        if isinstance(self.text, (list, tuple)):
            text = tuple(self.text)
            object.__setattr__(self, "text", (text[0] if len(text) == 1 else text) or None)
        names = self.text if isinstance(self.text, tuple) else (self.text or "",)
        named = all(isinstance(name, str) for name in names)
        check(named, "text", "the name of a column, or several")
        for name in ("id", "label", "date", "title"):
            check(_is_text_or_none(getattr(self, name)), name, "the name of a column")
        keep = self.keep or ()
        if isinstance(keep, str):
            keep = tuple(name for part in keep.split(",") if (name := part.strip()))
        named = isinstance(keep, (list, tuple)) and all(isinstance(name, str) for name in keep)
        check(named, "keep", "names of columns")
        object.__setattr__(self, "keep", tuple(dict.fromkeys(keep)) or None)
        separator = self.label_separator
        check(_is_text_or_none(separator) and separator != "", "label_separator", "some text")
        check(_is_encoding(self.encoding), "encoding", "an encoding, such as utf-8 or cp1252")
        if self.delimiter in ("tab", r"\t"):
            object.__setattr__(self, "delimiter", "\t")
        one = isinstance(self.delimiter, str) and len(self.delimiter) == 1
        usable = one and self.delimiter not in ('"', "\n", "\r")
        check(self.delimiter is None or usable, "delimiter", "one character, or 'tab'")
        for name in ("header", "quotes"):
            check(isinstance(getattr(self, name), bool), name, "True or False")

    def to_dict(self) -> dict[str, Any]:
        """All options as JSON can hold them."""
        return asdict(self)


def _is_text_or_none(value: object) -> bool:
    return value is None or isinstance(value, str)


def _is_encoding(name: object) -> bool:
    """Whether bytes become text by it; Python also has encodings from bytes to bytes."""
    if not isinstance(name, str):
        return name is None
    try:
        codecs.lookup(name)
    except (LookupError, ValueError):
        return False
    try:
        b" ".decode(name)
    except UnicodeDecodeError:  # half a character of UTF-16
        return True
    except (LookupError, ValueError):
        return False
    return True
