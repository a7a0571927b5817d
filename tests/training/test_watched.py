"""The log-likelihood of held-out documents, followed while a model is trained for it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from docboltz import Finetuning, OverReplicatedSoftmax, Pretraining, Validation
from docboltz.inference import draw_documents
from docboltz.model import exact
from docboltz.model.counts import SparseCounts
from docboltz.model.latent_words import FixedLatentWords
from docboltz.training import course as courses
from docboltz.training import finetune
from docboltz.training.course import Course
from docboltz.training.finetune import MaximumLikelihood
from docboltz.training.run import Run
from docboltz.training.validation import WatchedDocuments
from tests.conftest import random_parameters
from tests.model.test_conditionals import sparse
from tests.training.fakes import CPU, documents_of, small_parameters, unseen
from tests.training.runs import Saves
from tests.training.test_going_on import interrupt
from tests.training.test_validation import of_many_kinds

K = 12
ESTIMATE = ("held_out_log_likelihood", "held_out_error", "held_out_documents")
QUICK: dict[str, Any] = {"updates": 35, "batch_size": 32, "rungs": 12, "bridge": 4, "sweeps": 2}


def counts_of(n: int, *, seed: int = 0) -> SparseCounts:
    return sparse(of_many_kinds(n, K, seed=seed).float())


def course_of(counts: SparseCounts, m: int = 2, **settings: Any) -> Course:
    validation = settings.pop("validation", None)
    return Course(
        small_parameters(4, K, dtype=torch.float32),
        counts,
        FixedLatentWords(m),
        CPU,
        pretraining=Pretraining(updates=10),
        finetuning=Finetuning(**{**QUICK, **settings}),
        matching=None,
        validation=validation,
        seed=5,
    )


def learnt_rows(course: Course) -> torch.Tensor:
    documents = course.run._documents
    return torch.arange(len(documents.counts)) if documents.rows is None else documents.rows


@pytest.fixture
def frequent(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look, and an estimate, every 10 updates."""
    monkeypatch.setattr("docboltz.training.run.LOOK", 10)
    monkeypatch.setattr(finetune, "ESTIMATE_EVERY", 10)


# ---- which documents ----


@pytest.mark.parametrize(
    ("n", "settings", "held"),
    [
        (600, {}, 12),
        (600, {"watched": 11}, 11),
        (600, {"watched": 9}, 0),
        (600, {"watched": 0}, 0),
        (600, {"chains": "data"}, 0),
        (499, {}, 0),
    ],
)
def test_a_fiftieth_of_the_documents_is_held_out_at_most(n: int, settings: Any, held: int) -> None:
    course = course_of(counts_of(n), **settings)
    assert len(learnt_rows(course)) == n - held
    course.go(unseen)
    last = course.run.history[-1]
    assert (last["held_out_documents"] if held else None) == last.get("held_out_documents")
    assert last.get("held_out_documents", 0) == held


def test_the_same_seed_holds_out_the_same_documents() -> None:
    one, other = (learnt_rows(course_of(counts_of(600))) for _ in range(2))
    assert torch.equal(one, other)
    assert len(one.unique()) == 588


def test_held_out_documents_are_not_learned_from() -> None:
    """With other documents in their places every bit of the model is the same."""
    counts, others = of_many_kinds(600, K, seed=0), of_many_kinds(600, K, seed=1)
    rows = learnt_rows(course_of(counts_of(600)))
    changed = others.clone()
    changed[rows] = counts[rows]
    one, other = (course_of(sparse(X.float())) for X in (counts, changed))
    for course in (one, other):
        course.go(unseen)
    assert torch.equal(one.run.parameters.W, other.run.parameters.W)
    assert torch.equal(one.run.parameters.b, other.run.parameters.b)
    found = [course.run.history[-1]["held_out_log_likelihood"] for course in (one, other)]
    assert found[0] != found[1]


def test_trials_watch_what_they_hold_out_and_the_last_run_learns_from_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sizes = []

    class Noted(WatchedDocuments):
        def __init__(self, counts: SparseCounts, *rest: Any) -> None:
            sizes.append(len(counts))
            super().__init__(counts, *rest)

    monkeypatch.setattr(courses, "WatchedDocuments", Noted)
    validation = Validation(strengths=(1,), tolerance=0.9, fewest=50)
    course = course_of(counts_of(200), validation=validation, watched=15)
    assert sizes == [15]
    trial = course.run
    course.go(unseen)
    assert trial.history[-1]["held_out_documents"] == 15
    assert len(learnt_rows(course)) == 200
    assert not any(name in look for look in course.run.history for name in ESTIMATE)


# ---- along the way ----


def test_the_estimate_changes_nothing_in_training() -> None:
    counts = of_many_kinds(60, K, seed=0).float()
    ends = []
    for follows in (True, False):
        watched = WatchedDocuments(counts_of(20, seed=1), FixedLatentWords(2), CPU)
        phase = MaximumLikelihood(Finetuning(**QUICK), watched if follows else None)
        p = small_parameters(4, K, dtype=torch.float32)
        run = Run(p, documents_of(counts, 2), [phase], seed=0)
        run.go(unseen)
        ends.append(run)
    with_it, without = ends
    assert torch.equal(with_it.parameters.W, without.parameters.W)
    assert torch.equal(with_it.parameters.b, without.parameters.b)
    seen = [{k: v for k, v in look.items() if k not in ESTIMATE} for look in with_it.history]
    assert seen == without.history
    assert set(ESTIMATE) <= set(with_it.history[-1])


@pytest.mark.usefixtures("frequent")
@pytest.mark.parametrize("update", [9, 10, 31])
def test_a_course_that_goes_on_has_the_same_history(update: int) -> None:
    whole = course_of(counts_of(600))
    whole.go(unseen)
    looks = [look for look in whole.run.history if "held_out_log_likelihood" in look]
    assert [look["update"] for look in looks] == [10, 20, 30, 35]
    saves, stopped = Saves(), course_of(counts_of(600))
    stopped._save = saves
    stopped.run = stopped._next_run()
    interrupt(stopped.run._phases[1], update)
    with pytest.raises(KeyboardInterrupt):
        stopped.go(unseen)
    resumed = course_of(counts_of(600))
    resumed.restore(*saves[-1])
    resumed.go(unseen)
    assert resumed.run.history == whole.run.history
    assert torch.equal(resumed.run.parameters.W, whole.run.parameters.W)


def test_a_long_run_has_25_estimates() -> None:
    phase = MaximumLikelihood(Finetuning(updates=50_000))
    assert phase._estimate_every == 2000
    assert MaximumLikelihood(Finetuning(updates=1500))._estimate_every == 200


def test_guests_of_the_pool_are_sent_home() -> None:
    p, documents = small_parameters(3, 8), documents_of(of_many_kinds(20, 8, seed=0))
    phase = MaximumLikelihood(Finetuning(rungs=6, bridge=0, sweeps=1))
    phase.begin(p, documents, torch.Generator().manual_seed(0))
    pool = phase._pool
    assert pool is not None
    pool.guest[2] = True
    hosts = 1 - pool.topics
    home = finetune.at_home(pool, hosts)
    assert torch.equal(home.topics[2], hosts[2])
    assert torch.equal(home.topics[3:], pool.topics[3:])
    assert not home.guest.any()


# ---- how right it is ----


@pytest.mark.parametrize("m", [0, 6])
def test_the_estimate_is_that_of_enumeration(m: int) -> None:
    """A density of ten units, at the end of training: within its error, which is small."""
    true, g = random_parameters(6, 30, scale=0.4), torch.Generator().manual_seed(0)
    n = np.random.default_rng(0).integers(5, 60, 1000)
    X = draw_documents(true, n, FixedLatentWords(0), sweeps=50, generator=g)
    held = []

    class Noted(WatchedDocuments):
        def __init__(self, counts: SparseCounts, *rest: Any) -> None:
            held.append(counts)
            super().__init__(counts, *rest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(courses, "WatchedDocuments", Noted)
        model = OverReplicatedSoftmax(
            10,
            latent_words=m,
            pretraining=Pretraining(updates=100),
            finetuning=Finetuning(updates=300, batch_size=128, rungs=256, learning_rate=0.01),
            random_state=0,
            device="cpu",
        ).fit(X)
    seen = model.history_[-1]
    p, counts = model._parameters().to(CPU, torch.float64), held[0].dense().double()
    lengths = counts.sum(1)
    known = float((exact.log_likelihood(p, counts, torch.full_like(lengths, m)) / lengths).mean())
    assert seen["held_out_documents"] == len(counts) == 20
    assert abs(seen["held_out_log_likelihood"] - known) < 4 * seen["held_out_error"] + 0.002
    assert seen["held_out_error"] < 0.01
