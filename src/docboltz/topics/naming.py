"""The words that topics are shown with, and their names.

n documents, K words of the vocabulary, T topics that stand side by side. A word speaks for a topic
if documents inside it have the word more often than those outside, and if it is found beside the
topic's other words: the name of somebody who writes a lot is not. A reader compares the lists of
topics, so no word is in two of them, no list has two forms of one word ("player", "players"), and
two words that are mostly written together are shown as people write them ("super bowl").
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from docboltz.corpus.analysis import TextAnalysis, stemmer_names
from docboltz.evaluation.topic_words import pairwise_npmi
from docboltz.topics.phrases import Phrase

Columns = tuple[int, ...]
"""What is shown as one: the column of a word, or the two columns of a phrase."""

NAME_WORDS = 3
NAME_LETTERS = 32
"""A name has a third word if it then still fits into a column of so many letters."""
LEAST_SHARE = 0.2
"""A phrase is shown if it holds this share of its words' occurrences, in the geometric mean of the
two: a fifth of both, or all of one and a twenty-fifth of the other. "Health care" does; with less,
as "space" has in "space shuttle", the phrase would hide the broader word."""
DEPTH = 3
"""A phrase is shown if both its words are among the topic's DEPTH × k best."""
AMONG = 200
"""The best words of a topic that should meet each other."""
ROUNDS = 2
"""How often they are weighed: first by their scores, then by what has come of these."""
LEAST_TOGETHER = 0.01
"""What the score of a word that does not is multiplied by: it comes last, but is not lost."""
MEETINGS_IN = 50_000
"""Documents that meetings are counted in."""


def word_scores(
    presence: csr_array, topics: NDArray[np.int64], n_topics: int
) -> NDArray[np.float64]:
    """What each word adds to the divergence of documents inside a topic from those outside: (T, K).

    That is p log(p / q), where p and q are the shares of documents inside and outside that have the
    word: neither a rare word leads nor one that hardly differs. `presence` (n, K) is 1 where a
    document has a word, `topics` (n,) is -1 for a document without a topic, which is outside all.

    >>> presence = csr_array([[1, 1, 0], [1, 1, 0], [0, 1, 1], [0, 1, 1]])
    >>> word_scores(presence, np.array([0, 0, 1, 1]), 2).argmax(1)
    array([0, 2])
    """
    n = presence.shape[0]
    assigned = np.flatnonzero(topics >= 0)
    member = csr_array((np.ones(len(assigned)), (topics[assigned], assigned)), shape=(n_topics, n))
    inside = (member @ presence).toarray()  # (T, K)
    size = np.bincount(topics[assigned], minlength=n_topics)[:, None]
    total = np.asarray(presence.sum(axis=0), np.float64).reshape(-1)
    return scores_of_counts(inside, size, total, n)


def scores_of_counts(
    inside: NDArray[np.float64],
    size: NDArray[np.int64],
    total: NDArray[np.float64],
    n: int,
) -> NDArray[np.float64]:
    """`word_scores` of documents that are counted already.

    `inside` (T, K) and `total` (K,) are the documents with each word, of each topic and of all n;
    `size` (T, 1) those of each topic.
    """
    # One average document on either side keeps words that are only ever in, or out, finite.
    average = total / max(n, 1)
    p = (inside + average) / (size + 1)
    q = (total - inside + average) / (n - size + 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.nan_to_num(p * np.log(p / q)))


def scores_together(scores: NDArray[np.float64], presence: csr_array) -> NDArray[np.float64]:
    """`word_scores` (T, K), each times how much the word goes together with its topic's best words.

    That is its NPMI with the others of the best, in the mean by their weights: their scores at
    first, and then what these have become, so that words count by those that go together. What
    tells a topic from others is not always what it is about: of a newsgroup on religion the names
    of those who write most, of short texts words that came in two or three. The words of a subject
    meet.

    >>> presence = csr_array([[1, 1, 0], [1, 1, 0], [1, 1, 0], [0, 0, 1], [0, 0, 0], [0, 0, 0]])
    >>> scores_together(np.array([[0.4, 0.3, 0.5]]), presence).argmin(1)
    array([2])
    """
    some = presence[:: -(-presence.shape[0] // MEETINGS_IN)] if presence.shape[0] else presence
    columns = csc_array(some)
    found = scores * LEAST_TOGETHER
    for topic, row in enumerate(scores):
        best = np.argsort(-row, kind="stable")[:AMONG]
        best = best[row[best] > 0]
        words = columns[:, best].astype(np.float64)
        npmi = pairwise_npmi((words.T @ words).toarray(), some.shape[0])
        np.fill_diagonal(npmi, 0)
        weight = row[best]
        for _ in range(ROUNDS):
            beside = npmi @ weight / np.maximum(weight.sum() - weight, 1e-12)
            weight = row[best] * np.maximum(beside, LEAST_TOGETHER)
        found[topic, best] = weight
    return found


def stems_of(words: Sequence[str], analysis: TextAnalysis) -> tuple[str, ...]:
    """The stem of each word by the stemmer of the analysis' language; without one, the word.

    >>> stems_of(["city", "cities"], TextAnalysis(stem=False))
    ('citi', 'citi')
    """
    if analysis.pretokenised or analysis.language not in stemmer_names():
        return tuple(words)
    stemming = replace(
        analysis, stop_words=False, stem=True, min_letters=1, numbers=True, ngrams=1
    ).term_of()
    return tuple(" ".join(stemming(part) or part for part in word.split(" ")) for word in words)


def same_stem(one: str, other: str) -> bool:
    """Whether two words of one topic look like forms of one word, in any language.

    They begin alike and differ by at most three letters at the end; words of three letters by one.
    In a whole dictionary that would also join strangers ("server", "service"). Among the words of
    one topic, those are rare.

    >>> same_stem("player", "players"), same_stem("gun", "guns"), same_stem("cantante", "cantanti")
    (True, True, True)
    >>> same_stem("car", "cable"), same_stem("win", "window"), same_stem("space", "spacecraft")
    (False, False, False)
    """
    shorter, longer = sorted((one, other), key=len)
    alike = 0
    while alike < len(shorter) and shorter[alike] == longer[alike]:
        alike += 1
    rest = len(longer) - alike
    return (alike >= 4 and rest <= 3) or (alike == len(shorter) == 3 and rest <= 1)


def choose_words(
    scores: NDArray[np.float64],
    forms: Sequence[str],
    *,
    k: int = 10,
    hidden: Collection[str] = frozenset(),
    stems: Sequence[str] | None = None,
    phrases: Mapping[tuple[int, int], Phrase] | None = None,
) -> list[tuple[str, ...]]:
    """At most k words for each of the topics that stand side by side, best first.

    `scores` (T, K) are those of `scores_together`, `forms` the words as people write them, and
    `stems` (see `stems_of`) what they have in common. The highest score of all chooses first: a
    word goes to the topic where it is best, unless that one has its k words already. So that a
    topic like a stronger one keeps words of its own, every topic first gets the three that name it,
    then all get the rest. A list is short only where a topic has no more words that others have
    less.

    A phrase stands where the better of its words would, with its score, and they are not shown
    again. Its words must be written together often enough (`LEAST_SHARE`), and both must be among
    the topic's best (`DEPTH`).

    Words and phrases in `hidden` are never shown, nor phrases with such a word.

    >>> scores = np.array([[3.0, 2.5, 0.5, 0.1], [2.0, 0.0, 0.2, 1.0]])
    >>> choose_words(scores, ["game", "games", "team", "cake"])
    [('game', 'team'), ('cake',)]
    """
    stems = forms if stems is None else stems
    hidden = frozenset(hidden)
    shown = np.array([hidden.isdisjoint((form, *form.split(" "))) for form in forms], bool)
    pairs = {
        columns: phrase.form
        for columns, phrase in (phrases or {}).items()
        if math.sqrt(math.prod(phrase.shares)) >= LEAST_SHARE and shown[list(columns)].all()
        if phrase.form not in hidden
    }
    queues = [_candidates(np.where(shown, row, 0), pairs, DEPTH * k) for row in scores]
    chosen: list[list[Columns]] = [[] for _ in queues]
    taken: set[str] = set()  # stems that are in some list

    def fits(topic: int, columns: Columns) -> bool:
        if not taken.isdisjoint(_words(columns, stems)):
            return False
        listed = [word for item in chosen[topic] for word in _words(item, forms)]
        return not any(same_stem(w, word) for w in _words(columns, forms) for word in listed)

    # Every topic's next candidate, the highest score on top: the same as going through all T × K
    # scores in order. Of equal ones, the first topic gets the word.
    heap: list[tuple[float, int, Columns]] = []

    def advance(topic: int) -> None:
        for score, columns in islice(queues[topic], 1):
            heapq.heappush(heap, (-score, topic, columns))

    for topic in range(len(queues)):
        advance(topic)
    for most in (min(NAME_WORDS, k), k):
        waiting = []
        while heap:
            candidate = heapq.heappop(heap)
            _, topic, columns = candidate
            if len(chosen[topic]) == most:
                waiting.append(candidate)  # until all others have as many
                continue
            if fits(topic, columns):
                chosen[topic].append(columns)
                taken.update(_words(columns, stems))
            advance(topic)
        heap += waiting  # sorted as they were popped, which makes a heap
    return [
        tuple(pairs[item] if len(item) == 2 else forms[item[0]] for item in items)
        for items in chosen
    ]


def name_of(words: Sequence[str]) -> str:
    """A short name: the two or three best words.

    >>> name_of(["super bowl", "commercial", "anthem", "doritos"])
    'super bowl, commercial, anthem'
    """
    name = ", ".join(words[:NAME_WORDS])
    return name if len(name) <= NAME_LETTERS else ", ".join(words[: NAME_WORDS - 1])


def _words(columns: Columns, texts: Sequence[str]) -> list[str]:
    """The single words of what is shown as one; a vocabulary may have pairs itself."""
    return [word for column in columns for word in texts[column].split(" ")]


def _candidates(
    scores: NDArray[np.float64], phrases: Collection[Columns], depth: int
) -> Iterator[tuple[float, Columns]]:
    """A topic's words and phrases with their scores, best first; a phrase before its words."""
    order = np.argsort(-scores, kind="stable")
    order = order[scores[order] > 0]
    rank = {column: place for place, column in enumerate(order[:depth].tolist())}
    led: dict[int, list[Columns]] = {}
    for columns in phrases:
        if all(column in rank for column in columns):
            led.setdefault(min(columns, key=rank.__getitem__), []).append(columns)
    for column in order.tolist():
        for columns in (*led.get(column, ()), (column,)):
            yield float(scores[column]), columns
