"""Means, spreads and claims."""

import math
from dataclasses import replace

import pytest

from docboltz.experiments.reproduction import CHOSEN_FOR_DENSITY, PLANS
from docboltz.experiments.summary import AS_IT_IS, AS_MEASURED, ORS, Results, claims
from docboltz.experiments.trial import Trial

from .records import NEWS, good, record


def verdicts(records, dataset="20 Newsgroups", heading=AS_IT_IS):
    return [c.holds for c in claims(Results(records), PLANS["full"])[heading] if dataset in c.text]


def test_means_and_spreads_over_seeds():
    stat = Results(good()).stat(NEWS, ORS, 128, "classification")
    assert stat.mean == pytest.approx(0.51)
    assert stat.sd == pytest.approx(0.01)
    assert stat.n == 3
    assert math.isnan(Results(good()).stat(NEWS, "TF-IDF", 128, "classification").sd)
    for features_only in ("LSI", ORS, "RS"):
        assert Results(good()).stat(NEWS, features_only, 128, "perplexity.value") is None


def test_all_claims_hold_where_ors_is_ahead():
    """Two retrieve, one is about short queries, one classifies; three order the perplexities of the
    paper's models, four those of the models trained for density: they have one more."""
    for dataset in ("20 Newsgroups", "Reuters"):
        assert verdicts(good(), dataset, AS_MEASURED) == [True] * 3
        assert verdicts(good(), dataset) == [True] * (4 + 3 + 4)


@pytest.mark.parametrize(
    ("but", "changed", "falls"),
    [
        ("TF-IDF", {"score": 0.6}, [0, 1]),
        ("DocNADE", {"score": 0.6}, [0, 1, 3]),
        (ORS, {"slope": 0.1}, [2]),
        ("ORS-M50-paper", {"perplexity": 750.0}, [4]),
        ("ORS-M100-paper", {"perplexity": 750.0}, [5, 6]),
        ("ORS-M50-paper", {"paper_way": 750.0}, []),
        ("ORS-M10-density", {"perplexity": 710.0}, [7]),
        ("ORS-M50-density", {"perplexity": 710.0}, [8]),
        ("ORS-M100-density", {"perplexity": 710.0}, [9, 10]),
        ("RS-density", {"perplexity": 500.0}, [7, 8, 9]),
        ("RS", {"slope": -0.2}, [2]),
    ],
)
def test_claims_fall_with_the_figures(but, changed, falls):
    expected = [place not in falls for place in range(11)]
    assert verdicts(good(but=but, **changed)) == expected


def test_what_the_paper_measured_is_judged_by_itself():
    worse = good(but="ORS-M100-paper", paper_way=710.0, perplexity=500.0)
    assert verdicts(worse, heading=AS_MEASURED) == [True, False, False]
    assert verdicts(worse) == [True] * 11


def test_equals_are_enough_for_classification_and_not_for_retrieval():
    same = dict.fromkeys(("classification", "mean_average_precision", "precision_at_10"), 0.51)
    level = [
        replace(each, **same) if each.trial.variant == ORS else each
        for each in good(but="RS", score=0.51)
    ]
    assert verdicts(level)[0] is False
    assert verdicts(level)[3] is True


def test_without_a_rival_a_claim_is_open_unless_another_wins():
    some = [r for r in good() if r.trial.variant != "LDA"]
    assert verdicts(some)[:2] == [None, None]
    some = [r for r in good(but="LSI", score=0.9) if r.trial.variant != "LDA"]
    assert verdicts(some)[:2] == [False, False]
    assert verdicts([r for r in good() if r.trial.variant != ORS]) == [None] * 4 + [True] * 7
    some = [r for r in good() if r.trial.variant != "RS-density"]
    assert verdicts(some) == [True] * 7 + [None] * 3 + [True]


def test_a_number_of_latent_words_that_the_paper_has_is_claimed_once(monkeypatch):
    monkeypatch.setitem(CHOSEN_FOR_DENSITY, NEWS, 100)
    assert len(verdicts(good())) == 4 + 3 + 3
    assert len(verdicts(good(), "Reuters")) == 4 + 3 + 4


def test_a_margin_smaller_than_the_spread_is_remarked():
    some = good(but="RS", score=0.505)
    text = str(claims(Results(some), PLANS["full"])[AS_IT_IS][0])
    assert text.startswith("**Holds:** 20 Newsgroups: ORS 128 retrieves better")
    assert "RS .505 (+.005, within the spread of the seeds)" in text


def test_perplexities_nearer_than_their_errors_are_remarked():
    near = str(
        claims(Results(good(but="RS-density", perplexity=600.4)), PLANS["full"])[AS_IT_IS][9]
    )
    assert "ORS, M = 100, has a lower perplexity than RS, both trained for density" in near
    assert "600 and 600, within the errors of the estimates." in near
    assert "within" not in str(claims(Results(good()), PLANS["full"])[AS_IT_IS][9])


def test_trials_without_a_seed_serve_all_sizes():
    found = Results([record(Trial("tfidf", dataset=NEWS))])
    assert found.of(NEWS, "TF-IDF", 512) == found.of(NEWS, "TF-IDF", 128) != []
