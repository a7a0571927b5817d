"""Texts → counts of words, and a vocabulary.

`TextCounter.count` counts a batch of texts: in this process, in a pool of processes or in tasks of
a cluster. `Tally` merges what is known of the terms of several batches, and `Parts` holds counted
documents, in memory or in files, until their vocabulary is known. So vocabulary and counts depend
neither on batches nor on processes.
"""

from __future__ import annotations

import os
import re
import weakref
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import chain
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from docboltz.corpus.analysis import REMEMBERED, TextAnalysis, pair_term
from docboltz.corpus.corpus import Corpus, Vocabulary, by_frequency, renumbered
from docboltz.corpus.disk import (
    BLOCK_ROWS,
    Column,
    Part,
    joined_on_disk,
    trim_memory,
    write_part,
)
from docboltz.errors import InvalidCorpus, is_number, is_whole, require
from docboltz.processes import in_order, pool_of
from docboltz.storage import digest

if TYPE_CHECKING:
    import pyarrow as pa

    from docboltz.corpus.document import Document
    from docboltz.corpus.reading import Documents

BATCH_BYTES, BATCH_DOCUMENTS = 1 << 22, 50_000
"""Texts that are counted at once."""
ALONE_BYTES = 4 << 20
"""Text that this process counts before it starts others: starting them takes as long."""
AHEAD = 3
"""Batches that are handed to each process ahead of time."""
WORDS_AT_ONCE = 1 << 12
"""Words held as strings before they become numbers: few enough for the processor's cache."""
MEMORY_SHARE, MOST_HELD = 1 / 8, 1 << 28
"""Of the machine's memory, what counts may take before they go to disk, and bytes at most."""
WORD_BYTES = 200
"""What is known of a word takes about so much memory."""
ABOUT = ("id", "labels", "date")
"""Columns of documents that a corpus has."""
WHOLE_DOCUMENTS = ("id", "text", "labels", "date", "title", "columns")
"""All columns of documents, in their order."""

JOINED = re.compile(r"joined-[0-9a-f]{16}\.(data|indices)")
OF_A_COUNT = re.compile(rf"\.?part-[0-9a-f-]+\.arrow|{JOINED.pattern}")
"""Names of files that a count makes, those of an interrupted one included."""

Integers = NDArray[np.int64]


class Terms(NamedTuple):
    """What is known of the terms of some texts: how frequent they are, and how they are spelled."""

    terms: Sequence[str]
    df: Integers
    """Number of texts that have each term."""
    totals: Integers
    """How often each term occurs."""
    words: Sequence[str]
    """Every word that was met."""
    word_terms: Integers
    """The number of each word's term."""
    word_counts: Integers
    """How often each word occurs."""


NO_TERMS = Terms((), *(np.empty(0, np.int64),) * 2, (), *(np.empty(0, np.int64),) * 2)


class Counts(NamedTuple):
    """Counts of some texts."""

    matrix: csr_array
    """How often each text has each term: (texts, terms), or (texts, K) with a given vocabulary."""
    terms: Terms
    """The terms of the columns; `NO_TERMS` with a given vocabulary."""
    n_outside: int
    """Words that a given vocabulary lacks."""


class TextCounter:
    """Counts texts by an analysis, over the terms that it meets or over a vocabulary.

    >>> counts = TextCounter(TextAnalysis()).count(["Ships at sea", "A ship"])
    >>> counts.terms.terms, counts.matrix.toarray().tolist(), counts.terms.words
    (['ship', 'sea'], [[1, 1], [1, 0]], ['ships', 'sea', 'ship'])
    """

    def __init__(self, analysis: TextAnalysis, vocabulary: Vocabulary | None = None) -> None:
        self._analysis, self._vocabulary = analysis, vocabulary
        self._known = _KnownWords(analysis, vocabulary)

    def count(self, texts: Sequence[str]) -> Counts:
        """Count the words of texts."""
        words, rows = self._numbered(texts)
        if self._analysis.ngrams == 2:
            words, rows = self._with_pairs(words, rows)
        known = np.fromiter(self._known.columns, np.int64, len(self._known.columns))
        columns = known[words]
        if self._vocabulary is None:
            used, often = _tally(words)
            met, word_terms = np.unique(known[used], return_inverse=True)
            places = np.zeros(len(self._known.new_terms), np.int64)
            places[met] = np.arange(len(met))
            matrix = _matrix(rows, places[columns], (len(texts), len(met)))
            names = list(self._known.new_terms)
            terms = Terms(
                [names[i] for i in met.tolist()],
                np.bincount(matrix.indices, minlength=len(met)),
                np.bincount(word_terms, often, len(met)).astype(np.int64),
                [self._known.words[i] for i in used.tolist()],
                word_terms,
                often,
            )
            found = Counts(matrix, terms, 0)
        else:
            inside = columns >= 0
            shape = len(texts), len(self._vocabulary)
            matrix = _matrix(rows[inside], columns[inside], shape)
            found = Counts(matrix, NO_TERMS, len(columns) - int(np.count_nonzero(inside)))
        if len(self._known) > REMEMBERED:  # a process that never stops must not grow forever
            self._known = _KnownWords(self._analysis, self._vocabulary)
        return found

    def _numbered(self, texts: Sequence[str]) -> tuple[Integers, Integers]:
        """The number of every counted word of the texts, and the text that it is in."""
        arrays, waiting, n, lengths = [np.empty(0, np.int64)], list[list[str]](), 0, list[int]()

        def look_up() -> None:
            numbers = map(self._known.__getitem__, chain.from_iterable(waiting))
            arrays.append(np.fromiter(numbers, np.int64, n))

        for text in texts:
            length = 0
            for words in self._analysis.words(text):
                waiting.append(words)
                length += len(words)
                n += len(words)
                if n > WORDS_AT_ONCE:
                    look_up()
                    waiting, n = [], 0
            lengths.append(length)
        look_up()
        numbers = np.concatenate(arrays)
        counted = numbers >= 0
        return numbers[counted], np.repeat(np.arange(len(texts)), lengths)[counted]

    def _with_pairs(self, words: Integers, rows: Integers) -> tuple[Integers, Integers]:
        """Add the pairs of neighbours among the counted words of each text."""
        together = rows[1:] == rows[:-1]
        pairs = (words[:-1][together] << 32) | words[1:][together]
        distinct, places = np.unique(pairs, return_inverse=True)
        numbers = np.fromiter(map(self._known.pair, distinct.tolist()), np.int64, len(distinct))
        return np.append(words, numbers[places]), np.append(rows, rows[1:][together])


def _matrix(rows: Integers, columns: Integers, shape: tuple[int, int]) -> csr_array:
    """How often each (row, column) occurs, by one sort of pairs packed into 64 bits."""
    keys = (rows << 32) | columns
    keys.sort()
    first = np.flatnonzero(np.diff(keys, prepend=-1))
    values = np.diff(first, append=len(keys)).astype(np.int32)
    keys = keys[first]
    starts = np.searchsorted(keys, np.arange(shape[0] + 1) << 32).astype(np.int32)
    matrix = csr_array((values, (keys & 0xFFFFFFFF).astype(np.int32), starts), shape=shape)
    matrix.has_sorted_indices = matrix.has_canonical_format = True
    return matrix


class _KnownWords(dict[str, int]):
    """word ↦ its number, −1 if it is not counted. Filled as words are met."""

    def __init__(self, analysis: TextAnalysis, vocabulary: Vocabulary | None) -> None:
        super().__init__()
        self._term_of, self._vocabulary = analysis.term_of(), vocabulary
        self.new_terms: dict[str, int] = {}
        """The column of each term that was met, if there is no vocabulary."""
        self.words: list[str] = []
        self.columns: list[int] = []
        """The column of each word's term; −1 if the vocabulary lacks it."""
        self._terms: list[str] = []

    def __missing__(self, word: str) -> int:
        term = self._term_of(word)
        number = self[word] = -1 if term is None else self._add(word, term)
        return number

    def pair(self, key: int) -> int:
        """The number of two neighbours, whose numbers are the halves of the key."""
        a, b = key >> 32, key & 0xFFFFFFFF
        word = f"{self.words[a]} {self.words[b]}"  # no word has a space
        if (number := self.get(word)) is None:
            number = self[word] = self._add(word, pair_term(self._terms[a], self._terms[b]))
        return number

    def _add(self, word: str, term: str) -> int:
        if self._vocabulary is None:
            column: int | None = self.new_terms.setdefault(term, len(self.new_terms))
        else:
            column = self._vocabulary.column(term)
        self.words.append(word)
        self.columns.append(-1 if column is None else column)
        self._terms.append(term)
        return len(self.words) - 1


def _tally(numbers: Integers) -> tuple[Integers, Integers]:
    """The distinct numbers and how often each occurs."""
    if not len(numbers) or numbers.max() < 8 * len(numbers):
        often = np.bincount(numbers)
        used = np.flatnonzero(often)
        return used, often[used]
    return np.unique(numbers, return_counts=True)


class Tally:
    """Merges what is known of terms, batch by batch. Its length is its number of words."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._words: dict[str, int] = {}
        self._arrays = [np.empty(0, np.int64) for _ in range(4)]

    def __len__(self) -> int:
        return len(self._words)

    def add(self, found: Terms) -> Integers:
        """Add terms; give the number of each of them here."""
        numbers, words = _numbered(self._numbers, found.terms), _numbered(self._words, found.words)
        sizes = len(self._numbers), len(self._numbers), len(self._words), len(self._words)
        pairs = zip(self._arrays, sizes, strict=True)
        self._arrays = [np.append(a, np.zeros(size - len(a), np.int64)) for a, size in pairs]
        df, totals, word_terms, word_counts = self._arrays
        df[numbers] += found.df
        totals[numbers] += found.totals
        word_terms[words] = numbers[found.word_terms]  # a word has one term
        word_counts[words] += found.word_counts
        return numbers

    @property
    def terms(self) -> Terms:
        """What was added, in the order of the numbers."""
        df, totals, word_terms, word_counts = self._arrays
        words = list(self._words)
        return Terms(list(self._numbers), df, totals, words, word_terms, word_counts)


def _numbered(known: dict[str, int], strings: Sequence[str]) -> Integers:
    """The number of each string; new ones get the next."""
    return np.fromiter((known.setdefault(s, len(known)) for s in strings), np.int64, len(strings))


def select_vocabulary(
    found: Terms, n_texts: int, min_df: int | float, max_df: int | float, max_words: int | None
) -> Vocabulary:
    """The terms in enough texts and not in too many, by falling frequency and then by alphabet.

    Each is shown as its commonest spelling, the first of equals.
    """
    if not len(found.df):
        raise InvalidCorpus(
            f"None of the {n_texts} documents has a word left: they are empty, or hold only stop "
            "words, short words or numbers.",
            hint="Check the text column ({text}) and the {language}.",
            settings=("text", "language"),
        )
    low = min_df if is_whole(min_df) else min_df * n_texts
    high = max_df if is_whole(max_df) else max_df * n_texts
    if low > n_texts:
        raise InvalidCorpus(
            f"No word can be in {low:,} documents: there are {n_texts:,}.",
            hint="Lower {min_df}; 2 is a good start.",
            settings=("min_df",),
        )
    kept = np.flatnonzero((found.df >= low) & (found.df <= high))
    if not len(kept):
        raise InvalidCorpus(
            f"No word is in at least {low:g} and at most {high:g} of the {n_texts} documents.",
            hint=f"Lower {{min_df}} (got {min_df}) or raise {{max_df}} (got {max_df}).",
            settings=("min_df", "max_df"),
        )
    order = by_frequency(found.totals[kept], [found.terms[i] for i in kept.tolist()])
    most = np.zeros(len(found.df), np.int64)
    np.maximum.at(most, found.word_terms, found.word_counts)
    forms: dict[int, str] = {}
    for i in np.flatnonzero(found.word_counts == most[found.word_terms]).tolist():
        term, word = int(found.word_terms[i]), found.words[i]
        forms[term] = min(word, forms.get(term, word))
    columns = kept[order[:max_words]].tolist()
    return Vocabulary([found.terms[i] for i in columns], [forms[i] for i in columns])


def check_limits(min_df: Any, max_df: Any, max_words: Any) -> None:
    """Refuse limits of a vocabulary that make no sense."""
    for name, df in (("min_df", min_df), ("max_df", max_df)):
        ok = df >= 1 if is_whole(df) else is_number(df) and 0 <= df <= 1
        require(ok, "count", name, "a whole number from 1 or a share, 0.0 to 1.0", df)
    ok = max_words is None or (is_whole(max_words) and max_words >= 1)
    require(ok, "count", "max_words", "None or at least 1", max_words)


# ---- streams ----

_counter: TextCounter


def _prepare(analysis: TextAnalysis, vocabulary: Vocabulary | None) -> None:
    """What another process does before it counts."""
    global _counter
    _counter = TextCounter(analysis, vocabulary)


def _count_there(texts: list[str]) -> Counts:
    return _counter.count(texts)


def count_batches(
    batches: Iterable[pa.RecordBatch],
    analysis: TextAnalysis,
    vocabulary: Vocabulary | None = None,
    n_jobs: int = -1,
) -> Generator[tuple[pa.RecordBatch, Counts]]:
    """Batches of documents with their counts, in order, counted by `n_jobs` processes.

    This one is among them. -1 stands for one for each core. Little text starts no others.
    """
    ok = is_whole(n_jobs) and (n_jobs == -1 or n_jobs >= 1)
    require(ok, "count", "n_jobs", "-1 or at least 1", n_jobs)
    n = (os.cpu_count() or 1) if n_jobs == -1 else n_jobs
    cut = ((batch, batch.column("text").to_pylist()) for batch in _cut(batches))
    counter, done = TextCounter(analysis, vocabulary), 0
    for batch, texts in cut:
        yield batch, counter.count(texts)
        done += batch.column("text").nbytes
        if n > 1 and done >= ALONE_BYTES:
            break
    ahead = next(cut, None)
    if ahead is not None:
        with pool_of(n - 1, _prepare, analysis.resolved(), vocabulary) as pool:
            rest, most = chain([ahead], cut), AHEAD * (n - 1)
            yield from in_order(pool, _count_there, counter.count, rest, most)


def _cut(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Batches of the size that is counted at once."""
    for batch in batches:
        texts = max(1, batch.column("text").nbytes)
        step = max(1, min(BATCH_DOCUMENTS, BATCH_BYTES * batch.num_rows // texts))
        for begin in range(0, batch.num_rows, step):
            yield batch.slice(begin, step)


def count(
    documents: Documents | Iterable[str] | Iterable[Document],
    analysis: TextAnalysis | Callable[[str], Iterable[str]] | None = None,
    *,
    vocabulary: Vocabulary | None = None,
    min_df: int | float = 1,
    max_df: int | float = 1.0,
    max_words: int | None = None,
    n_jobs: int = -1,
    progress: Callable[[int], None] | None = None,
    memory: float | None = None,
) -> Corpus:
    """Count the words of documents.

    Words in fewer than `min_df` or more than `max_df` documents are dropped (whole numbers count
    documents, fractions are shares of them, as in scikit-learn), then all but the `max_words` most
    frequent. With a `vocabulary` its columns are taken as they are, and other words are counted in
    `Corpus.n_outside` only. `progress` is told how many documents were counted.

    Counts of more than `memory` bytes, by default a share of the machine's memory, are on disk, in
    a temporary folder that is removed with the corpus.

    >>> corpus = count(["Ships at sea, ships in port."])
    >>> corpus.vocabulary.words, corpus.counts.toarray().tolist()
    (('ship', 'port', 'sea'), [[2, 1, 1]])
    """
    from docboltz.corpus.reading import as_documents

    analysis = TextAnalysis.of(analysis, "count")
    limits = min_df, max_df, max_words
    check_limits(*limits)
    stream = as_documents(documents, "count")
    parts = Parts(vocabulary, memory=memory)
    try:
        parts.count(stream, analysis, n_jobs=n_jobs, kept=ABOUT, progress=progress)
        corpus = parts.corpus(analysis, limits, stream.unique_ids)
    except BaseException:
        parts.remove()
        raise
    if parts.folder is not None:
        weakref.finalize(corpus.counts, remove_parts, parts.folder)
    return corpus


class Parts:
    """Counted documents, with what is kept of them: in files and, behind these, in memory.

    Files of a folder that have the same `stamp` hold the first documents of the same collection,
    from a count that was interrupted.
    """

    def __init__(
        self,
        vocabulary: Vocabulary | None = None,
        folder: Path | None = None,
        stamp: str = "",
        *,
        name: str = "part",
        memory: float | None = None,
    ) -> None:
        """Documents are written when they take more than `memory` bytes.

        To `folder`, or else to a temporary one, in files of that name and a number.
        """
        self.vocabulary, self.folder = vocabulary, folder
        self._stamp, self._name = stamp, name
        self._memory = memory_for_counts() if memory is None else memory
        self.files: list[Part] = []
        while stamp and folder is not None:
            found = Part.find(self._next_file(), self._stamp_of_next())
            if found is None:
                break
            self.files.append(found)
        self._forget()

    def _forget(self) -> None:
        """Begin with nothing in memory."""
        self._tally, self._held, self._n_outside = Tally(), 0, 0
        self._batches: list[pa.RecordBatch] = []
        self._counts: list[csr_array] = []

    def _stamp_of_next(self) -> str:
        """The stamp of the next part, which says where it begins."""
        return f"{self._stamp} {sum(map(len, self.files))}" if self._stamp else ""

    def _next_file(self) -> Path:
        return Path(self.folder or "", f"{self._name}-{len(self.files):06d}.arrow")

    def count(
        self,
        stream: Documents,
        analysis: TextAnalysis,
        *,
        n_jobs: int = -1,
        kept: Sequence[str],
        see: Callable[[pa.RecordBatch], None] | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        """Count the documents of a stream that come after those in the files.

        Columns that are `kept` are kept; `see` is shown every batch.
        """
        n = sum(len(part) for part in self.files)
        batches = _after(stream.batches(numbered=False), n, see)
        # Closed whatever happens, Ctrl-C included: processes end before the error is seen.
        with closing(count_batches(batches, analysis, self.vocabulary, n_jobs)) as counted:
            for batch, counts in counted:
                self.add(batch.select(kept), counts)
                n += batch.num_rows
                if progress is not None:
                    progress(n)

    def add(self, documents: pa.RecordBatch, counts: Counts) -> None:
        """Add documents with their counts."""
        matrix = counts.matrix
        if self.vocabulary is None:
            matrix.indices = self._tally.add(counts.terms).astype(np.int32)[matrix.indices]
        self._batches.append(documents)
        self._counts.append(matrix)
        self._n_outside += counts.n_outside
        self._held += 8 * matrix.nnz + documents.nbytes
        if self._held + WORD_BYTES * len(self._tally) > self._memory:
            self.write()

    def write(self) -> None:
        """Write what is in memory to a file."""
        if not self._batches:
            return
        self.folder = self.folder or Path(mkdtemp(prefix="docboltz-counts-"))
        self.folder.mkdir(parents=True, exist_ok=True)
        about = self._tally.terms._asdict() | {"n_outside": self._n_outside}
        file = self._next_file()
        write_part(
            file, self._stamp_of_next(), zip(self._batches, self._counts, strict=True), about
        )
        self.files.append(Part(file))
        self._forget()

    def corpus(
        self,
        analysis: TextAnalysis,
        limits: tuple[Any, Any, Any],
        unique_ids: Callable[[pa.ChunkedArray], pa.ChunkedArray],
    ) -> Corpus:
        """All documents, over the words that are kept; on disk, if there are files."""
        import pyarrow as pa

        if self.files:
            self.write()
        tables = [part.table(ABOUT) for part in self.files]
        tables += [pa.Table.from_batches([batch.select(ABOUT)]) for batch in self._batches]
        about = pa.concat_tables(tables)
        tally, n_outside = self._tally, self._n_outside
        for part in self.files:
            terms, n_more = _known_of(part)
            tally.add(terms)
            n_outside += n_more
        vocabulary = self.vocabulary
        if vocabulary is None:
            vocabulary = select_vocabulary(tally.terms, len(about), *limits)
        blocks = self._over(vocabulary)
        if self.files:
            size = len(about), len(vocabulary), sum(part.nnz for part in self.files)
            counts = joined_on_disk(blocks, *size, self.files[0].path.parent)
        else:
            counts = vstack([*blocks], "csr")
        if self.vocabulary is None:
            n_outside = int(tally.terms.totals.sum()) - int(counts.data.sum(dtype=np.int64))
        arrays = unique_ids(_numbered_ids(about["id"])), about["labels"], about["date"]
        columns = map(Column, arrays)
        trim_memory()
        few = len(about) <= BLOCK_ROWS
        ids, labels, dates = map(tuple[Any, ...], columns) if few else columns
        return Corpus(counts, ids, labels, vocabulary, analysis, n_outside, dates)

    def _over(self, vocabulary: Vocabulary) -> Iterator[csr_array]:
        """The counts over a vocabulary, block by block: (texts, K)."""
        known = ((_known_of(part)[0], part.matrices(len(vocabulary))) for part in self.files)
        for terms, matrices in known if self.files else [(self._tally.terms, iter(self._counts))]:
            columns = (vocabulary.column(term) for term in terms.terms)
            places = np.array([-1 if column is None else column for column in columns], np.int32)
            for matrix in matrices:
                fixed = self.vocabulary is not None
                yield matrix if fixed else renumbered(matrix, places, len(vocabulary))

    def documents(self, ids: Iterable[str]) -> Iterator[Document]:
        """The documents, with their final ids; all columns have to be kept for that."""
        from docboltz.corpus.reading import documents_of

        batches = chain(*(part.batches() for part in self.files), self._batches)
        whole = (batch.select(WHOLE_DOCUMENTS) for batch in batches)
        found = chain.from_iterable(map(documents_of, whole))
        return (replace(document, id=id) for document, id in zip(found, ids, strict=True))

    @property
    def bytes(self) -> int:
        """What is kept of the documents takes so many bytes."""
        return self._held + sum(part.path.stat().st_size for part in self.files)

    def remove(self) -> None:
        """Remove the files, and their folder if nothing else is in it."""
        if self.folder is not None:
            remove_parts(self.folder)


def stamp_of(
    documents: Documents, analysis: TextAnalysis, vocabulary: Vocabulary | None = None
) -> str:
    """What tells one count from others; "" where that cannot be known: a function may change."""
    from docboltz import __version__

    files = None if analysis.function is not None else documents.identity()
    words = None if vocabulary is None else list(vocabulary)
    return "" if files is None else digest([files, analysis.to_dict(), words, __version__])


def _known_of(part: Part) -> tuple[Terms, int]:
    """What is known of the terms of a part, and how many words a given vocabulary lacks."""
    known = part.known()
    numbers = {name: np.array(known[name], np.int64) for name in ("df", "totals")}
    numbers |= {name: np.array(known[name], np.int64) for name in ("word_terms", "word_counts")}
    return Terms(terms=known["terms"], words=known["words"], **numbers), known["n_outside"]


def _after(
    batches: Iterable[pa.RecordBatch], n: int, see: Callable[[pa.RecordBatch], None] | None
) -> Iterator[pa.RecordBatch]:
    """The batches after the first n documents; all of them are shown."""
    for batch in batches:
        if see is not None:
            see(batch)
        if n < batch.num_rows:
            yield batch.slice(n)
        n = max(0, n - batch.num_rows)


def _numbered_ids(ids: pa.ChunkedArray) -> pa.ChunkedArray:
    """Ids, with the number of the row where there is none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    chunks, row = list[Any](), 0
    for chunk in ids.chunks:
        numbers = pa.array(np.arange(row, row + len(chunk)))
        chunks.append(pc.coalesce(chunk, numbers.cast(pa.string())) if chunk.null_count else chunk)
        row += len(chunk)
    return pa.chunked_array(chunks, pa.string())


def memory_for_counts() -> float:
    """Bytes of counts that are held before they go to disk: a share of the machine's memory."""
    try:
        there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError):  # Windows
        return MOST_HELD
    return min(MOST_HELD, MEMORY_SHARE * there)


def remove_parts(folder: Path, of: re.Pattern[str] = OF_A_COUNT) -> None:
    """Remove what is left of a count, and the folder if nothing else is in it."""
    if folder.is_dir():
        for file in list(folder.iterdir()):
            if of.fullmatch(file.name) and file.is_file():
                file.unlink(missing_ok=True)
        if not any(folder.iterdir()):
            folder.rmdir()
