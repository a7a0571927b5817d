"""Why: what words, topics and units have to do with an answer. Neither torch nor scikit-learn.

F units, K words, T topics. Nothing here is an approximation: a unit's input is a sum over words,
the words' part of a score is a sum over shared words, and its features' part is divided among
directions, of which topics are some and "other" is the rest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from docboltz.answers import ExpectedWord, Hit, Hits, title_of
from docboltz.errors import require
from docboltz.explanations import (
    Contribution,
    ExplainedDocument,
    Explanation,
    LabelShare,
    Reasons,
    Region,
    RegionWord,
    StoredDocument,
    TopicProbability,
    TopicReason,
    TopicShare,
    UnitInput,
    WordMatches,
    WordReason,
)
from docboltz.search.places import PlaceFinder
from docboltz.search.query import parse
from docboltz.search.score import WAYS, By
from docboltz.search.store import Question
from docboltz.search.vectors import Rows, unit_vectors
from docboltz.topic_verbs import TopicVerbs
from docboltz.topics.naming import choose_words, scores_of_counts, stems_of

SHOWN_TOPICS = 5
"""Of a text; less probable ones are not shown."""
LEAST_PROBABILITY = 0.01
SHOWN_UNITS = 8
SHOWN_WORDS = 15
"""That the model expects beside a text, and of a region."""
SHOWN_SHARES = 10
"""Labels and topics of a region."""

HELD = 0.1
"""Weight of the shares of topics themselves, which least squares keeps small: features are centred,
so that directions of topics nearly cancel each other. Without it, a score of 1 in a collection of
three topics had parts of 6,804, −3,192 and −3,611. With it, no share was above 1.3 in 50 documents
each of 20 Newsgroups and of BBC news, and what is left for "other" was longer by 2 % at most."""

Floats = NDArray[np.float64]


class Explaining(TopicVerbs):
    """A model that says why it answers as it does."""

    _with_words: tuple[str, Floats] | None = None
    """Build of the store, and how many of its documents have each word."""

    def document(self, id: str) -> ExplainedDocument:
        """A document of the collection: its text, topics, and which of its words say what."""
        store = self.store
        (found,) = self.documents([store.row_of(str(id))])
        counts = self._counts([found.text])
        rows = np.array([found.row])
        topics = self._topic_probabilities(np.asarray(store.features[rows]), store.presence(rows))
        matches = self._matches(found.text, counts)
        return ExplainedDocument(
            **vars(found), matches=matches, topics=topics, units=self._unit_inputs(counts)
        )

    def documents(self, rows: Sequence[int]) -> list[StoredDocument]:
        """Documents of the collection by their rows, in that order."""
        own = self._checked(rows, "documents")
        found, topics = self.store.documents(own), self.tree.assignment.topic
        return [
            StoredDocument(
                row=row,
                id=d.id,
                text=d.text,
                labels=d.labels,
                date=d.date,
                topic=topic_or_none(topics[row]),
                title=title_of(d),
                columns=dict(d.columns),
            )
            for row, d in zip(own.tolist(), found, strict=True)
        ]

    def explain(self, text: str) -> Explanation:
        """What the model makes of a text: topics, units and the words behind them, more words."""
        require(isinstance(text, str), "TextModel.explain", "text", "a string", text)
        counts = self._counts([text])
        topics: tuple[TopicProbability, ...] = ()
        expected: list[ExpectedWord] = []
        own = topic_or_none(self.assign_counts(counts).topic[0])
        if counts.nnz:
            vectors = unit_vectors(self._features(counts), self.activity)
            topics = self._topic_probabilities(vectors, counts)
            columns, given, lift = self._light.expected_words(counts, SHOWN_WORDS)
            forms = [self.vocabulary.forms[int(k)] for k in columns]
            expected = list(map(ExpectedWord, forms, given.tolist(), lift.tolist()))
        return Explanation(
            matches=self._matches(text, counts),
            unknown=tuple(self.unknown_words(text)),
            topic=own,
            topics=topics,
            units=self._unit_inputs(counts),
            expected=tuple(expected),
        )

    def reasons(self, text: str, hits: Sequence[Hit], *, by: By = "both") -> list[Reasons]:
        """Why each of the hits of `search(text, by=by)` is one, in parts of its score."""
        query = parse(text, self.store.columns)
        absent = hits.phrases if isinstance(hits, Hits) else ()  # the search did without them
        (question,) = self._questions([query.without_phrases(absent)])
        return self._reasons(question, hits, by)

    def similar_reasons(self, id: str, hits: Sequence[Hit], *, by: By = "both") -> list[Reasons]:
        """Why each of the hits of `similar(id, by=by)` is one, in parts of its score."""
        return self._reasons(self._question_of(self.store.row_of(str(id))), hits, by)

    def region(self, rows: Sequence[int] | NDArray[Any]) -> Region:
        """What sets some documents apart from the others: words, labels, topics."""
        store, tree = self.store, self.tree
        own = np.unique(self._checked(rows, "region"))
        inside = store.presence(own).sum(axis=0).astype(np.float64)
        total = self._documents_with_words
        forms, size = self.vocabulary.forms, max(len(own), 1)
        scores = scores_of_counts(inside[None], np.array([[len(own)]]), total, len(store))
        scores[:, inside == 0] = 0  # of no document there is
        (chosen,) = choose_words(
            scores, forms, k=SHOWN_WORDS, hidden=frozenset(tree.hidden), stems=self._stems
        )
        best = np.argsort(-scores[0], kind="stable")[::-1]  # of words shown alike the first chosen
        column = {forms[k]: k for k in best.tolist()}
        shares = inside / size
        lift = np.divide(shares * len(store), total, out=np.zeros_like(total), where=total > 0)
        all_labels = store.labels_and_dates()[0]
        labels = Counter(label for row in own.tolist() for label in set(all_labels[row]))
        topics = Counter(tree.assignment.topic[own].tolist())
        topics.pop(-1, None)
        names = self._topic_names
        return Region(
            documents=len(own),
            words=tuple(
                RegionWord(word, float(shares[column[word]]), float(lift[column[word]]))
                for word in chosen
            ),
            labels=tuple(
                LabelShare(each, n / size) for each, n in labels.most_common(SHOWN_SHARES)
            ),
            topics=tuple(
                TopicShare(number, names[number], n / size)
                for number, n in topics.most_common(SHOWN_SHARES)
            ),
        )

    # ---- parts ----

    def _checked(self, rows: Sequence[int] | NDArray[Any], method: str) -> Rows:
        """Rows of documents, or an error that says what rows there are."""
        array, n = np.asarray(rows), len(self.store)
        whole = array.ndim == 1 and (array.dtype.kind in "iu" or not array.size)
        fits = whole and bool(((array >= 0) & (array < n)).all())
        require(fits, f"TextModel.{method}", "rows", f"a list of rows from 0 to {n - 1}", rows)
        return array.astype(np.int64)

    @cached_property
    def _stems(self) -> tuple[str, ...]:
        return stems_of(self.vocabulary.forms, self.analysis)

    @property
    def _topic_names(self) -> dict[int, str]:
        return {topic.number: topic.name for topic in self.tree.topics}

    @property
    def _documents_with_words(self) -> Floats:
        """How many documents of the collection have each of the model's words: (K,)."""
        build = self.store.opened.build
        if self._with_words is None or self._with_words[0] != build:
            self._with_words = build, self.store.presence().sum(axis=0).astype(np.float64)
        return self._with_words[1]

    def _matches(self, text: str, counts: csr_array) -> tuple[WordMatches, ...]:
        """The known words of a text, and where they stand."""
        columns = counts.indices.tolist()
        finder = PlaceFinder(self.analysis)  # by which links are no words; not as in a search
        places = finder.find(text, {self.vocabulary[k] for k in columns})
        return tuple(
            WordMatches(self.vocabulary.forms[k], tuple(places.get(self.vocabulary[k], ())))
            for k in columns
        )

    def _topic_probabilities(
        self, vectors: NDArray[np.float32], words: csr_array
    ) -> tuple[TopicProbability, ...]:
        """The most probable topics of one document."""
        tree, names = self.tree, self._topic_names
        presence = csr_array((np.ones_like(words.data, np.float32), words.indices, words.indptr),
                             shape=words.shape)  # fmt: skip
        found = tree.mixture.probabilities(vectors, presence, tree.numbers)[0, :-1]
        numbers = np.unique(tree.numbers)
        best = np.argsort(-found, kind="stable")[:SHOWN_TOPICS]
        return tuple(
            TopicProbability(int(numbers[i]), names[int(numbers[i])], float(found[i]))
            for i in best
            if found[i] >= LEAST_PROBABILITY
        )

    def _unit_inputs(self, counts: csr_array) -> tuple[UnitInput, ...]:
        """The units that a text says most about, by p log(p / usual), and what its words do."""
        if not counts.nnz:
            return ()
        parts, bias = self._light.contributions(counts)
        inputs = parts.sum(axis=1) + bias
        p = self._light.features(counts)[0].astype(np.float64)
        usual = np.maximum(self.activity.astype(np.float64), np.finfo(np.float32).tiny)
        news = p * np.log(np.maximum(p, np.finfo(np.float32).tiny) / usual)
        forms = [self.vocabulary.forms[k] for k in counts.indices.tolist()]

        def described(j: int) -> UnitInput:
            order = np.argsort(-np.abs(parts[j]), kind="stable").tolist()
            values = parts[j].tolist()
            return UnitInput(
                unit=self._units[j].number,
                words=self._units[j].words[:10],
                probability=float(p[j]),
                input=float(inputs[j]),
                bias=float(bias[j]),
                contributions=tuple(Contribution(forms[i], values[i]) for i in order),
            )

        return tuple(described(j) for j in np.argsort(-news, kind="stable")[:SHOWN_UNITS].tolist())

    def _reasons(self, question: Question, hits: Sequence[Hit], by: By) -> list[Reasons]:
        """Why hits are like a question, in parts of their scores.

        The question's direction is divided among those of the topics, as far as they point its way
        (non-negative least squares, `HELD`); what is left of it is "other". A document's cosine
        with each part is what that adds.
        """
        from scipy.optimize import nnls  # which takes as long to import as all else here

        require(by in WAYS, "TextModel.reasons", "by", " or ".join(map(repr, WAYS)), by)
        weight, tree, names = question.weights(by).features, self.tree, self._topic_names
        directions = tree.mixture.directions.astype(np.float64)  # (T, F)
        directions /= np.maximum(np.linalg.norm(directions, axis=1, keepdims=True), 1e-30)
        query = question.vector.astype(np.float64)
        T = len(directions)
        held = np.vstack([directions.T, HELD * np.eye(T)])
        shares, _ = nnls(held, np.append(query, np.zeros(T)))
        parts = shares[:, None] * directions
        rest = query - parts.sum(axis=0)
        rows = np.array([hit.row for hit in hits], np.int64)
        X = np.asarray(self.store.features[rows], np.float64)  # (hits, F)
        of_topics, other = weight * (X @ parts.T), weight * (X @ rest)
        other += weight * beyond_one(X @ query)
        forms, of_words = self.store.word_parts(question, rows, by)
        found = []
        for i in range(len(rows)):
            best = np.argsort(-of_words[i], kind="stable").tolist()
            by_word = [WordReason(forms[t], float(of_words[i, t])) for t in best if of_words[i, t]]
            by_topic: Counter[int] = Counter()
            for t in np.flatnonzero(of_topics[i]).tolist():
                by_topic[int(tree.numbers[t])] += of_topics[i, t]
            topics = (TopicReason(t, names[t], float(s)) for t, s in by_topic.most_common())
            found.append(Reasons(tuple(by_word), tuple(topics), float(other[i])))
        return found


def beyond_one(cosine: Any) -> Any:
    """What a search takes from a cosine that rounding makes larger than 1."""
    return np.clip(cosine, -1, 1) - cosine


def topic_or_none(number: int) -> int | None:
    """The number of a topic; −1 is none."""
    return None if number < 0 else int(number)
