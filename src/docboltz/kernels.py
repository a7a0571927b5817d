"""Triton kernels for what torch has no fixed-shape operation for on a CUDA device.

Each does in one launch, with shapes known beforehand, what takes several launches and shapes that
depend on the data in plain torch: so an update can be recorded once as a CUDA graph and replayed.
Randomness comes from a seed on the device, drawn by whoever calls.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import torch
from torch import Tensor

from docboltz.randomness import Random, seeds_of

try:
    import triton

    from docboltz import triton_kernels as programs
except ImportError:  # a build of torch for CPUs, or a system without Triton
    triton = None


def available(tensor: Tensor) -> bool:
    """Whether the kernels can work on the device of this tensor."""
    return triton is not None and tensor.is_cuda


P = ParamSpec("P")
T = TypeVar("T")


def _on_its_device(launch: Callable[P, T]) -> Callable[P, T]:
    """Launch on the device of the first argument: Triton itself takes the current one."""

    @wraps(launch)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> T:
        first = args[0]
        if isinstance(first, Tensor) and first.is_cuda:
            with torch.cuda.device(first.device):
                return launch(*args, **kwargs)
        return launch(*args, **kwargs)

    return wrapper


@_on_its_device
def pick_shares(
    starts: Tensor,
    words: Tensor,
    counts: Tensor,
    n_words: int,
    lengths: tuple[Tensor, Tensor],
    index: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    """Spread rows of a CSR matrix out, each divided by its sum n: (B, K), with n and d: (B,).

    `lengths` are n and d of all rows. `index` (B,) are the rows to take.
    """
    B, n, d = len(index), *lengths
    out = torch.empty((B, n_words), dtype=counts.dtype, device=counts.device)
    out_n, out_d = torch.empty_like(out[:, 0]), torch.empty_like(out[:, 0])
    programs.pick_shares[(B,)](
        starts, words, counts, n, d, index, out, out_n, out_d, n_words, BLOCK=1024, num_warps=8
    )
    return out, out_n, out_d


@_on_its_device
def softmax(logits: Tensor) -> Tensor:
    """Softmax of the rows of (B, K), a program each: torch's own gives a row to a single warp."""
    B, K = logits.shape
    out = torch.empty_like(logits)
    programs.softmax[(B,)](logits, out, K, BLOCK=_block(K), num_warps=8)
    return out


@_on_its_device
def draw_word_shares(logits: Tensor, n: Tensor, random: Random) -> Tensor:
    """Draw n_i words from softmax of row i of `logits` (B, K), as shares of the n_i: (B, K).

    One program per row: cumulative weights in float64, then a binary search for each draw. Shares
    are summed up in the type of the logits: in float32 a word's share of 40,000 words is off by up
    to 3e-4 of itself, of 2,000 words by 1e-5.
    """
    B, K = logits.shape
    out = torch.empty_like(logits)
    cumulative = torch.empty((B, K), dtype=torch.float64, device=logits.device)
    seeds = seeds_of(random)
    sizes = {"STEPS": K.bit_length(), "BLOCK_K": _block(K), "BLOCK_N": DRAWS, "num_warps": 8}
    programs.draw_word_shares[(B,)](
        logits, n, seeds.seed, seeds.call(), cumulative, out, K, **sizes
    )
    return out


@_on_its_device
def draw_topics(words_input: Tensor, a: Tensor, d: Tensor, random: Random) -> tuple[Tensor, Tensor]:
    """P(h_j = 1) = σ(d (input_j + a_j)) and a draw of h from it: twice (B, F)."""
    B, F = words_input.shape
    mean, topics = torch.empty_like(words_input), torch.empty_like(words_input)
    seeds = seeds_of(random)
    block = triton.next_power_of_2(F)
    programs.draw_topics[(B,)](
        words_input, a, d, seeds.seed, seeds.call(), mean, topics, F, BLOCK=block
    )
    return mean, topics


@_on_its_device
def topic_mean(words_input: Tensor, a: Tensor, d: Tensor) -> Tensor:
    """P(h_j = 1) = σ(d (input_j + a_j)): (B, F)."""
    B, F = words_input.shape
    mean = torch.empty_like(words_input)
    programs.topic_mean[(B,)](words_input, a, d, mean, F, BLOCK=triton.next_power_of_2(F))
    return mean


@_on_its_device
def weighted_topics(topics: Tensor, sparsity: float, target: float) -> Tensor:
    """(h + sparsity · pull of KL(target ‖ mean activity)) / B for topics h (B, F): (B, F)."""
    B, F = topics.shape
    out = torch.empty_like(topics)
    grid = (triton.cdiv(F, 16),)
    programs.weighted_topics[grid](topics, out, B, F, sparsity, target, BLOCK_B=128, BLOCK_F=16)
    return out


@_on_its_device
def mean_difference(x: Tensor, y: Tensor) -> Tensor:
    """Column means of x less those of y, both (B, K): (K,)."""
    B, K = x.shape
    out = torch.empty_like(x[0])
    programs.mean_difference[(triton.cdiv(K, 32),)](x, y, out, B, K, BLOCK_B=128, BLOCK_K=32)
    return out


@_on_its_device
def climb(
    leaf: Tensor, velocity: Tensor, gradient: Tensor, rate: Tensor, momentum: float, decay: float
) -> None:
    """velocity ← momentum · velocity + rate · (gradient − decay · leaf); leaf += velocity."""
    size = leaf.numel()
    grid = (triton.cdiv(size, 2048),)
    programs.climb[grid](
        leaf, velocity, gradient, rate, momentum, decay, size, BLOCK=2048, num_warps=8
    )


DRAWS = 512
"""Words drawn at once for a document."""


def _block(K: int) -> int:
    """Words looked at at once."""
    return min(1 << (K - 1).bit_length(), 4096)
