"""What is run."""

import pytest

from docboltz.errors import InvalidParameter
from docboltz.reproduce.models import FULL, KINDS, QUICK
from docboltz.reproduce.trials import part_of, select, trials


def test_names_are_unique_and_fit_for_files():
    names = [trial.name for trial in trials(FULL, 3)]
    assert len(set(names)) == len(names)
    assert all(name.replace("-", "").replace("_", "").isalnum() for name in names)


@pytest.mark.parametrize("dataset", ["20news-2000", "rcv1v2-27k"])
def test_the_full_run_has_every_row_of_the_tables(dataset):
    there = {(t.model, t.n_topics, t.seed) for t in trials(FULL, 3) if t.dataset == dataset}
    for model in ("RS", "ORS-M50", "ORS-M100", "LDA", "DocNADE", "LSI"):
        assert {(model, n, seed) for n in (128, 512) for seed in range(3)} <= there
    for policy in ("ORS-MN", "ORS-upto"):
        assert {(policy, 128, seed) for seed in range(3)} <= there
        assert (policy, 512, 0) not in there
    for_density = {(m, n, s) for m, n, s in there if KINDS[m].for_density}
    first = {"RS-density", "ORS-M50-density", "ORS-M100-density"}
    assert for_density == {(m, 128, 0) for m in first if dataset == FULL.datasets[0]}
    assert {(m, n, s) for m, n, s in there if m in ("Unigram", "TF-IDF")} == {
        ("Unigram", 0, 0),
        ("TF-IDF", 0, 0),
    }


def test_the_quick_run_is_one_of_each():
    quick = trials(QUICK, 1)
    assert {t.model for t in quick} == {m for m, kind in KINDS.items() if kind.only_at is None}
    assert {(t.dataset, t.n_topics or 128, t.seed) for t in quick} == {("20news-2000", 128, 0)}


def test_parts_are_all_trials_once():
    everything = trials(FULL, 3)
    parts = [trial for i in (1, 2, 3) for trial in part_of(everything, f"{i}/3")]
    assert sorted(t.name for t in parts) == sorted(t.name for t in everything)


@pytest.mark.parametrize("part", ["0/0", "0/2", "3/2", "1", "a/b", "1/", "-1/2", ""])
def test_senseless_parts_are_refused(part):
    with pytest.raises(InvalidParameter, match="--part must be I/N"):
        part_of(trials(QUICK, 1), part)


def test_a_selection_by_name():
    assert {t.model for t in select(trials(FULL, 2), "_LDA_")} == {"LDA"}
    with pytest.raises(InvalidParameter, match="--only must be"):
        select(trials(FULL, 1), "klingon")
