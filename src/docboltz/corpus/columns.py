"""How documents are described: what may be said about a table, which of its columns holds what, and
how values become text, labels and dates.

Arrow arrays in, Arrow arrays out: values are looked at one by one only where they differ.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from docboltz.errors import InvalidCorpus, require, shown
from docboltz.storage import SavedSettings

if TYPE_CHECKING:
    import pyarrow as pa

    from docboltz.corpus.reading import ReadReport

Format = Literal["files", "csv", "tsv", "jsonl", "parquet", "lines"]
FORMATS: tuple[Format, ...] = get_args(Format)
"""`files`: every file is one document. `lines`: every line is."""

USUAL_NAMES: dict[str, tuple[str, ...]] = {
    "text": (
        "text", "texts", "body", "content", "contents", "document", "doc", "article", "abstract",
        "message", "review", "review_text", "reviewtext", "review_body", "comment", "comment_text",
        "tweet", "post", "selftext", "sentence", "question", "description", "summary",
        "transcript", "full_text", "fulltext", "raw_text", "clean_text", "tokens", "words", "data",
        "title", "headline",
    ),
    "id": (
        "id", "_id", "ids", "doc_id", "docid", "document_id", "uid", "uuid", "guid", "key", "pmid",
        "doi", "arxiv_id", "article_id", "paper_id", "review_id", "tweet_id", "post_id", "docno",
        "filename", "file", "path", "url",
    ),
    "label": (
        "labels", "label", "label_text", "categories", "category", "classes", "class", "topics",
        "topic", "tags", "tag", "targets", "target", "section", "genre", "newsgroup", "subject",
        "sentiment", "y",
    ),
    "date": (
        "date", "datetime", "date_time", "timestamp", "created_at", "created_utc", "created",
        "date_created", "published_at", "published", "publication_date", "pub_date", "pubdate",
        "published_date", "publish_date", "date_published", "posted_at", "post_date",
        "date_posted", "review_date", "submitted", "submitted_at", "submission_date", "time",
        "year", "pub_year", "publication_year", "updated_at", "updated", "update_date",
    ),
    "title": ("title",),
}  # fmt: skip
"""Names of columns that are recognised, those that count more first."""


HEAD_ROWS = 100
"""Rows that show which columns hold texts and dates."""
_OTHERS = ("id", "label", "date", "title")


@dataclass(frozen=True, repr=False)
class ReadOptions(SavedSettings):
    """Everything that `docboltz.read` can be told. None means: find out. Saved with a model.

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
    date_format: str | None = None
    """The format of dates as in `datetime.strptime`, such as "%d.%m.%Y"; ISO 8601 if None."""
    encoding: str | None = None
    """The encoding of the text; UTF-8 if None."""
    delimiter: str | None = None
    """What separates the columns of a CSV: one character, or "tab"."""
    header: bool = True
    """The first row of a CSV or TSV names its columns; otherwise they are "1", "2", …"""
    quotes: bool = True
    """Quotes around a value of a CSV or TSV are not part of it."""

    def __post_init__(self) -> None:
        text = self.text if isinstance(self.text, str) else tuple(self.text or ()) or None
        text = text[0] if isinstance(text, tuple) and len(text) == 1 else text
        keep = self.keep.split(",") if isinstance(self.keep, str) else self.keep or ()
        mark = "\t" if self.delimiter in ("tab", r"\t") else self.delimiter
        usable = isinstance(mark, str) and len(mark) == 1 and mark.isascii()
        strings = {n: getattr(self, n) for n in (*_OTHERS, "label_separator", "date_format")}
        for name, ok, expected in (
            ("format", self.format in (None, *FORMATS), " or ".join(FORMATS)),
            (
                "text",
                all(isinstance(v, str) for v in text or ()),
                "the name of a column, or several",
            ),
            ("keep", all(isinstance(v, str) for v in keep), "the names of columns"),
            ("encoding", _is_encoding(self.encoding), "an encoding, such as utf-8 or cp1252"),
            (
                "delimiter",
                mark is None or (usable and mark not in '"\r\n'),
                "one ASCII character, or 'tab'",
            ),
            *(
                (n, v is None or (isinstance(v, str) and v), "some text")
                for n, v in strings.items()
            ),
        ):
            require(ok, "read", name, expected, getattr(self, name))
        kept = tuple(dict.fromkeys(name.strip() for name in keep if name.strip()))
        for name, value in (("text", text), ("keep", kept or None), ("delimiter", mark)):
            object.__setattr__(self, name, value)

    @property
    def columns(self) -> list[str]:
        """The names of columns among the options."""
        text = (self.text,) if isinstance(self.text, str) else self.text or ()
        others = [name for what in _OTHERS if (name := getattr(self, what)) is not None]
        return [*text, *others, *(self.keep or ())]

    def to_dict(self) -> dict[str, Any]:
        """All options as JSON can hold them."""
        return asdict(self)


def _is_encoding(name: str | None) -> bool:
    try:
        return name is None or codecs.lookup(name)._is_text_encoding
    except (LookupError, TypeError, ValueError):
        return False


@dataclass(frozen=True)
class Choice:
    """Reading options. Those that were not asked for come from a model, if not by default."""

    options: ReadOptions = ReadOptions()
    asked: frozenset[str] = frozenset()
    """What was given for these documents: new ones often have no label."""

    @classmethod
    def of(cls, asked: dict[str, Any], saved: ReadOptions | None) -> Choice:
        """What was asked for, completed by what a model has saved."""
        before = {} if saved is None else saved.given()
        return cls(ReadOptions(**{**before, **asked}), frozenset(asked))

    def keeping(self, columns: Columns) -> Choice:
        """The same, with columns that were found before."""
        options = self.options
        others = {what: getattr(columns, what) or getattr(options, what) for what in _OTHERS}
        return replace(self, options=replace(options, text=columns.text, **others))


@dataclass(frozen=True)
class Columns:
    """The columns of one table that are read."""

    text: tuple[str, ...]
    id: str | None = None
    label: str | None = None
    date: str | None = None
    title: str | None = None
    keep: tuple[tuple[str, str | None], ...] = ()
    """Further columns: the name that was asked for, and that of the column, None if missing."""
    unused: tuple[str, ...] = ()

    def usual_for_others(self) -> set[str]:
        """Usual names of what no column was found for."""
        others = [what for what in _OTHERS if getattr(self, what) is None]
        return {name for what in others for name in USUAL_NAMES[what]}

    @property
    def used(self) -> list[str]:
        """Every column that is read, once."""
        names = [*self.text, self.id, self.label, self.date, self.title]
        names += [column for _, column in self.keep]
        return list(dict.fromkeys(name for name in names if name is not None))

    def __str__(self) -> str:
        parts = ["text " + " and ".join(map(shown, self.text))]
        parts.append("no id" if self.id is None else f"id {shown(self.id)}")
        parts.append("no label" if self.label is None else f"label {shown(self.label)}")
        parts += [f"date {shown(self.date)}"] * (self.date is not None)
        parts += [f"title {shown(self.title)}"] * (self.title is not None)
        kept = [column for _, column in self.keep if column is not None]
        more = f"; kept: {_listed(kept, 5)}" if kept else ""
        return (
            ", ".join(parts) + more + (f"; not used: {_listed(self.unused, 5)}" * bool(self.unused))
        )


def find_columns(
    names: Sequence[str],
    sample: Callable[[str], Sequence[Any]],
    choice: Choice,
    where: str,
    report: ReadReport,
    name_it: str = "with {text}; if the first row is not a header, set {header=False}",
) -> Columns:
    """Choose columns among `names`: those that are named, else by usual names.

    `sample` gives first values of a column: only strings and lists are texts, and a column is one
    of dates only if one of its values is. `name_it` says how to name the column of the texts.
    """
    options = choice.options

    def named(what: str, name: str | None) -> str | None:
        if name is None or (found := _same_name(name, names)) is not None:
            return name if name is None else found
        column = "column " + shown(name) if what == "keep" else f"{what} column {shown(name)}"
        if what not in choice.asked and what != "text":
            report.note("absent_columns", f"{where} has no {column}")
            return None
        raise InvalidCorpus(
            f"{where} has no {column}. It has {_all_of(names)}.",
            hint=f"Name one of them with {{{what}}}.",
            settings=(what,),
        )

    def is_text(name: str) -> bool:
        values = [value for value in sample(name) if value is not None]
        return not values or any(isinstance(value, str | bytes | list) for value in values)

    def is_dates(name: str) -> bool:
        dates = (iso_date(str(value), options.date_format) for value in sample(name))
        return any(dates)

    wanted = (options.text,) if isinstance(options.text, str) else options.text or ()
    text = [found for name in wanted if (found := named("text", name)) is not None]
    kept = tuple((name, named("keep", name)) for name in options.keep or ())
    others = {w: named(w, getattr(options, w)) for w in ("id", "label", "date", "title")}
    free = [name for name in names if name not in {*text, *others.values()}]
    if not text:
        candidates = [name for name in free if is_text(name)]
        text = _usual("text", candidates)[:1] or (candidates if len(candidates) == 1 else [])
        if not text:
            raise InvalidCorpus(
                f"{where} has no column with a usual name for texts (text, body, content, …). It "
                f"has {_all_of(names)}.",
                hint=f"Name the column of the texts {name_it}.",
                settings=("text", "header=False"),
            )
        free = [name for name in free if name not in text]
    for what, found in others.items():
        if found is None:
            usual = [name for name in _usual(what, free) if what != "date" or is_dates(name)]
            others[what] = next(iter(usual), None)
            free = [name for name in free if name != others[what]]
    unused = tuple(name for name in free if name not in {column for _, column in kept})
    columns = Columns(tuple(text), **others, keep=kept, unused=unused)
    for name in columns.used:
        if list(names).count(name) > 1:
            report.note("repeated_columns", f"{where}: {name!r}")
    return columns


def _same_name(name: str, names: Sequence[str]) -> str | None:
    """The column of that name, in capitals or not; None if there is none."""
    same = [other for other in names if other.strip().lower() == name.strip().lower()]
    return name if name in names else next(iter(same), None)


def _usual(what: str, names: Sequence[str]) -> list[str]:
    """The columns with a usual name, in the order of these."""
    known = {name.strip().lower().replace(" ", "_"): name for name in reversed(names)}
    return [known[name] for name in USUAL_NAMES[what] if name in known]


def _listed(names: Sequence[str], n: int) -> str:
    """The first n names, and how many more there are."""
    more = f" and {len(names) - n:,} more" if len(names) > n else ""
    return ", ".join(map(shown, names[:n])) + more


def _all_of(names: Sequence[str]) -> str:
    return f"the columns {_listed(names, 20)}" if names else "no columns"


# ---- values ----


def strings_in(value: Any) -> list[str]:
    """The strings of a value, or of a list of values; JSON of what is something else.

    >>> strings_in(["a", None, 7, {"b": True}])
    ['a', '7', '{"b": true}']
    """
    values = value if isinstance(value, list) else [value]
    return [
        valid_text(each if isinstance(each, str) else json.dumps(each, default=str))
        for each in values
        if each is not None
    ]


def valid_text(text: str) -> str:
    """The text, with halves of characters, which UTF-8 does not have, written as escapes."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def has_bytes(kind: pa.DataType) -> bool:
    """Whether values are strings, or bytes that may be text."""
    return re.sub(r"^large_|_view$|\[.*", "", str(kind)) in _BYTES


def first_values(array: pa.Array) -> list[Any]:
    """The first values as Python has them; none if it cannot hold one, such as a far date."""
    values = getattr(array, "dictionary", array)[:HEAD_ROWS]
    try:
        return list(values.to_pylist())
    except (ValueError, OverflowError):
        return []


def as_strings(array: pa.Array) -> pa.Array:
    """Strings from whatever a column holds, nulls where there is nothing; lists are joined.

    >>> import pyarrow as pa
    >>> as_strings(pa.array([["a", "b"], None])).to_pylist(), as_strings(pa.array([7])).to_pylist()
    (['a b', None], ['7'])
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_nested(array.type):
        joined = [" ".join(strings_in(value)) for value in array.to_pylist()]
        return pa.array(joined, pa.string(), mask=np.asarray(array.is_null()))
    if pa.types.is_floating(array.type):  # 1376216400123.0, not 1.376216400123e+12
        whole = array.cast(pa.float64()).cast(pa.int64(), safe=False)
        same = pc.equal(whole.cast(pa.float64(), safe=False), array.cast(pa.float64()))
        return pc.if_else(same, whole.cast(pa.string()), array.cast(pa.string()))
    if pa.types.is_timestamp(array.type):
        array = array.cast(pa.timestamp("s", array.type.tz), safe=False)
        array = array.cast(pa.timestamp("s"))  # in UTC
    try:
        return array.cast(pa.string())
    except pa.ArrowNotImplementedError:  # UUIDs, durations
        texts = [None if value is None else str(value) for value in array.to_pylist()]
        return pa.array(texts, pa.string())


def as_labels(array: pa.Array, separator: str | None) -> pa.Array:
    """Labels from lists or single values: none of them empty, none twice."""
    import pyarrow as pa

    def cleaned(value: Any) -> list[str]:
        parts = [p for s in strings_in(value) for p in (s.split(separator) if separator else [s])]
        return list(dict.fromkeys(part.strip() for part in parts if part.strip()))

    kind = pa.list_(pa.string())
    if pa.types.is_nested(array.type):
        return pa.array(map(cleaned, array.to_pylist()), kind)
    return _each(as_strings(array), cleaned, [], kind)


def as_dates(array: pa.Array, format: str | None) -> pa.Array:
    """Dates by ISO 8601; "" where there is none, null for what is not a date."""
    import pyarrow as pa
    import pyarrow.compute as pc

    strings = as_strings(array)
    for zone in (None, "UTC") if format is None else ():  # where all values are of one usual form
        try:
            moments = pc.if_else(pc.equal(strings, ""), None, strings).cast(pa.timestamp("s", zone))
        except pa.ArrowInvalid:
            continue
        dates = pc.replace_substring(moments.cast(pa.timestamp("s")).cast(pa.string()), " ", "T")
        return pc.fill_null(pc.replace_substring_regex(dates, "T00:00:00$", ""), "")
    return _each(strings, lambda value: iso_date(value, format), "", pa.string())


def _each(array: pa.Array, function: Callable[[str], Any], missing: Any, kind: Any) -> pa.Array:
    """The function of every value, called once for values that are equal."""
    import pyarrow as pa
    import pyarrow.compute as pc

    encoded = array.dictionary_encode()
    found = [*map(function, encoded.dictionary.to_pylist()), missing]
    return pa.array(found, kind).take(pc.fill_null(encoded.indices, len(found) - 1))


_BYTES = ("string", "binary", "fixed_size_binary")
_YEAR_OR_MONTH = re.compile(r"([12]\d{3})(?:\.0|-(?:0[1-9]|1[0-2]))?", re.A)
_SECONDS = re.compile(r"\d{9,13}(?:\.\d*)?", re.A)


def iso_date(text: str, format: str | None = None) -> str | None:
    """A date by ISO 8601, in UTC: a year, a month, a day or a time; "" for "", else None.

    Nine digits or more are seconds since 1970, twelve or more milliseconds. Strings of this form
    sort by time, and the beginning of one is a longer period. Midnight is a day.

    >>> iso_date("2013-08"), iso_date("2013-08-11T10:20+02:00"), iso_date("soon")
    ('2013-08', '2013-08-11T08:20:00', None)
    """
    text = text.strip()
    try:
        if not text or (format is None and _YEAR_OR_MONTH.fullmatch(text)):
            return text.removesuffix(".0")
        if format is not None:
            moment = datetime.strptime(text, format)
        elif _SECONDS.fullmatch(text):
            seconds = float(text)
            seconds = seconds / 1000 if seconds >= 1e11 else seconds
            moment = datetime.fromtimestamp(int(seconds), UTC)
        else:
            moment = datetime.fromisoformat(text)
        moment = moment if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return moment.replace(tzinfo=None).isoformat(timespec="seconds").removesuffix("T00:00:00")


# ---- documents ----


def document_schema() -> pa.Schema:
    """The columns of a stream of documents: `columns` maps names of kept columns to values."""
    import pyarrow as pa

    kinds = {name: pa.string() for name in ("id", "text", "labels", "date", "title", "columns")}
    labels, columns = pa.list_(pa.string()), pa.map_(pa.string(), pa.string())
    return pa.schema({**kinds, "labels": labels, "columns": columns})


def as_documents_batch(
    rows: pa.RecordBatch,
    columns: Columns,
    options: ReadOptions,
    place: str,
    report: ReadReport,
    first: int,
) -> pa.RecordBatch:
    """The rows of a table as documents; ids may be null. `first` is the number of the first row."""
    import pyarrow as pa
    import pyarrow.compute as pc

    n = rows.num_rows
    nothing = pa.nulls(n, pa.string())

    def column(name: str | None) -> pa.Array:
        if name is None:
            return nothing
        array, bad = _decoded(rows.column(rows.schema.names.index(name)))
        report.note_rows("replaced", place, bad, first)
        return array

    def filled(name: str | None) -> pa.Array:
        return pc.fill_null(as_strings(column(name)), "")

    text, *others = (filled(name) for name in columns.text)
    for other in others:
        both = pc.and_(pc.not_equal(text, ""), pc.not_equal(other, ""))
        text = pc.binary_join_element_wise(text, pc.if_else(both, "\n", ""), other, "")
    ids = pc.utf8_trim_whitespace(as_strings(column(columns.id)))
    kept = {name: filled(found) for name, found in columns.keep}
    by_column = pa.concat_arrays([nothing[:0], *kept.values()])
    order = np.arange(n * len(kept)).reshape(len(kept), n).T.ravel()
    starts = np.arange(n + 1, dtype=np.int32) * len(kept)
    keys = pa.array(list(kept) * n, pa.string())
    arrays = [
        pc.if_else(pc.equal(ids, ""), None, ids),
        text,
        as_labels(column(columns.label), options.label_separator),
        as_dates(column(columns.date), options.date_format),
        pc.utf8_trim_whitespace(filled(columns.title)),
        pa.MapArray.from_arrays(starts, keys, by_column.take(pa.array(order))),
    ]
    return reported(arrays, place, report, first)


def reported(
    arrays: Sequence[pa.Array], place: str, report: ReadReport, first: int
) -> pa.RecordBatch:
    """The columns of documents as a batch, counted in the report. A null date is not a date."""
    import pyarrow as pa
    import pyarrow.compute as pc

    batch = pa.RecordBatch.from_arrays(list(arrays), schema=document_schema())
    report.count(batch, place, first)
    return batch.set_column(3, "date", pc.fill_null(batch.column("date"), ""))


def _decoded(array: pa.Array) -> tuple[pa.Array, pa.Array | None]:
    """Strings of valid UTF-8, and which of them had other bytes, that are replaced."""
    import pyarrow as pa
    import pyarrow.compute as pc

    array = array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
    if has_bytes(array.type):
        if str(array.type).startswith("large_"):  # a slice has large offsets, even if it is small
            array = array.take(pa.array(range(len(array))))
        try:
            array = array.cast(pa.string())
            array.validate(full=True)
        except pa.ArrowInvalid:
            values = array.cast(pa.binary()).to_pylist()
            texts = [
                value if value is None else value.decode("utf-8", "replace") for value in values
            ]
            array = pa.array(texts, pa.string())
            return array, pc.match_substring(array, "\ufffd")
    return array, None
