"""What requests and answers look like: the OpenAPI description, and the bounds of what is asked."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

MOST_HITS = 1000
MOST_HITS_IN_ALL = 10_000
"""Of a batch of searches."""
LONGEST_QUERY = 10_000
"""Characters of a search."""
LONGEST_TEXT = 100_000
"""Characters of a text that is pasted or transformed."""
MOST_QUERIES = MOST_TEXTS = 1000
MOST_VALUES = 100
"""Labels, or columns, of a filter."""
MOST_DOCUMENTS = 10_000
MOST_ROWS = 2_000_000
LARGEST_ROW = 2**40
LARGEST_TOPIC = 2**31

By = Literal["both", "features", "words"]
Grouping = Literal["label", "date"]
Period = Literal["day", "month", "year"]
Query = Annotated[str, Field(max_length=LONGEST_QUERY)]
Values = Annotated[list[Query], Field(max_length=MOST_VALUES)]
Text = Annotated[str, Field(max_length=LONGEST_TEXT)]
Row = Annotated[int, Field(ge=0, le=LARGEST_ROW, strict=True)]
TopicNumber = Annotated[int, Field(ge=0, le=LARGEST_TOPIC, strict=True)]
State = Annotated[
    str, Field(max_length=100, description="Of what was read before; 409 if it is another now.")
]
Limit = Annotated[int, Field(ge=1, le=MOST_HITS, description="Most hits to give.")]


class Asked(BaseModel):
    """A body of a request; other fields than its own are refused."""

    model_config = ConfigDict(extra="forbid")


class SearchMany(Asked):
    """Several searches at once."""

    queries: Annotated[
        list[Query],
        Field(max_length=MOST_QUERIES, examples=[["space shuttle", "graphics card"]]),
    ]
    limit: Limit = 10
    by: By = "both"
    label: Annotated[Values, Field(description="Only documents with one of these labels.")] = []
    since: Annotated[Query, Field(description="Only of this date or later.")] = ""
    until: Annotated[Query, Field(description="Only of this date or earlier.")] = ""
    where: Annotated[
        dict[Query, Query],
        Field(max_length=MOST_VALUES, description="Only with these values in kept columns."),
    ] = {}

    @model_validator(mode="after")
    def not_too_many(self) -> SearchMany:
        """Refuse what would fill the memory with hits."""
        if len(self.queries) * self.limit > MOST_HITS_IN_ALL:
            raise ValueError(f"queries × limit may be {MOST_HITS_IN_ALL:,}: send fewer at a time")
        return self


class Texts(Asked):
    """Texts to be turned into features."""

    texts: Annotated[
        list[Text], Field(max_length=MOST_TEXTS, examples=[["The shuttle was launched at noon."]])
    ]


class Paste(Asked):
    """A text to be explained."""

    text: Annotated[Text, Field(examples=["The shuttle was launched at noon."])]
    limit: Limit = 10


class AskedOfState(Asked):
    """What means something in one state of the collection only."""

    build: State | None = None


class Which(AskedOfState):
    """Documents by their rows or by their ids."""

    rows: Annotated[list[Row], Field(max_length=MOST_DOCUMENTS, examples=[[0, 1]])] | None = None
    ids: Annotated[list[Query], Field(max_length=MOST_DOCUMENTS)] | None = None

    @model_validator(mode="after")
    def one_of_both(self) -> Which:
        """Refuse both, and neither."""
        if (self.rows is None) == (self.ids is None):
            raise ValueError("give either rows or ids")
        return self


class Rows(AskedOfState):
    """A region: documents by their rows."""

    rows: Annotated[list[Row], Field(max_length=MOST_ROWS, examples=[[0, 1, 2]])]


class Name(AskedOfState):
    """A new name of a topic."""

    name: Annotated[
        str,
        Field(max_length=200, description='"" for the name its words make.', examples=["space"]),
    ]


class Merge(AskedOfState):
    """Topics to become one, which keeps the number of the first."""

    topics: Annotated[list[TopicNumber], Field(min_length=2, max_length=500, examples=[[3, 7]])]


class Problem(BaseModel):
    """What went wrong."""

    detail: Annotated[str, Field(description="A sentence, and what to do.")]


class Health(BaseModel):
    """The server answers."""

    status: Literal["ok"]
    version: Annotated[str, Field(description="Of docboltz.")]
    documents: Annotated[int, Field(description="Documents that are searched.")]


class Collection(BaseModel):
    """What there is to explore."""

    name: Annotated[str, Field(description="Of the model's folder.")]
    documents: int
    units: Annotated[int, Field(description="Features of a text.")]
    words: Annotated[int, Field(description="Size of the vocabulary.")]
    topics: Annotated[int, Field(description="Topics that documents are assigned to.")]
    has_labels: bool
    has_dates: bool
    has_map: bool
    map_progress: Annotated[
        float | None, Field(description="Of a map that is being computed, 0 to 1; null if none is.")
    ]
    build: Annotated[str, Field(description="Changes with collection, topics and map.")]
    edit: Annotated[bool, Field(description="Whether topics may be changed.")]
    version: Annotated[str, Field(description="Of docboltz.")]


class Map(BaseModel):
    """What the columns of /api/map/points mean."""

    documents: int
    build: str
    topics: Annotated[list[int], Field(description="Numbers of topics, in the order of codes.")]
    labels: Annotated[list[str], Field(description="Labels, in the order of codes.")]
    first_day: Annotated[float | None, Field(description="Days since 1970-01-01.")]
    last_day: float | None


class Word(BaseModel):
    """A word."""

    word: str


class WordScore(Word):
    """What a word in common adds to a score."""

    score: float


class TopicName(BaseModel):
    """A topic."""

    topic: Annotated[int, Field(description="Its number.")]
    name: str


class TopicScore(TopicName):
    """What a topic in common adds to a score."""

    score: float


class Reasons(BaseModel):
    """Parts of a hit's score: all of them add up to it."""

    words: list[WordScore]
    topics: list[TopicScore]
    other: Annotated[float, Field(description="What features have in common beside topics.")]


class Document(BaseModel):
    """A document of the collection."""

    row: Annotated[int, Field(description="Its place in the collection, from 0.")]
    id: str
    title: Annotated[str, Field(description="Its title, or the first line of its text.")]
    text: Annotated[str, Field(description="All of it.")]
    labels: list[str]
    date: Annotated[str, Field(description='By ISO 8601; "" where there is none.')]
    columns: Annotated[dict[str, str], Field(description="Columns that were kept, by name.")]
    topic: Annotated[int | None, Field(description="The topic it belongs to; null for none.")]


class Hit(Document):
    """A document that answers a search."""

    text: Annotated[
        str,
        Field(
            description="Its text, or of a long one the 2,000 characters with most matches; "
            "/api/documents/{id} has all of it."
        ),
    ]
    begin: Annotated[int, Field(description="Where in the document's text that begins.")]
    whole: Annotated[bool, Field(description="Whether it is all of the document's text.")]
    score: Annotated[float, Field(description="features + words; 1 for just what was asked.")]
    features: Annotated[float, Field(description="What being about the same things adds.")]
    words: Annotated[float, Field(description="What having the same words adds.")]
    matches: Annotated[
        list[tuple[int, int]],
        Field(description="Begin and end of words of the query in the text, in code points."),
    ]
    reasons: Annotated[Reasons | None, Field(description="If they were asked for.")] = None


class Found(BaseModel):
    """The answer to a search."""

    hits: Annotated[list[Hit], Field(description="Best first.")]
    unknown: Annotated[list[str], Field(description="Words that no document has.")]
    suggestions: Annotated[
        dict[str, list[str]], Field(description="Words that are spelt like an unknown one.")
    ]
    phrases: Annotated[
        list[str], Field(description="Phrases that no document has: hits have their words.")
    ]
    build: Annotated[str, Field(description="The state of the collection this is of.")]
    message: Annotated[str | None, Field(description="Why there are no hits.")] = None


class FoundMany(BaseModel):
    """The answers to several searches, in their order."""

    answers: list[Found]


class Transformed(BaseModel):
    """Features and topics of texts, in their order."""

    features: Annotated[list[list[float]], Field(description="One list of numbers for each text.")]
    topic: Annotated[list[int | None], Field(description="null for a text that belongs nowhere.")]
    probability: Annotated[list[float], Field(description="How sure the topic is.")]


class ExpectedWord(Word):
    """A word the model expects."""

    probability: Annotated[float, Field(description="That a further word is this one.")]
    lift: Annotated[float, Field(description="How many times its share of all words that is.")]


class Label(BaseModel):
    """How many documents have a label."""

    label: str
    share: float


class Example(BaseModel):
    """A document that is typical of a topic."""

    id: str
    text: str


class Topic(TopicName):
    """Something that documents are about."""

    parent: Annotated[int | None, Field(description="The broader topic; null at the top.")]
    level: Annotated[int, Field(description="0 at the top.")]
    documents: int
    share: Annotated[float, Field(description="Of all documents.")]
    words: list[str]
    expected: Annotated[list[str], Field(description="What the model expects of such documents.")]
    labels: list[Label]
    examples: list[Example]
    x: Annotated[float | None, Field(description="Middle of its documents on the map.")]
    y: float | None


class Group(BaseModel):
    """A topic's share of the documents with a label, or of a period."""

    group: Annotated[str, Field(description="The label, or the period.")]
    documents: int
    of: Annotated[int, Field(description="Documents of the group.")]
    share: float


class TopicGroups(TopicName):
    """A topic by label or over time."""

    groups: list[Group]
    trend: Annotated[
        Literal["rising", "falling"] | None, Field(description="Over time; null if neither.")
    ] = None
    slope: Annotated[float | None, Field(description="Change of the share in a period.")] = None
    error: Annotated[float | None, Field(description="Standard error of the slope.")] = None


class TopicProbability(TopicName):
    """How sure it is that a text belongs to a topic."""

    probability: float


class Contribution(Word):
    """What a word adds to the input of a unit."""

    value: float


class Unit(BaseModel):
    """A unit that a text turns on: input = bias + all contributions."""

    unit: int
    words: Annotated[list[str], Field(description="What the unit stands for.")]
    probability: float
    input: float
    bias: float
    contributions: list[Contribution]


class Matches(Word):
    """Where a word stands in a text."""

    matches: list[tuple[int, int]]


class About(BaseModel):
    """What the model makes of a text."""

    matches: list[Matches]
    topics: list[TopicProbability]
    units: list[Unit]
    x: Annotated[float | None, Field(description="Where it lies on the map, -1 to 1.")]
    y: float | None
    build: str


class Explained(About):
    """A text that was given: also what is like it."""

    known: list[str]
    unknown: list[str]
    topic: Annotated[int | None, Field(description="The topic it belongs to; null for none.")]
    expected: list[ExpectedWord]
    hits: Annotated[list[Hit], Field(description="Documents like it.")]


class ExplainedDocument(Document, About):
    """A document of the collection and what the model makes of it."""


class RegionWord(Word):
    """A word that sets documents apart."""

    share: Annotated[float, Field(description="Of the documents that have it.")]
    lift: Annotated[float, Field(description="How many times its share of all documents that is.")]


class TopicShare(TopicName):
    """How many documents belong to a topic."""

    share: float


class Region(BaseModel):
    """What some documents have in common."""

    documents: int
    words: list[RegionWord]
    labels: list[Label]
    topics: list[TopicShare]
