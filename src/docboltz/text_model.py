"""The front door: text in; hits, topics, words, features and likelihoods out.

A `TextModel` owns how documents are read, how text becomes words, the vocabulary, the model and the
collection that is searched. Its verbs are the commands of the command line. Searching needs neither
torch nor scikit-learn; the verbs that do import them when they are called.
"""

from __future__ import annotations

import shutil
import weakref
from collections.abc import Iterator
from functools import cached_property
from itertools import chain
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from docboltz.answers import (
    ExpectedWord,
    ExpectedWords,
    Hit,
    Hits,
    Topic,
    Topics,
    find_matches,
)
from docboltz.corpus.counting import count
from docboltz.corpus.counts import Corpus
from docboltz.corpus.readers import Documents, ReadOptions, as_documents, read
from docboltz.corpus.text import TextAnalysis
from docboltz.corpus.vocabulary import Vocabulary
from docboltz.errors import InvalidCorpus, InvalidModelFile, InvalidParameter, is_whole, require
from docboltz.files import StrPath
from docboltz.light import LightModel
from docboltz.search.nearest import Best
from docboltz.search.store import WEIGHTS, By, SearchStore
from docboltz.storage import MODEL, Arrays, fingerprint_of, load_model, save_model

if TYPE_CHECKING:
    from docboltz.estimator.base import TopicModel
    from docboltz.estimator.density import Perplexity

SEARCH = "search"
"""Folder of the search store in that of the model."""


class TextModel:
    """Topics of a collection of texts, and everything that can be asked of them.

    Made by `TextModel.fit`, read by `docboltz.open`.

    >>> texts = ["Cats chase mice.", "Mice fear cats.", "Stocks fell.", "Stocks and bonds fell."]
    >>> model = TextModel.fit(texts, topics=4, updates=100, min_df=1)
    >>> model
    TextModel(4 topics, 7 words, 4 documents to search)
    >>> model.search("a cat", 2)
    Hits('a cat': 2)
    >>> model.transform(["a cat and a mouse", "bonds"]).shape
    (2, 4)
    """

    vocabulary: Vocabulary
    """The words the model knows."""
    analysis: TextAnalysis
    """How text becomes words."""
    reading: ReadOptions
    """How the training documents were read, and others will be."""
    path: Path | None
    """Folder it was saved to or opened from."""

    def __init__(
        self,
        arrays: Arrays,
        settings: dict[str, Any],
        *,
        path: StrPath | None = None,
        device: str = "auto",
        estimator: TopicModel | None = None,
    ) -> None:
        """Take what `save` writes apart; `TextModel.fit` and `docboltz.open` call this."""
        text = settings["text"]
        self.analysis = TextAnalysis.from_dict(text["analysis"])
        self.vocabulary = Vocabulary(_strings(text["vocabulary"]), _strings(text["forms"]))
        self.reading = ReadOptions.from_dict(text["reading"])
        self._topics = tuple(
            Topic(
                int(t["number"]),
                tuple(_strings(t["words"])),
                float(t["sharpness"]),
                float(t["activity"]),
            )
            for t in text["topics"]
        )
        self._light = LightModel.of(arrays, settings)
        F, K = self._light.W.shape
        if (len(self._topics), len(self.vocabulary)) != (F, K):
            raise ValueError(
                f"{len(self._topics)} topics and {len(self.vocabulary)} words for {F} × {K} weights"
            )
        self.path = None if path is None else Path(path)
        self._arrays, self._settings, self._device = arrays, settings, device
        self._estimator = estimator
        self._store: SearchStore | None = None
        self._temporary: Path | None = None

    # ---- made, saved, opened ----

    @classmethod
    def fit(
        cls,
        documents: Any,
        *,
        folder: StrPath | None = None,
        topics: int = 128,
        latent_words: Any = "auto",
        recipe: str = "quick",
        updates: int | None = None,
        validation: float = 0.0,
        analysis: TextAnalysis | None = None,
        max_words: int = 5000,
        min_df: int | float = 2,
        max_df: int | float = 0.5,
        estimator: TopicModel | None = None,
        replace: bool = False,
        restart: bool = False,
        random_state: int = 0,
        device: str = "auto",
        verbose: bool = False,
    ) -> Self:
        """Learn topics from documents and make them searchable: `docboltz fit`, same defaults.

        Parameters
        ----------
        documents : what `docboltz.read` gives, or a list, generator or column of texts, or a data
            frame.
        folder : save the model there as soon as it is trained. The state of training is kept in
            `folder.checkpoint` on the way, and the same call goes on after Ctrl-C or a crash.
        topics : number of topic units.
        latent_words : "auto", a number or a policy; see `OverReplicatedSoftmax`.
        recipe : "quick" (contrastive divergence), "full", "density" or "paper".
        updates : minibatches of each phase of training, instead of the recipe's.
        validation : share of documents to hold out and stop on.
        analysis : how text becomes words; English by default.
        max_words, min_df, max_df : how many words to keep, and in how many documents (or which
            share of them) a word must be at least and may be at most.
        estimator : an `OverReplicatedSoftmax` or `ReplicatedSoftmax` with settings of its own,
            instead of topics, latent_words, recipe, updates, validation, random_state and device.
        replace : replace a model in the folder.
        restart : start anew instead of going on after an interrupt.
        random_state : the same seed on the same machine gives the same model.
        device : "auto" (CUDA where there is one), "cpu", "cuda".
        verbose : show progress and say what was read.

        Ctrl-C while training raises `docboltz.fitting.TrainingInterrupted`; with a folder the model
        is there as far as it got.
        """
        from docboltz.fitting import fit, softmax_model

        if estimator is None:
            estimator = softmax_model(
                topics,
                latent_words=latent_words,
                recipe=recipe,
                updates=updates,
                validation=validation,
                device=device,
                random_state=random_state,
            )
        return fit(
            cls,
            documents,
            estimator.set_params(verbose=verbose),
            folder=folder,
            analysis=analysis or TextAnalysis(),
            max_words=max_words,
            min_df=min_df,
            max_df=max_df,
            replace=replace,
            restart=restart,
            verbose=verbose,
        )

    @classmethod
    def open(cls, folder: StrPath, *, device: str = "auto") -> Self:
        """Read a model that `fit` or `save` wrote to a folder; `device` is where it computes."""
        arrays, settings = load_model(folder)
        if "text" not in settings:
            raise InvalidModelFile(
                f"The model in {folder} was trained on counts and has no vocabulary, so it cannot "
                "read text.",
                hint="Use docboltz.load for it, or train one with 'docboltz fit'.",
            )
        with MODEL.trusting(folder):
            return cls(arrays, settings, path=folder, device=device)

    def save(self, folder: StrPath) -> None:
        """Write the model, and the collection it searches, to a folder; replace a model there."""
        from docboltz.indexing import copy_store

        store = self._find_store()
        save_model(folder, self._arrays, self._settings)
        if store is not None and Path(folder) / SEARCH != store.path:
            copy_store(store, Path(folder) / SEARCH)
        self.path, self._store, self._temporary = Path(folder), None, None

    @property
    def estimator(self) -> TopicModel:
        """The scikit-learn estimator inside: `OverReplicatedSoftmax`, fitted."""
        if self._estimator is None:
            from docboltz.device import choose_device
            from docboltz.estimator.models import assemble

            choose_device(self._device, "docboltz.open")
            path = self.path or "memory"
            self._estimator = assemble(self._arrays, self._settings, path=path, device=self._device)
        return self._estimator

    @property
    def n_topics(self) -> int:
        """Number of topic units, F."""
        return len(self._topics)

    @cached_property
    def fingerprint(self) -> str:
        """What tells the model from every other."""
        return fingerprint_of(self._arrays, self._settings)

    def __repr__(self) -> str:
        store = self._find_store()
        searched = f"{len(store):,} documents to search" if store else "nothing to search"
        where = f", in {str(self.path)!r}" if self.path is not None else ""
        return (
            f"{type(self).__name__}({self.n_topics} topics, {len(self.vocabulary):,} words, "
            f"{searched}{where})"
        )

    # ---- asked ----

    def search(self, text: str, n: int = 10, *, by: By = "both") -> Hits:
        """Find the n documents that answer a text best.

        A document's score joins what it is about and the words it has: the cosine of centred topic
        features and that of tf-idf weights. `by` may be "topics" or "words" for one of them alone.
        """
        _require_number(n, "search")
        counts = self._query(text, "search")
        store = self.store
        best = store.search(self._features(counts), counts, n, by=by)
        hits = self._hits(store, best, counts, by)
        return Hits(hits, title=repr(text), unknown=self.unknown_words(text))

    def similar(self, id: str, n: int = 10, *, by: By = "both") -> Hits:
        """Find the n documents most like one of the collection."""
        _require_number(n, "similar")
        store = self.store
        row = store.row_of(str(id))
        own = np.array([row])
        words = store.words_of(own)
        if not words.nnz:
            raise InvalidCorpus(
                f"The model knows none of the words of document {id!r}: nothing is like it."
            )
        best = store.similar(own, n, by=by)
        return Hits(self._hits(store, best, words, by), title=f"like {id!r}")

    def words(self, text: str, n: int = 15) -> ExpectedWords:
        """Words the model expects beside those of a text, those it says most about first."""
        _require_number(n, "words")
        counts = self._query(text, "words")
        given = self._light.next_words(counts)[0]
        usual = self._light.word_frequency.astype(np.float64)
        news = given * np.log(given / usual)
        news[counts.indices] = -np.inf  # the words that were asked with are no news
        best = np.argsort(-news, kind="stable")[: min(n, len(news) - counts.nnz)]
        found = [
            ExpectedWord(self.vocabulary.forms[k], float(given[k]), float(given[k] / usual[k]))
            for k in best.tolist()
        ]
        return ExpectedWords(found, title=repr(text), unknown=self.unknown_words(text))

    def topics(self, n: int | None = None, *, words: int = 10) -> Topics:
        """All topics, sharpest first; or up to n that do not repeat each other's first words."""
        _require_number(words, "topics", "words")
        ranked = sorted(self._topics, key=lambda topic: -topic.sharpness)
        if n is not None:
            _require_number(n, "topics")
            chosen: list[Topic] = []
            seen: set[str] = set()
            for topic in ranked:
                leading = set(topic.words[:5])
                if len(chosen) < n and len(leading & seen) <= 2:
                    chosen.append(topic)
                    seen |= leading
            ranked = chosen
        cut = (Topic(t.number, t.words[:words], t.sharpness, t.activity) for t in ranked)
        return Topics(cut, title=f"{self.n_topics} topics")

    def transform(
        self, texts: Any, inference: Literal["fast", "mean_field"] | None = None
    ) -> NDArray[np.float32]:
        """Topic features of texts: (n_texts, F)."""
        counts = self.count(texts).counts
        features: NDArray[np.float32] = self.estimator.transform(counts, inference)
        return features

    def save_features(
        self,
        documents: Any,
        out: StrPath,
        *,
        wide: bool = False,
        inference: Literal["fast", "mean_field"] | None = None,
        verbose: bool = False,
    ) -> Corpus:
        """Write the features of documents, a row each, in the order they come; give their counts.

        `out` is a .parquet, .csv or .npy file; `wide` gives each feature a column of a Parquet
        file. See `docboltz.feature_files`.
        """
        from docboltz.feature_files import save_features

        return save_features(
            self, documents, Path(out), wide=wide, inference=inference, verbose=verbose
        )

    def perplexity(
        self,
        texts: Any,
        *,
        n: int | None = None,
        method: Any = None,
        random_state: int = 0,
        verbose: bool = False,
    ) -> Perplexity:
        """How well the model predicts texts it was not trained on: lower is better.

        `texts` may be counted already. Measured on those that have known words, or on `n` of them
        drawn by `random_state`.
        """
        corpus = texts if isinstance(texts, Corpus) else self.count(texts)
        corpus = corpus.without_empty()
        if not len(corpus):
            raise InvalidCorpus(
                "No document has a word of the model's vocabulary: there is nothing to predict.",
                hint="Check that these are texts of the kind it was trained on.",
            )
        counts = corpus.counts
        if n is not None and counts.shape[0] > n:
            chosen = np.random.RandomState(random_state).permutation(counts.shape[0])[:n]
            counts = counts[np.sort(chosen)]
        estimator = self.estimator.set_params(verbose=verbose)
        return estimator.perplexity(counts, method=method, random_state=random_state)

    # ---- documents ----

    def read(self, source: Any, **options: Any) -> Documents:
        """Read documents as those the model was trained on were read; see `docboltz.read`."""
        return read(source, options=self.reading, **options)

    def count(self, texts: Any) -> Corpus:
        """Count the words of texts; words outside the vocabulary are left out."""
        documents = as_documents(texts, f"{type(self).__name__}.count")
        return count(documents, self.analysis, vocabulary=self.vocabulary)

    def index(self, documents: Any, *, verbose: bool = False) -> Corpus:
        """Make documents the collection that is searched; the model stays as it is.

        Gives their counts: `len(…)` documents, `.n_empty` of them without a known word.
        """
        from docboltz.indexing import index_documents

        self.estimator.set_params(verbose=verbose)  # finds a missing device before the work
        corpus = index_documents(self, documents, self.make_store_folder(), verbose=verbose)
        self._store = None
        return corpus

    def make_store_folder(self) -> Path:
        """Where to write a collection; a temporary folder for a model that is not saved."""
        if self.path is None and self._temporary is None:
            self._temporary = Path(mkdtemp(prefix="docboltz-"))
            weakref.finalize(self, shutil.rmtree, self._temporary, ignore_errors=True)
        return self.store_folder

    @property
    def store(self) -> SearchStore:
        """The collection that is searched, if it was made with the model as it is."""
        if self._store is None:
            self._store = SearchStore.open(self.store_folder, model=self.fingerprint)
        return self._store

    @property
    def store_folder(self) -> Path:
        """Where the collection that is searched is, or will be."""
        if self.path is not None:
            return self.path / SEARCH
        if self._temporary is None:
            raise InvalidParameter(
                "The model has no documents to search.", hint="Give it some with index()."
            )
        return self._temporary

    def unknown_words(self, text: str) -> list[str]:
        """Words of a text that would count but that the vocabulary lacks, each once."""
        term_of = self.analysis.term_of()
        words = dict.fromkeys(chain.from_iterable(self.analysis.words(text)))
        terms = ((word, term_of(word)) for word in words)
        return [word for word, term in terms if term is not None and term not in self.vocabulary]

    def search_features(self, counts: csr_array) -> NDArray[np.float32]:
        """Topic features of counted documents, zeros for one without words: it is like nothing.

        One whose topics are all off beyond float32 is not: it keeps the smallest of numbers.
        """
        return _known(self.estimator.transform(counts, "fast"), counts)  # as queries are

    @property
    def activity(self) -> NDArray[np.float32]:
        """Mean topic features of the training documents: (F,)."""
        return np.array([topic.activity for topic in self._topics], np.float32)

    def _features(self, counts: csr_array) -> NDArray[np.float32]:
        return _known(self._light.features(counts), counts)

    def _query(self, text: str, method: str) -> csr_array:
        """Counts of a text that is asked about, (1, K), which must hold a word the model knows."""
        owner = f"{type(self).__name__}.{method}"
        require(isinstance(text, str), owner, "text", "a string", text)
        counts: csr_array = self.count([text]).counts
        if not counts.nnz:
            some = ", ".join(self.vocabulary.forms[:5])
            raise InvalidCorpus(
                f"The model knows none of these words: {text!r}.",
                hint=f"It knows {len(self.vocabulary):,}, such as {some}.",
            )
        return counts

    def _hits(self, store: SearchStore, best: Best, words: csr_array, by: By) -> Iterator[Hit]:
        """The documents of the first query's best rows; `words` are those it was asked with."""
        terms = frozenset(self.vocabulary[int(k)] for k in words.indices)
        rows, weights = best.rows[0], WEIGHTS[by]
        taken = rows >= 0
        parts = weights.topics * best.topics[0][taken], weights.words * best.words[0][taken]
        for document, t, w in zip(store.documents(rows[taken]), *parts, strict=True):
            matches = find_matches(self.analysis, document.text, terms)
            text, labels = document.text, document.labels
            yield Hit(document.id, float(t + w), text, labels, float(t), float(w), matches)

    def _find_store(self) -> SearchStore | None:
        try:
            return self.store
        except (InvalidModelFile, InvalidParameter):
            return None


def open(folder: StrPath, *, device: str = "auto") -> TextModel:
    """Read a model that `TextModel.fit` or `docboltz fit` saved, ready to be asked."""
    return TextModel.open(folder, device=device)


def _known(features: NDArray[np.float32], counts: csr_array) -> NDArray[np.float32]:
    features = np.maximum(features, np.finfo(np.float32).tiny)
    features[np.diff(counts.indptr) == 0] = 0
    return features


def _strings(values: Any) -> list[str]:
    if not (isinstance(values, list | tuple) and all(isinstance(value, str) for value in values)):
        raise TypeError("a list of strings is needed")
    return list(values)


def _require_number(n: object, method: str, name: str = "n") -> None:
    owner = f"TextModel.{method}"
    require(is_whole(n) and n >= 1, owner, name, "a whole number of at least 1", n)  # type: ignore[operator]
