"""A collection to search, and one in files: written, changed, opened. n documents.

A store in files is a folder of `store.json` and a build with features, their bits, the model's
words, all words and the documents. A change writes a new build: until that is whole the old one
answers, and who has it open keeps it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import AbstractContextManager, ExitStack
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, reduce
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from docboltz.corpus.analysis import TextAnalysis
from docboltz.corpus.disk import mapped
from docboltz.corpus.document import Document
from docboltz.errors import (
    InvalidCorpus,
    InvalidParameter,
    NoAnswer,
    require,
    require_count,
)
from docboltz.search.documents import (
    DOCUMENTS,
    END_OF_NUMBERS,
    DocumentWriter,
    StoredDocuments,
    next_number,
)
from docboltz.search.query import ANY, Filter, Phrase
from docboltz.search.score import WAYS, By, Matches, Weights
from docboltz.search.sqlite import remembered
from docboltz.search.vectors import (
    Best,
    Codes,
    Floats,
    Rows,
    Scores,
    candidates,
    codes_of,
    cosines,
    likely,
    products,
    unit_vectors,
)
from docboltz.search.words import DF, K1, TERMS, B, Terms, WordWriter, idf_of
from docboltz.storage import Bundle, Opened, StrPath, typed

FEATURES, CODES, LENGTHS, KEYS = "features.f32", "codes.u8", "lengths.u4", "keys.i8"
"""Of each document: a unit vector, (n, F), its bits, how many words it has, and its key in the
other files. Mapped, little-endian."""
STORE = Bundle(
    noun="search index",
    format="docboltz-search",
    version=8,
    manifest="store.json",
    files=(FEATURES, CODES, LENGTHS, KEYS, DOCUMENTS, TERMS, DF),
    remedy="Build it again with {TextModel.index}.",
)
EXACT_DOCUMENTS = 1_000_000
"""Up to so many documents a query is compared with all, a fifth of a second of work; in larger
collections with the bits of all, and with the features of the best of them."""
CANDIDATES = 3000
"""Documents that bits find for a query, and whose features decide."""
CHECKED_BYTES = 1 << 20
"""Files up to that size are compared with their SHA-256 when a store is opened: some ten
milliseconds at most, for all of them. Of larger ones the structure is checked."""
SCORES_AT_ONCE = 1 << 22
AT_ONCE = 16_384
"""Documents that are read or copied at once."""
MOST_KEYS = 1 << 32
"""What four bytes of a posting can tell apart."""
KEPT_PHRASES = 64
Found = tuple[Rows, Scores, Scores]
"""Rows that may be among the best, in order, and what features and words add to their scores."""


class Block(NamedTuple):
    """Some documents of a collection: B of them."""

    features: Floats
    """As the model gives them: (B, F)."""
    counts: csr_array
    """Of the model's words: (B, K)."""
    documents: Sequence[Document]


@dataclass(frozen=True)
class About:
    """What a manifest says of a collection. F features, K words of the model."""

    model: str
    """Fingerprint of the model the features come from."""
    n_features: int
    n_words: int
    mean: tuple[float, ...] | None = None
    """What is subtracted from features before they are normalised: (F,)."""
    n_documents: int = 0
    next_number: int = 0
    """Behind all numbers that are, or ever were, ids: for documents that have none."""
    columns: tuple[str, ...] = ()
    """Names of the columns that were kept."""
    end: int = 0
    """Behind all keys. A document keeps its key, and no other ever gets it."""
    mean_length: float = 0.0
    """Mean length of the documents in words."""

    def __post_init__(self) -> None:
        sizes = all(1 <= size < 2**31 for size in (self.n_features, self.n_words))
        mean = self.mean is None or len(self.mean) == self.n_features
        keys = 0 <= self.n_documents <= self.end <= MOST_KEYS and self.mean_length >= 0
        if not (sizes and mean and keys and 0 <= self.next_number <= END_OF_NUMBERS):
            raise ValueError("its sizes make no sense")

    @property
    def center(self) -> Floats | None:
        """The mean as an array."""
        return None if self.mean is None else np.array(self.mean, np.float32)

    def with_documents(self, documents: Sequence[Document]) -> Self:
        """The same with more documents."""
        if self.end + len(documents) > MOST_KEYS:
            raise InvalidParameter(
                f"No more than {MOST_KEYS:,} documents can ever join a collection.",
                hint="Index those that are left anew with {TextModel.index}.",
                settings=("TextModel.index",),
            )
        columns = dict.fromkeys(name for document in documents for name in document.columns)
        return replace(
            self,
            n_documents=self.n_documents + len(documents),
            end=self.end + len(documents),
            next_number=next_number((document.id for document in documents), self.next_number),
            columns=tuple({**dict.fromkeys(self.columns), **columns}),
        )


@dataclass(frozen=True, eq=False)
class Question:
    """What is asked of a store."""

    vector: Floats
    """Unit vector of centred features, or zeros where the model knows no word: (F,)."""
    unknown: float = 0.0
    """Share of its words that the model does not know."""
    terms: Mapping[str, int] = field(default_factory=dict)
    """Terms of the word index, and how often each is asked for."""
    phrases: Sequence[Phrase] = ()
    """That must stand in the text; those without terms count like a word."""
    without: Sequence[Phrase] = ()
    """That must not."""
    wanted: Filter = ANY
    other_than: int = -1
    """A row that is no hit: that of the document that is asked with."""

    def weights(self, by: By) -> Weights:
        """What the parts of a document's score count."""
        return Weights.of(by, bool(self.vector.any()), self.unknown)


class Store(ABC):
    """A collection to search, whatever keeps it. Documents have rows, from 0."""

    kind: Bundle
    opened: Opened
    """Its manifest; a new `build` whenever the collection changes."""
    about: About
    keys: NDArray[np.int64]
    """Of the documents, in order: what is deleted leaves its key free for good."""
    terms: Terms
    """All words of the documents."""
    is_exact: bool
    """Whether the best documents are found for certain."""

    def _take_keys(self, keys: NDArray[np.int64]) -> None:
        """Check the keys of the documents, in order."""
        sound = 0 < len(keys) == len(self) and keys[0] >= 0 and keys[-1] < self.about.end
        if not (sound and (keys[1:] > keys[:-1]).all()):
            raise ValueError(f"{KEYS} is not of {len(self):,} documents")
        self.keys = keys

    def _rows(self, keys: NDArray[Any]) -> tuple[Rows, NDArray[np.bool_]]:
        """Rows of those keys that documents have, and which these are."""
        here = 0 <= keys.min(initial=0) <= keys.max(initial=0) < self.about.end
        if here and len(self) == self.about.end:  # none was ever deleted
            return keys.astype(np.int64), np.ones(len(keys), bool)
        rows = np.searchsorted(self.keys, keys).clip(max=len(self) - 1)
        there = self.keys[rows] == keys
        return rows[there], there

    def __len__(self) -> int:
        return self.about.n_documents

    def __repr__(self) -> str:
        how = "exact" if self.is_exact else "candidates first"
        return f"{type(self).__name__}({len(self):,} documents, {how})"

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that were kept."""
        return self.about.columns

    @property
    @abstractmethod
    def features(self) -> Floats:
        """Unit vectors of all documents: (n, F)."""

    @abstractmethod
    def presence(self, rows: Rows | None = None) -> csr_array:
        """1 for each of the model's words that documents have: (len(rows), K)."""

    @abstractmethod
    def documents(self, rows: ArrayLike) -> list[Document]:
        """The documents of some rows, in their order."""

    @abstractmethod
    def labels_and_dates(self) -> tuple[list[tuple[str, ...]], list[str]]:
        """Labels and date of every document, in the order of the rows."""

    @abstractmethod
    def rows_of(self, ids: Collection[str]) -> Rows:
        """Rows of the documents that have one of these ids, in order."""

    def verify(self) -> None:
        """Read all files and compare their SHA-256 with the manifest."""
        self.kind.open(self.opened.folder, math.inf)

    @abstractmethod
    def copy_to(self, folder: StrPath) -> None:
        """Make it the store of another folder."""

    @abstractmethod
    def _found(self, questions: Sequence[Question], k: int, by: By) -> Iterator[Found]:
        """For each question, the documents that may be among the k best."""

    @abstractmethod
    def word_parts(self, question: Question, rows: Rows, by: By) -> tuple[Sequence[str], Scores]:
        """Words of a question, and what each adds to the scores of documents: (rows, words)."""

    def search(self, questions: Sequence[Question], k: int, by: By = "both") -> Best:
        """The k best documents for each question: rows and the parts of their scores, (Q, k).

        Equal scores come in the order of the rows. A document that has no word of the question and
        whose score is not above 0 is no hit. An answer has the same bits in any batch and on any
        number of threads.
        """
        require_count(k, "TextModel.search", "n")
        require(by in WAYS, "TextModel.search", "by", " or ".join(map(repr, WAYS)), by)
        best = Best.none(len(questions), min(k, len(self)))
        with self.kind.trusting(self.opened.folder):
            for i, found in enumerate(self._found(questions, best.rows.shape[1], by)):
                best.take(i, *found)
        return best

    def row_of(self, id: str) -> int:
        """The row of the document with this id."""
        found = self.rows_of([id])
        if not len(found):
            some = ", ".join(repr(each.id) for each in self.documents(range(min(3, len(self)))))
            raise InvalidParameter(
                f"No document has the id {id!r}. The collection holds {len(self):,}, such as "
                f"{some}."
            )
        return int(found[0])


class SearchStore(Store):
    """A collection in files. Made by `open`; may be shared by threads.

    >>> import tempfile
    >>> counts = csr_array([[1, 0], [1, 2]])
    >>> documents = [Document("a", "A goal.", ("sport",)), Document("b", "Rain.")]
    >>> blocks = [Block(np.float32([[3, 4], [0, 1]]), counts, documents)]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_store(folder, blocks, TextAnalysis(), About("doctest", 2, 2))
    ...     store = SearchStore.open(folder)
    ...     question = Question(np.float32([0, 1]), terms={"goal": 1})
    ...     best = store.search([question], k=2)
    ...     hits = store.documents(best.rows[0])
    0
    >>> for hit, features, words in zip(hits, best.features[0], best.words[0]):
    ...     print(f"{features:.2f} + {words:.2f} {hit.id} {hit.text}")
    0.42 + 0.47 a A goal.
    0.53 + 0.00 b Rain.
    """

    kind = STORE

    def __init__(self, opened: Opened) -> None:
        """Map the files of a checked manifest."""
        self.opened, folder = opened, opened.folder / opened.build
        with STORE.trusting(opened.folder):
            self.about = typed(About, opened.content, STORE.manifest)
            self._mapped = {name: mapped(folder / name, "u1") for name in STORE.files}
            n, F = len(self), self.about.n_features
            self._features: Floats = mapped(folder / FEATURES, "<f4").reshape(n, F)
            self._codes: Codes = mapped(folder / CODES, "<u8").reshape(n, -(-F // 64))
            self.lengths: NDArray[np.uint32] = mapped(folder / LENGTHS, "<u4").reshape(n)
            self._take_keys(mapped(folder / KEYS, "<i8"))
            self.terms, self._stored = Terms(folder), StoredDocuments(folder, n)
        self._rows_with = remembered(self._find_phrase, KEPT_PHRASES)
        self.is_exact = n <= EXACT_DOCUMENTS

    @classmethod
    def open(cls, path: StrPath, *, model: str | None = None) -> SearchStore:
        """Open the store in a folder; with `model`, only if that model's fingerprint made it.

        Checked are store.json, sizes, that what points into a file points to places in it, and all
        of the small files.
        """
        return STORE.load(path, lambda opened: cls(of_model(STORE, opened, model)), CHECKED_BYTES)

    @property
    def features(self) -> Floats:
        """Unit vectors of all documents: (n, F)."""
        return self._features

    def copy_to(self, folder: StrPath) -> None:
        """Put a copy into another folder, or back into its own if it was replaced there.

        It is made of what is mapped, whose files may have no names any more.
        """
        from docboltz.search.milvus import forget_milvus

        if not STORE.exists(folder) or STORE.open(folder).build != self.opened.build:
            STORE.copy(self.opened, folder, self._mapped)
        forget_milvus(Path(folder))

    def presence(self, rows: Rows | None = None) -> csr_array:
        """1 for each of the model's words that documents have: (len(rows), K)."""
        with STORE.trusting(self.opened.folder):
            words = self._stored.words(None if rows is None else self.keys[rows])
            if rows is None:
                self._require_all(words)
            ends = np.concatenate([[0], np.cumsum(list(map(len, words)))]).astype(np.int64)
            columns = np.concatenate([np.empty(0, np.int32), *words]).astype(np.int32)
            ones, shape = (
                np.ones(len(columns), np.float32),
                (len(words), self.about.n_words),
            )
            found = csr_array((ones, columns, ends), shape)
            found.check_format()
        return found

    def documents(self, rows: ArrayLike) -> list[Document]:
        """The documents of some rows, in their order."""
        with STORE.trusting(self.opened.folder):
            return self._stored.take(self.keys[np.asarray(rows, np.int64)])

    def labels_and_dates(self) -> tuple[list[tuple[str, ...]], list[str]]:
        """Labels and date of every document, in the order of the rows."""
        return self._labels_and_dates

    @cached_property
    def _labels_and_dates(self) -> tuple[list[tuple[str, ...]], list[str]]:
        with STORE.trusting(self.opened.folder):
            found = self._stored.labels_and_dates()
            self._require_all(found[0])
            return found

    def rows_of(self, ids: Collection[str]) -> Rows:
        """Rows of the documents that have one of these ids, in order."""
        with STORE.trusting(self.opened.folder):
            return self._rows(self._stored.keys_of(ids))[0]

    def _require_all(self, found: Sized) -> None:
        if len(found) != len(self):
            raise ValueError(f"{DOCUMENTS} holds {len(found):,} documents, not {len(self):,}")

    def word_parts(self, question: Question, rows: Rows, by: By) -> tuple[Sequence[str], Scores]:
        """Words of a question, and what each adds to the scores of documents: (rows, words)."""
        with STORE.trusting(self.opened.folder):
            matches = self._matches(question)
            return matches.forms, matches.parts(rows, question.weights(by))

    def _found(self, questions: Sequence[Question], k: int, by: By) -> Iterator[Found]:
        at_once = max(1, SCORES_AT_ONCE // len(self))
        for begin in range(0, len(questions), at_once):
            some = questions[begin : begin + at_once]
            vectors = np.stack([q.weights(by).features * q.vector for q in some])
            vectors = vectors.astype(np.float32)
            rough = np.zeros((len(some), len(self)), np.float32)
            if vectors.any() and self.is_exact:
                rough = products(vectors, self._features)
            for question, scores in zip(some, rough, strict=True):
                words = self._matches(question).scores(question.weights(by))
                scores[words[0]] += words[1]
                if (allowed := self._allowed(question)) is not None:
                    scores[~allowed] = -np.inf
                yield self._best(question, words, scores, k, question.weights(by).features)

    def _best(
        self,
        question: Question,
        words: tuple[Rows, Scores],
        rough: Floats,
        k: int,
        weight: float,
    ) -> Found:
        """The documents that may be among the k best, by rough scores of all."""
        if not weight:
            rows = words[0][candidates(rough[words[0]], k, 0)]
        elif self.is_exact:
            rows = candidates(rough, k, self.about.n_features)
        else:
            n = max(CANDIDATES, 4 * k)
            rows = likely(self._codes, question.vector, n, weight, rough)
        if np.count_nonzero(rough > 0) < k:  # those that have a word are hits all the same
            rows = np.union1d(rows, words[0])
        rows = rows[~np.isneginf(rough[rows])]
        features, of_words = np.zeros(len(rows)), np.zeros(len(rows))
        if weight:
            features = cosines(self._features, question.vector, rows)
        _, here, there = np.intersect1d(rows, words[0], assume_unique=True, return_indices=True)
        of_words[here] = words[1][there]
        return rows, weight * features, of_words

    def _matches(self, question: Question) -> Matches:
        """The documents that have words of a question."""
        known, found = self.terms.find(question.terms), Matches(len(self))
        postings = [
            (form, *self._postings(number), question.terms[term])
            for term, (number, form) in known.items()
        ]
        bare = [phrase for phrase in question.phrases if not phrase.terms]
        postings += [(phrase.text, self._rows_with(phrase), np.ones(1), 1) for phrase in bare]
        for form, rows, counts, times in postings:
            idf = idf_of(len(self), len(rows))
            norm = K1 * (1 - B + B * self.lengths[rows] / max(self.about.mean_length, 1))
            found.add(form, rows, idf, times * idf * (K1 + 1) * counts / (counts + norm))
        return found

    def _postings(self, number: int) -> tuple[Rows, Scores]:
        """Rows of the documents that have a term, in order, and how often each has it."""
        keys, counts = self.terms.postings(number)
        rows, there = self._rows(keys)
        return rows, counts[there].astype(np.float64)

    def _allowed(self, question: Question) -> NDArray[np.bool_] | None:
        """Which documents may be hits: (n,). None for all."""
        some = [self._rows_with(phrase) for phrase in question.phrases]
        if question.wanted:
            some.append(self._rows(self._stored.wanted(question.wanted))[0])
            if not len(some[-1]):
                raise none_wanted(question.wanted, self._stored.some_labels())
        if not (some or question.without or question.other_than >= 0):
            return None
        mask = np.full(len(self), not some)
        if some:
            mask[reduce(np.intersect1d, some)] = True
        for phrase in question.without:
            mask[self._rows_with(phrase)] = False
        if question.other_than >= 0:
            mask[question.other_than] = False
        return mask

    def _find_phrase(self, phrase: Phrase) -> Rows:
        """Rows of the documents that have a phrase, in order."""
        known = self.terms.find(phrase.terms)
        if len(known) < len(set(phrase.terms)):
            return np.empty(0, np.int64)
        if not known:
            found = [key for key, text in self._stored.texts() if phrase.is_in(str(text))]
            return self._rows(np.array(found, np.int64))[0]
        rows = reduce(np.intersect1d, (self._postings(n)[0] for n, _ in known.values()))
        if phrase.literal:
            parts = [rows[begin : begin + AT_ONCE] for begin in range(0, len(rows), AT_ONCE)]
            has = [phrase.is_in(d.searched) for own in parts for d in self.documents(own)]
            rows = rows[np.array(has, bool)]
        return rows


class StoreWriter(ExitStack):
    """Writes the files of a store to a folder, block by block: a context that closes them."""

    def __init__(
        self,
        folder: Path,
        analysis: TextAnalysis,
        about: About,
        old: SearchStore | None = None,
        dropped: Rows | None = None,
    ) -> None:
        """With `old`, begin with its documents but for some rows."""
        super().__init__()
        self.about, self._folder = about, folder
        self._files = {
            name: self.enter_context((folder / name).open("xb"))
            for name in (FEATURES, CODES, LENGTHS, KEYS)
        }
        self._n_terms = 0
        if old is None or dropped is None:
            self._documents, self._words = (
                DocumentWriter(folder),
                WordWriter(folder, analysis),
            )
            return
        self._documents = DocumentWriter(folder, old.opened.file(DOCUMENTS))
        anew = about.end > 2 * len(old)  # most postings are of documents that are gone
        self._words = WordWriter(folder, analysis, None if anew else old.terms)
        for begin in range(0, 0 if anew else len(dropped), AT_ONCE):
            gone = old.documents(dropped[begin : begin + AT_ONCE])
            self._words.count([each.searched for each in gone], -1)
        self._documents.delete(old.keys[dropped].tolist())
        for begin in range(0, len(old), AT_ONCE):
            rows = np.setdiff1d(np.arange(begin, min(begin + AT_ONCE, len(old))), dropped)
            if anew and len(rows):
                texts = [each.searched for each in old.documents(rows)]
                self._words.append(old.keys[rows], texts)
            self._add(old.features[rows], old.lengths[rows], old.keys[rows])
        self.about = replace(about, n_documents=len(old) - len(dropped))

    def append(self, block: Block) -> None:
        """Add documents at the end."""
        keys = np.arange(self.about.end, self.about.end + len(block.documents))
        texts = [document.searched for document in block.documents]
        lengths = self._words.append(keys, texts)
        self._add(unit_vectors(block.features, self.about.center), lengths, keys)
        counts = csr_array(block.counts, copy=True)
        counts.eliminate_zeros()
        self._documents.append(keys.tolist(), block.documents, counts)
        self.about = self.about.with_documents(block.documents)

    def finish(self) -> None:
        """Write what can be known at the end only."""
        self._documents.finish()
        self._words.finish()
        self.close()
        mean = self._n_terms / max(self.about.n_documents, 1)
        self.about = replace(self.about, mean_length=mean)

    def _add(self, vectors: Floats, lengths: NDArray[Any], keys: NDArray[Any]) -> None:
        arrays = (
            vectors.astype("<f4"),
            codes_of(vectors),
            lengths.astype("<u4"),
            keys.astype("<i8"),
        )
        for file, array in zip(self._files.values(), arrays, strict=True):
            file.write(array.data)
        self._n_terms += int(lengths.sum())


def write_store(
    path: StrPath,
    blocks: Iterable[Block],
    analysis: TextAnalysis,
    about: About,
    *,
    append: bool = False,
    drop: Collection[str] = (),
    guard: AbstractContextManager[None] | None = None,
) -> int:
    """Write documents to the store in the folder `path`, and give how many were replaced.

    `analysis` is the model's. With `append` they join those that are there, of which documents of
    the ids in `drop` are left out; they keep their features' mean. An old store stays in use until
    the new one is whole. `guard` is held while that takes its place, and may still refuse.
    """
    with STORE.saving(path) as build:  # nobody else may change it from here on
        old, dropped = None, np.empty(0, np.int64)
        if append:
            old = SearchStore.open(path, model=about.model)
            old.verify()  # what is damaged would get new checksums
            dropped = old.rows_of(drop)
            about = old.about
        with STORE.trusting(path):
            writer = StoreWriter(build.path, analysis, about, old, dropped)
        with writer:
            for block in blocks:
                writer.append(block)
            require_documents(writer.about, path, deleted=append)
            writer.finish()
            build.publish(asdict(writer.about), guard=guard)
    return len(dropped)


def open_store(folder: Path, *, model: str | None = None) -> Store:
    """Open the store that a folder holds or names; with `model`, only if that made it."""
    from docboltz.search.milvus import MilvusStore, names_milvus

    if names_milvus(folder):
        return MilvusStore.open(folder, model=model)
    return SearchStore.open(folder, model=model)


def model_of_store(folder: Path) -> object:
    """Fingerprint of the model that made the store of a folder; None if there is no store."""
    from docboltz.search.milvus import MILVUS, manifest_folder

    for kind, place in ((MILVUS, manifest_folder(folder)), (STORE, folder)):
        if kind.exists(place):
            return kind.open(place).content.get("model")
    return None


def of_model(kind: Bundle, opened: Opened, model: str | None) -> Opened:
    """The same, or an error if another model made it."""
    if model is not None and opened.content.get("model") != model:
        raise kind.unusable(opened.folder, "was made with another model than this one")
    return opened


def none_wanted(wanted: Filter, labels: Iterable[str]) -> NoAnswer:
    """An error for a filter that lets no document through."""
    some = ", ".join(map(repr, labels))
    there = f"Labels are {some}, …" if some else "The documents have no labels."
    there = there if wanted.labels else ""
    return NoAnswer(f"No document has {wanted}. {there}".strip())


def require_documents(about: About, where: object, *, deleted: bool) -> None:
    """Refuse a collection without documents."""
    if not about.n_documents and deleted:
        raise InvalidParameter(
            "No document would be left to search.",
            hint="Index other documents with {TextModel.index} instead.",
            settings=("TextModel.index",),
        )
    if not about.n_documents:
        raise InvalidCorpus(f"There is no document to index; nothing was written to {where}.")
