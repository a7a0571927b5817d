"""Questions about topics, and changes to them by hand. Neither torch nor scikit-learn to show them.

Topics are found when a collection is indexed, saved beside it, and stay as they are until documents
are indexed, topics are looked for again or a person changes them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from docboltz.answers import Topics
from docboltz.asking import Asking
from docboltz.corpus.corpus import check_structure
from docboltz.errors import (
    InvalidModelFile,
    InvalidParameter,
    is_whole,
    require,
    require_count,
)
from docboltz.search.vectors import unit_vectors
from docboltz.topics.description import Collection
from docboltz.topics.mixture import Assignment
from docboltz.topics.over import Period, Shares, shares_by_date, shares_by_label
from docboltz.topics.topic_tree import TOPICS, Progress, TopicTree

FOLDER = "topics"
"""Of the topics in that of the model."""
BLOCK_DOCUMENTS = 16_384
MOST_TOPICS = 500


class TopicVerbs(Asking):
    """A model whose collection has topics."""

    _tree: TopicTree | None = None

    def topics(
        self,
        number: int | None = None,
        *,
        level: int | None = None,
        words: int = 10,
        replace: bool = False,
    ) -> Topics:
        """What the collection is about: all topics, each before those it is made of.

        Parameters
        ----------
        number : look for so many topics, if there are not so many already. They replace those
            there were, also for `assign`.
        level : only topics of this level: 0 is the broadest, −1 the finest.
        words : words of each topic to show.
        replace : let topics that were changed by hand be replaced.
        """
        require_count(words, "TextModel.topics", "words")
        if number is not None:
            require_count(number, "TextModel.topics", "number")
            expected = f"at most {MOST_TOPICS}: nobody reads more"
            require(number <= MOST_TOPICS, "TextModel.topics", "number", expected, number)
            known = self._saved_tree()
            if known is None or number not in (known.asked, known.n_topics):
                self.find_topics(number, replace=replace)
        levels = self._require_level(-1 if level is None else level, "topics")
        return self.tree.shown(levels if level is None else [levels[level]], words)

    def find_topics(
        self, number: int | None = None, *, replace: bool = False, progress: Progress | None = None
    ) -> None:
        """Look for topics in the collection anew; without a `number` as many as it has."""
        self._require_unchanged(replace)
        found = TopicTree.find(self._collection, number, progress=progress or (lambda *_: None))
        with self._alone():
            self._require_unchanged(replace)  # which may have been done meanwhile
            self._keep(found)

    def assign(self, texts: Any) -> Assignment:
        """The topic of each text, −1 for one that belongs nowhere, and how sure that is.

        A probability says how often topics found in other documents would agree.
        """
        return self.assign_counts(self._count(texts, "assign").counts)

    def assign_counts(self, counts: Any) -> Assignment:
        """The topics of counted documents: (n, K)."""
        check_structure(counts, "TextModel.assign_counts")
        tree, mean = self.tree, self.activity
        parts = []
        for begin in range(0, max(counts.shape[0], 1), BLOCK_DOCUMENTS):
            block = counts[begin : begin + BLOCK_DOCUMENTS].astype(np.float32)
            vectors = unit_vectors(self._features(block), mean)
            block.data[:] = 1
            parts.append(tree.mixture.assign(vectors, block, tree.numbers))
        topic = np.concatenate([part.topic for part in parts])
        probability = np.concatenate([part.probability for part in parts])
        return Assignment(topic, probability)

    def topics_by(
        self, by: str = "label", period: Period | None = None, *, level: int = -1
    ) -> Shares:
        """The share of each topic of a level, the largest first, by label, or over time by date.

        `by` is "label" or "date", or what that column was called; `period` "day", "month" or
        "year", found by itself if it is not given; `level` as in `topics`.
        """
        found = self._columns
        names = {"label": {"label", "labels", self.reading.label, found["label"]}}
        names["date"] = {"date", self.reading.date, found["date"]}
        what = next((kind for kind, known in names.items() if by in known), None)
        expected = " or ".join(repr(n) for known in names.values() for n in known if n)
        require(what is not None, "TextModel.topics_by", "by", expected, by)
        self._require_level(level, "topics_by")
        tree = self.tree
        numbers = [topic.number for topic in tree.of_level(level)]
        place = {own: numbers.index(broad) for own, broad in tree.broader(level).items()}
        topics = np.array([place.get(k, -1) for k in tree.assignment.topic.tolist()], np.int64)
        labels, dates = self.store.labels_and_dates()
        values: list[Any] = labels if what == "label" else dates
        if not any(values):
            setting = f"TextModel.read({what}=…)"
            raise InvalidParameter(
                f"The documents that are searched have no {what}.",
                hint=f"Name its column when they are read: {{{setting}}}.",
                settings=(setting,),
            )
        if what == "label":
            return shares_by_label(topics, len(numbers), values)
        return shares_by_date(topics, len(numbers), values, period)

    # ---- a person's hand ----

    def rename_topic(self, number: int, name: str) -> None:
        """Call a topic by another name; "" for the name that its words make."""
        self._change(lambda tree: tree.rename(number, name))

    def merge_topics(self, numbers: Sequence[int]) -> None:
        """Make one topic of several; it keeps the number of the first."""
        self._change(lambda tree: tree.merge(numbers, self._collection))

    def split_topic(self, number: int, into: int = 2) -> None:
        """Make several topics of one; the largest keeps its number, the others get new ones.

        A merged topic comes apart into those it was made of, however many.
        """
        self._change(lambda tree: tree.split(number, self._collection, into))

    def hide_words(self, words: Sequence[str]) -> None:
        """Show words no more among those of a topic."""
        self._change(lambda tree: tree.hide(words, self._collection))

    def show_words(self, words: Sequence[str]) -> None:
        """Show words again that were hidden."""
        self._change(lambda tree: tree.show(words, self._collection))

    def _change(self, change: Callable[[TopicTree], TopicTree]) -> None:
        """Change the newest topics, whoever saved them, and let nobody else do so meanwhile."""
        seen = self.tree
        with self._alone():
            newest = self._read_tree() or seen
            if newest.origin != seen.origin:
                self._tree = newest
                raise InvalidParameter(
                    "Topics were looked for again meanwhile, and have other numbers.",
                    hint="Look at them with {TextModel.topics}, and change those.",
                    settings=("TextModel.topics",),
                )
            self._keep(change(newest))

    def _require_level(self, level: object, owner: str) -> range:
        """All levels, if this is one of them."""
        levels = range(1 + max(topic.level for topic in self.tree.topics))
        there = is_whole(level) and -len(levels) <= level < len(levels)  # type: ignore[operator]
        expected = f"a level from 0 to {len(levels) - 1}, or −1"
        require(there, f"TextModel.{owner}", "level", expected, level)
        return levels

    def _require_unchanged(self, replace: bool) -> None:
        """Refuse to lose what a person has changed."""
        known = None if replace else self._read_tree() or self._tree
        if known is not None and known.edited:
            raise InvalidParameter(
                "The topics were changed by hand, and others would replace them.",
                hint="Add {replace=True} to let them.",
                settings=("replace=True",),
            )

    # ---- kept ----

    @property
    def tree(self) -> TopicTree:
        """The topics, as they are; found now if nobody has looked for them."""
        if self._tree is None:
            self._tree = self._saved_tree()
        if self._tree is None:
            self.find_topics()
        assert self._tree is not None
        return self._tree

    @property
    def knows_topics(self) -> bool:
        """Whether topics were found already, with the model as it is."""
        folder = self._topics_folder
        if self._tree is not None or folder is None or not TOPICS.exists(folder):
            return self._tree is not None
        return bool(TOPICS.open(folder).content.get("model") == self.fingerprint)

    @property
    def has_topics(self) -> bool:
        """Whether topics are known, or can be found in a collection."""
        folder = self._topics_folder
        saved = folder is not None and TOPICS.exists(folder)
        return saved or self._tree is not None or self._has_store()

    @property
    def _collection(self) -> Collection:
        return Collection(self.store, self.vocabulary, self.analysis, self._light)

    @property
    def _topics_folder(self) -> Path | None:
        return None if self.path is None else TOPICS.inside(self.path, FOLDER)

    def _saved_tree(self) -> TopicTree | None:
        """The tree in memory or in the model's folder, of the documents that are searched now."""
        return self._tree or self._read_tree()

    def _read_tree(self) -> TopicTree | None:
        """The tree in the model's folder, of the documents that are searched now."""
        folder = self._topics_folder
        if folder is None or not TOPICS.exists(folder):
            return None
        tree, store = TopicTree.load(folder, self.fingerprint)
        try:
            same = store == self.store.opened.build
        except InvalidModelFile:  # without documents there are still topics
            return tree
        return tree if same else tree.on(self._collection, keep_words=True)

    def _alone(self) -> AbstractContextManager[None]:
        """Nobody else saves topics of this model until it ends; before any are saved, all may."""
        folder = self._topics_folder
        if folder is None or not folder.is_dir():
            return nullcontext()
        return TOPICS.locked(folder)

    def _own_tree(self) -> TopicTree | None:
        """The topics that are known, or None where there are none or those of another model."""
        folder = self._topics_folder
        saved = self._tree is None and folder is not None and TOPICS.exists(folder)
        if saved and TOPICS.open(folder or "").content.get("model") != self.fingerprint:
            return None
        return self._saved_tree()

    def _keep(self, tree: TopicTree) -> None:
        """Save topics, then take them: what cannot be saved changes nothing."""
        folder = self._topics_folder
        if folder is not None:
            try:
                build = self.store.opened.build
            except InvalidModelFile:  # without documents there are still topics
                build = ""
            tree.save(folder, self.fingerprint, build)
        self._tree = tree
