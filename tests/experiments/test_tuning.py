"""How many topics and latent words?"""

import json

import pytest

from docboltz.errors import InvalidParameter
from docboltz.experiments.tuning import size_of, table, tune
from tests.corpus.splits import sentences, split_of


def tuned(documents, *sizes, **how):
    return tune(split_of(documents), *sizes, updates=20, device="cpu", **how)


@pytest.mark.parametrize("by", ["retrieval", "classification", "likelihood"])
def test_tuning_tries_every_size(by):
    found = tuned(sentences(), [2, 4], [0, 5], by=by)
    assert [size_of(record) for record in found.records] == [(2, 0), (2, 5), (4, 0), (4, 5)]
    choose = min if by == "likelihood" else max
    assert found.value(found.best) == choose(map(found.value, found.records))
    assert found.recipe == ("full" if by == "likelihood" else "quick")
    assert json.loads(json.dumps(found.to_dict())) == found.to_dict()
    assert [row[-1] for row in table(found)[1]].count("best") == 1


def test_tuning_without_labels_is_by_likelihood():
    assert tuned(sentences(labels=0), [2], [0]).by == "likelihood"
    with pytest.raises(InvalidParameter, match="no labels"):
        tuned(sentences(labels=0), [2], [0], by="retrieval")


def test_what_makes_no_sense_is_refused():
    with pytest.raises(InvalidParameter, match="'topics'"):
        tuned(sentences(), [], [0])
    with pytest.raises(InvalidParameter, match="'latent_words'"):
        tuned(sentences(), [2], [-1])
    with pytest.raises(InvalidParameter, match="'by' parameter of tune"):
        tuned(sentences(), [2], [0], by="feeling")
    with pytest.raises(InvalidParameter, match="'quick', makes no density worth comparing"):
        tuned(sentences(), [2], [0], by="likelihood", recipe="quick")


def test_an_interrupt_keeps_what_was_tried(monkeypatch):
    from docboltz.experiments import measuring

    real, tried = measuring._train, []

    def train(trial, *others):
        tried.append(trial)
        if len(tried) == 2:
            raise KeyboardInterrupt
        return real(trial, *others)

    monkeypatch.setattr(measuring, "_train", train)
    found = tuned(sentences(), [2, 4], [0])
    assert found.interrupted
    assert size_of(found.best) == (2, 0)
    tried[:] = [None]
    with pytest.raises(KeyboardInterrupt):
        tuned(sentences(), [2], [0])
