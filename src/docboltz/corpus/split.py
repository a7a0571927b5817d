"""Documents to learn from and documents to test on, counted: the one kind of train/test pair.

The vocabulary always comes from the training part alone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
from scipy.sparse import save_npz

from docboltz.corpus.analysis import TextAnalysis
from docboltz.corpus.corpus import Corpus, Vocabulary, load_matrix
from docboltz.corpus.counting import count
from docboltz.corpus.document import Document
from docboltz.errors import InvalidCorpus, is_number, require
from docboltz.progress import progress_bar
from docboltz.storage import parse_json, read_file, replacing, write_text

FEWEST_TRAINING, FEWEST_TEST = 8, 2
STRETCH = 20
"""Documents in a row, of which the same share goes to the test part as of all."""
_PARTS = ("train", "test")


@dataclass(frozen=True, eq=False)
class Split:
    """Counted documents to learn from and to test on, with or without labels."""

    train: Corpus
    test: Corpus
    n_empty: tuple[int, int] = (0, 0)
    """Documents that `without_empty` left out: of training, of test."""

    def __post_init__(self) -> None:
        if self.train.vocabulary != self.test.vocabulary:
            raise InvalidCorpus(
                "A split needs both parts counted with the training part's vocabulary; got "
                f"{len(self.train.vocabulary)} words and {len(self.test.vocabulary)}, not the same."
            )

    def __repr__(self) -> str:
        sizes = len(self.train), len(self.test), len(self.train.vocabulary)
        return "Split({:,} documents to learn from, {:,} to test on, {:,} words)".format(*sizes)

    def counted(self) -> Split:
        """The split itself; a dataset of texts has the same method."""
        return self

    def without_empty(self) -> Split:
        """The documents with words; an error if there are too few to learn from or to test on."""
        train, test = self.train.without_empty(), self.test.without_empty()
        for part, rest, few in (("train", train, FEWEST_TRAINING), ("test on", test, FEWEST_TEST)):
            if len(rest) < few:
                raise InvalidCorpus(
                    f"There are {len(rest)} documents with known words to {part}; it takes {few} "
                    "at least.",
                    hint="Give more documents, or keep more words ({min_df}).",
                    settings=("min_df",),
                )
        return Split(train, test, (len(self.train) - len(train), len(self.test) - len(test)))

    @cached_property
    def fingerprint(self) -> str:
        """What tells these counts and labels from others: a SHA-256."""
        found = hashlib.sha256(
            json.dumps([list(self.train.labels), list(self.test.labels)]).encode()
        )
        for counts in (self.train.counts, self.test.counts):
            for array in (counts.data, counts.indices, counts.indptr):
                found.update(np.ascontiguousarray(array, np.int32).tobytes())
        return found.hexdigest()

    def save(self, folder: Path) -> None:
        """Write counts, words and labels, for a machine that has neither text nor its packages."""
        for part in _PARTS:
            with replacing(folder / f"{part}.npz") as draft:
                save_npz(draft, getattr(self, part).counts.astype(np.int32))
        labels = {part: list(getattr(self, part).labels) for part in _PARTS}
        described = {"words": self.train.vocabulary, **labels}
        write_text(folder / "labels.json", json.dumps(described, ensure_ascii=False) + "\n")

    @classmethod
    def load(cls, folder: Path) -> Split:
        """Read what `save` wrote."""
        try:
            described = parse_json(read_file(folder / "labels.json"))
            words = Vocabulary(described["words"])
            parts: dict[str, Corpus] = {}
            for part in _PARTS:
                counts = load_matrix(folder / f"{part}.npz")
                labels = tuple(tuple(map(str, own)) for own in described[part])
                ids = tuple(map(str, range(len(labels))))
                parts[part] = Corpus(counts, ids, labels, words)
            return cls(parts["train"], parts["test"])
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise InvalidCorpus(
                f"{folder} does not hold counts: {error}.",
                hint="docboltz reproduce writes folders of counts with {save_counts}.",
                settings=("save_counts",),
            ) from error


@dataclass(frozen=True)
class Counting:
    """How text becomes counts."""

    analysis: TextAnalysis = field(default_factory=TextAnalysis)
    min_df: int | float = 2
    max_df: int | float = 0.5
    max_words: int = 5000


def count_split(
    documents: Iterable[Document],
    counting: Counting,
    *,
    test: Iterable[Document] | None = None,
    test_share: float = 0.2,
    seed: int = 0,
    shown: bool = False,
) -> Split:
    """Count documents to learn from and to test on: `test`, or else a seeded share of the others.

    The stream is read once; of the texts only those of the test part are held, which is why this is
    not scikit-learn's train_test_split. Documents without a known word are left out.
    """
    ok = is_number(test_share) and 0 < test_share < 1
    require(ok, "count_split", "test_share", "a number between 0 and 1", test_share)
    held: list[Document] = []
    stream = documents if test is not None else _divert(documents, held, test_share, seed)
    with progress_bar("Reading", "documents", shown=shown) as update:
        # The settings of counting are named like the parameters of `count`.
        train = count(
            stream, **vars(counting), progress=lambda done: update(done + len(held), None)
        )
        own, rest = train.vocabulary, held if test is None else test
        others = count(
            rest, counting.analysis, vocabulary=own, progress=lambda n: update(len(train) + n, None)
        )
    return Split(train, others).without_empty()


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
            "too few.",
            hint="If the file holds more, say how to read it with {format}.",
            settings=("format",),
        )
