"""Are topics good? Against labels, plain k-means and LDA, over seeds; and how fast they are found.

    python benchmarks/development.py --data FOLDER --out COUNTS
    python benchmarks/topics.py --counts COUNTS --features FOLDER     # keeps features there
    python benchmarks/topics.py --speed                               # a million documents

Trains the default model on the training part of each collection and groups its documents, without
labels: at the number of labels, beside k-means (ten starts) on the same features; then with the
number that is found. On 20 Newsgroups also 50 topics, LDA with as many, and two seeds compared.
The words that are measured are those a user sees, ten a topic: of every model's groups chosen by
`docboltz.topics.naming` and kept apart, without phrases; beside them LDA's own ten most probable.
"""

from __future__ import annotations

import argparse
import resource
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack
from sklearn.cluster import KMeans

from development import load_split
from docboltz import OverReplicatedSoftmax
from docboltz.baselines import LatentDirichletAllocation
from docboltz.evaluation.groups import compare_groups, stability
from docboltz.evaluation.topic_words import topic_coherence, topic_diversity
from docboltz.plots import COLOURS, GREY, HEIGHT, MARKERS, WIDTH, save
from docboltz.search.vectors import unit_vectors
from docboltz.topics.calibration import calibrated, opinions
from docboltz.topics.description import KEPT_WORDS
from docboltz.topics.grouping import find_topics
from docboltz.topics.mixture import TopicMixture
from docboltz.topics.naming import choose_words, scores_together, word_scores
from docboltz.topics.nowhere import documents_of, with_limits
from docboltz.topics.number import choose_number

FIVE = ("bbc-news", "citeseer-m10", "dblp", "dbpedia-it", "pascal-flickr")
NEWSGROUPS = "20news-2000"
Integers = NDArray[np.int64]


def features_of(name: str, seed: int, counts: csr_array, kept: Path) -> NDArray[np.float32]:
    """Features of the training documents by the default model; kept in a folder."""
    file = kept / f"{name}-{seed}.npy"
    if not file.exists():
        kept.mkdir(parents=True, exist_ok=True)
        model = OverReplicatedSoftmax(random_state=seed).fit(counts)
        np.save(file, model.transform(counts, "fast"))
    features: NDArray[np.float32] = np.load(file)
    return features


def words_shown(groups: Integers, presence: csr_array) -> list[list[int]]:
    """Columns of the ten words that groups are shown with, chosen as for topics of a model."""
    T, K = int(groups.max()) + 1, presence.shape[1]
    column = {f"{i * 2654435761 % 2**32:08x}": i for i in range(K)}  # no two of one stem
    scores = scores_together(word_scores(presence, groups, T), presence)
    chosen = choose_words(scores, list(column), k=KEPT_WORDS)
    return [[column[word] for word in words[:10]] for words in chosen]


def words_measured(
    words: list[list[int]], groups: Integers, presence: csr_array, asked: csr_array
) -> dict[str, float]:
    """NPMI of topics' words, without smoothing: over the documents that topics come from, by topic
    and by document, whose topic's words it sees; over others; and how diverse words are."""
    full = [topic for topic, own in enumerate(words) if len(own) == 10]
    own = [words[topic] for topic in full]
    npmi = topic_coherence(own, presence, smoothing=0)
    sizes = np.bincount(groups[groups >= 0], minlength=len(words))[full]
    return {
        "NPMI": float(npmi.mean()),
        "NPMI, mean of documents": float(np.average(npmi, weights=sizes)),
        "NPMI in test documents": float(topic_coherence(own, asked, smoothing=0).mean()),
        "diversity": topic_diversity(own),
    }


class Bins(NamedTuple):
    """How sure documents' topics are, in ten bins, and how often other mixtures agree."""

    probability: NDArray[np.float64]
    agreement: NDArray[np.float64]
    documents: NDArray[np.int64]

    @property
    def error(self) -> float:
        """Mean difference of the two."""
        return float(np.average(np.abs(self.probability - self.agreement), weights=self.documents))


def agreement(topics: TopicMixture, vectors: NDArray[np.float32], presence: csr_array) -> Bins:
    """Probabilities beside the agreement of mixtures that calibration has not seen."""
    found = topics.assign(vectors, presence)
    heard = list(opinions(topics, vectors, presence, seed=12345))
    p = np.concatenate([found.probability[o.rows] for o in heard])
    agreed = np.concatenate([found.topic[o.rows] == o.topic for o in heard])
    place = np.unique(np.minimum((10 * p).astype(int), 9), return_inverse=True)[1]
    n = np.bincount(place)
    return Bins(np.bincount(place, p) / n, np.bincount(place, agreed) / n, n)


def nowhere(
    topics: TopicMixture, presence: csr_array, asked: csr_array, rng: np.random.Generator
) -> dict[str, float]:
    """Shares of documents that belong nowhere: of real ones, learnt from and not, and of as many
    words drawn from the collection, each once; also by their number."""
    sizes = np.diff(asked.indptr)
    asked = asked[sizes > 0]
    drawn = {"drawn, as long": sizes[sizes > 0]}
    drawn |= {f"drawn, {n} words": np.full(2000, n) for n in (5, 10, 20, 40)}
    documents = {"learnt from": presence, "not learnt from": asked}
    for what, lengths in drawn.items():
        rows = [presence.indices[rng.integers(presence.nnz, size=n)] for n in lengths]
        own = [documents_of(np.unique(row)[None], presence.shape[1]) for row in rows]
        documents[what] = csr_array(vstack(own))
    found = {}
    for what, some in documents.items():
        none = np.zeros((some.shape[0], topics.directions.shape[1]), np.float32)
        found[what] = float((topics.assign(none, some).topic < 0).mean())  # whatever the features
    return found


def draw(bins: dict[str, Bins], out: Path) -> None:
    """Agreement by probability, a line a collection; on the diagonal they are equal."""
    figure = Figure((WIDTH, HEIGHT), layout="constrained", facecolor="white")
    axes = figure.subplots()
    axes.plot([0, 1], [0, 1], color=GREY, linewidth=1)
    for number, (name, found) in enumerate(bins.items()):
        often = found.documents >= 30
        style = {"color": COLOURS[number % 7], "marker": MARKERS[number % 8], "markersize": 4}
        axes.plot(found.probability[often], found.agreement[often], label=name, **style)
    axes.set_xlabel("Probability of the topic")
    axes.set_ylabel("Others agree")
    axes.legend(fontsize=7, frameon=False)
    save(figure, out)


def collection(
    name: str, seeds: int, counts: Path, kept: Path, seen: dict[str, Bins]
) -> dict[str, list[float]]:
    """All measures of a collection, one value a seed; `seen` gets the first seed's bins."""
    split, other = load_split(counts, name, "test")
    asked = csr_array((other.counts > 0).astype(np.float32))
    labels, T = split.labels, split.labels.shape[1]
    presence = csr_array((split.counts > 0).astype(np.float32))
    found: dict[str, list[float]] = {}

    def note(what: str, value: float) -> None:
        found.setdefault(what, []).append(value)

    before: dict[int, Integers] = {}
    for seed in range(seeds):
        features = features_of(name, seed, split.counts, kept)
        vectors = unit_vectors(features, features.mean(axis=0))
        plain = KMeans(T, n_init=10, random_state=seed).fit_predict(vectors)
        for what, groups in {
            "k-means": plain,
            "plain start": KMeans(T, n_init=1, random_state=seed).fit_predict(vectors),
        }.items():
            note(f"accuracy, {what}", compare_groups(groups, labels).accuracy)
            note(f"NMI, {what}", compare_groups(groups, labels).nmi)
        topics = with_limits(find_topics(vectors, presence, T, seed=seed), vectors, presence)
        topics = calibrated(topics, vectors, presence)
        for what, share in nowhere(topics, presence, asked, np.random.default_rng(seed)).items():
            note(f"nowhere, {what}", share)
        own = topics.assign(vectors, presence).topic
        note("accuracy", compare_groups(own, labels).accuracy)
        note("NMI", compare_groups(own, labels).nmi)
        bins = agreement(topics, vectors, presence)
        note("calibration error", bins.error)
        seen.setdefault(name, bins)
        number = choose_number(vectors, presence, seed=seed)
        note("number found", number)
        groups = find_topics(vectors, presence, number, seed=seed).assign(vectors, presence).topic
        note("NMI, number found", compare_groups(groups, labels).nmi)
        if name == NEWSGROUPS:
            for n in (20, 50):
                if n != T:
                    own = (
                        find_topics(vectors, presence, n, seed=seed).assign(vectors, presence).topic
                    )
                    note(f"NMI, {n}", compare_groups(own, labels).nmi)
                lda = LatentDirichletAllocation(n, inference_sweeps=20, random_state=seed)
                theirs = lda.fit_transform(split.counts).argmax(axis=1)
                note(f"NMI, {n}, LDA", compare_groups(theirs, labels).nmi)
                ranked = np.argsort(-lda.components_, axis=1, kind="stable")[:, :10]
                for who, some, words in (
                    ("ORS", own, words_shown(own, presence)),
                    ("LDA", theirs, words_shown(theirs, presence)),
                    ("LDA's own words", theirs, ranked.tolist()),
                ):
                    for what, value in words_measured(words, some, presence, asked).items():
                        note(f"{what}, {n}, {who}", value)
                if n in before:
                    note(f"ARI between seeds, {n}", stability(before[n], own))
                before[n] = own
    return found


def speed(n: int, F: int, K: int) -> None:
    """Time and memory for many documents, made up."""
    rng = np.random.default_rng(0)
    topic = rng.integers(50, size=n)
    middle = rng.normal(size=(50, F)).astype(np.float32)
    vectors = middle[topic]
    for begin in range(0, n, 65_536):
        vectors[begin : begin + 65_536] += rng.normal(size=vectors[begin : begin + 65_536].shape)
    vectors = unit_vectors(vectors, vectors.mean(axis=0))
    words = (topic[:, None] * 97 + rng.geometric(0.02, size=(n, 8))) % K
    rows = np.arange(0, 8 * n + 1, 8)
    presence = csr_array(
        (np.ones(8 * n, np.float32), words.reshape(-1).astype(np.int32), rows), (n, K)
    )
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begin_time = time.perf_counter()
    number = choose_number(vectors, presence)
    topics = with_limits(find_topics(vectors, presence, number), vectors, presence)
    topics = calibrated(topics, vectors, presence)
    seconds = time.perf_counter() - begin_time
    begin_time = time.perf_counter()
    topics.assign(vectors, presence)
    rate = n / (time.perf_counter() - begin_time)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(
        f"{n:,} documents, {F} features: {number} topics in {seconds:.0f} s; "
        f"{rate:,.0f} assigned a second; memory {before / 2**20:.1f} GiB before, "
        f"{memory / 2**20:.1f} GiB at most"
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--counts", type=Path, help="made by development.py")
    parser.add_argument("--features", type=Path, default=Path("features"), help="kept there")
    parser.add_argument("--only", nargs="*", default=[*FIVE, NEWSGROUPS])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--picture", type=Path, help="draws how sure topics are: a .svg file")
    parser.add_argument("--speed", action="store_true", help="only that, with made-up documents")
    given = parser.parse_args()
    if given.speed:
        speed(1_000_000, 128, 5000)
        return
    every: dict[str, dict[str, list[float]]] = {}
    bins: dict[str, Bins] = {}
    for name in given.only:
        every[name] = collection(name, given.seeds, given.counts, given.features, bins)
        print(f"\n| {name} | mean | each seed |\n|---|---|---|")
        for what, values in every[name].items():
            each = " ".join(f"{value:.3f}" for value in values)
            print(f"| {what} | {np.mean(values):.3f} | {each} |", flush=True)
    if given.picture:
        draw(bins, given.picture)
    five = [every[name] for name in FIVE if name in every]
    if five:
        gain = [np.mean(m["accuracy"]) - np.mean(m["accuracy, k-means"]) for m in five]
        other = [np.mean(m["accuracy"]) - np.mean(m["accuracy, plain start"]) for m in five]
        print(f"\naccuracy above k-means of ten starts: {np.mean(gain):+.3f}")
        print(f"and above one of a single start: {np.mean(other):+.3f}")


if __name__ == "__main__":
    main()
