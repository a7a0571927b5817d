"""The sum over topics of each document against enumeration."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from docboltz import likelihood
from docboltz.likelihood import numerator
from docboltz.model import exact
from docboltz.model.counts import SparseCounts, lengths
from docboltz.model.latent_words import LatentWords
from tests.conftest import random_counts, random_parameters
from tests.model.test_conditionals import sparse


def seeded() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def test_exact_is_exact(policy: LatentWords) -> None:
    p, counts = random_parameters(5, 7), random_counts(6, 7)
    m = policy(lengths(counts))
    found = numerator(p, sparse(counts), m, "exact", generator=seeded())
    torch.testing.assert_close(found.value, exact.log_joint(p, counts, m))
    assert found.error.max() == 0


@pytest.mark.parametrize("method", ["bound", "importance"])
def test_without_latent_words_every_method_is_exact(method: str) -> None:
    p, counts, none = random_parameters(5, 7), random_counts(6, 7), torch.zeros(6).double()
    found = numerator(p, sparse(counts), none, method, generator=seeded())
    torch.testing.assert_close(found.value, exact.log_joint(p, counts, none))


@pytest.mark.parametrize("scale", [0.2, 0.5, 1.0])
def test_importance_is_within_its_error_and_the_bound_below(scale: float) -> None:
    """40 documents within 0.5 nats or ten standard errors: with four replicas each, Student's t has
    3 degrees of freedom and heavy tails. The mean over documents is within 0.05 nats."""
    p, counts = random_parameters(8, 20, scale=scale), random_counts(40, 20)
    m = torch.full((40,), 12.0).double()
    expected = exact.log_joint(p, counts, m)
    found = numerator(p, sparse(counts), m, "importance", generator=seeded())
    off = found.value - expected
    assert (off.abs() < (10 * found.error).clamp_min(0.5)).all()
    assert off.mean().abs() < 0.05
    assert found.error.median() <= likelihood.WANTED_ERROR
    bound = numerator(p, sparse(counts), m, "bound", generator=seeded()).value
    assert (bound <= expected + 1e-9).all()
    assert (bound <= found.value + (10 * found.error).clamp_min(0.5)).all()


def test_blocks_change_nothing_but_the_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    p, counts = random_parameters(4, 6, scale=0.5), random_counts(9, 6)
    m = torch.arange(9).double()
    whole = {k: numerator(p, sparse(counts), m, k, generator=seeded()) for k in ("exact", "bound")}
    monkeypatch.setattr(likelihood, "BLOCK_ENTRIES", 20)
    for method, expected in whole.items():
        found = numerator(p, sparse(counts), m, method, generator=seeded())
        torch.testing.assert_close(found.value, expected.value)
    drawn = numerator(p, sparse(counts), m, "importance", generator=seeded())
    off = (drawn.value - whole["exact"].value).abs()
    assert (off < (10 * drawn.error).clamp_min(0.5)).all()


def test_counts_are_not_copied_to_be_predicted(monkeypatch: pytest.MonkeyPatch) -> None:
    """They may be on disk, and more than memory holds: a block at a time is."""
    moved, plain = [], SparseCounts.to

    def to(self: SparseCounts, *where: Any) -> SparseCounts:
        moved.append(len(self))
        return plain(self, *where)

    monkeypatch.setattr(likelihood, "BLOCK_ENTRIES", 20)
    monkeypatch.setattr(SparseCounts, "to", to)
    p, counts = random_parameters(4, 6, scale=0.5), random_counts(9, 6)
    for m in (torch.zeros(9), torch.arange(9)):
        numerator(p, sparse(counts), m.double(), "bound", generator=seeded())
    assert moved == [3, 3, 3, 3, 3, 3]
