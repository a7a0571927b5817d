import io
import pickle
import signal
import threading
from concurrent.futures import Future
from contextlib import contextmanager

import pytest

from docboltz.corpus import workers
from docboltz.corpus.analysis import TextAnalysis
from docboltz.corpus.chunks import ChunkCounter
from docboltz.corpus.workers import count_with_workers
from docboltz.errors import DocboltzError

WORDS = TextAnalysis(pretokenised=True)


def start(chunks, analysis=WORDS, n_workers=1):
    return count_with_workers(chunks, ChunkCounter(analysis), n_workers)


def test_a_worker_answers_until_its_requests_end():
    requests, replies = io.BytesIO(), io.BytesIO()
    for message in ((WORDS, None, 0), ["a b a"], ["b c"]):
        pickle.dump(message, requests)
    requests.seek(0)
    before = signal.getsignal(signal.SIGINT)
    try:
        workers.work(requests, replies)
    finally:
        signal.signal(signal.SIGINT, before)
    replies.seek(0)
    assert pickle.load(replies).new_terms == ("a", "b")
    assert pickle.load(replies).new_terms == ("c",)


def test_counts_come_in_the_order_of_the_chunks():
    chunks = [[f"doc{i} " * (i % 7 + 1)] for i in range(60)]
    counted = list(start(chunks, n_workers=2))
    assert [c.counts.tolist() for c in counted] == [[i % 7 + 1] for i in range(60)]


def test_a_worker_that_stalls_does_not_let_counts_pile_up(monkeypatch):
    stalled, taken = [], []

    @contextmanager
    def never_done(own, n_workers):
        stalled.append(Future())
        yield lambda task: stalled[0]

    def chunks():
        for number in range(200):
            taken.append(number)
            yield [f"doc{number}"]

    def wake():
        found.append(len(taken))
        stalled[0].set_result(ChunkCounter(WORDS).count(["first"]))

    found: list[int] = []
    monkeypatch.setattr(workers, "started", never_done)
    monkeypatch.setattr(workers, "MOST_WAITING", 5)
    timer = threading.Timer(0.5, wake)
    timer.start()
    assert len(list(start(chunks()))) == 200
    assert found == [6]


def test_workers_do_not_load_torch_nor_scikit_learn(monkeypatch):
    probe = workers._START.replace(
        "work(", "assert not {'torch', 'sklearn'} & set(sys.modules); work("
    )
    monkeypatch.setattr(workers, "_START", probe)
    assert list(start([["The ships"]], TextAnalysis()))


def test_a_worker_that_dies_is_reported(monkeypatch, capfd):
    monkeypatch.setattr(workers, "_START", "raise SystemExit(1)")
    with pytest.raises(DocboltzError, match="n_jobs=1"):
        list(start([["a"]]))


def test_stopping_early_ends_the_workers(monkeypatch):
    started = []
    plain = workers.Worker

    def remember(*args):
        started.append(plain(*args))
        return started[-1]

    monkeypatch.setattr(workers, "Worker", remember)

    def endless():
        while True:
            yield ["a b"]

    stream = start(endless(), n_workers=2)
    next(stream)
    stream.close()
    assert [worker._process.poll() is not None for worker in started] == [True, True]
