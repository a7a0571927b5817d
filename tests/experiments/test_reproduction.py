"""The paper's comparison: what is run, and that it goes on."""

import subprocess
import sys
from dataclasses import replace

import pytest

from docboltz.errors import InvalidParameter
from docboltz.experiments.datasets import Sources
from docboltz.experiments.record import read_records
from docboltz.experiments.report import write_report
from docboltz.experiments.reproduction import (
    CHOSEN_FOR_DENSITY,
    PLANS,
    part_of,
    plan_of,
    reproduce,
    select,
)
from tests.corpus.splits import tiny_split

from .records import record, write

FULL, QUICK = PLANS["full"], PLANS["quick"]
ALL = QUICK.trials(1)


@pytest.fixture
def sources(tmp_path):
    tiny_split().save(tmp_path / "counts" / "20news-2000")
    return Sources(counts=tmp_path / "counts")


def test_names_are_unique_and_fit_for_files():
    names = [trial.name for trial in FULL.trials(3)]
    assert len(set(names)) == len(names)
    assert all(name.replace("-", "").replace("_", "").isalnum() for name in names)


@pytest.mark.parametrize("dataset", ["20news-2000", "rcv1v2-27k"])
def test_the_full_run_has_every_row_of_the_tables(dataset):
    every = [trial for trial in FULL.trials(3) if trial.dataset == dataset]
    found = {(t.variant, t.units, t.settings.seed) for t in every}
    for variant in ("RS", "ORS-M50", "ORS-M100", "LDA", "DocNADE", "LSI"):
        assert {(variant, n, seed) for n in (128, 512) for seed in range(3)} <= found
    for policy in ("ORS-MN", "ORS-M200-N"):
        assert {(policy, 128, seed) for seed in range(3)} <= found
        assert (policy, 512, 0) not in found
    latent = {50, 100, CHOSEN_FOR_DENSITY[dataset]}
    of_table_1 = {"RS-density", *(f"ORS-M{m}-density" for m in latent)}
    of_table_1 |= {"RS-paper", "ORS-M50-paper", "ORS-M100-paper"}
    others = {key for key in found if key[0].endswith(("-density", "-paper"))}
    assert others == {(v, 128, seed) for v in of_table_1 for seed in range(3)}
    assert {key for key in found if key[0] in ("Unigram", "TF-IDF")} == {
        ("Unigram", 0, 0),
        ("TF-IDF", 0, 0),
    }
    for t in every:  # features of the paper's models come from one training, Table 1 from others
        predicted = t.variant in of_table_1 if t.info.softmax else t.units in (0, 128)
        assert bool(t.measures.predicted) == bool(t.measures.draws) == predicted
        assert t.measures.of_features == (t.variant not in of_table_1)
    assert {t.measures.predicted_seed for t in every} == {0}  # the same documents for every model


def test_the_quick_run_is_one_of_each():
    features = ["RS-paper", "ORS-M50-paper", "ORS-M100-paper", "ORS-M100", "RS", "DocNADE"]
    densities = ["RS-density", "ORS-M10-density", "ORS-M100-density", "ORS-M50-density"]
    others = ["ORS-M50", "LSI", "LDA", "TF-IDF", "Unigram"]
    assert [trial.variant for trial in ALL] == features + densities + others
    assert {(t.dataset, t.units or 128, t.settings.seed) for t in ALL} == {("20news-2000", 128, 0)}


def test_the_chosen_number_of_latent_words_may_be_one_of_the_paper_s(monkeypatch):
    usual = len(FULL.trials(2))
    monkeypatch.setitem(CHOSEN_FOR_DENSITY, "20news-2000", 50)
    assert len(FULL.trials(2)) == usual - 2  # one for each seed


def test_parts_are_all_trials_once():
    everything = FULL.trials(3)
    parts = [trial for i in (1, 2, 3) for trial in part_of(everything, f"{i}/3")]
    assert sorted(t.name for t in parts) == sorted(t.name for t in everything)


@pytest.mark.parametrize("part", ["0/0", "0/2", "3/2", "1", "a/b", "1/", "-1/2", ""])
def test_senseless_parts_are_refused(part):
    with pytest.raises(InvalidParameter, match=r"'part'.* must be I/N"):
        part_of(ALL, part)


def test_a_selection_by_name():
    assert {trial.model for trial in select(FULL.trials(2), "_LDA_")} == {"lda"}
    with pytest.raises(InvalidParameter, match=r"'only'.* must be part of a trial's name"):
        select(ALL, "klingon")


def test_every_model_from_documents_to_report(tmp_path, sources, tiny):
    logged = []
    reproduce(tmp_path, sources, plan="quick", device="cpu", log=logged.append)
    records = read_records(tmp_path)
    assert {r.status for r in records.values()} == {"done"}, logged
    assert "about 22 minutes" in logged[0]
    assert f"{len(ALL)} trials took 0." in logged[-1]
    assert set(records) == {trial.name for trial in ALL}
    ors = records["20news-2000_ORS-M100_F128_seed0"]
    assert ors.mean_latent_words == ors.settings["latent_words"] == 100
    assert (ors.perplexity, ors.table1) == (None, None)
    assert all("fewer than 128 units" in note for note in ors.notes), "60 documents are few"
    for purpose in ("density", "paper"):
        found = records[f"20news-2000_ORS-M100-{purpose}_F128_seed0"]
        assert found.table1.bound >= found.perplexity.value > 1
        assert found.perplexity.n_documents == sum(found.table1.log_zeta.documents) == 30
        assert found.precision_at_10 is None
        assert not any("log ζ by ais" in note for note in found.notes)
    assert ors.n_parameters == 128 * 30 + 128 + 30
    assert 0 < ors.precision_at_10 <= 1
    page = write_report(tmp_path).read_text(encoding="utf-8")
    assert "reduced run" in page
    for name in ("fig4-20news-2000-128", "fig5-20news-2000", "table1-20news-2000"):
        assert f"({name}.png)" in page
        assert (tmp_path / f"{name}.png").stat().st_size > 1000
        assert (tmp_path / f"{name}.svg").is_file()
    assert ": not run." not in page


def test_plans_do_not_mix(tmp_path, sources):
    write(tmp_path, [record(FULL.trials(1)[0])])
    with pytest.raises(InvalidParameter, match=r"holds trials of a full run.*another folder"):
        reproduce(tmp_path, sources, plan="quick", device="cpu")


def test_a_plan_is_known_by_its_records_however_short(tmp_path):
    for plan in (FULL, QUICK):
        shorter = replace(plan, shorter=7).trials(1)
        assert {t.settings.shorter for t in shorter} == {1, 7}
        assert plan_of([record(trial) for trial in shorter], tmp_path) is plan


def test_records_of_no_plan_are_refused(tmp_path):
    records = [record(trial) for trial in (*FULL.trials(1), *ALL)]
    assert plan_of(records[:3], tmp_path) is FULL
    with pytest.raises(InvalidParameter, match="not all of one run"):
        plan_of(records, tmp_path)
    stranger = replace(ALL[0], dataset="elsewhere")
    with pytest.raises(InvalidParameter, match="not all of one run"):
        plan_of([record(stranger)], tmp_path)


def test_counted_documents_need_no_package_for_text(tmp_path, sources):
    """A machine with torch, scikit-learn and matplotlib is enough."""
    program = f"""
import sys
for name in ("Stemmer", "stopwordsiso", "tomotopy", "charset_normalizer", "zstandard"):
    sys.modules[name] = None
from docboltz.cli.app import main
sys.argv[1:] = ["reproduce", "--quick", "--counts", {str(sources.counts)!r},
                "--out", {str(tmp_path / "out")!r}, "--device", "cpu", "--only", "_L"]
main()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = read_records(tmp_path / "out")
    assert {r.trial.model: r.status for r in found.values()} == {"lsi": "done", "lda": "skipped"}
    page = (tmp_path / "out" / "results.md").read_text(encoding="utf-8")
    assert "1 trial of LDA on 20 Newsgroups skipped: needs the package tomotopy" in page
