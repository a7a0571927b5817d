"""Which column holds the text, which the id, which the labels, and what their values mean."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from docboltz.corpus.read_options import ReadOptions
from docboltz.errors import InvalidCorpus

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


@dataclass(frozen=True)
class Columns:
    """The columns of one file."""

    text: tuple[str, ...]
    id: str | None
    label: str | None
    label_separator: str | None = None
    unused: tuple[str, ...] = ()
    """Columns nobody has asked for; one of them may hold the labels."""

    def get(self, record: Mapping[str, Any]) -> tuple[str | None, str, tuple[str, ...]]:
        """The id (None if missing), text and labels of a record."""
        parts = [as_text(record.get(name)) for name in self.text]
        text = parts[0] if len(parts) == 1 else "\n".join(part for part in parts if part)
        name = as_text(record.get(self.id)).strip() if self.id is not None else ""
        if self.label is None:
            return name or None, text, ()
        return name or None, text, as_labels(record.get(self.label), self.label_separator)

    def __str__(self) -> str:
        """What is read from where, in words."""
        text = " and ".join(map(repr, self.text))
        identity = "no id" if self.id is None else f"id {self.id!r}"
        label = "no label" if self.label is None else f"label {self.label!r}"
        unused = f"; not used: {_quoted(self.unused, 5)}" if self.unused else ""
        return f"text {text}, {identity}, {label}{unused}"

    @property
    def used(self) -> list[str]:
        """Every column that is read, each once."""
        names = [*self.text, self.id, self.label]
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
        lenient: bool = False,
    ) -> Columns:
        """Choose columns among `names`; `is_text` tells which of them may hold text.

        `absent` gets a message for each saved id or label column that is missing. Others must not
        be, unless `lenient`.
        """
        options = self.options
        wanted = (options.text,) if isinstance(options.text, str) else options.text or ()
        text = tuple(_named(name, names, where, "text") for name in wanted)

        def optional(what: str) -> str | None:
            name: str | None = getattr(options, what)
            found = None if name is None else same_name(name, names)
            if name is None or found is not None:
                return found
            if what in self.saved:
                absent(f"{where} has no {what} column {name!r}")
                return None
            return name if lenient else _named(name, names, where, what)

        identity, label = optional("id"), optional("label")
        taken = {*text, identity, label}
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
        unused = tuple(name for name in free if name != label)
        return Columns(text, identity, label, options.label_separator, unused)


def as_text(value: Any) -> str:
    """A text from whatever a column holds; lists are already tokenised texts."""
    if isinstance(value, str):
        return value
    value = _plain(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, (list, tuple)):
        return " ".join(as_text(item) for item in value)
    return "" if is_missing(value) else str(value)


def is_missing(value: object) -> bool:
    """Tell whether a value stands for none: None, NaN, or pandas' NA and NaT."""
    if value is None or type(value).__name__ == "NAType":
        return True
    different = value != value  # as only NaN and NaT are
    return type(different).__name__ in ("bool", "bool_") and bool(different)


def _plain(value: Any) -> Any:
    """NumPy's numbers and arrays and polars' series, which stand in frames, as Python's own."""
    if hasattr(value, "tolist"):
        return value.tolist()
    return value.to_list() if hasattr(value, "to_list") else value


def as_labels(value: Any, separator: str | None) -> tuple[str, ...]:
    """Labels from a list or a single value; none of them empty, none twice."""
    value = _plain(value)
    values = value if isinstance(value, (list, tuple)) else [value]
    labels = [as_text(item) for item in values]
    if separator is not None:
        labels = [part for label in labels for part in label.split(separator)]
    return tuple(dict.fromkeys(stripped for label in labels if (stripped := label.strip())))


def same_name(name: str, names: Iterable[str]) -> str | None:
    """The column of that name, in capitals or not; None if there is none."""
    lowered = name.strip().lower()
    same = [other for other in names if other == name or other.strip().lower() == lowered]
    return name if name in same else next(iter(same), None)


def _known(names: Sequence[str], usual: Sequence[str]) -> str | None:
    """The column whose name comes first among the usual ones."""
    lowered = {name.strip().lower().replace(" ", "_"): name for name in reversed(names)}
    return next((lowered[name] for name in usual if name in lowered), None)


def _named(name: str, names: Sequence[str], where: str, what: str) -> str:
    found = same_name(name, names)
    if found is None:
        raise InvalidCorpus(
            f"{where} has no {what} column {name!r}. It has {_listed(names)}.",
            hint=f"Name one of them with {{{what}}}.",
            settings=(what,),
        )
    return found


def _listed(names: Sequence[str]) -> str:
    return f"the columns {_quoted(names, 20)}" if names else "no columns"


def _quoted(names: Sequence[str], n: int) -> str:
    """The first n names, and how many more there are."""
    more = f" and {len(names) - n:,} more" if len(names) > n else ""
    return ", ".join(map(repr, names[:n])) + more
