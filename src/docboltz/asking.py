"""Questions to a fitted model: search, similar, words, units. Neither torch nor scikit-learn here.

They take seconds to import, and fast inference is a sparse product and a sigmoid.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from docboltz.answers import ExpectedWord, ExpectedWords, Hit, Hits, Unit, Units, title_of
from docboltz.corpus.analysis import TextAnalysis, is_spaceless
from docboltz.corpus.columns import ReadOptions
from docboltz.corpus.corpus import Corpus, Vocabulary
from docboltz.corpus.counting import TextCounter, count
from docboltz.errors import InvalidCorpus, InvalidParameter, NoAnswer, require, require_count
from docboltz.light import LightModel
from docboltz.search.places import PlaceFinder, Span
from docboltz.search.query import LONGEST, Filter, Phrase, Query, parse
from docboltz.search.score import By
from docboltz.search.store import STORE, Question, Store, model_of_store, open_store
from docboltz.search.vectors import Best, unit_vectors
from docboltz.search.words import index_analysis
from docboltz.storage import Arrays, StrPath, fingerprint_of, typed

SEARCH = "search"
"""Folder of the search store in that of the model."""
MOST_SPELT = 3
"""Unknown words of a query for which others are offered."""
MOST_BARE = 8
"""Phrases of stop words and punctuation that are looked for at once: each reads all texts."""


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
        words = (typed(tuple[str, ...], text[name], name) for name in ("vocabulary", "forms"))
        self.vocabulary = Vocabulary(*words)
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
        where: Mapping[str, str] | None = None,
    ) -> Hits:
        """Find the n documents that answer a text best.

        A document's score joins what it is about, the cosine of centred features, and the words it
        has, by BM25 over all words of all documents; see `docboltz.search.score`. `by` may be
        "features" or "words", for one of them alone. Only documents with the `label`, or with one
        of several, of a date `since` and `until`, and with the values of kept columns that `where`
        gives are hits; a date is a year, a month, a day or a time, and counts as a whole.

        The text may hold operators: "a phrase", -word, label:name, since:2013, until:2014 and
        column:value; see `docboltz.search.query`.
        """
        owner = f"{type(self).__name__}.search"
        require(isinstance(text, str), owner, "text", "a string", text)
        if not text.strip():
            raise InvalidParameter("The query is empty.")
        if not parse(text, self.store.columns).text.strip():
            raise InvalidParameter("The query holds only filters.", hint="Add words to look for.")
        how: Any = {"by": by, "label": label, "since": since, "until": until, "where": where}
        (found,) = self.search_many([text], n, **how)
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
        where: Mapping[str, str] | None = None,
        operators: bool = True,
    ) -> list[Hits]:
        """Search for several texts at once, which takes less time; each as `search` would.

        Without `operators` nothing in a text has a special meaning. A query that would be an error
        has no hits, and says why in `problem`.
        """
        require_count(n, "TextModel.search_many", "n")
        listed = not isinstance(texts, str) and all(isinstance(text, str) for text in texts)
        require(listed, "TextModel.search_many", "texts", "a list of strings", texts)
        if not texts:
            return []
        wanted = _filter(label, since, until, where, self.store.columns)
        try:
            queries = [
                parse(text, self.store.columns, wanted) if operators else Query(text, wanted=wanted)
                for text in texts
            ]
            questions = self._questions(queries)
            best = self.store.search(questions, n, by)
        except NoAnswer:
            if len(texts) == 1:
                raise
            how: Any = {"by": by, "label": label, "since": since, "until": until, "where": where}
            return [self._one_of_many(text, n, operators=operators, **how) for text in texts]
        answers = []
        for i, (text, query, question) in enumerate(zip(texts, queries, questions, strict=True)):
            found = Best(*(part[i] for part in best))
            absent = self._absent(query.phrases) if query.phrases and found.rows[0] < 0 else ()
            if absent:  # what has the words is better than nothing
                (question,) = self._questions([query.without_phrases(absent)])
                found = Best(*(part[0] for part in self.store.search([question], n, by)))
            unknown = self._unknown(text if len(query.text) > LONGEST else query.text)
            hits = self._hits(found, question)
            answers.append(Hits(hits, title=repr(text), unknown=unknown, phrases=absent))
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
        where: Mapping[str, str] | None = None,
    ) -> Hits:
        """Find the n documents most like one of the collection; as `search` finds them."""
        require_count(n, "TextModel.similar", "n")
        row = self.store.row_of(str(id))
        question = replace(
            self._question_of(row), wanted=_filter(label, since, until, where, self.store.columns)
        )
        best = self.store.search([question], n, by)
        hits = self._hits(Best(*(part[0] for part in best)), question)
        (document,) = self.store.documents([row])
        return Hits(hits, title=f"like {id!r}", like=title_of(document))

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
        from docboltz.corpus.reading import as_documents  # which a question can do without

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
    def _index_analysis(self) -> TextAnalysis:
        return index_analysis(self.analysis)

    @cached_property
    def _finder(self) -> PlaceFinder:
        return PlaceFinder(self._index_analysis)

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
    def n_wordless(self) -> int:
        """Number of documents of the collection without a word the model knows."""
        return int(np.count_nonzero(np.diff(self.store.presence().indptr) == 0))

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
        counts = self._counts([text])
        if not text.strip():
            raise InvalidParameter("The text is empty.")
        if not counts.nnz:
            some = ", ".join(self.vocabulary.forms[:5])
            raise InvalidCorpus(
                f"The model knows none of these words: {text!r}.",
                hint=f"It knows {len(self.vocabulary):,}, such as {some}.",
            )
        return counts

    def _counts(self, texts: Sequence[str]) -> csr_array:
        """Counts of texts, which may hold no word the model knows: (len(texts), K)."""
        return TextCounter(self.analysis, self.vocabulary).count(texts).matrix

    def _questions(self, queries: Sequence[Query]) -> list[Question]:
        """What queries ask of the store."""
        counts = self._counts([query.text for query in queries])
        vectors = unit_vectors(self._features(counts), self.store.about.center)
        questions = []
        bare = MOST_BARE
        for i, (query, vector) in enumerate(zip(queries, vectors, strict=True)):
            terms = Counter(self._terms(query.text))
            unknown = self._unknown_share(counts[[i]], terms)
            phrases = [self._phrase(phrase) for phrase in query.phrases]
            if not terms and not phrases and query.text.strip():
                phrases = [replace(self._phrase(query.text), terms=())]  # stop words, punctuation
            without = [self._phrase(text) for text in query.without]
            without = [replace(each, literal=len(each.terms) != 1) for each in without]
            for some in (phrases, without):  # for those without terms all texts are read
                for each in [each for each in some if not each.terms]:
                    bare -= 1
                    if bare < 0:
                        some.remove(each)
            questions.append(Question(vector, unknown, terms, phrases, without, query.wanted))
        return questions

    def _one_of_many(self, text: str, n: int, **how: Any) -> Hits:
        """The hits of one query, or why it has no answer."""
        try:
            (found,) = self.search_many([text], n, **how)
        except NoAnswer as error:
            found = Hits(title=repr(text), problem=str(error))
        return found

    def _absent(self, phrases: Sequence[str]) -> tuple[str, ...]:
        """Those of the phrases that no document has."""
        nothing = np.zeros(self.n_units, np.float32)
        asked = [self._phrase(text) for text in phrases]
        questions = [Question(nothing, 1, Counter(p.terms), [p]) for p in asked]
        rows = self.store.search(questions, 1, "words").rows[:, 0]
        return tuple(text for text, row in zip(phrases, rows, strict=True) if row < 0)

    def _phrase(self, text: str) -> Phrase:
        return Phrase(text, tuple(self._terms(text)), turkish=self.analysis.language == "turkish")

    def _terms(self, text: str) -> list[str]:
        """What a query asks of the word index.

        Scripts without spaces are indexed by pairs of characters: one alone is looked for in texts.
        """
        terms = self._index_analysis.tokens(text)
        return [term for term in terms if len(term) > 1 or not is_spaceless(term)]

    def _unknown_share(self, counts: csr_array, terms: Counter[str]) -> float:
        """Share of the words of a text that the model does not know, by its counts (1, K)."""
        known = counts.data[self._is_word[counts.indices]].sum()
        return 1 - min(float(known) / max(terms.total(), 1), 1)

    @cached_property
    def _is_word(self) -> NDArray[np.bool_]:
        """Which columns of the model are words, not pairs of words: (K,)."""
        return np.array([" " not in term for term in self.vocabulary], bool)

    def _question_of(self, row: int) -> Question:
        """What asks for documents like one of the collection."""
        (document,) = self.store.documents([row])
        terms = Counter(self._index_analysis.tokens(document.searched))
        unknown = self._unknown_share(self._counts([document.text]), terms)
        return Question(np.array(self.store.features[row]), unknown, terms, other_than=row)

    def _unknown(self, text: str) -> dict[str, tuple[str, ...]]:
        """Words of a query that no document has, and words that are spelt like them."""
        term_of = self._index_analysis.term_of()
        words = dict.fromkeys(chain.from_iterable(self._index_analysis.words(text)))
        terms = {word: term for word in words if (term := term_of(word)) and self._terms(word)}
        with self.store.kind.trusting(self.store.opened.folder):
            known = self.store.terms.find(terms.values())
            unknown = [word for word, term in terms.items() if term not in known]
            few = len(unknown) <= MOST_SPELT
            return {
                word: self.store.terms.suggest(word) if few and word.isalpha() else ()
                for word in unknown
            }

    def _hits(self, best: Best, question: Question) -> Iterator[Hit]:
        """The documents of one query's best rows."""
        taken = best.rows >= 0
        rows, of_features, of_words = (part[taken] for part in best)
        parts = of_features.tolist(), of_words.tolist()
        terms = frozenset(question.terms)
        for row, document, f, w in zip(
            rows.tolist(), self.store.documents(rows), *parts, strict=True
        ):
            places = self._finder.find(document.text, terms)
            yield Hit(
                id=document.id,
                score=f + w,
                text=document.text,
                labels=document.labels,
                features=f,
                words=w,
                matches=_in_order(places),
                date=document.date,
                row=row,
                title=title_of(document),
                columns=dict(document.columns),
            )


def _filter(
    label: str | Sequence[str],
    since: str,
    until: str,
    where: Mapping[str, str] | None,
    kept: Sequence[str],
) -> Filter:
    listed = isinstance(label, Iterable)
    require(listed, "TextModel.search", "label", "a label or several", label)
    labels = (label,) if isinstance(label, str) else tuple(label)
    columns = {} if where is None else where
    expected = "a dictionary, of the names of columns and a value of each"
    require(isinstance(columns, Mapping), "TextModel.search", "where", expected, where)
    for name in columns:
        if name not in kept:
            others = f"; kept: {', '.join(kept)}" if kept else ""
            problem = f"No column {name!r} was kept{others}."
            raise NoAnswer(problem, hint="{TextModel.read(keep=…)} names columns to keep.",
                           settings=("TextModel.read(keep=…)",))  # fmt: skip
    return Filter(labels, since, until, tuple(columns.items()))


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
