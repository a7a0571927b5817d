"""Trials that are run, kept, skipped and tried again."""

import multiprocessing
import os
import subprocess
import sys
import time
from concurrent.futures import wait
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from docboltz.errors import InvalidParameter
from docboltz.evaluation.by_length import by_length
from docboltz.reproduce import measuring, models, running
from docboltz.reproduce.data import save_split
from docboltz.reproduce.measuring import pack_by_length, unpack_by_length
from docboltz.reproduce.models import FULL, KINDS, QUICK
from docboltz.reproduce.report import write_report
from docboltz.reproduce.running import read_records, run_trials
from docboltz.reproduce.trials import select, trials

from .conftest import tiny_split
from .records import record, write

ALL = trials(QUICK, 1)


def run(some, folder, effort, split=None):
    said = []
    documents = split or tiny_split()
    run_trials(some, folder, lambda _: documents, effort, device="cpu", say=said.append)
    return said


def test_every_model_from_documents_to_report(tmp_path, tiny, monkeypatch):
    monkeypatch.setattr("docboltz.estimator.density.FIRST_PARTICLES", 32)
    monkeypatch.setattr("docboltz.estimator.density.MORE_PARTICLES", 32)
    monkeypatch.setattr("docboltz.likelihood.MOST_PARTICLES", 16)
    said = run(ALL, tmp_path, tiny)
    records = read_records(tmp_path)
    assert {r["status"] for r in records.values()} == {"done"}, said
    assert set(records) == {trial.name for trial in ALL}
    ors = records["20news-2000_ORS-M100_F128_seed0"]
    assert ors["mean_latent_words"] == 100
    assert "latent_words=100" in ors["settings"]
    assert ors["bound"]["value"] >= ors["perplexity"]["value"] > 1
    assert ors["bound"]["method"] == "bound"
    assert ors["perplexity"]["n_documents"] == 10
    assert ors["n_parameters"] == 128 * 30 + 128 + 30
    assert 0 < ors["precision_at_10"] <= 1
    page = write_report(tmp_path).read_text(encoding="utf-8")
    assert "reduced run" in page
    for name in ("fig4-20news-2000-128", "fig5-20news-2000"):
        assert f"({name}.png)" in page
        assert (tmp_path / f"{name}.png").stat().st_size > 1000
        assert (tmp_path / f"{name}.svg").is_file()
    assert ": not run." not in page


def test_helpers_beside_a_gpu_change_no_figure(tmp_path, tiny):
    """As far as can be told without one: the same trials by helpers, on the CPU."""
    some = [*select(ALL, "_ORS-M50_"), *select(ALL, "_LSI_"), *select(ALL, "_LDA_")]
    few = replace(tiny, n_documents=2)
    run(some, tmp_path / "alone", few)
    shared = running.Run(tmp_path / "helped", lambda _: tiny_split(), few, print, 3)
    running.run_beside_gpu(some, shared, "cpu")
    alone, helped = read_records(tmp_path / "alone"), read_records(tmp_path / "helped")
    for found in (*alone.values(), *helped.values()):
        assert found["status"] == "done"
        assert found.pop("seconds")["evaluation"] > 0
        del found["hardware"]
    assert helped == alone


def test_an_interrupt_ends_the_helpers_and_keeps_what_is_done(tmp_path, tiny, monkeypatch):
    shared = running.Run(tmp_path, lambda _: tiny_split(), tiny, print, 2)

    def interrupted(pending, **how):
        wait(pending, **how)
        raise KeyboardInterrupt

    monkeypatch.setattr(running, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        running.run_beside_gpu([*select(ALL, "_LSI_"), *select(ALL, "_TF-IDF")], shared, "cpu")
    assert read_records(tmp_path)
    assert multiprocessing.active_children() == []


def _die(*_):
    os._exit(3)


def test_a_helper_that_dies_is_one_trial_s_trouble(tmp_path, tiny, monkeypatch):
    """What it had to do has failed and is tried again; what others do goes on."""
    monkeypatch.setattr(running, "attempt", _die)
    some = [*select(ALL, "_LSI_"), *select(ALL, "_ORS-M50_")]
    few = replace(tiny, n_documents=2)
    shared = running.Run(tmp_path, lambda _: tiny_split(), few, print, 2)
    running.run_beside_gpu(some, shared, "cpu")
    found = {r["model"]: r for r in read_records(tmp_path).values()}
    assert found["ORS-M50"]["status"] == "done"
    assert found["LSI"]["status"] == "failed"
    assert "a helper process died" in found["LSI"]["reason"]
    assert "1 trial of LSI on 20 Newsgroups failed" in write_report(tmp_path).read_text("utf-8")


def test_helpers_end_with_a_process_that_is_killed(tmp_path):
    program = """
import os, time
from docboltz.reproduce import running
if __name__ == "__main__":
    with running._helpers(1) as pool:
        print(pool.submit(os.getpid).result(), flush=True)
        time.sleep(60)
"""
    script = tmp_path / "killed.py"
    script.write_text(program, encoding="utf-8")
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True) as parent:
        helper = int(parent.stdout.readline())
        parent.kill()
    deadline = time.monotonic() + 30
    while Path(f"/proc/{helper}").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    with pytest.raises(ProcessLookupError):
        os.kill(helper, 0)


def test_each_dataset_is_loaded_once(tmp_path, tiny):
    loads = []

    def load(name):
        loads.append(name)
        return tiny_split()

    shared = running.Run(tmp_path, load, tiny, print, 2)
    for trial in trials(FULL, 2):
        shared.documents(trial)
    assert sorted(loads) == sorted(FULL.datasets)


def test_documents_of_many_labels(tmp_path, tiny):
    run(select(ALL, "_LSI_"), tmp_path, tiny, tiny_split(multilabel=True))
    (found,) = read_records(tmp_path).values()
    assert found["status"] == "done"
    assert 0 < found["classification"] <= 1


def test_after_an_interruption_only_the_rest_is_run(tmp_path, tiny, monkeypatch):
    some, tried = select(ALL, "0"), []

    def measure(trial, *_):
        tried.append(trial.name)
        if len(tried) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(measuring, "_measure", measure)
    with pytest.raises(KeyboardInterrupt):
        run(some, tmp_path, tiny)
    assert len(read_records(tmp_path)) == 2
    run(some, tmp_path, tiny)
    assert tried == [trial.name for trial in (*some[:3], *some[2:])]


def test_what_failed_is_recorded_and_tried_again(tmp_path, tiny, monkeypatch):
    some, broken = select(ALL, "M"), [True]

    def measure(trial, *_):
        if broken[0] and trial is some[0]:
            raise ArithmeticError("fell apart")

    monkeypatch.setattr(measuring, "_measure", measure)
    assert any("failed: ArithmeticError: fell apart" in line for line in run(some, tmp_path, tiny))
    assert sorted(r["status"] for r in read_records(tmp_path).values()) == ["done", "failed"]
    broken[0] = False
    run(some, tmp_path, tiny)
    assert {r["status"] for r in read_records(tmp_path).values()} == {"done"}


def test_lda_without_its_package_is_left_to_another_machine(tmp_path, tiny, monkeypatch):
    monkeypatch.setitem(sys.modules, "tomotopy", None)
    lda = select(ALL, "_LDA_")
    run(lda, tmp_path, tiny)
    (found,) = read_records(tmp_path).values()
    assert found["status"] == "skipped"
    assert "tomotopy" in found["reason"]
    monkeypatch.undo()
    run(lda, tmp_path, tiny)
    assert [r["status"] for r in read_records(tmp_path).values()] == ["done"]


def test_efforts_do_not_mix(tmp_path, tiny):
    write(tmp_path, [record(trials(FULL, 1)[0])])
    with pytest.raises(InvalidParameter, match="Choose another folder"):
        run(ALL, tmp_path, tiny)


def test_a_damaged_record_is_named(tmp_path):
    (tmp_path / "trials").mkdir()
    (tmp_path / "trials" / "x.json").write_text("{", encoding="utf-8")
    with pytest.raises(InvalidParameter, match=r"x\.json is not the record"):
        read_records(tmp_path)
    (tmp_path / "trials" / "x.json").write_text('{"model": "oracle"}', encoding="utf-8")
    with pytest.raises(InvalidParameter, match=r"x\.json is of a model that this version"):
        read_records(tmp_path)


def test_a_model_trained_for_density_is_trained_longer_than_others():
    usual, longer = (KINDS[model].effort(FULL).topic_model for model in ("RS", "RS-density"))
    assert longer["finetuning"].updates > 5 * usual["finetuning"].updates


def test_what_is_kept_by_length_is_what_is_plotted():
    rng = np.random.RandomState(0)
    whole = by_length(rng.rand(200), rng.randint(1, 30, 200))
    packed = pack_by_length(whole)
    back = unpack_by_length(packed)
    assert back.length.tolist() == whole.length.tolist()
    assert np.allclose(packed["fifths"], whole.mean_by_fifth)
    for length in np.unique(whole.length):
        at = whole.length == length
        assert back.smoothed[at].mean() == pytest.approx(whole.smoothed[at].mean(), abs=1e-5)


def test_a_rehearsal_is_the_same_model_with_few_updates():
    few = models.rehearsed(FULL)
    assert few.topic_model["pretraining"].updates == few.topic_model["finetuning"].updates == 20
    assert few.topic_model["finetuning"].rungs == FULL.topic_model["finetuning"].rungs


def test_counted_documents_need_no_package_for_text(tmp_path):
    """A machine with torch, scikit-learn and matplotlib is enough."""
    save_split(tiny_split(), tmp_path / "counts" / "20news-2000")
    program = f"""
import sys
for name in ("Stemmer", "stopwordsiso", "tomotopy", "charset_normalizer", "zstandard"):
    sys.modules[name] = None
from docboltz.cli.app import main
sys.argv[1:] = ["reproduce", "--quick", "--counts", {str(tmp_path / "counts")!r},
                "--out", {str(tmp_path / "out")!r}, "--device", "cpu", "--only", "_L"]
main()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = read_records(tmp_path / "out")
    assert {r["model"]: r["status"] for r in found.values()} == {"LSI": "done", "LDA": "skipped"}
    page = (tmp_path / "out" / "results.md").read_text(encoding="utf-8")
    assert "1 trial of LDA on 20 Newsgroups skipped: needs the package tomotopy" in page
