"""A topic model together with the text analysis and the vocabulary it was trained with.

Estimators see counts; people have text. A `TextModel` treats new text exactly as training text was,
and is what the command line saves, loads and asks.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from itertools import chain
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from docboltz.corpus.counting import count
from docboltz.corpus.counts import Corpus
from docboltz.corpus.document import Document
from docboltz.corpus.text import TextAnalysis
from docboltz.corpus.vocabulary import Vocabulary
from docboltz.device import choose_device
from docboltz.errors import InvalidCorpus, InvalidModelFile
from docboltz.estimator.base import TopicModel
from docboltz.estimator.models import assemble
from docboltz.estimator.saving import describe
from docboltz.evaluation.topic_words import TopicTally
from docboltz.storage import load_model, save_model

BLOCK_DOCUMENTS = 65_536
WORDS_PER_TOPIC = 20


@dataclass(frozen=True)
class Topic:
    """What one topic unit stands for."""

    number: int
    """Its row in `components_`."""
    words: tuple[str, ...]
    """The words that set documents with the topic apart from those without, clearest first."""
    sharpness: float
    """KL divergence, in bits, of the words of documents with the topic from those without."""
    activity: float
    """Its mean probability over the training documents."""


@dataclass(frozen=True, eq=False)
class TextModel:
    """Text in; topics, features and words out.

    >>> from docboltz import OverReplicatedSoftmax, Pretraining
    >>> texts = ["cats chase mice", "mice fear cats", "stocks fell", "stocks and bonds fell"]
    >>> model = OverReplicatedSoftmax(2, pretraining=Pretraining(updates=50), random_state=0)
    >>> TextModel.fit(texts, model).transform(["a cat and a mouse", "bonds"]).shape
    (2, 2)
    """

    model: TopicModel
    vocabulary: Vocabulary
    analysis: TextAnalysis
    topics: tuple[Topic, ...]
    """What each topic unit stands for, in the order of `components_`."""

    @classmethod
    def fit(
        cls,
        texts: Iterable[str | Document],
        model: TopicModel,
        analysis: TextAnalysis | None = None,
        *,
        min_df: int | float = 1,
        max_df: int | float = 1.0,
        max_words: int | None = None,
    ) -> Self:
        """Count the words of the texts (see `docboltz.corpus.counting.count`) and fit the model."""
        documents = _documents(texts)
        corpus = count(documents, analysis, min_df=min_df, max_df=max_df, max_words=max_words)
        model.fit(corpus.counts)
        return cls.of(model, corpus)

    @classmethod
    def of(cls, model: TopicModel, corpus: Corpus) -> Self:
        """Join a fitted model with what it was fitted on."""
        topics = describe_topics(model, corpus)
        return cls(model, corpus.vocabulary, corpus.analysis or TextAnalysis(), topics)

    @property
    def activity(self) -> NDArray[np.float32]:
        """Mean topic features of the training documents: (F,)."""
        return np.array([topic.activity for topic in self.topics], np.float32)

    def sharpest_topics(self, n: int | None = None) -> list[Topic]:
        """All topics, sharpest first; or n of them that do not repeat each other's first words."""
        ranked = sorted(self.topics, key=lambda topic: -topic.sharpness)
        if n is None:
            return ranked
        chosen: list[Topic] = []
        seen: set[str] = set()
        for topic in ranked:
            leading = set(topic.words[:5])
            if len(chosen) < n and len(leading & seen) <= 2:
                chosen.append(topic)
                seen |= leading
        return chosen

    def count(self, texts: Iterable[str | Document]) -> Corpus:
        """Count the words of new texts; words outside the vocabulary are left out."""
        return count(_documents(texts), self.analysis, vocabulary=self.vocabulary)

    def transform(self, texts: Iterable[str | Document]) -> NDArray[np.float32]:
        """Topic features of new texts: (n_texts, F)."""
        features: NDArray[np.float32] = self.model.transform(self.count(texts).counts)
        return features

    def search_features(self, counts: sparse.csr_array) -> NDArray[np.float32]:
        """Topic features of counted documents, zeros for one without words: it is like nothing.

        One whose topics are all off beyond float32 is not: it keeps the smallest of numbers.
        """
        features = np.maximum(self.model.transform(counts), np.finfo(np.float32).tiny)
        features[np.diff(counts.indptr) == 0] = 0
        return features

    def unknown_words(self, text: str) -> list[str]:
        """Words of a text that would count but that the vocabulary lacks, each once."""
        term_of = self.analysis.term_of()
        words = dict.fromkeys(chain.from_iterable(self.analysis.words(text)))
        terms = ((word, term_of(word)) for word in words)
        return [word for word, term in terms if term is not None and term not in self.vocabulary]

    def query(self, text: str) -> sparse.csr_array:
        """Counts of a text that is asked about, (1, K), which must hold a word the model knows."""
        counts = self.count([text]).counts
        if not counts.nnz:
            some = ", ".join(self.vocabulary.forms[:5])
            raise InvalidCorpus(
                f"The model knows none of these words: {text!r}. It knows "
                f"{len(self.vocabulary):,}, such as {some}."
            )
        return counts

    def next_words(self, text: str, n: int = 10) -> list[tuple[str, float, float]]:
        """Words the model expects beside `text`: word, probability, and how many times its usual.

        What is usual is the word's share of all words of the training documents.
        """
        counts = self.query(text)
        given = np.asarray(self.model.predict_words(counts), np.float64)[0]
        usual = self.model.word_frequency_.astype(np.float64)
        lift = given * np.log(given / usual)
        seen = counts.indices
        lift[seen] = -np.inf  # the words that were asked with are no news
        best = np.argsort(-lift, kind="stable")[: min(n, len(lift) - len(seen))]
        return [
            (self.vocabulary.forms[int(k)], float(given[k]), float(given[k] / usual[k]))
            for k in best
        ]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one folder; `docboltz.load` reads the estimator alone from it."""
        arrays, settings = describe(self.model)
        settings["text"] = {
            "analysis": self.analysis.to_dict(),
            "vocabulary": list(self.vocabulary.words),
            "forms": list(self.vocabulary.forms),
            "topics": [asdict(topic) for topic in self.topics],
        }
        save_model(path, arrays, settings)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, device: str = "auto") -> Self:
        """Read what `save` wrote, for use on `device`."""
        choose_device(device, "TextModel.load")
        arrays, settings = load_model(path)
        text = settings.get("text")
        if text is None:
            raise InvalidModelFile(
                f"The model in {os.fspath(path)} was trained on counts and has no vocabulary, so "
                "it cannot read text. Use docboltz.load for it, or train one with 'docboltz fit'."
            )
        return cls(
            assemble(arrays, settings, path=path, device=device),
            Vocabulary(text["vocabulary"], text["forms"]),
            TextAnalysis.from_dict(text["analysis"]),
            tuple(Topic(**{**topic, "words": tuple(topic["words"])}) for topic in text["topics"]),
        )


def _documents(texts: Iterable[str | Document]) -> Iterable[Document]:
    """Plain strings become documents numbered from 0."""
    for number, text in enumerate(texts):
        yield text if isinstance(text, Document) else Document(str(number), text, ())


def describe_topics(model: TopicModel, corpus: Corpus) -> tuple[Topic, ...]:
    """Find the words that documents with a topic have more of than documents without it."""
    F, K = model.components_.shape
    tally = TopicTally(K, F)
    for begin in range(0, len(corpus), BLOCK_DOCUMENTS):
        counts = corpus.counts[begin : begin + BLOCK_DOCUMENTS]
        counts = counts[np.diff(counts.indptr) > 0]
        tally.add(model.transform(counts), counts)
    topics = []
    for j in range(F):
        bits = tally.divergence(j)
        best = np.argsort(-bits, kind="stable")[:WORDS_PER_TOPIC]
        words = tuple(corpus.vocabulary.forms[int(k)] for k in best if bits[k] > 0)
        topics.append(Topic(j, words, float(bits.sum()), float(tally.activity[j])))
    return tuple(topics)
