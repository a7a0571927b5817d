"""Trials that are run, kept, skipped and tried again."""

import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from docboltz.experiments import measuring, models, running
from docboltz.experiments.models import Settings
from docboltz.experiments.record import Record, read_records
from docboltz.experiments.running import run, run_at_once
from docboltz.experiments.trial import Measures, Trial
from tests.corpus.splits import tiny_split

FEW = Settings(4, "quick", 20, updates=10)
SOME = [Trial("tfidf", FEW), Trial("lsi", FEW), Trial("rs", FEW), Trial("ors", FEW)]


def run_all(trials, folder, split=None):
    """Run trials; give what was logged and the records."""
    logged, documents = [], split or tiny_split()
    found = run(trials, lambda _: documents, folder=folder, device="cpu", log=logged.append)
    return list(found), logged


def noted(record):
    """What every real trial notes before it is trained."""
    trial = record.trial
    record.settings = measuring.parameters_of(trial.info.build(trial.settings, {}))


@pytest.fixture
def tried(monkeypatch):
    """Names of the trials that are really run; nothing is trained or measured."""
    names = []

    def train(*given):
        names.append(given[-1].trial.name)
        noted(given[-1])

    monkeypatch.setattr(measuring, "_train", train)
    return names


def test_what_is_done_stays_done(tmp_path, tried):
    records, logged = run_all(SOME, tmp_path)
    assert [record.trial for record in records] == SOME
    assert "4 trials on CPU" in logged[0]
    again, logged = run_all(SOME, tmp_path)
    assert again == records
    assert "0 trials" in logged[0]
    assert "4 done already" in logged[0]
    assert len(tried) == 4


def test_a_recipe_that_has_changed_is_run_again(tmp_path, tried, monkeypatch):
    run_all([SOME[2]], tmp_path)
    other = models.Training(models.TRAININGS["quick"].with_updates(7).softmax)
    monkeypatch.setattr(models.Training, "with_updates", lambda self, n: other)
    run_all([SOME[2]], tmp_path)
    assert tried == [SOME[2].name] * 2


@pytest.mark.parametrize(
    "other",
    [
        {"settings": replace(FEW, updates=11)},
        {"settings": replace(FEW, shorter=2)},
        {"measures": Measures(chooses_penalty=False)},
    ],
)
def test_records_of_other_settings_are_told_apart(tmp_path, tried, other):
    run_all([SOME[1]], tmp_path)
    changed = replace(SOME[1], **other)
    assert changed.name == SOME[1].name
    (found,), _ = run_all([changed], tmp_path)
    assert found.trial == changed
    assert read_records(tmp_path) == {changed.name: found}
    assert len(tried) == 2


def test_records_of_other_documents_are_told_apart(tmp_path, tried):
    run_all([SOME[1]], tmp_path)
    other = tiny_split(several_labels=True)
    (found,), _ = run_all([SOME[1]], tmp_path, other)
    assert found.documents == other.fingerprint
    assert len(tried) == 2


def test_after_an_interruption_only_the_rest_is_run(tmp_path, monkeypatch):
    tried = []

    def train(*given):
        tried.append(given[-1].trial)
        noted(given[-1])
        if len(tried) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(measuring, "_train", train)
    with pytest.raises(KeyboardInterrupt):
        run_all(SOME, tmp_path)
    assert len(read_records(tmp_path)) == 2
    run_all(SOME, tmp_path)
    assert tried == [*SOME[:3], *SOME[2:]]


def test_what_failed_is_recorded_and_tried_again(tmp_path, monkeypatch):
    broken = [True]

    def train(*given):
        if broken[0] and given[-1].trial is SOME[0]:
            raise ArithmeticError("fell apart")

    monkeypatch.setattr(measuring, "_train", train)
    logged = run_all(SOME[:2], tmp_path)[1]
    assert any("failed: ArithmeticError: fell apart" in line for line in logged)
    assert sorted(r.status for r in read_records(tmp_path).values()) == ["done", "failed"]
    broken[0] = False
    run_all(SOME[:2], tmp_path)
    assert {r.status for r in read_records(tmp_path).values()} == {"done"}


def test_each_dataset_is_loaded_once_and_each_trial_run_once(tried):
    loads = []

    def load(name):
        loads.append(name)
        return tiny_split()

    trials = [replace(trial, dataset=name) for name in ("a", "b") for trial in SOME]
    assert len(list(run([*trials, *trials], load, device="cpu"))) == len(tried) == 8
    assert loads == ["a", "b"]


@pytest.fixture
def one_helper(monkeypatch):
    """Let one process help: each that starts imports torch, which takes longer than the rest."""

    class Helper(running.Helpers):
        def __init__(self, n):
            super().__init__(1)

    monkeypatch.setattr(running, "Helpers", Helper)


@pytest.fixture
def one_thread():
    """As many threads as a helper has: sums differ in their last bits with others."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def test_helpers_beside_a_gpu_change_no_figure(one_helper, one_thread):
    """As far as can be told without one: the same trials by helpers, on the CPU."""
    measures = Measures(predicted=2, draws=2)
    density = Settings(4, "density", 20, updates=5)
    trials = [Trial(name, density, measures) for name in ("ors", "lsi", "lda")]
    split = tiny_split()
    alone = list(run(trials, lambda _: split, device="cpu"))
    helped = list(run_at_once(trials, lambda _: split, "cpu"))

    def figures(records):
        for record in records:
            assert record.status == "done", record.reason
            assert record.seconds["evaluation"] > 0
        same = {"seconds": {}, "environment": {}, "documents_per_second": None}
        same |= {"began": 0.0, "ended": 0.0}
        return {record.trial.model: replace(record, **same) for record in records}

    assert figures(helped) == figures(alone)


@pytest.fixture
def processes(monkeypatch):
    """Ids of the helper processes of a run, known when it has begun them."""
    found = []
    real = running.Helpers.wait

    def wait(self):
        found.extend(self.pool._processes)
        real(self)

    monkeypatch.setattr(running.Helpers, "wait", wait)
    return found


def is_running(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{process}/stat").read_text().split()[2] != "Z"


def test_an_interrupt_ends_the_helpers_and_keeps_what_is_done(
    tmp_path, one_helper, processes, monkeypatch
):
    real = running.Helpers.wait

    def interrupted(self):
        real(self)
        raise KeyboardInterrupt

    monkeypatch.setattr(running.Helpers, "wait", interrupted)
    monkeypatch.setattr(running, "choose_device", lambda *_: "cuda:7")
    monkeypatch.setattr(running, "hardware", lambda _: "abacus")
    split = tiny_split()
    with pytest.raises(KeyboardInterrupt):
        list(run(SOME[:2], lambda _: split, folder=tmp_path, helpers=True))
    assert {r.status for r in read_records(tmp_path).values()} == {"done"}
    assert processes
    assert not any(map(is_running, processes))


def _die(trial, split, device):
    """Kill the helper: always for LSI."""
    if trial.model == "lsi":
        os._exit(3)
    return Record(trial, split.fingerprint)


def test_a_helper_that_dies_is_one_trial_s_trouble(one_helper, monkeypatch):
    """What it had to do is done again, and has failed if it dies again; what was in line behind it
    goes on."""
    monkeypatch.setattr(running, "attempt", _die)
    split = tiny_split()
    found = {r.trial.model: r for r in run_at_once(SOME[:2], lambda _: split, "cpu")}
    assert found["tfidf"].status == "done"
    assert found["lsi"].status == "failed"
    assert "a helper process died" in found["lsi"].reason


def test_helpers_end_with_a_process_that_is_killed(tmp_path):
    program = """
import os, time
from docboltz.experiments.running import Helpers
helpers = Helpers(1)
print(helpers.pool.submit(os.getpid).result(), flush=True)
time.sleep(60)
"""
    script = tmp_path / "killed.py"
    script.write_text(program, encoding="utf-8")
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True) as parent:
        helper = int(parent.stdout.readline())
        parent.kill()
    deadline = time.monotonic() + 30
    while is_running(helper) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not is_running(helper)
