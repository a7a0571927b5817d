"""Topics of any model, measured alike: groups of training documents, and the words of each.

Groups come from the model, words from the groups' documents by one ranking for all models: what
differs between models is which documents they put together, and nothing else. No model has seen a
label, so groups of training documents are compared with their labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn.preprocessing import normalize

from docboltz.corpus.split import Split
from docboltz.errors import InvalidCorpus
from docboltz.evaluation.groups import NOWHERE, GroupAgreement, compare_groups, has_one_label
from docboltz.evaluation.labels import labels_of
from docboltz.evaluation.topic_words import (
    topic_coherence,
    topic_diversity,
    topic_words,
    word_intrusion,
)
from docboltz.experiments.models import Grouping
from docboltz.search.vectors import unit_vectors
from docboltz.topics.grouping import find_topics, k_means

WORDS_PER_TOPIC, WORDS_WITH_INTRUDER = 10, 5
RANKED_WORDS = 50
"""An intruder is none of so many words of a topic; of half the words in a small vocabulary."""
UNLABELLED, FEWEST, MOST = 20, 2, 50
"""Topics where there are no labels, and bounds of their number where there are."""
STARTS = 10
"""Of k-means: the best is taken."""


@dataclass(frozen=True)
class TopicMeasures:
    """Topics, the largest first, and how good they are."""

    sizes: tuple[int, ...]
    """Training documents of each."""
    words: tuple[tuple[str, ...], ...]
    """Of each, the clearest first."""
    coherence: float
    """Mean smoothed NPMI of a topic's words in the training documents."""
    npmi: float
    """The same without smoothing, as the literature has it."""
    diversity: float
    intrusion: float | None
    """Share of foreign words that a judge who knows the test documents tells from a topic's; None
    where there is one topic only."""
    agreement: GroupAgreement | None
    """With the training documents' labels; None where there are none to compare with."""


def usual_number(split: Split) -> int:
    """How many topics are looked for: as many as labels, within bounds, and 20 without labels."""
    n = len(split.train.label_names)
    wanted = min(max(n, FEWEST), MOST) if n > 1 else UNLABELLED
    return min(wanted, len(split.train))


def group_documents(
    features: Any, counts: csr_array, n_topics: int, how: Grouping, seed: int
) -> NDArray[np.int64]:
    """The topic of each document (n,), from its features (n, F), or -1 if it has none.

    The words of documents, `counts` (n, K), are asked where the model's topics are made of both.
    """
    if how == "topics":
        vectors = unit_vectors(features, features.mean(axis=0))
        presence = csr_array((counts > 0).astype(np.float32))
        return find_topics(vectors, presence, n_topics, seed=seed).assign(vectors, presence).topic
    if how != "own":
        return groups_of_features(features, n_topics, centred=how == "centred", seed=seed)
    return np.where(features.max(axis=1) > 0, features.argmax(axis=1), NOWHERE)


def groups_of_features(
    features: Any, n_topics: int, *, centred: bool, seed: int
) -> NDArray[np.int64]:
    """Groups by k-means on directions: features, perhaps less their mean, scaled to length 1."""
    if issparse(features):  # word weights, whose mean is not taken off
        vectors = normalize(features)
    else:
        vectors = unit_vectors(features, features.mean(axis=0) if centred else None)
    return k_means(vectors, min(n_topics, vectors.shape[0]), seed, starts=STARTS)


def measure_topics(groups: NDArray[np.int64], split: Split) -> TopicMeasures | None:
    """How good groups of a split's training documents are; None if there is no word to tell."""
    counts, forms = split.train.counts, split.train.vocabulary.forms
    K = counts.shape[1]
    somewhere = np.flatnonzero(groups != NOWHERE)
    if K < 2 or not len(somewhere):
        return None
    _, topic, sizes = np.unique(groups[somewhere], return_inverse=True, return_counts=True)
    largest = np.argsort(-sizes, kind="stable")
    shape = len(groups), len(sizes)
    member = csr_array((np.ones(len(somewhere)), (somewhere, topic)), shape)[:, largest]
    n_ranked = max(WORDS_PER_TOPIC, min(RANKED_WORDS, K // 2))
    ranked = topic_words(member, counts, min(n_ranked, K))
    words = ranked[:, :WORDS_PER_TOPIC]
    return TopicMeasures(
        tuple(sizes[largest].tolist()),
        tuple(tuple(forms[word] for word in row) for row in words.tolist()),
        float(topic_coherence(words, counts).mean()),
        float(topic_coherence(words, counts, smoothing=0).mean()),
        topic_diversity(words),
        _intrusion(ranked, split),
        _agreement(groups, split),
    )


def _intrusion(ranked: NDArray[np.int64], split: Split) -> float | None:
    if len(ranked) < 2:
        return None
    k = min(WORDS_WITH_INTRUDER, ranked.shape[1])
    return float(word_intrusion(ranked, split.test.counts, k=k).mean())


def _agreement(groups: NDArray[np.int64], split: Split) -> GroupAgreement | None:
    try:
        labels = labels_of(split)
    except InvalidCorpus:  # nothing can be measured by labels
        return None
    if issparse(labels.train) and not has_one_label(labels.train).any():
        return None
    return compare_groups(groups[labels.rows], labels.train)
