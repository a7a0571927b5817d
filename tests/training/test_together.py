"""Several workers train the model that one worker would, in expectation, and all the same one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from docboltz import Finetuning, OverReplicatedSoftmax, Pretraining, Validation
from docboltz.errors import DocboltzError, InvalidCounts, OtherRun, TrainingDiverged
from docboltz.model import exact
from docboltz.model.counts import lengths
from docboltz.model.latent_words import FixedLatentWords, LatentWordsUpTo
from docboltz.model.parameters import Parameters
from docboltz.randomness import Random
from docboltz.training import run as runs
from docboltz.training.documents import Batch, Documents
from docboltz.training.finetune import MaximumLikelihood, data_statistics
from docboltz.training.pretrain import ContrastiveDivergence, weighted_topics
from docboltz.training.run import Run
from docboltz.training.together import ALONE, Alone, Together
from docboltz.training.trainer import Phase, Trainer
from docboltz.training.validation import HeldOut, hold_out
from tests.conftest import random_counts
from tests.model.test_conditionals import sparse
from tests.training.fakes import CPU, Drift, Plain, seeded, small_parameters, unseen
from tests.training.runs import Saves
from tests.training.test_finetune import ERRORS, GROUPS, mean_and_error
from tests.training.test_pretrain import exact_contrastive_divergence
from tests.training.test_validation import of_many_kinds
from tests.training.workers import InThread, Meeting, in_processes, in_threads, process_group

COUNTS = random_counts(9, 5)
SHARDS = [COUNTS[:3], COUNTS[3:]]
"""Workers with a third and two thirds of the documents."""


def documents_of(shards: list[Tensor], worker: Alone, m: int = 2) -> Documents:
    return Documents.of(sparse(shards[worker.rank]), FixedLatentWords(m), CPU, worker)


def whole(counts: Tensor = COUNTS, m: int = 2) -> Documents:
    return Documents.of(sparse(counts), FixedLatentWords(m), CPU)


# ---- what is divided ----


@given(whole=st.integers(1, 500), shares=st.lists(st.integers(1, 200), min_size=1, max_size=9))
def test_parts_add_up_and_fit(whole: int, shares: list[int]) -> None:
    meeting = Meeting(len(shares))
    parts = [InThread(rank, meeting).part_of(whole, shares) for rank in range(len(shares))]
    assert sum(parts) == whole
    exact_parts = [whole * share / sum(shares) for share in shares]
    assert all(abs(part - x) < 1 for part, x in zip(parts, exact_parts, strict=True))
    if whole <= sum(shares):
        assert all(part <= share for part, share in zip(parts, shares, strict=True))


def test_random_numbers_differ_between_workers_and_worker_0_has_the_common_ones() -> None:
    meeting = Meeting(64)
    seeds = {InThread(rank, meeting).seed(7) for rank in range(64)}
    assert len(seeds) == 64
    assert InThread(0, meeting).seed(7) == ALONE.seed(7) == 7


def test_facts_are_of_all_documents() -> None:
    expected = whole().facts
    for found in in_threads(lambda worker: documents_of(SHARDS, worker).facts):
        assert found.sizes == [3, 6]
        assert (found.n, found.mean_d, found.latent) == (9, expected.mean_d, True)
        assert torch.equal(found.frequency, expected.frequency), "whole counts add up exactly"


@pytest.mark.parametrize("number", [1, 4, 9, 20])
def test_quantiles_are_of_all_documents(number: int) -> None:
    place = ((torch.arange(number) + 0.5) / number * 9).long()
    expected = whole().d.sort().values[place]
    for found in in_threads(lambda worker: documents_of(SHARDS, worker).quantiles(number)):
        assert torch.equal(found, expected)


# ---- the gradient ----


class Positive(Drift):
    """Steps by the statistics of the data under a model that stays: no draw, no negative phase."""

    def begin(self, p: Parameters, documents: Documents, generator: torch.Generator) -> Plain:
        self._model = small_parameters(3, 5, scale=0.5)
        return super().begin(p, documents, generator)

    def gradients(self, batch: Batch, variant: int, generator: Random) -> list[Tensor]:
        data, _ = data_statistics(self._model, batch, steps=3, generator=generator)
        return [data.W.T, data.b]


def climbed(documents: Documents, updates: int, batch_size: int) -> Tensor:
    """Sum of the gradients of so many updates, those of W and of b side by side: (K, F + 1)."""
    zeros = small_parameters(3, 5, scale=0.0)
    trainer = Trainer(Positive(updates, batch_size=batch_size), zeros, documents, seed=0)
    trainer.advance(updates)
    return torch.cat([zeros.W.T, zeros.b[:, None]], 1)


def test_statistics_of_workers_add_up_to_those_of_all_documents() -> None:
    expected = climbed(whole(), 1, 9)
    one, other = in_threads(lambda worker: climbed(documents_of(SHARDS, worker), 1, 9))
    torch.testing.assert_close(one, expected, rtol=1e-13, atol=1e-14)
    assert torch.equal(one, other)


@pytest.mark.parametrize(("batch_size", "parts"), [(4, (1, 3)), (2, (1, 2)), (5, (1, 4))])
def test_minibatches_of_workers_have_the_mean_of_all_documents(
    batch_size: int, parts: tuple[int, int]
) -> None:
    """Over whole passes of each worker every document of it counts alike. Parts of a batch are not
    a third and two thirds of it: weights put that right."""
    passes = 12  # updates: 4 passes through 3 documents by 1; 6, 4 or 8 through 6 by 3, 2 or 4
    expected = climbed(whole(), 1, 9)

    def work(worker: Alone) -> tuple[Tensor, int]:
        documents = documents_of(SHARDS, worker)
        return climbed(documents, passes, batch_size) / passes, documents.part_of_batch(batch_size)

    found = in_threads(work)
    assert tuple(part for _, part in found) == parts
    for mean, _ in found:
        torch.testing.assert_close(mean, expected, rtol=1e-12, atol=1e-13)


def test_the_pull_towards_sparsity_follows_the_activity_in_all_workers() -> None:
    """It is not linear in the activity, so the mean of the workers' own pulls is another."""
    topics = torch.rand(9, 4, generator=seeded()).double()
    expected = weighted_topics(topics, 2.0, target=0.1)

    def work(worker: Alone) -> tuple[Tensor, Tensor]:
        documents, own = (
            documents_of(SHARDS, worker),
            topics[:3] if worker.rank == 0 else topics[3:],
        )
        activity = own.mean(0)
        documents.average_(activity)
        found = [
            weighted_topics(own, 2.0, target=0.1, activity=each) * documents.share
            for each in (activity, None)
        ]
        return found[0], found[1]

    together, apart = (torch.cat(each) for each in zip(*in_threads(work), strict=True))
    torch.testing.assert_close(together, expected, rtol=1e-13, atol=1e-14)
    assert (apart - expected).abs().max() > 1e-3, "a blunt test"


SOME = random_counts(3, 4)
UNEVEN = [SOME[:1], SOME[1:]]


def gradients(
    make: Callable[[], Any], m: int, variant: int
) -> tuple[list[list[Tensor]], Parameters]:
    """GROUPS gradients of two workers, each from 500 and 1,000 copies of its documents.

    They are averaged as a trainer does it. Both workers hold the same model.
    """
    p = small_parameters(3, 4, scale=0.5)
    many = [UNEVEN[0].repeat(500, 1), UNEVEN[1].repeat(500, 1)]

    def work(worker: Alone) -> list[list[Tensor]]:
        documents, g = documents_of(many, worker, m), seeded(worker.seed(1))
        phase = make()
        phase.begin(p, documents, g)
        batch, found = documents.pick(torch.arange(len(documents))), []
        for _ in range(GROUPS):
            mine = [each.clone() for each in phase.gradients(batch, variant, g)]
            for each in mine:
                documents.average_(each)
            found.append(mine)
        return found

    one, other = in_threads(work)
    assert all(
        torch.equal(a, b)
        for x, y in zip(one, other, strict=True)
        for a, b in zip(x, y, strict=True)
    )
    return one, p


@pytest.mark.parametrize(("chains", "sweeps"), [("pool", 20), ("data", 40)])
def test_the_gradient_of_maximum_likelihood_is_the_exact_one(chains: Any, sweeps: int) -> None:
    """As in test_finetune, where one worker has all documents: at most 19 means of 40 groups beyond
    5.5 standard errors happen by chance in 5 of 100,000 runs; the seed is fixed.

    Workers that counted alike, instead of by their documents, would be found out.
    """
    settings = Finetuning(
        chains=chains, sweeps=sweeps, weight_decay=0, gibbs_steps=20, rungs=1500, bridge=4
    )
    found, p = gradients(lambda: MaximumLikelihood(settings), 4, 0)
    m = torch.full((3,), 4.0).double()
    d = lengths(SOME) + m
    frequency = SOME.sum(0) / SOME.sum()
    full = [W.T + torch.outer(row_mean, frequency) for W, _, row_mean in found]
    mean, error = mean_and_error(full)
    assert (error < 3e-3).all()
    expected = exact.likelihood_gradient(p, SOME, m, 1 / (3 * d)).W
    assert ((mean - expected).abs() < ERRORS * error).all()
    mean_b, error_b = mean_and_error([b for _, b, _ in found])
    expected_b = exact.likelihood_gradient(p, SOME, m, 1 / (3 * d)).b
    assert ((mean_b - expected_b).abs() < ERRORS * error_b).all()
    alike = exact.likelihood_gradient(p, SOME, m, torch.tensor([1 / 2, 1 / 4, 1 / 4]) / d).W
    assert not ((mean - alike).abs() < ERRORS * error).all()


def test_the_gradient_of_contrastive_divergence_is_its_exact_expectation() -> None:
    """CD-2 with latent words; 12 entries, beyond 5.5 standard errors in 3 of 100,000 runs."""
    found, p = gradients(lambda: ContrastiveDivergence(Pretraining(sparsity=0)), 4, 2)
    mean, error = mean_and_error([W.T for W, _ in found])
    each = torch.stack([exact_contrastive_divergence(p, x, 4.0, 2) for x in SOME])
    assert ((mean - each.mean(0)).abs() < 5.5 * error).all()
    alike = (each[0] + each[1:].mean(0)) / 2
    assert not ((mean - alike).abs() < 5.5 * error).all()


# ---- the pool ----


def test_workers_divide_the_chains_and_each_has_short_and_long_ones() -> None:
    """Together they are the pool that one worker would have."""
    settings = Finetuning(rungs=7, bridge=3, sweeps=1)

    def pool(documents: Documents) -> dict[str, Tensor]:
        phase = MaximumLikelihood(settings)
        phase.begin(small_parameters(3, 5), documents, seeded(documents.together.seed(0)))
        return phase.tensors() | {"share": torch.tensor(documents.share)}

    alone = pool(whole())
    parts = in_threads(lambda worker: pool(documents_of(SHARDS, worker)))
    d = torch.cat([part["d"] for part in parts])
    weight = torch.cat([part["weight"] * part["share"] for part in parts])
    order = d.argsort(stable=True)
    assert torch.equal(d[order], alone["d"])
    torch.testing.assert_close(weight.sum(), torch.tensor(1.0).double())
    torch.testing.assert_close(weight[order].sort().values, alone["weight"].sort().values)
    assert [len(part["d"]) for part in parts] == [5, 5]
    assert all(part["d"][0] <= 2 and part["d"][-1] >= alone["d"][-2] for part in parts)
    assert not torch.equal(parts[0]["topics"], parts[1]["topics"])


def test_no_worker_is_without_chains() -> None:
    shards = [COUNTS[3 * rank : 3 * rank + 3] for rank in range(3)]

    def work(worker: Alone) -> Tensor:
        settings = Finetuning(updates=5, rungs=2, bridge=0, batch_size=3, visit_every=2)
        p = small_parameters(3, 5)
        trainer = Trainer(MaximumLikelihood(settings), p, documents_of(shards, worker), seed=0)
        trainer.advance(5)
        return p.W

    one, *others = in_threads(work, 3)
    assert one.isfinite().all()
    assert all(torch.equal(one, other) for other in others)


# ---- held-out documents ----


def test_documents_are_held_out_by_all_workers_and_measured_once() -> None:
    X = of_many_kinds(60, 20, seed=0).float()
    shards, p = [X[:20], X[20:]], small_parameters(3, 20, dtype=torch.float32)

    def work(worker: Alone) -> tuple[int, int, dict[str, float]]:
        g = seeded(worker.seed(0))
        own = sparse(shards[worker.rank])
        parts = hold_out(len(own), 0.3, generator=g, together=worker)
        learnt, held = map(own.rows, parts)
        found = HeldOut(held, learnt, FixedLatentWords(2), CPU, generator=g, together=worker)
        return len(learnt), len(held), found.measure(p)

    one, other = in_threads(work)
    assert (one[:2], other[:2]) == ((14, 6), (28, 12))
    assert one[2] == other[2]


def test_a_worker_with_one_document_keeps_it() -> None:
    X = of_many_kinds(60, 20, seed=0)

    def work(worker: Alone) -> tuple[int, int]:
        own = X[:1] if worker.rank == 0 else X[1:]
        learnt, held = hold_out(len(own), 0.9, generator=seeded(), together=worker)
        return len(learnt), len(held)

    assert in_threads(work) == [(1, 0), (5, 54)]


# ---- runs ----


def both_phases(worker: Alone, save: Saves | None = None) -> Run:
    """Chains, averaging and sparsity, on a small model."""
    cd = Pretraining(updates=34, batch_size=8, learning_rate=0.3, more_steps_every=12, sparsity=0.1)
    ml = Finetuning(updates=35, batch_size=8, learning_rate=0.01, sweeps=2, rungs=7, bridge=3)
    phases: list[Phase] = [ContrastiveDivergence(cd), MaximumLikelihood(ml)]
    p = small_parameters(3, 5, dtype=torch.float32)
    counts = random_counts(30, 5).float()
    documents = documents_of([counts[:11], counts[11:]], worker)
    return Run(p, documents, phases, seed=3, save=save)


def test_every_state_saved_on_the_way_leads_to_the_same_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Worker 0 saves for all: a worker that died is replaced by one that knows nothing."""
    monkeypatch.setattr(runs, "SAVE_SECONDS", -1.0)
    monkeypatch.setattr(runs, "LOOK", 10)

    def work(worker: Alone) -> tuple[Saves, list[tuple[Tensor, Tensor]]]:
        saves = Saves()
        whole = both_phases(worker, saves)
        whole.go(unseen)
        ends = [(whole.parameters.W, whole.parameters.b)]
        for state in worker.from_first(saves):
            resumed = both_phases(worker)
            resumed.restore(*state)
            resumed.go(unseen)
            assert resumed.history == whole.history
            ends.append((resumed.parameters.W, resumed.parameters.b))
        return saves, ends

    (saves, one), (nothing, other) = in_threads(work)
    assert len(saves) == 9
    assert not nothing
    for W, b in [*one, *other]:
        assert torch.equal(W, one[0][0])
        assert torch.equal(b, one[0][1])


def test_workers_make_the_same_steps_without_agreeing_now_and_then() -> None:
    """Bits of W on one machine: looks, at which worker 0's are taken, come later."""

    def work(worker: Alone) -> dict[str, Tensor]:
        counts = random_counts(30, 5).float()
        documents = documents_of([counts[:11], counts[11:]], worker)
        settings = Finetuning(updates=20, batch_size=8, learning_rate=0.01, rungs=8, bridge=2)
        p = small_parameters(3, 5, dtype=torch.float32)
        trainer = Trainer(MaximumLikelihood(settings), p, documents, seed=0)
        trainer.advance(20)
        return trainer.tensors()

    one, other = in_threads(work)
    for name in ("W", "b", "average.W", "optimizer.exp_avg.0", "phase.row_mean"):
        assert torch.equal(one[name], other[name]), name
    assert not torch.equal(one["phase.topics"], other["phase.topics"]), "chains are their own"


# ---- fits ----


def test_one_worker_of_a_group_has_the_bits_of_a_fit_alone(tmp_path: Path) -> None:
    X = of_many_kinds(150, 30, seed=0).numpy()

    def model() -> OverReplicatedSoftmax:
        return OverReplicatedSoftmax(
            4,
            pretraining=Pretraining(updates=60, sparsity=0.5),
            finetuning=Finetuning(updates=40, rungs=8, bridge=2),
            validation=Validation(strengths=(1,)),
            random_state=0,
            device="cpu",
        )

    alone, grouped = model(), model()
    alone.fit(X)
    with process_group(0, 1, tmp_path):
        grouped.fit_keeping_checkpoint(X, Together())
    assert np.array_equal(alone.components_, grouped.components_)
    assert alone.history_ == grouped.history_


def test_two_processes_end_with_one_model_stopped_or_not() -> None:
    """Both phases, held-out documents, Ctrl-C in one of them, a checkpoint, and the same end."""
    in_processes("tests.training.gloo_fits")


def fit_in_threads(model: Callable[[], OverReplicatedSoftmax], shards: list[Any]) -> None:
    in_threads(lambda w: model().fit_keeping_checkpoint(shards[w.rank], w), len(shards))


def test_a_checkpoint_is_for_as_many_workers_with_the_same_documents(tmp_path: Path) -> None:
    X = of_many_kinds(60, 10, seed=0).numpy() + 1

    def model() -> OverReplicatedSoftmax:
        settings = Pretraining(updates=3)
        return OverReplicatedSoftmax(
            2, pretraining=settings, random_state=0, device="cpu", checkpoint=tmp_path / "state"
        )

    fit_in_threads(model, [X[:20], X[20:]])  # it leaves its last state
    fit_in_threads(model, [X[:20], X[20:]])
    for others, changed in (
        ([X[:21], X[21:]], "documents is"),
        ([X[:20], X[20:40], X[40:]], "documents, workers are"),
    ):
        with pytest.raises(OtherRun, match=f"{changed} not the same"):
            fit_in_threads(model, others)
    with pytest.raises(OtherRun, match="documents is not the same"):
        model().fit(X)


def test_training_that_diverges_stops_all() -> None:
    X = of_many_kinds(60, 10, seed=0).numpy()

    def wild() -> OverReplicatedSoftmax:
        settings = Pretraining(updates=200, learning_rate=1e30)
        return OverReplicatedSoftmax(2, pretraining=settings, random_state=0, device="cpu")

    with pytest.raises(TrainingDiverged):
        fit_in_threads(wild, [X[:20], X[20:]])


def test_a_worker_whose_documents_are_refused_stops_all() -> None:
    X = of_many_kinds(60, 10, seed=0).numpy()
    seen = []

    def work(worker: Alone) -> None:
        counts = X[:20] * worker.rank  # worker 0 has not a single word
        try:
            OverReplicatedSoftmax(2, device="cpu").fit_keeping_checkpoint(counts, worker)
        except InvalidCounts as error:
            seen.append(str(error))

    in_threads(work)
    assert len(seen) == 2
    assert all("20 document(s) without a single word" in message for message in seen)


def test_workers_need_one_vocabulary() -> None:
    X = np.ones((60, 10))
    with pytest.raises(InvalidCounts, match=r"different vocabularies: \[9, 10\]"):
        fit_in_threads(lambda: OverReplicatedSoftmax(2, device="cpu"), [X[:20], X[20:, :9]])


def test_latent_words_are_chosen_and_refused_by_all_documents() -> None:
    """Worker 0 has long documents only, for which M = N_max − N is 0, and the mean length is 20."""
    X = np.concatenate([np.full((10, 4), 20), np.full((50, 4), 2.0)])
    shards = [X[:10], X[10:]]

    def work(worker: Alone) -> tuple[LatentWordsUpTo, int]:
        found = []
        for choice in ("auto", LatentWordsUpTo(30)):
            model = OverReplicatedSoftmax(
                2,
                latent_words=choice,
                pretraining=Pretraining(updates=1),
                random_state=0,
                device="cpu",
            )
            model.fit_keeping_checkpoint(shards[worker.rank], worker)
            found.append(model.latent_words_)
        return found[1], found[0].m

    assert in_threads(work) == [(LatentWordsUpTo(30), 100)] * 2


def test_a_group_is_needed() -> None:
    with pytest.raises(DocboltzError, match="init_process_group"):
        Together()
