"""log ζ(D) from the chains of training, by thermodynamic integration along the length.

    d log ζ(D) / dD = E_{p_D}[g(h)],    d² log ζ(D) / dD² = Var_{p_D}[g(h)]

A pool has chains at every length, so the mean of g at its rungs can be integrated from D = 1, where
log ζ is known. This takes a few sweeps, where annealing takes minutes. What it knows of ζ are the
modes that the chains visit.

R rungs, L lengths.
"""

from __future__ import annotations

import torch
from torch import Tensor

from docboltz.model.conditionals import log_word_weight
from docboltz.model.parameters import Parameters
from docboltz.randomness import Random
from docboltz.sampling.annealing import exact_log_zeta_1, sample_p_1
from docboltz.sampling.pool import ChainPool, sweep

BURN_IN = 8
"""Sweeps before g is averaged: the chains were moved with parameters that differ a little."""
PARTS = 4
"""Parts of the sweeps, each of which gives an estimate."""
SWEEPS = 6
"""Sweeps of each part."""
DRAWS = 256
"""States drawn from p_1 for each part."""


def log_zeta_along_length(
    p: Parameters,
    pool: ChainPool,
    d: Tensor,
    *,
    burn_in: int = BURN_IN,
    sweeps: int = SWEEPS,
    generator: Random,
) -> Tensor:
    """Estimate log ζ at the lengths `d` (L,) from consecutive parts of some sweeps: (PARTS, L).

    Their mean is the estimate, and their spread a rough measure of its error: rough, because states
    of one part resemble those of the next. Beyond the longest rung log ζ is continued by a straight
    line, which is a little too low. The pool is left as it is.
    """
    seen = []
    for number in range(burn_in + PARTS * sweeps):
        pool, info = sweep(p, pool, number, generator=generator)
        seen.append(info.g.double())
    states = sample_p_1(p, PARTS * DRAWS, generator=generator)
    at_1 = log_word_weight(p, states).double().view(PARTS, -1).cpu()
    g = torch.stack(seen[burn_in:]).view(PARTS, sweeps, -1).cpu()
    rungs = pool.d.double().cpu()
    lengths = torch.unique(rungs[rungs > 1])
    groups = [at_1, *(g[:, :, rungs == length].view(PARTS, -1) for length in lengths)]
    mean = torch.stack([group.mean(1) for group in groups], 1)  # (PARTS, lengths)
    variance = torch.stack([group.var(correction=0) for group in groups])
    # The trapezoid rule and its first correction.
    at = torch.cat([lengths.new_ones(1), lengths])
    step = at.diff()
    steps = step * (mean[:, 1:] + mean[:, :-1]) / 2 - step**2 * variance.diff() / 12
    start = exact_log_zeta_1(p).cpu().expand(PARTS, 1)
    log_zeta = torch.cat([start, steps], 1).cumsum(1)  # (PARTS, lengths)
    return _interpolated(at, log_zeta, mean, d.double().cpu()).to(d.device)


def _interpolated(at: Tensor, value: Tensor, slope: Tensor, wanted: Tensor) -> Tensor:
    """The cubic with these values and slopes (PARTS, n) at the points `at` (n,), and a straight
    line beyond the first and the last of them: (PARTS, L)."""
    x = wanted.clamp(at[0], at[-1])
    beyond = torch.where(wanted > x, slope[:, -1:], slope[:, :1]) * (wanted - x)
    if len(at) == 1:
        return value + beyond
    i = torch.searchsorted(at, x, right=True).clamp(1, len(at) - 1)  # x is in (at[i − 1], at[i])
    h = at[i] - at[i - 1]
    t = (x - at[i - 1]) / h
    values = value[:, i - 1] * (1 + 2 * t) * (1 - t) ** 2 + value[:, i] * t**2 * (3 - 2 * t)
    slopes = slope[:, i - 1] * t * (1 - t) ** 2 - slope[:, i] * t**2 * (1 - t)
    return values + h * slopes + beyond
