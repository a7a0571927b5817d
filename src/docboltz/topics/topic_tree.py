"""The topics of a collection, found, changed by hand, saved and read again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from docboltz.answers import Topic, Topics
from docboltz.bundles import Bundle
from docboltz.errors import InvalidParameter, require
from docboltz.files import StrPath
from docboltz.settings import strings
from docboltz.storage import PARAMETERS, Arrays, load_model, save_model
from docboltz.topics.description import Collection, Node, describe
from docboltz.topics.mixture import Assignment, Floats, TopicMixture, mixture_of, tally

TOPICS = Bundle(
    noun="list of topics",
    format="docboltz-topics",
    version=1,
    manifest="topics.json",
    files=(PARAMETERS,),
    remedy="Find them again: remove the folder, or index the documents again with "
    "{TextModel.index}.",
    settings=("TextModel.index",),
    patience=60.0,
)
Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class TopicTree:
    """Topics, the broader ones they join into, and where the documents of a collection belong."""

    mixture: TopicMixture
    numbers: NDArray[np.int64]
    """Number of each of the mixture's topics: (T,)."""
    nodes: tuple[Node, ...]
    topics: tuple[Topic, ...]
    """All of `nodes`, described: each before those it is made of."""
    assignment: Assignment
    """Of the collection's documents."""
    hidden: tuple[str, ...] = ()
    """Words that are not to be shown."""
    edited: bool = False
    """Whether a person has changed it, and finding topics anew would lose that."""

    # ---- found ----

    @classmethod
    def find(
        cls,
        collection: Collection,
        number: int | None = None,
        *,
        seed: int = 0,
        progress: Progress = lambda done, of: None,
    ) -> TopicTree:
        """Look for topics; without a `number` as many as the collection has."""
        # Whoever asks for topics that are known waits for none of these.
        from docboltz.topics.calibration import calibrated
        from docboltz.topics.grouping import find_topics
        from docboltz.topics.number import choose_number

        vectors, presence = collection.vectors, collection.presence
        if number is None:
            number = choose_number(vectors, presence, seed=seed, progress=progress)
        mixture = find_topics(vectors, presence, number, seed=seed)
        mixture = calibrated(mixture, vectors, presence, seed=seed)
        numbers = np.arange(mixture.n_topics)
        tree = cls(mixture, numbers, (), (), Assignment(numbers[:0], np.empty(0, np.float32)))
        return tree._with_nodes(_nodes(mixture, vectors, collection), collection)

    def on(self, collection: Collection) -> TopicTree:
        """The same topics of other documents."""
        topics, assignment = describe(
            self.nodes, self.numbers, self.mixture, collection, frozenset(self.hidden)
        )
        return replace(self, topics=topics, assignment=assignment)

    def _with_nodes(self, nodes: Iterable[Node], collection: Collection) -> TopicTree:
        return replace(self, nodes=tuple(nodes)).on(collection)

    def shown(self, levels: Sequence[int], words: int) -> Topics:
        """Topics of some levels with so many words, as an answer."""
        some = (topic for topic in self.topics if topic.level in levels)
        cut = (replace(t, words=t.words[:words], expected=t.expected[:words]) for t in some)
        broader = sum(topic.level == 0 for topic in self.topics)
        title = f"{len(self.numbers)} topics"
        return Topics(cut, title=title + (f" in {broader}" if len(self.topics) > broader else ""))

    @property
    def leaves(self) -> list[Topic]:
        """The topics that documents are assigned to, largest first."""
        own = set(self.numbers.tolist())
        found = [topic for topic in self.topics if topic.number in own]
        return sorted(found, key=lambda topic: (-topic.documents, topic.number))

    # ---- changed by hand ----

    def rename(self, number: int, name: str) -> TopicTree:
        """Call a topic by another name; "" for the name that its words make."""
        self._require(number, "rename_topic", self._all)
        require(isinstance(name, str), "rename_topic", "name", "a string", name)
        nodes = tuple(replace(n, name=name) if n.number == number else n for n in self.nodes)
        return replace(self, nodes=nodes, edited=True)

    def hide(self, words: Sequence[str]) -> TopicTree:
        """Show words no more."""
        ok = not isinstance(words, str) and all(isinstance(word, str) for word in words)
        require(ok, "hide_words", "words", "a list of words", words)
        hidden = tuple(dict.fromkeys([*self.hidden, *words]))
        return replace(self, hidden=hidden, edited=True)

    def merge(self, numbers: Sequence[int], collection: Collection) -> TopicTree:
        """Make one topic of several; it keeps the number and the name of the first."""
        own = list(dict.fromkeys(numbers))
        for number in own:
            self._require(number, "merge_topics", self.numbers.tolist())
        require(len(own) > 1, "merge_topics", "numbers", "two topics or more", numbers)
        at = {int(number): i for i, number in enumerate(self.numbers)}
        shares = self._shares(collection)
        shares[:, at[own[0]]] = shares[:, [at[number] for number in own]].sum(axis=1)
        left = [i for i, number in enumerate(self.numbers) if int(number) not in own[1:]]
        return self._learnt(shares[:, left], self.numbers[left], self.nodes, collection)

    def split(self, number: int, collection: Collection, into: int = 2) -> TopicTree:
        """Make several topics of one; the largest keeps its number, the others get new ones."""
        from docboltz.topics.grouping import find_topics

        self._require(number, "split_topic", self.numbers.tolist())
        ok = isinstance(into, int) and into >= 2
        require(ok, "split_topic", "into", "2 topics or more", into)
        rows = np.flatnonzero(self.assignment.topic == number)
        if len(rows) < 2 * into:
            raise InvalidParameter(f"Topic {number} has {len(rows):,} documents: too few to split.")
        vectors, presence = collection.vectors[rows], collection.presence[rows]
        parts = find_topics(vectors, presence, into, seed=len(self.nodes))
        column = int(np.flatnonzero(self.numbers == number)[0])
        shares = self._shares(collection)
        inside = np.zeros((len(shares), parts.n_topics), np.float32)
        inside[rows, parts.scores(vectors, presence).argmax(axis=1)] = 1
        rest = shares[:, column].copy()
        rest[rows] = 0
        inside[:, 0] += rest
        first = max(self._all) + 1
        new = np.arange(first, first + parts.n_topics - 1)
        own = next(node for node in self.nodes if node.number == number)
        nodes = (*self.nodes, *(replace(own, number=int(k), name="") for k in new))
        shares[:, column] = inside[:, 0]
        both = np.hstack([shares, inside[:, 1:]])
        return self._learnt(both, np.append(self.numbers, new), nodes, collection)

    def _learnt(
        self,
        shares: Floats,
        numbers: NDArray[np.int64],
        nodes: Iterable[Node],
        collection: Collection,
    ) -> TopicTree:
        """With the topics that documents have shares in; broader ones without any are gone."""
        statistics = tally(np.asarray(collection.vectors), collection.presence, shares)
        mixture = replace(
            mixture_of(statistics),
            temperature=self.mixture.temperature,
            growth=self.mixture.growth,
        )
        by_number = {node.number: node for node in nodes}
        kept: set[int | None] = set(numbers.tolist())
        for level in range(max(node.level for node in by_number.values()), 0, -1):
            kept |= {n.parent for n in by_number.values() if n.level == level and n.number in kept}
        left = tuple(node for node in by_number.values() if node.number in kept)
        return replace(self, mixture=mixture, numbers=numbers, nodes=left, edited=True)

    def _shares(self, collection: Collection) -> Floats:
        """1 for the topic of each document: (n, T)."""
        shares = np.zeros((collection.presence.shape[0], len(self.numbers)), np.float32)
        rows, columns = np.nonzero(self.assignment.topic[:, None] == self.numbers)
        shares[rows, columns] = 1
        return shares

    @property
    def _all(self) -> list[int]:
        return [node.number for node in self.nodes]

    def _require(self, number: object, owner: str, known: list[int]) -> None:
        expected = f"the number of a topic, such as {', '.join(map(str, known[:3]))}"
        require(number in known, f"TextModel.{owner}", "number", expected, number)

    # ---- saved ----

    def save(self, folder: StrPath, model: str, store: str) -> None:
        """Write to a folder of its own; `model` and `store` say what it belongs to."""
        arrays: Arrays = {
            "directions": self.mixture.directions,
            "words": self.mixture.words,
            "prior": self.mixture.prior,
            "numbers": self.numbers,
            "topic": self.assignment.topic.astype(np.int32),
            "probability": self.assignment.probability,
        }
        content = {
            "model": model,
            "store": store,
            "temperature": self.mixture.temperature,
            "growth": self.mixture.growth,
            "nodes": [asdict(node) for node in self.nodes],
            "topics": [topic.to_dict() for topic in self.topics],
            "hidden": list(self.hidden),
            "edited": self.edited,
        }
        save_model(folder, arrays, content, TOPICS)

    @classmethod
    def load(cls, folder: StrPath, model: str) -> tuple[TopicTree, str]:
        """Read what `save` wrote, if it is of that model; also which store it belongs to."""
        arrays, content = load_model(folder, TOPICS)
        if content.get("model") != model:
            raise TOPICS.unusable(folder, "was made with another model than this one")
        with TOPICS.trusting(folder):
            tree = cls._of(arrays, content)
            return tree, str(content["store"])

    @classmethod
    def _of(cls, arrays: dict[str, Any], content: dict[str, Any]) -> TopicTree:
        heat = float(content["temperature"]), float(content["growth"])
        mixture = TopicMixture(arrays["directions"], arrays["words"], arrays["prior"], *heat)
        numbers = arrays["numbers"].astype(np.int64)
        T = len(numbers)
        shapes = len(mixture.directions), mixture.words.shape[1], mixture.n_topics
        if set(shapes) != {T} or not all(map(np.isfinite, heat)) or heat[0] <= 0:
            raise ValueError(f"{shapes} do not fit {T} topics")
        topics = tuple(map(Topic.of_dict, content["topics"]))
        nodes = tuple(Node(**node) for node in content["nodes"])
        if {topic.number for topic in topics} != {node.number for node in nodes}:
            raise ValueError("other topics are described than there are")
        assignment = Assignment(arrays["topic"].astype(np.int64), arrays["probability"])
        hidden = strings(content["hidden"])
        return cls(mixture, numbers, nodes, topics, assignment, hidden, content["edited"] is True)


def _nodes(mixture: TopicMixture, vectors: Floats, collection: Collection) -> list[Node]:
    """The tree over topics 0 to T − 1; broader ones have the numbers after them."""
    from docboltz.topics.tree import join, widths

    T = mixture.n_topics
    found = mixture.assign(vectors, collection.presence).topic
    inside = found >= 0
    sizes = np.bincount(found[inside], minlength=T).astype(np.float64)
    sums = np.zeros((T, vectors.shape[1]))
    for k in range(T):
        sums[k] = np.asarray(vectors[found == k], np.float32).sum(axis=0, dtype=np.float64)
    means, sizes = sums / np.maximum(sizes, 1)[:, None], np.maximum(sizes, 1)
    levels = widths(T)
    parents: dict[int, int | None] = {}
    below, next_number = np.arange(T), T
    for width in reversed(levels[:-1]):
        group = join(sizes, means, width)  # of the topics, for each level anew: Ward's is nested
        own = next_number + group
        for child, parent in zip(below.tolist(), own.tolist(), strict=True):
            parents[child] = parent
        below, next_number = own, next_number + width
    parents |= dict.fromkeys(below.tolist())

    def level_of(number: int) -> int:
        parent = parents[number]
        return 0 if parent is None else 1 + level_of(parent)

    return [Node(number, parent, level_of(number)) for number, parent in parents.items()]
