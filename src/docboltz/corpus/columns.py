"""Which column holds the text, the id, the labels, the date, and what their values mean."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from docboltz.corpus.dates import DateReading, Finder
from docboltz.corpus.read_options import ReadOptions
from docboltz.corpus.values import is_missing, plain
from docboltz.errors import InvalidCorpus, shown
from docboltz.progress import printable

TEXT_NAMES = (
    "text", "texts", "body", "content", "contents", "document", "doc", "article", "abstract",
    "message", "review", "review_text", "reviewtext", "review_body", "comment", "comment_text",
    "tweet", "post", "selftext", "sentence", "question", "description", "summary", "transcript",
    "full_text", "fulltext", "raw_text", "clean_text", "tokens", "words", "data", "title",
    "headline",
)  # fmt: skip
ID_NAMES = (
    "id", "_id", "ids", "doc_id", "docid", "document_id", "uid", "uuid", "guid", "key", "pmid",
    "doi", "arxiv_id", "article_id", "paper_id", "review_id", "tweet_id", "post_id", "docno",
    "filename", "file", "path", "url",
)  # fmt: skip
LABEL_NAMES = (
    "labels", "label", "label_text", "categories", "category", "classes", "class", "topics",
    "topic", "tags", "tag", "targets", "target", "section", "genre", "newsgroup", "subject",
    "sentiment", "y",
)  # fmt: skip
DATE_NAMES = (
    "date", "datetime", "date_time", "timestamp", "created_at", "created_utc", "created",
    "date_created", "published_at", "published", "publication_date", "pub_date", "pubdate",
    "published_date", "publish_date", "date_published", "posted_at", "post_date", "date_posted",
    "review_date", "submitted", "submitted_at", "submission_date", "time", "year", "pub_year",
    "publication_year", "updated_at", "updated", "update_date",
)  # fmt: skip
"""Taken if the values are dates, too: a `time` of "3:20" is none."""
TITLE_NAMES = ("title",)
MOST_LABELS = 1_000_000
"""Of one document."""


@dataclass(frozen=True)
class Columns:
    """The columns of one file."""

    text: tuple[str, ...]
    id: str | None
    label: str | None
    label_separator: str | None = None
    unused: tuple[str, ...] = ()
    """Columns nobody has asked for; one of them may hold the labels."""
    date: str | None = None
    dates: DateReading = field(default_factory=DateReading)
    """How the values of the date column are read."""
    title: str | None = None
    kept: tuple[tuple[str, str | None], ...] = ()
    """Further columns: the name that was asked for, and that of the column, None if missing."""

    def get(
        self, record: Mapping[str, Any]
    ) -> tuple[str | None, str, tuple[str, ...], str | None, str, dict[str, str]]:
        """What a record says of a document: None for an id that is missing, or a date that is none.

        Id, text, labels, date, title, and the columns that are kept.
        """
        parts = [as_text(record.get(name)) for name in self.text]
        text = parts[0] if len(parts) == 1 else "\n".join(part for part in parts if part)
        name = as_text(record.get(self.id)).strip() if self.id is not None else ""
        labels: tuple[str, ...] = ()
        if self.label is not None:
            labels = as_labels(record.get(self.label), self.label_separator)
        date = "" if self.date is None else self.dates(record.get(self.date))
        title = "" if self.title is None else as_text(record.get(self.title)).strip()
        kept = {
            name: "" if column is None else as_kept(record.get(column))
            for name, column in self.kept
        }
        return name or None, text, labels, date, title, kept

    def __str__(self) -> str:
        """What is read from where, in words."""
        text = " and ".join(map(shown, self.text))
        identity = "no id" if self.id is None else f"id {shown(self.id)}"
        label = "no label" if self.label is None else f"label {shown(self.label)}"
        order = f" ({self.dates})" if str(self.dates) else ""
        date = "" if self.date is None else f", date {shown(self.date)}{order}"
        title = "" if self.title is None else f", title {shown(self.title)}"
        names = [column for _, column in self.kept if column is not None]
        kept = f"; kept: {_quoted(names, 5)}" if names else ""
        unused = f"; not used: {_quoted(self.unused, 5)}" if self.unused else ""
        return f"text {text}, {identity}, {label}{date}{title}{kept}{unused}"

    @property
    def used(self) -> list[str]:
        """Every column that is read, each once."""
        names = [*self.text, self.id, self.label, self.date, self.title]
        names += [column for _, column in self.kept]
        return list(dict.fromkeys(name for name in names if name is not None))


@dataclass(frozen=True)
class ColumnChoice:
    """Which columns to take, and from where such wishes come."""

    options: ReadOptions
    saved: frozenset[str] = frozenset()
    """Options that were not given but saved with a model: new documents often have no label."""

    def find(
        self,
        names: Sequence[str],
        where: str,
        is_text: Callable[[str], bool] = lambda name: True,
        absent: Callable[[str], None] = lambda message: None,
        *,
        dates: Finder = lambda name, named: DateReading() if named else None,
        lenient: bool = False,
    ) -> Columns:
        """Choose columns among `names`; `is_text` tells which may hold text, `dates` which dates.

        `absent` gets a message for each saved column but the text that is missing. Others must not
        be, unless `lenient`.
        """
        options = self.options
        wanted = (options.text,) if isinstance(options.text, str) else options.text or ()
        text = tuple(_named(name, names, where, "text") for name in wanted)

        def optional(what: str, name: str | None) -> str | None:
            found = None if name is None else same_name(name, names)
            if name is None or found is not None:
                return found
            if what in self.saved:
                absent(f"{where} has no {_column(what, name)}")
                return None
            return name if lenient else _named(name, names, where, what)

        identity, label = optional("id", options.id), optional("label", options.label)
        date, title = optional("date", options.date), optional("title", options.title)
        kept = tuple((name, optional("keep", name)) for name in options.keep or ())
        taken = {*text, identity, label, date, title}
        free = [name for name in names if name not in taken]
        if not text:
            candidates = [name for name in free if is_text(name)]
            found = _known(candidates, TEXT_NAMES)
            if found is None and len(candidates) == 1:
                found = candidates[0]
            if found is None:
                raise InvalidCorpus(
                    f"{where} has no column with a usual name for texts (text, body, content, …). "
                    f"It has {_listed(names)}.",
                    hint="Name the one that holds the text with {text}; if the first line is no "
                    "heading, set {header=False}.",
                    settings=("text", "header=False"),
                )
            text = (found,)
            free = [name for name in free if name != found]
        identity = identity if identity is not None else _known(free, ID_NAMES)
        free = [name for name in free if name != identity]
        label = label if label is not None else _known(free, LABEL_NAMES)
        free = [name for name in free if name != label]
        if date is not None:
            reading = dates(date, True)
        else:
            found_dates = ((name, dates(name, False)) for name in _all_known(free, DATE_NAMES))
            date, reading = next((pair for pair in found_dates if pair[1]), (None, None))
        free = [name for name in free if name != date]
        title = title if title is not None else _known(free, TITLE_NAMES)
        used = {title, *(column for _, column in kept)}
        unused = tuple(name for name in free if name not in used)
        how = options.label_separator, unused, date, reading or DateReading()
        return Columns(text, identity, label, *how, title, kept)


def as_kept(value: Any) -> str:
    """A string from whatever a column that is kept holds: JSON, if the value is not simple."""
    value = plain(value)
    if not isinstance(value, (bool, list, tuple, dict)):
        return as_text(value)
    try:
        return json.dumps(value, ensure_ascii=False, default=as_text)
    except Exception as error:  # it is nested too deeply, or whatever an object does
        raise _unreadable(value, error) from error


def as_text(value: Any) -> str:
    """A text from whatever a column holds; lists are already tokenised texts."""
    if isinstance(value, str):
        return value
    value = plain(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, (list, tuple)):
        return " ".join(map(as_text, _flat(value)))
    if is_missing(value):
        return ""
    try:
        return str(value)
    except Exception as error:  # a number of 5,000 digits, or whatever an object does
        raise _unreadable(value, error) from error


def _flat(values: Sequence[Any]) -> list[Any]:
    """What is in lists of lists, however deep: a stranger's may be deeper than Python's calls."""
    flat: list[Any] = []
    waiting = [iter(values)]
    while waiting:
        value = plain(next(waiting[-1], waiting))
        if value is waiting:
            waiting.pop()
        elif isinstance(value, (list, tuple)):
            waiting.append(iter(value))
        else:
            flat.append(value)
    return flat


def _unreadable(value: object, error: Exception) -> InvalidCorpus:
    reason = printable(str(error)).strip().rstrip(".") or type(error).__name__
    return InvalidCorpus(
        f"A value of type {type(value).__name__} cannot be read as text: {reason}."
    )


def as_labels(value: Any, separator: str | None) -> tuple[str, ...]:
    """Labels from a list or a single value; none of them empty, none twice."""
    value = plain(value)
    values = value if isinstance(value, (list, tuple)) else [value]
    labels = [as_text(item) for item in values]
    if separator is not None:
        if sum(label.count(separator) for label in labels) > MOST_LABELS:
            raise InvalidCorpus(f"A document has more than {MOST_LABELS:,} labels.")
        labels = [part for label in labels for part in label.split(separator)]
    return tuple(dict.fromkeys(stripped for label in labels if (stripped := label.strip())))


def same_name(name: str, names: Iterable[str]) -> str | None:
    """The column of that name, in capitals or not; None if there is none."""
    lowered = name.strip().lower()
    same = [other for other in names if other == name or other.strip().lower() == lowered]
    return name if name in same else next(iter(same), None)


def _known(names: Sequence[str], usual: Sequence[str]) -> str | None:
    """The column whose name comes first among the usual ones."""
    return next(iter(_all_known(names, usual)), None)


def _all_known(names: Sequence[str], usual: Sequence[str]) -> list[str]:
    """The columns with a usual name, in the order of those."""
    lowered = {name.strip().lower().replace(" ", "_"): name for name in reversed(names)}
    return [lowered[name] for name in usual if name in lowered]


def _named(name: str, names: Sequence[str], where: str, what: str) -> str:
    found = same_name(name, names)
    if found is None:
        raise InvalidCorpus(
            f"{where} has no {_column(what, name)}. It has {_listed(names)}.",
            hint=f"Name one of them with {{{what}}}.",
            settings=(what,),
        )
    return found


def _column(what: str, name: str) -> str:
    return f"column {shown(name)} to keep" if what == "keep" else f"{what} column {shown(name)}"


def _listed(names: Sequence[str]) -> str:
    return f"the columns {_quoted(names, 20)}" if names else "no columns"


def _quoted(names: Sequence[str], n: int) -> str:
    """The first n names, and how many more there are."""
    more = f" and {len(names) - n:,} more" if len(names) > n else ""
    return ", ".join(map(shown, names[:n])) + more
