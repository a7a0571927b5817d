"""The topics of a collection, found, changed by hand, saved and read again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from docboltz.answers import Topic, Topics
from docboltz.errors import InvalidParameter, is_whole, require
from docboltz.search.query import is_text
from docboltz.storage import (
    PARAMETERS,
    Arrays,
    Bundle,
    StrPath,
    load_model,
    save_model,
    typed,
)
from docboltz.topics.description import Collection, Node, describe, name_words
from docboltz.topics.mixture import Assignment, Floats, TopicMixture, mixture_of, tally
from docboltz.topics.naming import name_of

TOPICS = Bundle(
    noun="list of topics",
    format="docboltz-topics",
    version=2,
    manifest="topics.json",
    files=(PARAMETERS,),
    remedy="Remove the folder: they are found again when they are asked for.",
    patience=60.0,
)
Progress = Callable[[int, int], None]
MOST_PARTS = 50


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
    highest: int = 0
    """The highest number any topic has had: none is given twice."""
    asked: int | None = None
    """How many topics were asked for; fewer may have documents."""
    origin: str = ""
    """What tells the search that found them from others: changes by hand keep it, and numbers."""

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
        from docboltz.topics.nowhere import with_limits
        from docboltz.topics.number import choose_number

        vectors, presence, asked = collection.vectors, collection.presence, number
        if number is None:
            number = choose_number(vectors, presence, seed=seed, progress=progress)
        mixture = find_topics(vectors, presence, number, seed=seed)
        mixture = with_limits(mixture, vectors, presence, seed=seed)
        mixture = calibrated(mixture, vectors, presence, seed=seed)
        numbers = np.arange(mixture.n_topics)
        tree = cls(mixture, numbers, (), (), Assignment(numbers[:0], np.empty(0, np.float32)))
        nodes = tuple(_nodes(mixture, vectors, collection))
        highest = max(node.number for node in nodes)
        origin = sha256(mixture.words.tobytes()).hexdigest()
        tree = replace(tree, nodes=nodes, highest=highest, asked=asked, origin=origin)
        return tree.on(collection)

    def on(self, collection: Collection, *, keep_words: bool = False) -> TopicTree:
        """The same topics, described anew; of other documents with the words they had."""
        known = {topic.number: topic for topic in self.topics} if keep_words else {}
        hidden = frozenset(self.hidden)
        topics, assignment = describe(
            self.nodes, self.numbers, self.mixture, collection, hidden, known
        )
        return replace(self, topics=topics, assignment=assignment)

    def shown(self, levels: Sequence[int], words: int) -> Topics:
        """Topics of some levels with so many words, as an answer."""
        some = (topic for topic in self.topics if topic.level in levels)
        cut = (replace(t, words=t.words[:words], expected=t.expected[:words]) for t in some)
        broader = sum(topic.level == 0 for topic in self.topics)
        title = f"{self.n_topics} topics"
        return Topics(cut, title=title + (f" in {broader}" if len(self.topics) > broader else ""))

    @property
    def n_topics(self) -> int:
        """Number of topics that documents are assigned to."""
        return len(np.unique(self.numbers))

    def of_level(self, level: int) -> list[Topic]:
        """The topics of a level, largest first: 0 is the broadest, −1 the finest."""
        wanted = range(1 + max(topic.level for topic in self.topics))[level]
        found = [topic for topic in self.topics if topic.level == wanted]
        return sorted(found, key=lambda topic: (-topic.documents, topic.number))

    def broader(self, level: int) -> dict[int, int]:
        """The topic of that level that each of the finest belongs to, by their numbers."""
        up = {node.number: node for node in self.nodes}
        wanted = {topic.number for topic in self.of_level(level)}
        found = {}
        for number in set(self.numbers.tolist()):
            node = up[number]
            while node.number not in wanted and node.parent is not None:
                node = up[node.parent]
            found[number] = node.number
        return found

    # ---- changed by hand ----

    def rename(self, number: int, name: str) -> TopicTree:
        """Call a topic by another name; "" for the name that its words make."""
        self._require(number, "rename_topic", self._all)
        require(is_text(name), "TextModel.rename_topic", "name", "a string in Unicode", name)
        name = name.strip()
        own = self._same_as(number)
        nodes = tuple(replace(n, name=name) if n.number in own else n for n in self.nodes)
        topics = tuple(
            replace(t, name=name or self._own_name(t)) if t.number in own else t
            for t in self.topics
        )
        return replace(self, nodes=nodes, topics=topics, edited=True)

    def hide(self, words: Iterable[str], collection: Collection) -> TopicTree:
        """Show words no more."""
        own = _words(words, "hide_words")
        hidden = tuple(dict.fromkeys([*self.hidden, *own]))
        return replace(self, hidden=hidden, edited=True).on(collection)

    def show(self, words: Iterable[str], collection: Collection) -> TopicTree:
        """Show words again that were hidden."""
        own = set(_words(words, "show_words"))
        unknown = sorted(own - {*self.hidden})
        expected = f"words that are hidden: {', '.join(self.hidden) or 'there are none'}"
        require(not unknown, "TextModel.show_words", "words", expected, unknown)
        hidden = tuple(word for word in self.hidden if word not in own)
        return replace(self, hidden=hidden, edited=True).on(collection)

    def merge(self, numbers: Sequence[int], collection: Collection) -> TopicTree:
        """Make one topic of several; it keeps the number, the name and the place of the first.

        The mixture keeps them apart and adds up their probabilities, so that no document is lost.
        """
        own = list(dict.fromkeys(numbers))
        for number in own:
            self._require(number, "merge_topics", self.numbers.tolist())
        require(len(own) > 1, "TextModel.merge_topics", "numbers", "two topics or more", numbers)
        one = np.where(np.isin(self.numbers, own), own[0], self.numbers)
        return self._changed(self.mixture, one, self.nodes, collection)

    def split(self, number: int, collection: Collection, into: int = 2) -> TopicTree:
        """Make several topics of one; the largest keeps its number, the others get new ones.

        A merged topic comes apart into those it was made of, however many.
        """
        self._require(number, "split_topic", self.numbers.tolist())
        require(
            is_whole(into) and 2 <= into <= MOST_PARTS,
            "TextModel.split_topic",
            "into",
            f"into 2 parts or more, up to {MOST_PARTS}",
            into,
        )
        own = np.flatnonzero(self.numbers == number)
        mixture, numbers = self.mixture, self.numbers
        if len(own) == 1:
            mixture = self._parted(int(own[0]), collection, int(into))
            n_new = mixture.n_topics - len(numbers)
            own = np.append(own, np.arange(len(numbers), mixture.n_topics))
            numbers = np.append(numbers, np.full(n_new, number))
        new = self.highest + 1 + np.arange(len(own) - 1)
        numbers = numbers.copy()
        numbers[own[1:]] = new
        node = next(node for node in self.nodes if node.number == number)
        nodes = (*self.nodes, *(replace(node, number=int(k), name="") for k in new))
        changed = self._changed(mixture, numbers, nodes, collection)
        return replace(changed, highest=int(new[-1]))

    def _parted(self, column: int, collection: Collection, into: int) -> TopicMixture:
        """The mixture with one topic in parts: its column becomes the largest, others follow.

        Each part has the topic's words and direction as far as its documents do not differ.
        """
        from docboltz.topics.grouping import find_topics, k_means

        number = self.numbers[column]
        rows = np.flatnonzero(self.assignment.topic[collection.rows] == number)
        vectors = np.asarray(collection.vectors[rows], np.float32)
        presence = collection.presence[rows]
        group = np.zeros(len(rows), np.int64)
        if len(rows) >= 2 * into:
            found = find_topics(vectors, presence, into, seed=len(self.nodes))
            group = found.scores(vectors, presence).argmax(axis=1)
            if len(np.unique(group)) < into:
                group = k_means(vectors, into, len(self.nodes))
        sizes = np.bincount(group)
        if np.count_nonzero(sizes) < into:
            raise InvalidParameter(
                f"Topic {number} has {len(rows):,} documents that cannot be told apart."
            )
        shares = np.eye(len(sizes), dtype=np.float32)[group][:, np.argsort(-sizes, kind="stable")]
        parts = mixture_of(tally(vectors, presence, shares))
        old = self.mixture
        length = np.linalg.norm(old.directions[column])
        own = parts.directions / np.linalg.norm(parts.directions, axis=1, keepdims=True)
        prior = old.prior[column] + np.log(shares.mean(axis=0))
        words = old.words[:, [column]] + parts.words
        rest = np.arange(old.n_topics) != column

        def with_parts(array: Floats, new: Floats) -> Floats:
            """The first part in the topic's place, the others behind all topics."""
            replaced = array.copy()
            replaced[~rest] = new[:1]
            return np.concatenate([replaced, new[1:]]).astype(np.float32)

        return replace(
            old,
            directions=with_parts(old.directions, length * own),
            words=with_parts(old.words.T, words.T).T.copy(),
            prior=with_parts(old.prior, prior),
        )

    def _changed(
        self,
        mixture: TopicMixture,
        numbers: NDArray[np.int64],
        nodes: Iterable[Node],
        collection: Collection,
    ) -> TopicTree:
        """With other topics; broader ones without any are gone."""
        by_number = {node.number: node for node in nodes}
        kept: set[int | None] = set(numbers.tolist())
        for level in range(max(node.level for node in by_number.values()), 0, -1):
            kept |= {n.parent for n in by_number.values() if n.level == level and n.number in kept}
        left = tuple(node for node in by_number.values() if node.number in kept)
        changed = replace(self, mixture=mixture, numbers=numbers, nodes=left, edited=True)
        return changed.on(collection)

    def _same_as(self, number: int) -> set[int]:
        """A topic, and broader or finer ones that hold the same documents: only children."""
        children = Counter(node.parent for node in self.nodes)
        links = [
            (node.number, node.parent)
            for node in self.nodes
            if node.parent is not None and children[node.parent] == 1
        ]
        own = {number}
        for _ in links:
            own |= {n for link in links if own & {*link} for n in link}
        return own

    def _own_name(self, topic: Topic) -> str:
        """The name that a topic has unless a person gives it another."""
        words = name_words(topic.number, topic.words, self.topics)
        return name_of(words) or f"topic {topic.number}"

    @property
    def _all(self) -> list[int]:
        return [node.number for node in self.nodes]

    def _require(self, number: object, owner: str, known: list[int]) -> None:
        finest = "" if len(known) == len(self._all) else "one of the finest topics, not a broader: "
        expected = f"{finest}the number of a topic, such as {', '.join(map(str, known[:3]))}"
        require(number in known, f"TextModel.{owner}", "topic", expected, number)

    # ---- saved ----

    def save(self, folder: StrPath, model: str, store: str) -> None:
        """Write to a folder of its own; `model` and `store` say what it belongs to."""
        arrays: Arrays = {
            "directions": self.mixture.directions,
            "words": self.mixture.words,
            "prior": self.mixture.prior,
            "lengths": self.mixture.lengths,
            "limits": self.mixture.limits,
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
            "highest": self.highest,
            "asked": self.asked,
            "origin": self.origin,
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
        names = "directions", "words", "prior", "lengths", "limits"
        directions, words, prior, lengths, limits = (arrays[name] for name in names)
        mixture = TopicMixture(directions, words, prior, *heat, lengths, limits)
        numbers = arrays["numbers"].astype(np.int64)
        T = len(numbers)
        shapes = len(mixture.directions), mixture.words.shape[1], mixture.n_topics
        if set(shapes) != {T} or not all(map(np.isfinite, heat)) or heat[0] <= 0:
            raise ValueError(f"{shapes} do not fit {T} topics")
        if lengths.ndim != 1 or lengths.shape != limits.shape or (np.diff(lengths) <= 0).any():
            raise ValueError("each number of words, rising, has a limit")
        topics = tuple(map(Topic.of_dict, content["topics"]))
        nodes = typed(tuple[Node, ...], content["nodes"], "nodes")
        level = {node.number: node.level for node in nodes}
        above = (0 if n.parent is None else level.get(n.parent, -2) + 1 for n in nodes)
        described = [(topic.number, topic.parent, topic.level) for topic in topics]
        known = [(node.number, node.parent, node.level) for node in nodes]
        if len(level) != len(nodes) or [*above] != [node.level for node in nodes]:
            raise ValueError("topics and broader ones do not make a tree")
        if sorted(known, key=str) != sorted(described, key=str) or not {*numbers.tolist()} <= {
            *level
        }:
            raise ValueError("other topics are described than there are")
        assignment = Assignment(arrays["topic"].astype(np.int64), arrays["probability"])
        if not all(np.isfinite(array).all() for array in arrays.values()):
            raise ValueError("numbers of topics are finite")
        hidden, asked = typed(tuple[str, ...], content["hidden"], "hidden"), content["asked"]
        return cls(
            mixture,
            numbers,
            nodes,
            topics,
            assignment,
            hidden,
            content["edited"] is True,
            int(content["highest"]),
            None if asked is None else int(asked),
            str(content["origin"]),
        )


def _words(words: Iterable[str], owner: str) -> list[str]:
    """A list of words; a string alone would be one of letters."""
    own = [words] if isinstance(words, str) else list(words)
    ok = not isinstance(words, str) and all(map(is_text, own))
    require(ok, f"TextModel.{owner}", "words", "a list of words", words)
    return own


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
