"""Models in other processes and threads, however these were begun."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch

import docboltz.device
from docboltz import OverReplicatedSoftmax, Pretraining
from docboltz.device import choose_device
from docboltz.errors import InvalidParameter
from tests.test_laws import corpus

FORKED = """
import os, sys
import numpy as np, torch
torch.set_num_threads(2)
from docboltz import OverReplicatedSoftmax, Pretraining
from tests.test_laws import corpus
X = corpus(300).toarray().repeat(4, axis=1)
model = OverReplicatedSoftmax(16, pretraining=Pretraining(updates=20), random_state=0).fit(X)
expected = {how: model.transform(X, how) for how in ("fast", "mean_field")}
for how in expected:
    child = os.fork()
    if not child:
        same = np.array_equal(model.transform(X, how), expected[how])
        model.fit(X)
        os._exit(0 if same else 1)
    print(how, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no fork")
def test_a_forked_child_infers_and_learns_after_a_threaded_fit() -> None:
    """Its parent's threads are not in it, and torch would wait for them for ever."""
    done = subprocess.run(
        [sys.executable, "-c", FORKED],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "OMP_NUM_THREADS": "2"},
        check=False,
    )
    assert done.stdout.split() == ["fast", "0", "mean_field", "0"], done.stderr


def test_a_child_of_a_process_with_a_gpu_is_told_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(torch.cuda, "_is_in_bad_fork", lambda: True)
    for name in ("auto", "cuda", "cuda:0"):
        with pytest.raises(InvalidParameter, match=r"'cpu' in a process that was forked.*spawn"):
            choose_device(name, "test")
    assert choose_device("cpu", "test").type == "cpu"


def test_threads_are_given_up_once_and_in_the_child_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    monkeypatch.setattr(torch, "set_num_threads", calls.append)
    choose_device("cpu", "test")
    assert calls == []
    monkeypatch.setattr(docboltz.device, "_process", -1)
    choose_device("cpu", "test")
    choose_device("cpu", "test")
    assert calls == [1]


def infer(model: OverReplicatedSoftmax) -> Any:
    return model.transform(corpus(), "mean_field")


@pytest.fixture(scope="module")
def model() -> OverReplicatedSoftmax:
    quick = Pretraining(updates=20)
    return OverReplicatedSoftmax(4, pretraining=quick, random_state=0, device="cpu").fit(corpus())


@pytest.mark.slow
def test_a_spawned_process_infers(model: OverReplicatedSoftmax) -> None:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert np.array_equal(pool.apply_async(infer, (model,)).get(120), infer(model))


@pytest.mark.slow
def test_joblib_infers(model: OverReplicatedSoftmax) -> None:
    from joblib import Parallel, delayed

    with Parallel(n_jobs=2, backend="loky", timeout=120) as parallel:
        found = parallel(delayed(infer)(model) for _ in range(2))
    assert all(np.array_equal(each, infer(model)) for each in found)


def test_threads_infer_and_learn_beside_each_other(model: OverReplicatedSoftmax) -> None:
    expected, barrier = infer(model), threading.Barrier(4)

    def work(number: int) -> Any:
        barrier.wait()
        if number % 2:
            own = OverReplicatedSoftmax(3, pretraining=Pretraining(updates=5), random_state=number)
            own.fit(corpus())
        return infer(model)

    with ThreadPoolExecutor(4) as pool:
        assert all(np.array_equal(found, expected) for found in pool.map(work, range(4)))
