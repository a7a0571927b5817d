"""The page: means, spreads, claims and what is missing."""

import math
from dataclasses import replace

import pytest

from docboltz.errors import InvalidParameter
from docboltz.experiments.report import write_report
from docboltz.experiments.reproduction import PLANS
from docboltz.experiments.summary import ORS, Results, claims
from docboltz.experiments.trial import Trial

from .records import record, write

NEWS = "20news-2000"


def good(*, but=None, **changed):
    """All trials of three seeds, ORS ahead in everything; `but` a model with other figures."""
    found = []
    for trial in PLANS["full"].trials(3):
        figures = {"score": 0.4 + 0.01 * trial.settings.seed, "perplexity": 700.0}
        if trial.variant.startswith(ORS):
            figures = {"score": 0.5 + 0.01 * trial.settings.seed, "perplexity": 600.0}
            figures |= {"bound": 650.0, "slope": -0.1}
        if trial.variant == but:
            figures |= changed
        found.append(record(trial, **figures))
    return found


def verdicts(records, dataset="20 Newsgroups"):
    return [claim.holds for claim in claims(Results(records)) if dataset in claim.text]


def test_means_and_spreads_over_seeds():
    stat = Results(good()).stat(NEWS, ORS, 128, "classification")
    assert stat.mean == pytest.approx(0.51)
    assert stat.sd == pytest.approx(0.01)
    assert stat.n == 3
    assert math.isnan(Results(good()).stat(NEWS, "TF-IDF", 128, "classification").sd)
    assert Results(good()).stat(NEWS, "LSI", 128, "perplexity.value") is None


def test_all_claims_hold_where_ors_is_ahead():
    assert verdicts(good()) == [True] * 7  # one of them of models trained for density
    assert verdicts(good(), "Reuters") == [True] * 6


@pytest.mark.parametrize(
    ("but", "changed", "falls"),
    [
        ("TF-IDF", {"score": 0.6}, [0, 1]),
        ("DocNADE", {"score": 0.6}, [0, 1, 3]),
        (ORS, {"slope": 0.1}, [2]),
        (ORS, {"bound": 750.0}, [4]),
        (ORS, {"perplexity": 710.0}, [5]),
        (f"{ORS}-density", {"perplexity": 710.0}, [6]),
        ("RS", {"perplexity": 500.0}, [4, 5]),
        ("RS", {"slope": -0.2}, [2]),
    ],
)
def test_claims_fall_with_the_figures(but, changed, falls):
    expected = [place not in falls for place in range(7)]
    assert verdicts(good(but=but, **changed)) == expected


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
    assert verdicts([r for r in good() if r.trial.variant != ORS]) == [None] * 6 + [True]
    some = [r for r in good() if r.trial.variant != f"{ORS}-density"]
    assert len(verdicts(some)) == 6


def test_a_margin_smaller_than_the_spread_is_remarked():
    some = good(but="RS", score=0.505)
    text = str(claims(Results(some))[0])
    assert text.startswith("**Holds:** 20 Newsgroups: ORS 128 retrieves better")
    assert "RS .505 (+.005, within the spread of the seeds)" in text


def test_perplexities_nearer_than_their_errors_are_remarked():
    near = str(claims(Results(good(but="RS", perplexity=600.5)))[5])
    assert "RS 600, within the errors of the estimates." in near
    assert "within" not in str(claims(Results(good()))[5])


def test_the_page(tmp_path):
    records = good()
    records[0] = replace(records[0], status="failed", reason="ArithmeticError: fell apart")
    dropped = next(r for r in records if r.trial.variant == "LDA")
    records.remove(dropped)
    records[1] = replace(records[1], notes=("lbfgs failed", "log ζ is uncertain"))
    write(tmp_path, records)
    page = write_report(tmp_path).read_text(encoding="utf-8")
    assert "| ORS | .668 | .515 ± .007 | .691 | .510 ± .010 |" in page  # of two seeds and of three
    assert "| LDA | .304 | .410 ± .010 | .351 | .410 ± .010 |" in page  # Reuters
    assert "| Unigram | 1,335 | 1.000 | – | 700 | – | 1.000 | 8 / 0.1 / 0.4 |" in page
    assert (
        "| ORS, M = 100 | 958 | .718 | 650 ± 0.0 | 600 ± 0.0 | .929 | .857 | 8 / 0.1 / 0.4 |"
        in page
    )
    assert (
        "| ORS, M = 100, for density | 958 | .718 | 650 | 600 | .929 | .857 | 8 / 0.1 / 0.4 |"
        in page
    )
    assert page.count("| ORS, M = 100, for density, 128 topics |") == 1  # not of Reuters
    assert "1 trial of ORS, M = 100 on 20 Newsgroups failed: ArithmeticError: fell apart" in page
    assert "1 trial of LDA on 20 Newsgroups: not run." in page
    assert "1 trial of RS on 20 Newsgroups warned: log ζ is uncertain" in page
    assert "1 trial of RS on 20 Newsgroups warned: lbfgs failed" in page
    assert "89 trials: abacus, torch 2.0, docboltz 0.0, 2013-07-11" in page
    assert "27,579 documents of RCV1-v2 instead of 804,414" in page
    links = [line.partition("](")[2].rstrip(")") for line in page.splitlines() if line[:1] == "!"]
    assert len(links) == 6
    assert all((tmp_path / link).is_file() for link in links)


def test_a_dataset_without_results_is_said(tmp_path):
    write(tmp_path, [r for r in good() if r.trial.dataset == NEWS])
    page = write_report(tmp_path).read_text(encoding="utf-8")
    assert "- Reuters: there are no results of it here." in page
    assert "**Reuters**" not in page


def test_trials_without_a_seed_serve_all_sizes():
    found = Results([record(Trial("tfidf", dataset=NEWS))])
    assert found.of(NEWS, "TF-IDF", 512) == found.of(NEWS, "TF-IDF", 128) != []


def test_what_is_measured_of_an_incomplete_trial_counts(tmp_path):
    records = good()
    gone = {"classification": None, "perplexity": None, "bound": None}
    reason = "perplexity: MemoryError"
    records[0] = replace(records[0], status="incomplete", reason=reason, **gone)
    found = Results(records)
    assert found.stat(NEWS, ORS, 128, "mean_average_precision").n == 3
    assert found.stat(NEWS, ORS, 128, "classification").n == 2
    write(tmp_path, records)
    page = write_report(tmp_path).read_text(encoding="utf-8")
    assert f"1 trial of ORS, M = 100 on 20 Newsgroups incomplete: {reason}" in page


def test_a_folder_without_trials_has_no_report(tmp_path):
    with pytest.raises(InvalidParameter, match="no trials in"):
        write_report(tmp_path)
    assert not list(tmp_path.iterdir())
