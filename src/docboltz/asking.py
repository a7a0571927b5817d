"""Questions to a fitted model: search, similar, words, units. Neither torch nor scikit-learn here.

They take seconds to import, and fast inference is a sparse product and a sigmoid.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from docboltz.answers import ExpectedWord, ExpectedWords, Hit, Hits, Unit, Units
from docboltz.corpus.counting import count
from docboltz.corpus.counts import Corpus
from docboltz.corpus.document import Document
from docboltz.corpus.places import PlaceFinder, Span
from docboltz.corpus.read_options import ReadOptions
from docboltz.corpus.text import TextAnalysis
from docboltz.corpus.vocabulary import Vocabulary
from docboltz.errors import InvalidCorpus, InvalidParameter, require, require_count
from docboltz.files import StrPath
from docboltz.light import LightModel
from docboltz.search.filters import Filter
from docboltz.search.interface import WEIGHTS, By, Store, model_of_store, open_store
from docboltz.search.nearest import Best
from docboltz.search.writer import STORE
from docboltz.settings import strings, typed
from docboltz.storage import Arrays, fingerprint_of

SEARCH = "search"
"""Folder of the search store in that of the model."""


class Asking:
    """A fitted model with its vocabulary and the collection it searches: what can be asked."""

    vocabulary: Vocabulary
    """The words the model knows."""
    analysis: TextAnalysis
    """How text becomes words."""
    reading: ReadOptions
    """How the training documents were read, and others will be."""
    path: Path | None
    """Folder it was saved to or opened from."""

    def __init__(
        self, arrays: Arrays, settings: dict[str, Any], *, path: StrPath | None = None
    ) -> None:
        """Take what a model's folder holds; KeyError, TypeError or ValueError if it is not that."""
        text = settings["text"]
        self.analysis = TextAnalysis.from_dict(text["analysis"])
        self.vocabulary = Vocabulary(strings(text["vocabulary"]), strings(text["forms"]))
        self.reading = ReadOptions.from_dict(text["reading"])
        names = {kind: text["columns"][kind] for kind in ("label", "date")}
        self._columns = typed(dict[str, str | None], names, "columns")
        self._units = tuple(map(Unit.of_dict, text["units"]))
        self._light = LightModel.of(arrays, settings)
        F, K = self._light.W.shape
        if (len(self._units), len(self.vocabulary)) != (F, K):
            raise ValueError(
                f"{len(self._units)} units and {len(self.vocabulary)} words for {F} × {K} weights"
            )
        self.path = None if path is None else Path(path).absolute()
        self._arrays, self._settings = arrays, settings
        self._store: Store | None = None
        self._temporary: Path | None = None

    def search(
        self,
        text: str,
        n: int = 10,
        *,
        by: By = "both",
        label: str | Sequence[str] = (),
        since: str = "",
        until: str = "",
    ) -> Hits:
        """Find the n documents that answer a text best.

        A document's score joins what it is about and the words it has: the cosine of centred
        features and that of tf-idf weights. `by` may be "features" or "words", for one of them
        alone. Only documents with the `label`, or with one of several, and of a date `since` and
        `until` are hits; a date is a year, a month, a day or a time, and counts as a whole.
        """
        require_count(n, "TextModel.search", "n")
        require(by in WEIGHTS, "TextModel.search", "by", " or ".join(map(repr, WEIGHTS)), by)
        self._query(text, "search")
        (found,) = self.search_many([text], n, by=by, label=label, since=since, until=until)
        return found

    def search_many(
        self,
        texts: Sequence[str],
        n: int = 10,
        *,
        by: By = "both",
        label: str | Sequence[str] = (),
        since: str = "",
        until: str = "",
    ) -> list[Hits]:
        """Search for several texts at once, which takes less time; each as `search` would.

        A text without a known word has no hits.
        """
        require_count(n, "TextModel.search_many", "n")
        listed = not isinstance(texts, str) and all(isinstance(text, str) for text in texts)
        require(listed, "TextModel.search_many", "texts", "a list of strings", texts)
        if not texts:
            return []
        store = self.store
        documents = [Document("", text) for text in texts]
        counts = count(documents, self.analysis, vocabulary=self.vocabulary).counts
        wanted = _filter(label, since, until)
        best = store.search(self._features(counts), counts, n, by=by, wanted=wanted)
        answers = []
        for i, text in enumerate(texts):
            own = counts.indices[counts.indptr[i] : counts.indptr[i + 1]]
            found = Best(*(part[i] for part in best))
            hits = self._hits(store, found, own, by) if len(own) else ()
            answers.append(Hits(hits, title=repr(text), unknown=self.unknown_words(text)))
        return answers

    def similar(
        self,
        id: str,
        n: int = 10,
        *,
        by: By = "both",
        label: str | Sequence[str] = (),
        since: str = "",
        until: str = "",
    ) -> Hits:
        """Find the n documents most like one of the collection; as `search` finds them."""
        require_count(n, "TextModel.similar", "n")
        store = self.store
        row = store.row_of(str(id))
        own = np.array([row])
        words = store.words_of(own)
        if not words.nnz:
            raise InvalidCorpus(
                f"The model knows none of the words of document {id!r}: nothing is like it."
            )
        best = store.similar(own, n, by=by, wanted=_filter(label, since, until))
        first = Best(*(part[0] for part in best))
        return Hits(self._hits(store, first, words.indices, by), title=f"like {id!r}")

    def words(self, text: str, n: int = 15) -> ExpectedWords:
        """Words the model expects beside those of a text, those it says most about first."""
        require_count(n, "TextModel.words", "n")
        counts = self._query(text, "words")
        expected = zip(*self._light.expected_words(counts, n), strict=True)
        forms = self.vocabulary.forms
        found = [ExpectedWord(forms[k], float(p), float(lift)) for k, p, lift in expected]
        return ExpectedWords(found, title=repr(text), unknown=self.unknown_words(text))

    def units(self, n: int | None = None, *, words: int = 10) -> Units:
        """All units, sharpest first; or up to n that do not repeat each other's first words.

        A unit is a feature of `transform`, part of a code that many of them make together: what
        documents are about shows in `topics`.
        """
        require_count(words, "TextModel.units", "words")
        if n is not None:
            require_count(n, "TextModel.units", "n")
        found = distinct_units(self._units, n)
        cut = (Unit(u.number, u.words[:words], u.sharpness, u.activity) for u in found)
        return Units(cut, title=f"{self.n_units} units")

    def count(self, texts: Any) -> Corpus:
        """Count the words of texts; words outside the vocabulary are left out."""
        return self._count(texts, "count")

    def _count(self, texts: Any, method: str) -> Corpus:
        from docboltz.corpus.readers import as_documents  # which a question can do without

        documents = as_documents(texts, f"{type(self).__name__}.{method}", self.reading)
        return count(documents, self.analysis, vocabulary=self.vocabulary)

    def unknown_words(self, text: str) -> list[str]:
        """Words of a text that would count but that the vocabulary lacks, each once."""
        term_of = self.analysis.term_of()
        words = dict.fromkeys(chain.from_iterable(self.analysis.words(text)))
        terms = ((word, term_of(word)) for word in words)
        return [word for word, term in terms if term is not None and term not in self.vocabulary]

    @property
    def n_units(self) -> int:
        """Number of units, F: as many as a text has features."""
        return len(self._units)

    @cached_property
    def _finder(self) -> PlaceFinder:
        return PlaceFinder(self.analysis)

    @cached_property
    def fingerprint(self) -> str:
        """What tells the model from every other."""
        return fingerprint_of(self._arrays, self._settings)

    @property
    def activity(self) -> NDArray[np.float32]:
        """Mean features of the training documents: (F,)."""
        return np.array([unit.activity for unit in self._units], np.float32)

    @property
    def store(self) -> Store:
        """The collection that is searched, if it was made with the model as it is."""
        if self._store is None:
            self._store = open_store(self.store_folder, model=self.fingerprint)
        return self._store

    @property
    def store_folder(self) -> Path:
        """Where the collection that is searched is, or will be."""
        if self.path is not None:
            return STORE.inside(self.path, SEARCH)
        if self._temporary is None:
            raise InvalidParameter(
                "The model has no documents to search.",
                hint="Give it some with {TextModel.index}.",
                settings=("TextModel.index",),
            )
        return self._temporary

    def _has_store(self) -> bool:
        """Tell whether there is a collection, whole or not, of this model and no other."""
        if self._store is not None:
            return True
        if self.path is None and self._temporary is None:
            return False
        return model_of_store(self.store_folder) == self.fingerprint

    def _features(self, counts: csr_array) -> NDArray[np.float32]:
        return without_unknown(self._light.features(counts), counts)

    def _query(self, text: str, method: str) -> csr_array:
        """Counts of a text that is asked about, (1, K), which must hold a word the model knows."""
        owner = f"{type(self).__name__}.{method}"
        require(isinstance(text, str), owner, "text", "a string", text)
        counted = count([Document("0", text)], self.analysis, vocabulary=self.vocabulary)
        counts: csr_array = counted.counts
        if not text.strip():
            raise InvalidCorpus("There is no word to ask with.")
        if not counts.nnz:
            some = ", ".join(self.vocabulary.forms[:5])
            raise InvalidCorpus(
                f"The model knows none of these words: {text!r}.",
                hint=f"It knows {len(self.vocabulary):,}, such as {some}.",
            )
        return counts

    def _hits(self, store: Store, best: Best, words: NDArray[Any], by: By) -> Iterator[Hit]:
        """The documents of one query's best rows; `words` are the columns it was asked with."""
        terms = frozenset(self.vocabulary[k] for k in words.tolist())
        rows, weights = best.rows, WEIGHTS[by]
        taken = rows >= 0
        parts = weights.features * best.features[taken], weights.words * best.words[taken]
        found = zip(rows[taken].tolist(), store.documents(rows[taken]), *parts, strict=True)
        for row, document, t, w in found:
            text, labels, date = document.text, document.labels, document.date
            places = self._finder.find(text, terms)
            own = _in_order(places), date, row
            yield Hit(document.id, float(t + w), text, labels, float(t), float(w), *own)


def _filter(label: str | Sequence[str], since: str, until: str) -> Filter:
    return Filter((label,) if isinstance(label, str) else tuple(label), since, until)


def _in_order(places: dict[str, list[Span]]) -> tuple[Span, ...]:
    return tuple(sorted(chain.from_iterable(places.values())))


def distinct_units(units: Iterable[Unit], n: int | None) -> list[Unit]:
    """All units, sharpest first; or up to n that do not repeat each other's first words."""
    ranked = sorted(units, key=lambda unit: -unit.sharpness)
    if n is None:
        return ranked
    chosen: list[Unit] = []
    seen: set[str] = set()
    for unit in ranked:
        leading = set(unit.words[:5])
        if len(chosen) < n and len(leading & seen) <= 2:
            chosen.append(unit)
            seen |= leading
    return chosen


def without_unknown(features: NDArray[np.float32], counts: csr_array) -> NDArray[np.float32]:
    """Features to search with: zeros for a document without a known word, which is like nothing.

    One whose units are all off beyond float32 is not: it keeps the smallest of numbers.
    """
    features = np.maximum(features, np.finfo(np.float32).tiny)
    features[np.diff(counts.indptr) == 0] = 0
    return features
