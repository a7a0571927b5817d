"""One trial: what is measured, and what goes wrong."""

import dataclasses
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from sklearn.metrics.pairwise import cosine_similarity

from docboltz import OverReplicatedSoftmax, Pretraining
from docboltz.baselines import LSI, NMF, DocNADE, LatentDirichletAllocation, TfIdf, Unigram
from docboltz.corpus.split import Split
from docboltz.errors import TrainingDiverged
from docboltz.experiments import measuring
from docboltz.experiments.measuring import attempt, choose_to_predict, judge, n_parameters, train
from docboltz.experiments.models import TRAININGS, Settings, no_density
from docboltz.experiments.trial import Measures, Trial
from docboltz.training import validation
from tests.corpus.splits import corpus_of, sentences, split_of, tiny_split

FEW = Settings(4, "quick", updates=10)


def test_only_what_is_asked_for_is_measured():
    found = attempt(Trial("lsi", FEW, Measures(classification=False)), tiny_split(), "cpu")
    assert found.status == "done"
    assert found.mean_average_precision > 0
    assert (found.classification, found.topics, found.perplexity) == (None, None, None)
    found = attempt(Trial("lda", FEW, Measures(False, False, predicted=5)), tiny_split(), "cpu")
    assert (found.perplexity.n_documents, found.n_features) == (5, None)


def test_documents_of_many_labels():
    found = attempt(Trial("lsi", FEW), tiny_split(several_labels=True), "cpu")
    assert found.status == "done"
    assert 0 < found.classification <= 1


def test_documents_without_labels_have_topics_and_no_retrieval():
    split = split_of(sentences(labels=0))
    found = attempt(Trial("rs", FEW, Measures(topics=5)), split, "cpu")
    assert (found.status, found.mean_average_precision) == ("done", None)
    assert 2 <= len(found.topics.words) <= 5
    assert found.topics.agreement is None


def test_a_penalty_is_chosen_where_there_are_enough_documents(monkeypatch):
    chosen = []

    def classify(*_, C, device):
        chosen.append(C)
        return SimpleNamespace(score=1.0, C=1.0)

    monkeypatch.setattr(measuring, "classify", classify)
    for enough in (60, 61):
        monkeypatch.setattr(measuring, "ENOUGH_TO_CHOOSE", enough)
        attempt(Trial("tfidf", FEW), tiny_split(), "cpu")
    assert chosen[0] is None
    assert chosen[1] == pytest.approx(100 * 0.01 * 10_000 / 60)


def test_a_rehearsal_is_the_same_model_with_few_updates(monkeypatch):
    fitted = []
    monkeypatch.setattr(
        "docboltz.estimator.models.ReplicatedSoftmax.fit", lambda self, X: fitted.append((self, X))
    )
    monkeypatch.setattr(measuring, "_REHEARSED", set())
    trial, counts = Trial("rs", Settings(4, "density")), tiny_split().train.counts
    for _ in range(2):  # once is enough
        measuring._rehearse(trial, counts, "cpu")
    [(model, documents)] = fitted
    usual = TRAININGS["density"].softmax
    assert model.pretraining.updates == model.finetuning.updates == 20
    assert model.pretraining.more_steps_every < usual["pretraining"].more_steps_every
    assert model.finetuning.rungs == usual["finetuning"].rungs
    assert documents.shape == counts.shape


def test_training_that_fails_is_the_trial_s_end(monkeypatch):
    def diverge(*_):
        raise TrainingDiverged("W left\nthe range.")

    monkeypatch.setattr("docboltz.baselines.plain.LSI.fit", diverge)
    found = attempt(Trial("lsi", FEW), tiny_split(), "cpu")
    assert (found.status, found.reason) == ("failed", "W left the range.")


def test_one_measure_may_fail_while_the_others_go_on(monkeypatch):
    def fall(*_, **__):
        raise ArithmeticError("fell apart")

    monkeypatch.setattr(measuring, "rank", fall)
    found = attempt(Trial("lsi", FEW), tiny_split(), "cpu")
    assert found.status == "incomplete"
    assert found.reason == "retrieval: ArithmeticError: fell apart"
    assert found.mean_average_precision is None
    assert found.classification > 0


def test_features_that_are_no_numbers_are_not_judged(monkeypatch):
    transform = "docboltz.baselines.plain.LSI.transform"
    monkeypatch.setattr(transform, lambda self, counts: counts.toarray() / 0.0)
    found = attempt(Trial("lsi", FEW), tiny_split(), "cpu")
    assert found.status == "incomplete"
    assert "features are not finite numbers" in found.reason
    assert any("divide by zero" in note for note in found.notes)


@pytest.mark.parametrize("recipe", ["quick", "full"])
def test_without_a_density_there_is_no_perplexity(recipe):
    trial = Trial("rs", dataclasses.replace(FEW, recipe=recipe), Measures(predicted=3))
    found = attempt(trial, tiny_split(), "cpu")
    assert (found.status, found.perplexity) == ("done", None)
    assert f"perplexity not measured: {no_density(recipe)}" in found.notes


def test_halves_are_found_by_the_model_s_features(monkeypatch):
    """The same halves for every model, found as a plain computation finds them."""
    rng, models, cut = np.random.default_rng(0), [], []
    counts = rng.multinomial(40, rng.dirichlet(np.full(30, 0.1), 120))
    split = Split(corpus_of(counts[:60], [["a"]] * 60), corpus_of(counts[60:], [["a"]] * 60))
    fit, halve = OverReplicatedSoftmax.fit, validation.halves
    monkeypatch.setattr(OverReplicatedSoftmax, "fit", lambda m, X: models.append(fit(m, X)) or m)
    monkeypatch.setattr(validation, "halves", lambda x, **g: cut.append(halve(x, **g)) or cut[-1])
    only = Measures(retrieval=False, classification=False, halves=True)
    for model_s in (Settings(4, "quick", 20, updates=50), FEW):
        found = attempt(Trial("ors", model_s, only), split, "cpu")
        one, other = (models[-1].transform(half.dense().numpy()) for half in cut[-1])
        mean = models[-1].transform(counts[:60]).mean(0)
        cosines = cosine_similarity(one - mean, other - mean)
        rank = 1 + (cosines > np.diag(cosines)[:, None]).sum(1)
        assert found.halves_found == pytest.approx((rank <= 60 // 20).mean())
        assert 0 < found.halves_found < 1
        assert (found.mean_average_precision, found.n_features) == (None, None)
    assert torch.equal(cut[0][0].dense(), cut[1][0].dense())


def test_a_missing_package_leaves_the_trial_to_another_machine(monkeypatch):
    trial = Trial("lda", FEW, needs="tomotopy")
    monkeypatch.setitem(sys.modules, "tomotopy", None)
    found = attempt(trial, tiny_split(), "cpu")
    assert found.status == "skipped"
    assert "needs the package tomotopy" in found.reason
    monkeypatch.undo()
    assert attempt(trial, tiny_split(), "cpu").status == "done"


def test_a_model_is_trained_once_for_all_its_measures(monkeypatch):
    from docboltz.baselines import LatentDirichletAllocation

    fits, real = [], LatentDirichletAllocation.fit
    monkeypatch.setattr(
        LatentDirichletAllocation, "fit", lambda self, X: fits.append(self) or real(self, X)
    )
    split, trial = tiny_split(), Trial("lda", FEW, Measures(topics=4, predicted=3))
    record, features = train(trial, split, "cpu")
    found = judge(record, features, split, "cpu")
    assert len(fits) == 1
    measured = (found.mean_average_precision, found.classification, found.topics)
    assert None not in (*measured, found.perplexity)
    assert found.seconds.keys() == {"training", "perplexity", "inference", "evaluation"}


@pytest.mark.parametrize("model", ["lda", "nmf"])
def test_own_topics_are_as_many_as_are_measured(model):
    """A model of another number of topics than are measured is trained once more, with as many."""
    split, measures = tiny_split(), Measures(False, False, topics=3)
    many = attempt(Trial(model, dataclasses.replace(FEW, units=9), measures), split, "cpu")
    assert many.n_features == 9
    assert len(many.topics.words) <= 3
    few = attempt(Trial(model, dataclasses.replace(FEW, units=3), measures), split, "cpu")
    assert many.topics == few.topics


def test_perplexity_is_of_the_same_short_documents_with_words():
    counts = csr_array([[0, 0], [1, 2], [9, 9], [2, 0], [0, 1], [1, 1]])
    some = [choose_to_predict(counts, Measures(predicted=3, longest=3)).toarray() for _ in range(2)]
    assert some[0].shape == (3, 2)
    assert np.array_equal(*some)
    others = [choose_to_predict(counts, Measures(predicted=3, longest=3), i) for i in range(9)]
    assert np.array_equal(others[0].toarray(), some[0])
    assert len({other.toarray().tobytes() for other in others}) > 1
    few = Measures(predicted=9, longest=3, predicted_seed=1)
    assert set(choose_to_predict(counts, few).sum(axis=1)) == {1, 2, 3}
    assert choose_to_predict(counts[2:3], few).sum() == 18  # there are no others


@pytest.mark.parametrize(
    ("model", "n"),
    [
        (Unigram(), 6),
        (TfIdf(), 6),
        (LSI(2), 2 * 6 + 6),
        (NMF(2), 2 * 6 + 6),
        (LatentDirichletAllocation(2, method="variational"), 2 * 6 + 2),
        (DocNADE(2, updates=2), 2 * 6 + 2 + 2 * 6 + 6),
        (OverReplicatedSoftmax(2, pretraining=Pretraining(updates=2)), 2 * 6 + 6 + 2),
    ],
)
def test_parameters_are_all_numbers_that_are_learnt(model, n):
    counts = np.random.RandomState(0).randint(0, 3, (20, 6)) + np.eye(20, 6, dtype=int)
    assert n_parameters(model.fit(counts)) == n
