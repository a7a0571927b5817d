"""What a person reads of topics: words, names, sizes, typical documents, labels.

T topics of n documents, K words. All of it comes from the collection that is searched, as it is
stored: its documents are assigned, and each level of the tree is described beside its siblings.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection as Words
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from docboltz.answers import Example, Topic
from docboltz.corpus.document import Document
from docboltz.corpus.text import TextAnalysis
from docboltz.corpus.vocabulary import Vocabulary
from docboltz.light import LightModel
from docboltz.search.interface import Store
from docboltz.topics.mixture import Assignment, Floats, TopicMixture
from docboltz.topics.naming import choose_words, name_of, stems_of, word_scores
from docboltz.topics.phrases import Phrase, find_phrases

KEPT_WORDS = 20
"""Of each topic, to show."""
EXAMPLES = 3
EXAMPLE_CHARACTERS = 300
TYPICAL = 30
"""Documents in the middle of a topic, of which the model's own words are asked."""
READ_FOR_PHRASES = 20_000
"""Documents whose texts are searched for phrases."""
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Node:
    """A place in the tree of topics."""

    number: int
    parent: int | None
    """Number of the broader topic; None at the top."""
    level: int
    """0 at the top."""
    name: str = ""
    """What a person called it; "" for the name that its words make."""


@dataclass(frozen=True, eq=False)
class Collection:
    """The documents whose topics are looked for, and how they are read."""

    store: Store
    vocabulary: Vocabulary
    analysis: TextAnalysis
    light: LightModel

    @property
    def vectors(self) -> Floats:
        """Unit vectors of centred features: (n, F)."""
        return self.store.features

    @cached_property
    def presence(self) -> csr_array:
        """1 for each word of a document: (n, K)."""
        return self.store.words.presence()

    @cached_property
    def phrases(self) -> dict[tuple[int, int], Phrase]:
        """Pairs of words that are written side by side."""
        rows = np.arange(len(self.store))
        if len(rows) > READ_FOR_PHRASES:
            rows = np.linspace(0, len(rows) - 1, READ_FOR_PHRASES).astype(np.int64)
        texts = (document.text for document in self.store.documents(rows))
        return find_phrases(texts, self.analysis, self.vocabulary)

    @cached_property
    def stems(self) -> tuple[str, ...]:
        """What forms of one word have in common."""
        return stems_of(self.vocabulary.forms, self.analysis)

    def words(self, groups: Integers, n_groups: int, hidden: Words[str]) -> list[tuple[str, ...]]:
        """The words of groups of documents that stand side by side; −1 is no group."""
        return choose_words(
            word_scores(self.presence, groups, n_groups),
            self.vocabulary.forms,
            k=KEPT_WORDS,
            hidden=hidden,
            stems=self.stems,
            phrases=self.phrases,
        )

    def expected(self, rows: Integers, hidden: Words[str]) -> tuple[str, ...]:
        """Words that the model expects of such documents, those it says most about first."""
        if not len(rows):
            return ()
        given = self.light.next_words(self.presence[rows]).mean(axis=0)
        news = given * np.log(given / self.light.word_frequency.astype(np.float64))
        best = np.argsort(-news, kind="stable")[: KEPT_WORDS + len(hidden)]
        forms = (self.vocabulary.forms[int(k)] for k in best if news[k] > 0)
        return tuple(form for form in forms if form not in hidden)[:KEPT_WORDS]


def describe(
    nodes: tuple[Node, ...],
    numbers: Integers,
    mixture: TopicMixture,
    collection: Collection,
    hidden: Words[str] = frozenset(),
    known: Mapping[int, Topic] | None = None,
) -> tuple[tuple[Topic, ...], Assignment]:
    """All topics, each before those it is made of, larger ones first; and where documents belong.

    `numbers` (T,) are those of the mixture's topics. Topics that are `known` by their numbers keep
    their words: those of other documents are no reason to call them otherwise.
    """
    found = mixture.assign(collection.vectors, collection.presence, numbers)
    number, known = found.topic, known or {}
    beyond = 1 + max(node.number for node in nodes)
    up = np.full(beyond + 1, -1)  # its last entry is for −1, no topic
    up[[node.number for node in nodes]] = [
        -1 if node.parent is None else node.parent for node in nodes
    ]
    topics: dict[int, Topic] = {}
    at, labels = number, collection.store.labels_and_dates()[0]
    for level in sorted({node.level for node in nodes}, reverse=True):
        side_by_side = [node for node in nodes if node.level == level]
        place = np.full(beyond + 1, -1)
        place[[node.number for node in side_by_side]] = range(len(side_by_side))
        groups = place[at]
        new = any(node.number not in known for node in side_by_side)
        words = collection.words(groups, len(side_by_side), hidden) if new else []
        for i, node in enumerate(side_by_side):
            rows = np.flatnonzero(groups == i)
            before = known.get(node.number)
            own = words[i] if before is None else before.words
            typical = _typical(rows, found, collection, TYPICAL)
            topics[node.number] = Topic(
                number=node.number,
                name=node.name
                or name_of(name_words(node.number, own, topics.values()))
                or f"topic {node.number}",
                words=own,
                expected=(
                    collection.expected(typical, hidden) if before is None else before.expected
                ),
                parent=node.parent,
                level=level,
                documents=len(rows),
                share=len(rows) / max(len(number), 1),
                labels=_common_labels(rows, labels),
                examples=_examples(rows, found, collection),
            )
        at = up[at]
    return tuple(_in_tree_order(topics, None)), found


def name_words(number: int, words: Sequence[str], topics: Iterable[Topic]) -> list[str]:
    """The words that a topic's name is made of, best first.

    A broader topic has its own best word and the first of those it is made of, the largest before
    others: what sets it apart may come from one of them alone.
    """
    made_of = [topic for topic in topics if topic.parent == number and topic.words]
    if len(made_of) < 2:
        return list(words)
    made_of.sort(key=lambda topic: -topic.documents)
    return list(dict.fromkeys([*words[:1], *(topic.words[0] for topic in made_of)]))


def _typical(rows: Integers, found: Assignment, collection: Collection, n: int) -> Integers:
    """The documents nearest to the middle of a topic, of those that surely belong to it."""
    if not len(rows):
        return rows
    rows = rows[found.probability[rows] >= np.median(found.probability[rows])]
    vectors = np.asarray(collection.vectors[rows], np.float32)
    near = vectors @ vectors.mean(axis=0)
    return rows[np.argsort(-near, kind="stable")[:n]]


def _examples(rows: Integers, found: Assignment, collection: Collection) -> tuple[Example, ...]:
    """Typical documents, no text twice."""
    rows = _typical(rows, found, collection, 4 * EXAMPLES)
    by_text: dict[str, Document] = {}
    for document in collection.store.documents(rows):
        by_text.setdefault(document.text, document)
    some = list(by_text.values())[:EXAMPLES]
    return tuple(Example(each.id, each.text[:EXAMPLE_CHARACTERS]) for each in some)


def _common_labels(rows: Integers, labels: list[tuple[str, ...]]) -> tuple[tuple[str, float], ...]:
    """Up to three labels that most documents of a topic have, with their shares."""
    counts = Counter(label for row in rows.tolist() for label in labels[row])
    return tuple((label, n / len(rows)) for label, n in counts.most_common(3))


def _in_tree_order(topics: dict[int, Topic], parent: int | None) -> list[Topic]:
    here = [topic for topic in topics.values() if topic.parent == parent]
    here.sort(key=lambda topic: (-topic.documents, topic.number))
    return [t for topic in here for t in (topic, *_in_tree_order(topics, topic.number))]
