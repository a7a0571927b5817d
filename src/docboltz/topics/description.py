"""What a person reads of topics: words, names, sizes, typical documents, labels.

T topics of n documents, K words. All of it comes from the collection that is searched, as it is
stored: its documents are assigned, and each level of the tree is described beside its siblings. In
very large collections a sample of the documents speaks for all.
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
from docboltz.corpus.analysis import TextAnalysis
from docboltz.corpus.corpus import Vocabulary
from docboltz.corpus.disk import drop_pages
from docboltz.corpus.document import Document
from docboltz.light import LightModel
from docboltz.search.store import Store
from docboltz.topics.mixture import Assignment, Floats, TopicMixture
from docboltz.topics.naming import choose_words, name_of, scores_together, stems_of, word_scores
from docboltz.topics.phrases import Phrase, find_phrases

KEPT_WORDS = 20
"""Of each topic, to show."""
EXAMPLES = 3
EXAMPLE_CHARACTERS = 300
TYPICAL = 30
"""Documents in the middle of a topic, of which the model's own words are asked."""
MOST_LOOKED_AT = 250_000
"""Documents that topics are found in and described by. Of more, so many are drawn, and the others
are only assigned."""
BLOCK_DOCUMENTS = 16_384
READ_FOR_PHRASES = 20_000
"""Documents whose texts are searched for phrases."""
PHRASE_CHARACTERS = 2000
"""Of each text."""
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

    @cached_property
    def rows(self) -> Integers:
        """The documents that are looked at: all, or of very many a random sample, in order."""
        if not self._is_sampled:
            return np.arange(len(self.store))
        drawn = np.random.default_rng(0).choice(len(self.store), MOST_LOOKED_AT, replace=False)
        return np.sort(drawn)

    @property
    def _is_sampled(self) -> bool:
        return len(self.store) > MOST_LOOKED_AT

    @cached_property
    def vectors(self) -> Floats:
        """Unit vectors of centred features of the documents that are looked at: (n, F)."""
        if not self._is_sampled:
            return self.store.features
        return np.concatenate([self._vectors_of(rows) for rows in _blocks(self.rows)])

    @cached_property
    def presence(self) -> csr_array:
        """1 for each word of a document that is looked at: (n, K)."""
        return self.store.presence(self.rows if self._is_sampled else None)

    def _vectors_of(self, rows: Integers) -> Floats:
        """Those of some documents, in memory; the rest of the file need not stay there."""
        vectors = np.asarray(self.store.features[rows], np.float32)
        drop_pages(self.store.features)
        return vectors

    def labels(self) -> list[tuple[str, ...]]:
        """The labels of the documents that are looked at."""
        if not self._is_sampled:
            return self.store.labels_and_dates()[0]
        some = (self.store.documents(rows) for rows in _blocks(self.rows))
        return [each.labels for documents in some for each in documents]

    def assign(self, mixture: TopicMixture, numbers: Integers) -> Assignment:
        """The topics of all documents, looked at or not."""
        if not self._is_sampled:
            return mixture.assign(self.vectors, self.presence, numbers)
        n = len(self.store)
        topic, probability = np.empty(n, np.int64), np.empty(n, np.float32)
        for rows in _blocks(np.arange(n)):
            found = mixture.assign(self._vectors_of(rows), self.store.presence(rows), numbers)
            topic[rows], probability[rows] = found
        return Assignment(topic, probability)

    @cached_property
    def phrases(self) -> dict[tuple[int, int], Phrase]:
        """Pairs of words that are written side by side."""
        n = len(self.store)
        rows = np.linspace(0, n - 1, min(n, READ_FOR_PHRASES)).astype(np.int64)
        texts = (document.text[:PHRASE_CHARACTERS] for document in self.store.documents(rows))
        return find_phrases(texts, self.analysis, self.vocabulary)

    @cached_property
    def stems(self) -> tuple[str, ...]:
        """What forms of one word have in common."""
        return stems_of(self.vocabulary.forms, self.analysis)

    def words(self, groups: Integers, n_groups: int, hidden: Words[str]) -> list[tuple[str, ...]]:
        """The words of groups of documents that stand side by side; −1 is no group."""
        scores = word_scores(self.presence, groups, n_groups)
        return choose_words(
            scores_together(scores, self.presence),
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


def _blocks(rows: Integers) -> list[Integers]:
    return np.split(rows, range(BLOCK_DOCUMENTS, len(rows), BLOCK_DOCUMENTS))


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
    everywhere, known = collection.assign(mixture, numbers), known or {}
    rows = collection.rows
    found = Assignment(everywhere.topic[rows], everywhere.probability[rows])
    n, beyond = len(everywhere.topic), 1 + max(node.number for node in nodes)
    sizes = np.bincount(everywhere.topic % (beyond + 1), minlength=beyond + 1)
    up = np.full(beyond + 1, -1)  # its last entry is for −1, no topic
    up[[node.number for node in nodes]] = [
        -1 if node.parent is None else node.parent for node in nodes
    ]
    topics: dict[int, Topic] = {}
    at, labels = np.append(np.arange(beyond), -1), collection.labels()
    for level in sorted({node.level for node in nodes}, reverse=True):
        side_by_side = [node for node in nodes if node.level == level]
        place = np.full(beyond + 1, -1)
        place[[node.number for node in side_by_side]] = range(len(side_by_side))
        group_of = place[at]  # by the number of a document's finest topic
        groups = group_of[found.topic]
        new = any(node.number not in known for node in side_by_side)
        words = collection.words(groups, len(side_by_side), hidden) if new else []
        for i, node in enumerate(side_by_side):
            documents = int(sizes[group_of == i].sum())
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
                documents=documents,
                share=documents / max(n, 1),
                labels=_common_labels(rows, labels),
                examples=_examples(rows, found, collection),
            )
        at = up[at]
    return tuple(_in_tree_order(topics, None)), everywhere


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
    for document in collection.store.documents(collection.rows[rows]):
        by_text.setdefault(document.text, document)
    some = list(by_text.values())[:EXAMPLES]
    starts = (" ".join(each.text[: 3 * EXAMPLE_CHARACTERS].split()) for each in some)
    return tuple(
        Example(each.id, start[:EXAMPLE_CHARACTERS])
        for each, start in zip(some, starts, strict=True)
    )


def _common_labels(rows: Integers, labels: list[tuple[str, ...]]) -> tuple[tuple[str, float], ...]:
    """Up to three labels that most documents of a topic have, with their shares."""
    counts = Counter(label for row in rows.tolist() for label in labels[row])
    return tuple((label, n / len(rows)) for label, n in counts.most_common(3))


def _in_tree_order(topics: dict[int, Topic], parent: int | None) -> list[Topic]:
    here = [topic for topic in topics.values() if topic.parent == parent]
    here.sort(key=lambda topic: (-topic.documents, topic.number))
    return [t for topic in here for t in (topic, *_in_tree_order(topics, topic.number))]
