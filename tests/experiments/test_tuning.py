"""How many units and latent words?"""

import json

import pytest

from docboltz.corpus.document import Document
from docboltz.errors import InvalidParameter
from docboltz.experiments.models import Settings
from docboltz.experiments.record import Record
from docboltz.experiments.trial import Trial
from docboltz.experiments.tuning import Tuning, size_of, table, tune
from tests.corpus.splits import sentences, split_of


def tuned(documents, *sizes, **how):
    return tune(split_of(documents), *sizes, updates=20, device="cpu", **how)


@pytest.mark.parametrize("by", ["retrieval", "classification", "likelihood"])
def test_tuning_tries_every_size(by):
    found = tuned(sentences(), [2, 4], [0, 5], by=by)
    assert [size_of(record) for record in found.records] == [(2, 0), (2, 5), (4, 0), (4, 5)]
    choose = min if by == "likelihood" else max
    assert found.value(found.best) == choose(map(found.value, found.records))
    assert found.recipe == ("density" if by == "likelihood" else "quick")
    assert json.loads(json.dumps(found.to_dict())) == found.to_dict()
    assert [row[-1] for row in table(found)[1]].count("best") == 1


def test_tuning_needs_no_labels():
    found = tuned(sentences(labels=0), [2, 4], [0, 5])
    assert (found.by, found.recipe, found.to_dict()["measure"]) == (
        "halves",
        "quick",
        "halves found",
    )
    assert all(0 <= found.value(record) <= 1 for record in found.records)
    with pytest.raises(InvalidParameter, match=r"no labels.*by halves"):
        tuned(sentences(labels=0), [2], [0], by="retrieval")


@pytest.mark.parametrize(
    ("shares", "best"),
    [
        ({(32, 0): 0.25, (32, 50): 0.24, (64, 0): 0.31, (64, 50): 0.30}, (32, 0)),
        ({(32, 0): 0.21, (64, 0): 0.28, (64, 50): 0.30, (128, 0): 0.30}, (64, 50)),
        ({(32, 0): 0.10, (64, 0): 0.20, (128, 0): 0.40, (128, 50): None}, (128, 0)),
        ({(32, 0): 0.0, (64, 0): 0.0}, (32, 0)),
    ],
    ids=["the smallest", "one between", "the largest", "nothing found"],
)
def test_the_fewest_units_that_find_nearly_as_many_halves_as_any(shares, best):
    records = [
        Record(Trial("ors", Settings(f, "quick", m)), "", halves_found=found)
        for (f, m), found in shares.items()
    ]
    assert size_of(Tuning("halves", "quick", records, 10, 10).best) == best


def test_documents_of_one_word_have_no_halves():
    words = [Document(str(i), "ship" if i % 2 else "soup") for i in range(20)]
    with pytest.raises(InvalidParameter, match="has two words, so none can be cut into halves"):
        tuned(words, [2], [0])


def test_what_makes_no_sense_is_refused():
    with pytest.raises(InvalidParameter, match="'units'"):
        tuned(sentences(), [], [0])
    with pytest.raises(InvalidParameter, match="'latent_words'"):
        tuned(sentences(), [2], [-1])
    with pytest.raises(InvalidParameter, match="'by' parameter of tune"):
        tuned(sentences(), [2], [0], by="feeling")
    with pytest.raises(InvalidParameter, match=r"The recipe 'quick' makes no density.*'density'"):
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
