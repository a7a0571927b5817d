"""A stream of documents → a part to learn from and a part to test on, counted.

The vocabulary comes from the training part alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from docboltz.corpus.counting import count
from docboltz.corpus.counts import Corpus
from docboltz.corpus.document import Document
from docboltz.corpus.text import TextAnalysis
from docboltz.errors import DocboltzError, InvalidCorpus, is_number, require
from docboltz.evaluation.suite import LabelledSplit
from docboltz.progress import progress_bar

FEWEST_TRAINING, FEWEST_TEST = 8, 2
STRETCH = 20
"""Documents in a row, of which the same share goes to the test part as of all."""


@dataclass(frozen=True)
class Counting:
    """How text becomes counts."""

    analysis: TextAnalysis = field(default_factory=TextAnalysis)
    min_df: int | float = 2
    max_df: int | float = 0.5
    max_words: int = 5000


@dataclass(frozen=True, eq=False)
class Parts:
    """Counted documents to learn from and to test on; none is without words."""

    train: Corpus
    test: Corpus
    n_empty: tuple[int, int] = (0, 0)
    """Documents that were left out for want of words of the vocabulary: of training, of test."""

    @classmethod
    def of(cls, train: Corpus, test: Corpus) -> Parts:
        """Take two corpora with the same columns, less the documents without words."""
        full, other = train.without_empty(), test.without_empty()
        for part, rest, few in (("train", full, FEWEST_TRAINING), ("test on", other, FEWEST_TEST)):
            if len(rest) < few:
                raise InvalidCorpus(
                    f"There are {len(rest)} documents with known words to {part}; it takes {few} "
                    "at least. Give more documents, or keep more words (min_df)."
                )
        return cls(full, other, (len(train) - len(full), len(test) - len(other)))

    def labelled(self) -> LabelledSplit | str:
        """The documents with labels; or why nothing can be measured by labels."""
        names = set(self.train.label_names)
        if not names and not self.test.label_names:
            return "The documents have no labels."
        if not any(self.train.labels) or not any(self.test.labels):
            return "Documents with labels are in one part only."
        if len(names) < 2:
            return f"There is one label only, {next(iter(names))!r}."
        if not names & set(self.test.label_names):
            return "No label of a test document is on a training document."
        try:
            return LabelledSplit.of(self.train, self.test)
        except DocboltzError as error:
            return str(error)


def count_parts(
    documents: Iterable[Document],
    counting: Counting,
    *,
    test: Iterable[Document] | None = None,
    test_share: float = 0.2,
    seed: int = 0,
    shown: bool = False,
) -> Parts:
    """Count documents to learn from and to test on: `test`, or else a seeded share of the others.

    The stream is read once; of the texts only those of the test part are held.
    """
    expected = "a number between 0 and 1"
    ok = is_number(test_share) and 0 < test_share < 1
    require(ok, "count_parts", "test_share", expected, test_share)
    held: list[Document] = []
    stream = documents if test is not None else _divert(documents, held, test_share, seed)
    with progress_bar("Reading", "documents", shown=shown) as update:
        train = count(
            stream,
            counting.analysis,
            min_df=counting.min_df,
            max_df=counting.max_df,
            max_words=counting.max_words,
            progress=lambda done: update(done + len(held), None),
        )
        others = count(
            held if test is None else test,
            counting.analysis,
            vocabulary=train.vocabulary,
            progress=lambda done: update(len(train) + done, None),
        )
    return Parts.of(train, others)


def _divert(
    documents: Iterable[Document], held: list[Document], share: float, seed: int
) -> Iterator[Document]:
    """Pass on all but a share of the documents, chosen by chance in every stretch; hold those."""
    rng = np.random.default_rng(seed)
    wanted: set[int] = set()
    number = -1
    for number, document in enumerate(documents):
        place = number % STRETCH
        if place == 0:
            n = round(share * (number + STRETCH)) - len(held)
            wanted = set(rng.choice(STRETCH, n, replace=False).tolist())
        if place in wanted:
            held.append(document)
        else:
            yield document
    if not held:
        raise InvalidCorpus(
            f"Documents to learn from and others to test on are needed: {number + 1} in all are "
            "too few. If the file holds more, say how to read it with --format."
        )
