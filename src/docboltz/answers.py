"""What a model answers with: hits, topics, units, words. Lists that show themselves as tables."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from html import escape
from itertools import chain
from typing import Any, ClassVar, TypeVar

from docboltz.corpus.document import Document
from docboltz.progress import printable
from docboltz.search.places import Span
from docboltz.storage import typed
from docboltz.text_table import Columns, table_lines

SHOWN_CHARACTERS = 200
"""Of a text, in a table."""
MOST_NAMED = 10
"""Words that no document has, in a remark."""
LONGEST_TITLE = 100
"""Characters of a first line that stands for a title."""
SHOWN_ID = 48
"""Characters of an id, in a table."""
LINE_ENDS = str.maketrans("\n\r\t", "   ")
MARK = ("<mark>", "</mark>")

Item = TypeVar("Item")
Mark = tuple[str, str]
"""What is put before and behind a word that was searched for."""
Clean = Callable[[str], str]
"""Makes text fit for where it is shown."""


@dataclass(frozen=True)
class Hit:
    """A document that answers a search."""

    id: str
    score: float
    """`features` + `words`; 1 for a document that is just what was asked for."""
    text: str
    labels: tuple[str, ...]
    features: float
    """What being about the same things adds to the score."""
    words: float
    """What having the same words adds to it."""
    matches: tuple[Span, ...] = ()
    """Where words of the query stand in the text: begin and end of each."""
    date: str = ""
    """By ISO 8601; "" where there is none."""
    row: int = -1
    """Its place in the collection, from 0."""
    title: str = ""
    """Its title, or the first line of its text."""
    columns: dict[str, str] = field(default_factory=dict)
    """Columns that were kept, by name."""

    def snippet(
        self, width: int = SHOWN_CHARACTERS, mark: Mark = ("", ""), clean: Clean = str
    ) -> str:
        """The piece of the text that has most of the query's words, these between marks.

        `clean` makes all but the marks fit for where it is shown.
        """
        begin = best_window(self.matches, width) if len(self.text) > width else 0
        text = self.text.translate(LINE_ENDS)  # which leaves matches in their places
        return marked(text, self.matches, begin, begin + width, mark, clean)

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON can hold it."""
        return dict(vars(self))  # asdict would copy every match, for longer than a search takes


@dataclass(frozen=True)
class Example:
    """A document that is typical of a topic."""

    id: str
    text: str
    """Its beginning."""


@dataclass(frozen=True)
class Topic:
    """Something that documents of the collection are about."""

    number: int
    name: str
    words: tuple[str, ...]
    """What its documents have more often than others, clearest first."""
    expected: tuple[str, ...]
    """What the model expects of such documents."""
    parent: int | None
    """Number of the broader topic it belongs to; None at the top."""
    level: int
    """0 at the top."""
    documents: int
    share: float
    """Of all documents."""
    labels: tuple[tuple[str, float], ...]
    """Labels that most of its documents have, with their shares."""
    examples: tuple[Example, ...]

    @classmethod
    def of_dict(cls, saved: dict[str, Any]) -> Topic:
        """The topic that `to_dict` described."""
        labels = [[each["label"], each["share"]] for each in saved["labels"]]
        own = {**saved, "number": saved["topic"], "labels": labels}
        del own["topic"]
        topic: Topic = typed(cls, own, "topic")
        return topic

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON can hold it."""
        return {
            "topic": self.number,
            "name": self.name,
            "parent": self.parent,
            "level": self.level,
            "documents": self.documents,
            "share": self.share,
            "words": list(self.words),
            "expected": list(self.expected),
            "labels": [{"label": label, "share": share} for label, share in self.labels],
            "examples": [asdict(example) for example in self.examples],
        }


@dataclass(frozen=True)
class Unit:
    """What one unit of the model stands for: one of its features."""

    number: int
    """Its row in `components_`."""
    words: tuple[str, ...]
    """The words that set documents with the unit on apart from those without, clearest first."""
    sharpness: float
    """KL divergence, in bits, of the words of documents with the unit on from those without."""
    activity: float
    """Its mean probability over the training documents."""

    @classmethod
    def of_dict(cls, saved: dict[str, Any]) -> Unit:
        """The unit that `to_dict` described."""
        numbers = float(saved["sharpness"]), float(saved["activity"])
        if not all(map(math.isfinite, numbers)):
            raise ValueError("sharpness and activity of a unit are finite")
        return cls(int(saved["unit"]), typed(tuple[str, ...], saved["words"], "words"), *numbers)

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON can hold it, by the names of the table."""
        figures = {"sharpness": self.sharpness, "activity": self.activity}
        return {"unit": self.number, **figures, "words": list(self.words)}


@dataclass(frozen=True)
class ExpectedWord:
    """A word the model expects beside others."""

    word: str
    probability: float
    """That a further word is this one."""
    lift: float
    """How many times its share of all words that is."""

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON can hold it."""
        return asdict(self)


class Answer(list[Item]):
    """A list with a line, a table and a page's table to show it by."""

    columns: ClassVar[Columns] = {}
    """Headings of the table and their sides."""

    def __init__(
        self, items: Iterable[Item] = (), *, title: str = "", unknown: Iterable[str] = ()
    ) -> None:
        super().__init__(items)
        self.title = title
        self.unknown = tuple(unknown)
        """Words of the question that the model does not know."""

    def row(self, item: Item, mark: Mark, clean: Clean) -> list[str]:
        """The cells of one item; `clean` makes texts fit for where they are shown."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.title}: {len(self)})"

    def table(self, mark: Mark, clean: Clean) -> tuple[dict[str, str], list[list[str]]]:
        """Headings and rows, without columns in which nothing stands."""
        rows = [self.row(item, mark, clean) for item in self]
        kept = [i for i in range(len(self.columns)) if not rows or any(row[i] for row in rows)]
        columns = list(self.columns.items())
        return dict(columns[i] for i in kept), [[row[i] for i in kept] for row in rows]

    def __str__(self) -> str:
        lines = table_lines(*self.table(("", ""), printable))
        return "\n".join([*lines, *self.remarks()])

    def _repr_html_(self) -> str:
        heads, rows = self.table(MARK, escape)
        head = "".join(f"<th>{escape(name)}</th>" for name in heads)
        body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
        caption = escape(". ".join(filter(None, [self.title, *self.remarks()])))
        return (
            f"<table>{f'<caption>{caption}</caption>' if caption else ''}"
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        )

    def remarks(self) -> list[str]:
        """What to know of the question, beside the items."""
        return [f"Not in the vocabulary: {', '.join(self.unknown)}"] if self.unknown else []

    def to_dicts(self) -> list[dict[str, Any]]:
        """All of it as JSON can hold it."""
        return [item.to_dict() for item in self]  # type: ignore[attr-defined]


class Hits(Answer[Hit]):
    """The documents that answer a search, best first."""

    columns: ClassVar[Columns] = {
        "score": "right", "id": "left", "date": "left", "labels": "left", "title": "left",
        "text": "cut",
    }  # fmt: skip

    def __init__(
        self,
        items: Iterable[Hit] = (),
        *,
        title: str = "",
        unknown: Mapping[str, Sequence[str]] | None = None,
        phrases: Sequence[str] = (),
        like: str = "",
        problem: str = "",
    ) -> None:
        super().__init__(items, title=title, unknown=unknown or ())
        self.suggestions = {word: tuple(others) for word, others in (unknown or {}).items()}
        """Words of the query that no document has, and words that are spelt like them."""
        self.phrases = tuple(phrases)
        """Phrases that no document has: hits have their words."""
        self.problem = problem
        """Why the query has no answer."""
        self.like = like
        """Title of the document that the hits are like."""

    def remarks(self) -> list[str]:
        """What to know of the query, beside the hits."""
        found = [f"Documents like: {self.like}"] if self.like else []
        found += [self.problem] if self.problem else []
        for phrase in self.phrases:
            then = " These are about its words." if self else ""
            found.append(f'No document has the phrase "{phrase}".{then}')
        if self.suggestions:
            some, more = list(self.suggestions)[:MOST_NAMED], len(self.suggestions) - MOST_NAMED
            rest = f" and {more:,} more" if more > 0 else ""
            found.append(f"No document has: {', '.join(some)}{rest}.")
        others = dict.fromkeys(chain.from_iterable(self.suggestions.values()))
        if others:
            found[-1] += f" Did you mean: {', '.join(others)}?"
        return found

    def row(self, item: Hit, mark: Mark, clean: Clean) -> list[str]:
        """Score, id, labels and the best piece of the text."""
        shown = item.snippet(SHOWN_CHARACTERS, mark, clean)
        id = item.id
        if len(id) > SHOWN_ID:
            id = f"{id[: SHOWN_ID // 2]}…{id[-SHOWN_ID // 2 :]}"  # both ends tell apart
        labels, title = clean(", ".join(item.labels)), clean(item.title)
        # The first line of a text is a title where none stands alone, and is seen there.
        own = "" if item.text.lstrip().startswith(item.title.removesuffix("…")) else title
        return [f"{item.score:.3f}", clean(id), item.date[:10], labels, own, shown]


class Topics(Answer[Topic]):
    """Topics of a collection, each before those it is made of."""

    columns: ClassVar[Columns] = {
        "topic": "right", "share": "right", "name": "left", "more words": "left",
        "labels": "left", "typical document": "cut",
    }  # fmt: skip

    def table(self, mark: Mark, clean: Clean) -> tuple[dict[str, str], list[list[str]]]:
        """Headings and rows; a broader topic of one topic alone has no row of its own."""
        children = Counter(topic.parent for topic in self)
        single = {topic.number for topic in self if children[topic.number] == 1}
        shown = Topics((topic for topic in self if topic.number not in single), title=self.title)
        return super(Topics, shown).table(mark, clean)

    def row(self, item: Topic, mark: Mark, clean: Clean) -> list[str]:
        """Number, share, name, words that are not in it, labels, and one document."""
        parents = {topic.number: topic.parent for topic in self}
        depth, parent = 0, item.parent
        while parent in parents:
            depth, parent = depth + 1, parents[parent]
        indent = "  " * depth
        named = set(item.name.split(", "))
        more = " ".join(word for word in item.words if word not in named)
        labels = ", ".join(f"{label} {share:.0%}" for label, share in item.labels)
        text = item.examples[0].text[:SHOWN_CHARACTERS] if item.examples else ""
        figures = [str(item.number), f"{item.share:.1%}"]
        return [*figures, indent + clean(item.name), clean(more), clean(labels), clean(text)]


class Units(Answer[Unit]):
    """What units of the model stand for."""

    figures: ClassVar[Columns] = dict.fromkeys(("unit", "sharpness", "activity"), "right")
    columns: ClassVar[Columns] = {**figures, "words": "left"}

    def row(self, item: Unit, mark: Mark, clean: Clean) -> list[str]:
        """Number, sharpness, activity and words."""
        figures = [str(item.number), f"{item.sharpness:.2f}", f"{item.activity:.0%}"]
        return [*figures, clean(" ".join(item.words))]


class ExpectedWords(Answer[ExpectedWord]):
    """Words the model expects, those it says most about first."""

    columns: ClassVar[Columns] = {"word": "left", "probability": "right", "lift": "right"}

    def row(self, item: ExpectedWord, mark: Mark, clean: Clean) -> list[str]:
        """Word, probability and lift."""
        return [clean(item.word), f"{item.probability:.4f}", f"{item.lift:,.1f} ×"]


def title_of(document: Document) -> str:
    """A document's title, or the first line of its text."""
    if document.title:
        return document.title
    line = document.text.strip().partition("\n")[0].strip()
    return line if len(line) <= LONGEST_TITLE else line[: LONGEST_TITLE - 1].rstrip() + "…"


def best_window(matches: tuple[Span, ...], width: int) -> int:
    """Where to begin a piece of so many characters so that it has as many matches as can be."""
    if not matches:
        return 0
    ends = [end for _, end in matches]  # in order, as are the beginnings
    inside = [bisect_right(ends, begin + width) - i for i, (begin, _) in enumerate(matches)]
    first = matches[inside.index(max(inside))][0]
    return max(0, first - width // 4) if first + width // 2 > width else 0


def marked(
    text: str, matches: tuple[Span, ...], begin: int, end: int, mark: Mark, clean: Clean
) -> str:
    """A piece of a text with its matches between marks; `clean` is applied to all but the marks."""
    end = min(end, len(text))
    parts, at = ["…" if begin else ""], begin
    for first, last in matches:
        if at <= first and last <= end:
            parts += [clean(text[at:first]), mark[0], clean(text[first:last]), mark[1]]
            at = last
    return "".join([*parts, clean(text[at:end]), "…" if end < len(text) else ""])
