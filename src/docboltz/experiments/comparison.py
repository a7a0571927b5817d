"""Which model is best on these documents? Several, trained and tested on the same parts of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scipy.sparse import csr_array

from docboltz.baselines import Unigram
from docboltz.corpus.corpus import Corpus
from docboltz.corpus.split import Split
from docboltz.device import choose_device
from docboltz.errors import InvalidCorpus, InvalidParameter, require_count
from docboltz.evaluation.labels import labels_of
from docboltz.evaluation.retrieval import RECALL_POINTS
from docboltz.experiments.measuring import choose_to_predict
from docboltz.experiments.models import Settings, choose_models
from docboltz.experiments.record import Record, plain
from docboltz.experiments.running import Log, no_log, run
from docboltz.experiments.topics import usual_number
from docboltz.experiments.trial import Measures, Trial

DEFAULT_MODELS = ("ors", "rs", "docnade", "lda", "nmf", "lsi", "tfidf")
PREDICTED, PREDICTED_ON_CPU, LONGEST = 1000, 100, 1000
"""Perplexity is measured on at most so many test documents, of at most so many words: a CPU takes
long for more of them."""
FEW_TESTED = 100
NOT_REACHED = "interrupted before it was measured"


@dataclass
class Comparison:
    """What was measured, on what, and how."""

    records: list[Record]
    """One for each model, in the order asked for."""
    settings: Settings
    n_train: int
    n_test: int
    n_words: int
    """Size of the vocabulary."""
    mean_length: float
    """Words of a training document."""
    labels: str
    """What documents are labelled with: "one", "several" or "none"."""
    n_labels: int
    n_topics: int
    """Topics that training documents were put into, of every model."""
    n_predicted: int
    """Test documents whose words were predicted, for the perplexity."""
    unigram_perplexity: float
    remarks: list[str] = field(default_factory=list)
    """What was left out of the documents and of the measures, and why."""
    interrupted: bool = False

    @property
    def classification_name(self) -> str:
        """What the classification's measure is."""
        return "MAP" if self.labels == "several" else "accuracy"

    @property
    def trained(self) -> list[Record]:
        """The models there is something to show of."""
        return [record for record in self.records if record.trained]

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON can hold it."""
        known = {"recall_points": RECALL_POINTS, "classification": self.classification_name}
        found: dict[str, Any] = plain({**vars(self), **known})
        return found


def usual_recipe(device: str) -> str:
    """What there is time for: the best features on a GPU, good ones in a minute on a CPU."""
    return "quick" if choose_device(device, "compare").type == "cpu" else "full"


def density_measures(seed: int, device: str, **others: Any) -> Measures:
    """The same documents to predict for every model, not too many for the device."""
    on_cpu = choose_device(device, "compare").type == "cpu"
    n = PREDICTED_ON_CPU if on_cpu else PREDICTED
    return Measures(predicted=n, longest=LONGEST, predicted_seed=seed, **others)


def compare(
    split: Split,
    models: Sequence[str] = DEFAULT_MODELS,
    settings: Settings | None = None,
    *,
    n_topics: int | None = None,
    device: str = "auto",
    folder: Path | None = None,
    verbose: bool = False,
    log: Log = no_log,
) -> Comparison:
    """Train models on a split's training part and measure them on its test part, cheapest first.

    Parameters
    ----------
    split : the documents; `docboltz.corpus.split.count_split` makes one of texts.
    models : names of `docboltz.experiments.models.MODELS`.
    settings : size, recipe and seed, the same for all. Of the recipes only "density" gives the
        paper's models a perplexity.
    n_topics : how many topics training documents are put into, to judge those; by default as many
        as there are labels, from 2 to 50, or 20 without labels.
    device : "auto", "cpu" or "cuda".
    folder : where records are kept as they come. What is there already of the same settings and
        documents is not measured again.
    verbose : whether training shows its progress.
    log : called with a line for every step.

    A model that fails is in the result with its reason. Ctrl-C ends the comparison; what was
    measured until then is kept, if there is anything.
    """
    settings = settings or Settings(recipe=usual_recipe(device))
    if n_topics is not None:
        require_count(n_topics, "compare", "n_topics", 2)
    number = usual_number(split) if n_topics is None else n_topics
    measures = density_measures(settings.seed, device, topics=number)
    trials = {name: Trial(name, settings, measures) for name in choose_models(models)}
    found: dict[str, Record] = {}
    interrupted = False
    try:
        for record in run(
            sorted(trials.values(), key=lambda trial: trial.info.cost),
            lambda _: split,
            folder=folder,
            device=device,
            verbose=verbose,
            log=log,
        ):
            found[record.trial.model] = record
    except KeyboardInterrupt:
        if not any(record.trained for record in found.values()):
            raise
        interrupted = True
        for name in trials.keys() - found.keys():
            found[name] = Record(trials[name], split.fingerprint, "skipped", NOT_REACHED)
    records = [found[name] for name in trials]
    if not any(record.trained for record in records):
        reasons = "; ".join(f"{r.trial.info.title}: {r.reason}" for r in records)
        raise InvalidParameter(f"None of the models could be trained. {reasons}")
    return _describe(split, records, settings, measures, interrupted)


def _describe(
    split: Split, records: list[Record], settings: Settings, measures: Measures, interrupted: bool
) -> Comparison:
    train, test = split.train, split.test

    def without(what: str, training: int, test: int) -> list[str]:
        parts = ("training", training), ("test", test)
        return [f"{n:,} {part} document(s) without {what}." for part, n in parts if n]

    remarks = without("a word of the vocabulary left out", *split.n_empty)
    try:
        labels = labels_of(split)
        kind = "several" if labels.multilabel else "one"
        left_out = len(train) - len(labels.rows), len(test) - len(labels.test_rows)
        remarks += without("labels left out of retrieval and classification", *left_out)
    except InvalidCorpus as error:
        kind = "none"
        remarks.append(f"{error} Retrieval and classification were not measured.")
    if len(train) < 4 * settings.units:
        remarks.append(f"{len(train):,} training documents are few for {settings.units} units.")
    if len(test) < FEW_TESTED:
        remarks.append(f"{len(test):,} test documents are few: small differences mean nothing.")
    predicted = choose_to_predict(test.counts, measures)
    if any(record.perplexity is not None for record in records):
        remarks += _what_was_predicted(test, predicted)
    return Comparison(
        records,
        settings,
        len(train),
        len(test),
        len(train.vocabulary),
        float(train.lengths.mean()),
        kind,
        len({*train.label_names, *test.label_names}),
        measures.topics,
        predicted.shape[0],
        Unigram().fit(train.counts).perplexity(predicted).value,
        remarks,
        interrupted,
    )


def _what_was_predicted(test: Corpus, predicted: csr_array) -> list[str]:
    remarks = []
    too_long = int((test.lengths > LONGEST).sum())
    if too_long and predicted.sum(axis=1).max() <= LONGEST:
        remarks.append(
            f"{too_long:,} test document(s) of more than {LONGEST:,} words left out of perplexity."
        )
    if len(test) - too_long > predicted.shape[0]:
        remarks.append(f"Perplexity is of {predicted.shape[0]:,} test documents drawn at random.")
    return remarks
