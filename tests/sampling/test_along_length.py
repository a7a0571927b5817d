"""log ζ from the chains of training against enumeration. Seeds are fixed."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from docboltz.model import exact
from docboltz.model.parameters import Parameters
from docboltz.sampling.along_length import log_zeta_along_length
from docboltz.sampling.annealing import exact_log_zeta_1
from docboltz.sampling.pool import ChainPool, start_pool
from tests.conftest import random_parameters
from tests.sampling.test_modes import seeded


def lengths_with(m: float) -> Tensor:
    """D of documents of 3 to 60 words, and of a few of up to 250."""
    n = torch.randint(3, 60, (300,), generator=seeded()).double()
    n[:10] *= 4
    return n + m


def pool_for(p: Parameters, d: Tensor, *, rungs: int = 256, bridge: int = 64) -> ChainPool:
    return start_pool(p.n_topics, d, rungs=rungs, bridge=bridge, generator=seeded(1))


@pytest.mark.parametrize("m", [0, 40])
@pytest.mark.parametrize(("F", "scale"), [(6, 0.5), (10, 0.3)])
def test_many_sweeps_find_log_zeta_of_every_length(F: int, scale: float, m: int) -> None:
    """The rule of integration is good enough for the default bridge, and long documents."""
    p, d = random_parameters(F, 60, scale=scale), lengths_with(m)
    found = log_zeta_along_length(p, pool_for(p, d), d, burn_in=100, sweeps=100, generator=seeded())
    known = exact.log_zeta(p, d)
    assert known.max() - known.min() > 100, "a blunt test: lengths hardly matter"
    torch.testing.assert_close(found.mean(0), known, rtol=0, atol=0.15)


@pytest.mark.parametrize("m", [0, 10])
def test_few_sweeps_find_it_within_their_error(m: int) -> None:
    """Of the mean of log ζ/N over documents, which is what is followed."""
    p, d = random_parameters(8, 60, scale=0.3), lengths_with(m)
    pool = pool_for(p, d, rungs=128)
    known = (exact.log_zeta(p, d) / (d - m)).mean()
    z = []
    for seed in range(12):
        found = log_zeta_along_length(p, pool, d, burn_in=60, generator=seeded(seed))
        parts = (found / (d - m)).mean(1)
        assert abs(parts.mean() - known) < 0.02
        z.append((parts.mean() - known) / (parts.std() / len(parts) ** 0.5))
    # Parts resemble each other, and four of them say little about their spread.
    assert torch.stack(z).abs().median() < 2


def test_shares_of_words_and_lengths_beyond_the_pool() -> None:
    """Documents of tf-idf weights, one of them longer than all of the pool."""
    p, d = random_parameters(6, 60, scale=0.3), lengths_with(0)
    pool = pool_for(p, d)
    wanted = torch.tensor([1.0, 3.7, 20.25, 300.0]).double()
    assert pool.d.max() < 250
    found = log_zeta_along_length(p, pool, wanted, burn_in=60, sweeps=50, generator=seeded())
    known = exact.log_zeta(p, wanted)
    torch.testing.assert_close(found[:, 0], known[0].expand(4), rtol=1e-12, atol=0)
    torch.testing.assert_close(found.mean(0)[1:3], known[1:3], rtol=0, atol=0.05)
    torch.testing.assert_close(found.mean(0)[3], known[3], rtol=0.01, atol=0)


def test_documents_of_one_word_need_no_chain() -> None:
    p, d = random_parameters(4, 10), torch.ones(5).double()
    found = log_zeta_along_length(p, pool_for(p, d, rungs=4), d, generator=seeded())
    torch.testing.assert_close(found, exact_log_zeta_1(p).expand(4, 5))


def test_the_pool_is_left_as_it_is() -> None:
    p, d = random_parameters(4, 10), lengths_with(3)
    pool = pool_for(p, d, rungs=20)
    before = {name: tensor.clone() for name, tensor in vars(pool).items()}
    log_zeta_along_length(p, pool, d, generator=seeded())
    assert all(torch.equal(tensor, before[name]) for name, tensor in vars(pool).items())
