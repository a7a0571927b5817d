"""docboltz reproduce."""

import json

import pytest

from docboltz.experiments import measuring
from docboltz.experiments.reproduction import PLANS

from ..corpus.splits import tiny_split
from ..experiments.records import record, write


@pytest.fixture
def counts(tmp_path):
    tiny_split().save(tmp_path / "counts" / "20news-2000")
    return tmp_path / "counts"


def test_results_are_kept_and_reported(docboltz, counts, tmp_path):
    out = tmp_path / "out"
    options = ("reproduce", "--quick", "--counts", counts, "--out", out, "--device", "cpu")
    done = docboltz(*options, "--only", "Unigram")
    assert (done.code, done.out.strip()) == (0, str(out / "results.md"))
    assert "[1/1] Unigram on 20news-2000, seed 0 …" in done.err
    assert "perplexity" in done.err
    record = json.loads((out / "trials" / "20news-2000_Unigram.json").read_text("utf-8"))
    assert record["status"] == "done"
    again = docboltz(*options, "--only", "Unigram")
    assert "0 trials" in again.err
    assert "1 done already" in again.err
    (out / "results.md").unlink()
    assert docboltz("reproduce", "--out", out, "--report-only", "-q").err == ""
    assert (out / "results.md").is_file()


def test_reuters_is_left_out_where_it_is_not(docboltz, counts, tmp_path):
    options = ("--counts", counts, "--out", tmp_path / "out", "--only", "Unigram")
    outcome = docboltz("reproduce", *options, "--device", "cpu")
    assert outcome.code == 0, outcome
    assert "Left out: rcv1v2-27k, of which there are no documents" in outcome.err
    assert not list((tmp_path / "out" / "trials").glob("rcv1*"))


def test_ctrl_c_leaves_a_report(docboltz, counts, tmp_path, monkeypatch):
    real, tried = measuring._train, []

    def train(trial, *others):
        tried.append(trial)
        if len(tried) > 1:
            raise KeyboardInterrupt
        return real(trial, *others)

    monkeypatch.setattr(measuring, "_train", train)
    out = tmp_path / "out"
    options = ("--quick", "--counts", counts, "--out", out, "--device", "cpu", "--part", "5/7")
    outcome = docboltz("reproduce", *options, "--seeds", 2)
    assert outcome.code == 130
    assert f"what is done is in {out / 'results.md'}. The same command goes on." in outcome.err
    assert (out / "results.md").is_file()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "Missing option '--out'"),
        (["--out", "OUT", "--part", "0/0"], "--part must be I/N"),
        (["--out", "OUT", "--part", "half"], "--part must be I/N"),
        (["--out", "OUT", "--seeds", "0"], "'--seeds'"),
        (["--out", "OUT", "--only", "klingon"], "--only must be"),
        (["--out", "OUT", "--counts", "nowhere"], "no folder nowhere"),
        (["--out", "counts/20news-2000/train.npz"], "is a file"),
        (["--out", "OUT", "--path", "nowhere"], "There is no nowhere"),
        (["--out", "OUT", "--rcv1", "nowhere"], "no folder nowhere"),
        (["--out", "OUT", "--counts", "."], "holds none of"),
        (["--out", "OUT", "--report-only"], "no trials in OUT"),
        (["--out", "OUT", "--counts", "counts", "--device", "abacus"], "'abacus'"),
    ],
    ids=" ".join,
)
def test_wrong_usage_is_one_line_and_writes_nothing(
    docboltz, counts, tmp_path, monkeypatch, arguments, said
):
    monkeypatch.chdir(tmp_path)
    assert said in docboltz("reproduce", *arguments).complaint
    assert list(tmp_path.iterdir()) == [counts]


def test_a_quick_run_does_not_go_into_a_full_one(docboltz, counts, tmp_path):
    write(tmp_path / "out", [record(PLANS["full"].trials(1)[0])])
    options = ("--quick", "--counts", counts, "--out", tmp_path / "out")
    assert "Choose another folder" in docboltz("reproduce", *options).complaint


def test_counts_are_saved_for_another_machine(docboltz, counts, tmp_path):
    out = tmp_path / "copy"
    assert docboltz("reproduce", "--counts", counts, "--save-counts", "--out", out).code == 0
    names = [path.name for path in (out / "20news-2000").iterdir()]
    assert sorted(names) == ["labels.json", "test.npz", "train.npz"]
    options = ("--counts", out, "--out", tmp_path / "out", "--only", "Unigram", "--device", "cpu")
    assert docboltz("reproduce", "--quick", *options).code == 0
