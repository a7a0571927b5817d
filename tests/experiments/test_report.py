"""The page: tables, figures and what is missing."""

import re
from dataclasses import replace

import pytest

from docboltz.errors import InvalidParameter
from docboltz.experiments.report import write_report
from docboltz.experiments.summary import ORS, Results

from .records import NEWS, good, write


def page_of(folder):
    """The page of a folder's records, less its line breaks, which nobody sees."""
    page = write_report(folder).read_text(encoding="utf-8")
    assert max(map(len, page.splitlines())) <= 120
    return " ".join(page.split())


def change(records, name, **changes):
    """Change the record of a trial."""
    place = next(i for i, record in enumerate(records) if record.trial.name == name)
    records[place] = replace(records[place], **changes)


def test_the_page(tmp_path):
    records = good()
    reason = "ArithmeticError: fell apart"
    change(records, f"{NEWS}_{ORS}_F128_seed0", status="failed", reason=reason)
    dropped = next(r for r in records if r.trial.variant == "LDA")
    records.remove(dropped)
    notes = "lbfgs failed", "log ζ is uncertain"
    change(records, f"{NEWS}_RS_F128_seed0", notes=notes)
    write(tmp_path, records)
    page = page_of(tmp_path)
    assert "| ORS | .668 | .515 ± .007 | .691 | .510 ± .010 |" in page  # of two seeds and of three
    assert "| LDA | .304 | .410 ± .010 | .351 | .410 ± .010 |" in page  # Reuters
    assert "| Unigram | 1,335 | 1.000 | 1,000 ± 0.0 | – | 1.000 | – |" in page
    assert "| ORS, M = 100 | 958 | .718 | 650 ± 0.0 | 14.1 | .650 | 600 ± 0.0 |" in page
    rest = "4,000 ± 0.0 | 0.0 / 5.0 | 50% / 25% | 8 / 0.1 / 0.4 |"
    for how in ("M = 50, the paper's way", "M = 50, for density"):
        assert f"| ORS, {how} | 5,000 ± 0.0 | 601 ± 0.0 | .859 | {rest}" in page
    assert f"| ORS, M = 10, for density | 5,000 ± 0.0 | 600 ± 0.0 | .857 | {rest}" in page
    assert "| LDA | – | 700 ± 0.0 | 1.000 | – | – | – | 8 / 0.1 / 0.4 |" in page
    assert "the number chosen for density: M = 10 on 20 Newsgroups, M = 10 on Reuters." in page
    assert page.count("| ORS, M = 100, 128 units |") == 2  # one of each dataset, for its features
    assert "for density, 128 units" not in page
    assert "1 trial of ORS, M = 100 on 20 Newsgroups failed: ArithmeticError: fell apart" in page
    assert "1 trial of LDA on 20 Newsgroups: not run." in page
    assert "1 trial of RS on 20 Newsgroups warned: log ζ is uncertain" in page
    assert "1 trial of RS on 20 Newsgroups warned: lbfgs failed" in page
    assert "128 trials: abacus, torch 2.0, docboltz 0.0, 2013-07-11" in page
    assert "Seeds 0 to 2." in page
    assert "The trials took 2.0 minutes, pauses between runs left out; 3.2 minutes added" in page
    assert "had their updates divided" not in page
    assert "27,579 documents of RCV1-v2 instead of 804,414" in page
    links = re.findall(r"!\[[^]]*\]\((.*?)\)", page)
    assert len(links) == 10
    assert all((tmp_path / link).is_file() for link in links)


@pytest.fixture
def no_figures(monkeypatch):
    """What is said needs no figures, which take seconds to draw."""
    monkeypatch.setattr("docboltz.experiments.report.draw_figures", lambda *_: {})


def test_a_dataset_without_results_is_said(tmp_path, no_figures):
    write(tmp_path, [r for r in good() if r.trial.dataset == NEWS])
    page = page_of(tmp_path)
    assert "- Reuters: there are no results of it here." in page
    assert "**Reuters**" not in page


def test_a_shorter_training_is_said(tmp_path, no_figures):
    some = [r for r in good() if r.trial.variant == "RS-paper"]
    write(tmp_path, [replace(record, trial=record.trial.shortened(50)) for record in some])
    assert "the paper's way had their updates divided by 50 in this run." in page_of(tmp_path)


def test_the_unigram_model_of_the_same_documents_serves_where_its_own_trial_is_missing(
    tmp_path, no_figures
):
    write(tmp_path, [r for r in good() if r.trial.variant == "RS-paper"])
    assert "| RS, the paper's way | 5,000 ± 0.0 | 700 ± 0.0 | .700 |" in page_of(tmp_path)


def test_what_is_measured_of_an_incomplete_trial_counts(tmp_path, no_figures):
    records = good()
    gone = {"classification": None, "perplexity": None}
    reason = "perplexity: MemoryError"
    change(records, f"{NEWS}_{ORS}_F128_seed0", status="incomplete", reason=reason, **gone)
    found = Results(records)
    assert found.stat(NEWS, ORS, 128, "mean_average_precision").n == 3
    assert found.stat(NEWS, ORS, 128, "classification").n == 2
    write(tmp_path, records)
    page = page_of(tmp_path)
    assert f"1 trial of ORS, M = 100 on 20 Newsgroups incomplete: {reason}" in page


def test_a_folder_without_trials_has_no_report(tmp_path):
    with pytest.raises(InvalidParameter, match="no trials in"):
        write_report(tmp_path)
    assert not list(tmp_path.iterdir())
