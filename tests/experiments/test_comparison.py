"""Models side by side: measures, failures, going on."""

import warnings

import pytest

from docboltz.corpus.document import Document
from docboltz.errors import (
    InvalidCorpus,
    InvalidParameter,
    MissingPackageWarning,
    TrainingDiverged,
)
from docboltz.evaluation.labels import labels_of
from docboltz.experiments.comparison import DEFAULT_MODELS, compare, usual_recipe
from docboltz.experiments.comparison_report import notes, table, to_html
from docboltz.experiments.models import Settings
from docboltz.experiments.record import read_records
from tests.corpus.splits import THEMES, sentences, split_of

SMALL = Settings(units=4, recipe="quick", updates=20)


def compared(documents, models, settings=SMALL, **how):
    return compare(split_of(documents), models, settings, device="cpu", **how)


@pytest.fixture(scope="module")
def found():
    return compared(sentences(), [*DEFAULT_MODELS, "unigram"])


def test_every_model_has_what_can_be_measured(found):
    assert [record.trial.model for record in found.records] == [*DEFAULT_MODELS, "unigram"]
    by_name = {record.trial.model: record for record in found.records}
    for name, record in by_name.items():
        assert record.status == "done"
        assert record.seconds["training"] > 0
        assert record.n_parameters > 0
        assert (record.mean_average_precision is None) == (name == "unigram")
        assert (record.topics is None) == (name == "unigram")
        assert (record.perplexity is not None) == (name in ("docnade", "lda", "unigram"))
    assert by_name["tfidf"].mean_average_precision > 0.5
    assert by_name["unigram"].perplexity.value == pytest.approx(found.unigram_perplexity)
    assert by_name["ors"].n_parameters == 4 * found.n_words + found.n_words + 4


def test_every_model_puts_documents_into_as_many_topics_as_labels(found):
    assert found.n_topics == found.n_labels == 3
    by_name = {record.trial.model: record.topics for record in found.records if record.topics}
    for topics in by_name.values():
        assert len(topics.words) == len(topics.sizes) <= 3
        assert sum(topics.sizes) == topics.agreement.n_documents == found.n_train
    # Three themes that share no word: whoever looks at words finds them.
    for name in ("tfidf", "lsi", "nmf"):
        topics = by_name[name]
        assert (topics.agreement.accuracy, topics.agreement.nmi) == (1, 1)
        assert topics.intrusion > 0.9  # the judge knows 12 test documents only; chance is 1/6
        found_words = {frozenset(words[:7]) for words in topics.words}
        assert found_words == {frozenset(words) for words in THEMES.values()}


def test_the_number_of_topics_may_be_given():
    found = compared(sentences(), ["lda", "lsi"], n_topics=5)
    assert found.n_topics == 5
    assert len(found.records[1].topics.words) == 5
    with pytest.raises(InvalidParameter, match="'n_topics' parameter of compare"):
        compared(sentences(), ["lsi"], n_topics=1)


def test_the_recipe_density_has_a_perplexity():
    settings = Settings(units=3, recipe="density", updates=5)
    [record] = compared(sentences(), ["ors"], settings).records
    assert record.perplexity.value > 1
    assert record.perplexity.error > 0


def test_a_recipe_without_a_density_says_which_has_one():
    found = compared(sentences(), ["rs"], Settings(units=3, recipe="full", updates=5))
    [record] = found.records
    assert (record.status, record.perplexity) == ("done", None)
    [note] = [note for note in notes(found) if "perplexity" in note]
    assert note.startswith("RS: perplexity not measured: the recipe 'full' makes no density")
    assert "the recipe 'density' does" in note


def test_few_documents_are_classified_by_features_of_any_scale(found):
    """Where no penalty is chosen, tf-idf weights need a weaker one than standardised features."""
    by_name = {record.trial.model: record for record in found.records}
    assert by_name["tfidf"].classification == by_name["lsi"].classification == 1


def test_few_test_documents_are_remarked(found):
    assert "12 test documents are few: small differences mean nothing." in found.remarks


def test_documents_without_labels_have_no_retrieval():
    found = compared(sentences(labels=0), ["rs", "lda"])
    assert (found.labels, found.records[0].mean_average_precision) == ("none", None)
    assert found.records[1].perplexity.value > 1
    assert any("no labels" in remark for remark in found.remarks)
    assert not {"MAP", "NMI"} & {*table(found)[0]}
    assert found.n_topics == 20
    assert found.records[0].topics.agreement is None
    assert "<svg" not in to_html(found)


def test_documents_with_several_labels():
    found = compared(sentences(labels=2), ["tfidf"])
    assert (found.labels, found.classification_name) == ("several", "MAP")
    assert 0 < found.records[0].classification <= 1


def test_documents_left_out_for_want_of_words_or_labels_are_remarked():
    documents = sentences()
    test = [Document("t0", "zyzzyva"), *(Document(f"t{d.id}", d.text) for d in documents[:2])]
    test += [Document(f"u{d.id}", d.text, d.labels) for d in documents[:3]]
    found = compare(split_of(documents, test=test), ["tfidf"], SMALL, device="cpu")
    assert "1 test document(s) without a word of the vocabulary left out." in found.remarks
    unlabelled = "2 test document(s) without labels left out of retrieval and classification."
    assert unlabelled in found.remarks
    assert found.n_test == 5


@pytest.mark.parametrize(
    ("labels", "reason"),
    [
        (("same", "same"), "one label only"),
        (("", "one"), "one part only"),
        (("one", "other"), "No label of a test document"),
    ],
)
def test_labels_that_say_nothing(labels, reason):
    first, second = ((label,) if label else () for label in labels)
    train = [Document(d.id, d.text, first) for d in sentences()]
    if reason.startswith("No label"):
        train[0] = Document("0", train[0].text, ("third",))
    test = [Document(f"t{d.id}", d.text, second) for d in sentences(20)]
    split = split_of(train, test=test)
    with pytest.raises(InvalidCorpus, match=reason):
        labels_of(split)
    found = compare(split, ["tfidf"], SMALL, device="cpu")
    assert found.labels == "none"
    assert any(reason in remark for remark in found.remarks)


def test_a_model_that_fails_is_in_the_report_and_the_others_go_on(monkeypatch):
    def diverge(*_):
        raise TrainingDiverged("W left the range.")

    monkeypatch.setattr("docboltz.baselines.lda.LatentDirichletAllocation.fit", diverge)
    found = compared(sentences(), ["lda", "lsi"])
    assert [record.reason for record in found.records] == ["W left the range.", ""]
    assert [row[-1] for row in table(found)[1]] == ["W left the range.", ""]
    assert "failed: W left the range." in to_html(found)
    with pytest.raises(InvalidParameter, match="LDA: W left the range"):
        compared(sentences(), ["lda"])


def test_a_missing_package_is_a_note(monkeypatch):
    def absent():
        raise ImportError

    monkeypatch.setattr("docboltz.baselines.lda.import_tomotopy", absent)
    with warnings.catch_warnings():
        warnings.simplefilter("error", MissingPackageWarning)
        [record] = compared(sentences(), ["lda"]).records
    assert record.status == "done"
    assert any("variational inference" in note for note in record.notes)


def test_an_interrupt_keeps_what_was_measured_and_the_same_call_goes_on(monkeypatch, tmp_path):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("docboltz.baselines.plain.LSI.fit", stop)
    models = ["tfidf", "lsi", "unigram"]
    found = compared(sentences(), models, folder=tmp_path)
    assert found.interrupted
    assert [record.trained for record in found.records] == [True, False, True]
    assert "skipped: interrupted before it was measured" in to_html(found)
    with pytest.raises(KeyboardInterrupt):
        compared(sentences(), ["lsi"])
    monkeypatch.undo()
    before = read_records(tmp_path)
    again = compared(sentences(), models, folder=tmp_path)
    assert not again.interrupted
    assert before.items() <= read_records(tmp_path).items()
    assert [record.status for record in again.records] == ["done"] * 3


def test_unknown_models_are_refused():
    with pytest.raises(InvalidParameter, match="'models' parameter of compare"):
        compared(sentences(), ["bert"])


def test_the_usual_recipe_is_the_one_there_is_time_for():
    assert usual_recipe("cpu") == "quick"
    found = compared(sentences(), ["tfidf"], None)
    assert found.settings == Settings(recipe="quick")
