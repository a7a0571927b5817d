"""Why a model answers as it does, in numbers that add up: answers of `docboltz.explaining`."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from docboltz.answers import ExpectedWord
from docboltz.search.places import Span


@dataclass(frozen=True)
class _Described:
    """Something JSON can hold under the names of its fields."""

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON can hold it."""
        return asdict(self)


@dataclass(frozen=True)
class TopicProbability(_Described):
    """How sure it is that a text belongs to a topic."""

    topic: int
    name: str
    probability: float


@dataclass(frozen=True)
class Contribution(_Described):
    """What a word adds."""

    word: str
    value: float


@dataclass(frozen=True)
class UnitInput(_Described):
    """A unit that a text turns on, and which words do: `input` = `bias` + all contributions."""

    unit: int
    words: tuple[str, ...]
    """What the unit stands for."""
    probability: float
    """That it is on: σ(input)."""
    input: float
    bias: float
    """What the length of the text alone adds."""
    contributions: tuple[Contribution, ...]
    """Of every known word of the text, the largest first."""


@dataclass(frozen=True)
class WordMatches(_Described):
    """Where a word stands in a text."""

    word: str
    matches: tuple[Span, ...]
    """Begin and end of each place."""


@dataclass(frozen=True)
class Explanation(_Described):
    """What the model makes of a text."""

    matches: tuple[WordMatches, ...]
    """Its words that the model knows, in the order of the vocabulary, and where they stand."""
    unknown: tuple[str, ...]
    """Its words that the model does not know."""
    topic: int | None
    """The topic it belongs to; None for one that belongs nowhere."""
    topics: tuple[TopicProbability, ...]
    """The most probable first."""
    units: tuple[UnitInput, ...]
    """Those the text says most about first."""
    expected: tuple[ExpectedWord, ...]
    """Words the model expects beside those of the text."""

    @property
    def known(self) -> tuple[str, ...]:
        """Its words that the model knows."""
        return tuple(each.word for each in self.matches)

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON can hold it."""
        return {"known": list(self.known), **asdict(self)}


@dataclass(frozen=True)
class StoredDocument(_Described):
    """A document of the collection."""

    row: int
    """Its place in the collection, from 0."""
    id: str
    text: str
    labels: tuple[str, ...]
    date: str
    """By ISO 8601; "" where there is none."""
    topic: int | None
    """The topic it belongs to; None for one that belongs nowhere."""
    title: str
    """Its title, or the first line of its text."""
    columns: dict[str, str]
    """Columns that were kept, by name."""


@dataclass(frozen=True)
class ExplainedDocument(StoredDocument):
    """A document of the collection, and what the model makes of it."""

    matches: tuple[WordMatches, ...]
    """Words of the text above that the model knows, and where they stand."""
    topics: tuple[TopicProbability, ...]
    """Of the whole document, the most probable first."""
    units: tuple[UnitInput, ...]
    """Of the text above, those it says most about first."""


@dataclass(frozen=True)
class WordReason(_Described):
    """What a word in common adds to a score."""

    word: str
    score: float


@dataclass(frozen=True)
class TopicReason(_Described):
    """What being about the same topic adds to a score."""

    topic: int
    name: str
    score: float


@dataclass(frozen=True)
class Reasons(_Described):
    """Why a document is a hit: all scores in here add up to that of the hit."""

    words: tuple[WordReason, ...]
    """Words in common, the largest first."""
    topics: tuple[TopicReason, ...]
    """Topics of the question, by what the document has of them, the largest first."""
    other: float
    """What the features have in common beside topics."""


@dataclass(frozen=True)
class RegionWord(_Described):
    """A word that documents of a region have more often than others."""

    word: str
    share: float
    """Of the region's documents that have it."""
    lift: float
    """How many times its share of all documents that is."""


@dataclass(frozen=True)
class LabelShare(_Described):
    """How many documents have a label."""

    label: str
    share: float


@dataclass(frozen=True)
class TopicShare(_Described):
    """How many documents belong to a topic."""

    topic: int
    name: str
    share: float


@dataclass(frozen=True)
class Region(_Described):
    """What some documents of the collection have in common."""

    documents: int
    words: tuple[RegionWord, ...]
    """What sets them apart from the others, clearest first."""
    labels: tuple[LabelShare, ...]
    topics: tuple[TopicShare, ...]
