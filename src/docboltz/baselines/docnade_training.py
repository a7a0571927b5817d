"""How DocNADE learns: the mean over orderings of log p(v)/N, from a few contexts a document.

B documents, N words each, T words in all, S contexts of each document, K words in the vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from docboltz.baselines.docnade_network import BLOCK_ENTRIES, Network, hidden, log_words
from docboltz.errors import TrainingDiverged
from docboltz.model.counts import SparseCounts
from docboltz.progress import Update
from docboltz.training.documents import Shuffle

LOOK_EVERY = 100
"""Updates between two looks at the held-out documents."""
HELD_OUT_CONTEXTS = 8
"""Contexts of each held-out document: the same at every look."""
MOST_HELD_OUT = 2000
"""Held-out documents that are looked at."""


@dataclass(frozen=True)
class Splits:
    """Words of documents in a random order, cut in two at S places: what is known and the rest."""

    tokens: Tensor
    """Words, document after document: (T,)."""
    owner: Tensor
    """Document of each word: (T,)."""
    rank: Tensor
    """Place of each word in its document's order, from 0: (T,)."""
    known: Tensor
    """Words that are known at each cut, from 0 to N − 1, ascending: (B, S)."""
    n: Tensor
    """N of each document: (B,)."""


def sample_splits(sequences: SparseCounts, contexts: int, *, generator: torch.Generator) -> Splits:
    """Order each document at random and cut it at S stratified places, each uniform in its stratum.

    Cut s falls on ⌊N x⌋ with x uniform in [s/S, (s + 1)/S): over all S, every place counts the
    same.
    """
    n, starts = sequences.starts.diff().long(), sequences.starts.long()
    device = starts.device
    owner = torch.repeat_interleave(torch.arange(len(n), device=device), n)
    noise = torch.rand(len(owner), generator=generator, device=device, dtype=torch.float64)
    order = (owner + noise).argsort()
    rank = torch.arange(len(owner), device=device) - starts[owner]
    shape = (len(n), contexts)
    x = torch.rand(shape, generator=generator, device=device, dtype=torch.float64)
    x = (x + torch.arange(contexts, device=device)) / contexts
    known = torch.minimum((n[:, None] * x).long(), n[:, None] - 1)
    return Splits(sequences.words[order].long(), owner, rank, known, n)


def mean_log_word(net: Network, splits: Splits, *, kept: Tensor | None = None) -> Tensor:
    """log p(v)/N of each document, estimated without bias from its cuts: (B,), float64.

    In a random order, every word beyond a cut is equally likely to be the next one. So
    log p(v_i | v_<i) may be averaged over all of them, which costs one distribution over words for
    each cut (Uria, Murray and Larochelle, "A Deep and Tractable Density Estimator", ICML 2014).
    `kept` are factors of the hidden units, (B·S, F), for dropout.
    """
    B, S = splits.known.shape
    device = splits.tokens.device
    known = splits.known[splits.owner]  # (T, S)
    # The stretch between two cuts a word lies in: it is known at all later cuts.
    stretch = (splits.rank[:, None] >= known).sum(1)
    sums = torch.zeros(B * (S + 1), len(net.c), dtype=net.W.dtype, device=device)
    sums = sums.index_add(0, splits.owner * (S + 1) + stretch, net.W[splits.tokens])
    words = sums.view(B, S + 1, -1)[:, :S].cumsum(1)  # (B, S, F)
    h = hidden(net, words.reshape(B * S, -1))
    if kept is not None:
        h = h * kept
    token, cut = torch.nonzero(splits.rank[:, None] >= known, as_tuple=True)
    row = splits.owner[token] * S + cut
    log_p = log_words(net, h, row, splits.tokens[token]).double()
    left = (splits.n[:, None] - splits.known).double().view(-1)
    per_cut = torch.zeros(B * S, dtype=torch.float64, device=device)
    return per_cut.index_add(0, row, log_p / left[row]).view(B, S).mean(1)


@dataclass(frozen=True)
class Learning:
    """Settings of `learn`."""

    updates: int
    batch_size: int
    contexts: int
    rate: float
    dropout: float
    weight_decay: float
    patience: int


@dataclass
class Learnt:
    """The best network so far, and what was seen on the way."""

    net: Network
    updates: int = 0
    history: list[dict[str, float]] = field(default_factory=list)


def learn(
    start: Network,
    documents: SparseCounts,
    held: SparseCounts | None,
    settings: Learning,
    learnt: Learnt,
    *,
    generator: torch.Generator,
    show: Update,
) -> None:
    """Climb the mean of log p(v)/N with Adam; leave the best state in `learnt`.

    The rate falls to 0 in a straight line. Best is what predicts the held-out documents best, or
    without them the last state. Stops early after `patience` looks without a better one. Raises
    TrainingDiverged where numbers leave their range; `learnt` then holds the state before.
    """
    parameters = [t.clone().requires_grad_() for t in start.learnt()]
    net, (W, c, V, b) = start.with_learnt(parameters), parameters
    groups: list[dict[str, Any]] = [
        {"params": [W, V], "weight_decay": settings.weight_decay},
        {"params": [c, b]},
    ]
    adam = torch.optim.Adam(groups, lr=settings.rate, fused=W.is_cuda)
    splits = [] if held is None else list(_held_out_splits(held, len(W), generator))
    seed = int(torch.randint(2**31, (1,), generator=generator, device=generator.device))
    shuffle = Shuffle(len(documents), settings.batch_size, seed)
    best, since = math.inf, 0
    for update in range(settings.updates):
        for group in adam.param_groups:
            group["lr"] = settings.rate * (1 - update / settings.updates)
        batch = documents.rows(shuffle(update, 1)[0].to(documents.starts.device))
        cut = sample_splits(batch, settings.contexts, generator=generator)
        kept = _sample_kept(len(batch) * settings.contexts, len(c), settings.dropout, generator)
        loss = -mean_log_word(net, cut, kept=kept).mean()
        adam.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        adam.step()
        done = update + 1
        if done % LOOK_EVERY and done != settings.updates:
            continue
        value = float(loss.detach())
        if not (math.isfinite(value) and all(bool(t.isfinite().all()) for t in parameters)):
            raise TrainingDiverged(
                f"DocNADE left the range of numbers within {LOOK_EVERY} updates after update "
                f"{max(0, done - LOOK_EVERY):,}; the model holds the best state until there. Try a "
                f"lower rate than {settings.rate:g}."
            )
        seen = {"update": float(done), "training_log_word": -value}
        if splits:
            with torch.no_grad():
                means = torch.cat([mean_log_word(net, cut) for cut in splits])
            seen["validation_perplexity"] = math.exp(min(-float(means.mean()), 700.0))
        now = seen.get("validation_perplexity", -math.inf)
        learnt.history.append(seen)
        show(done, settings.updates, f"held out {now:,.0f}" if splits else "")
        since = 0 if now < best or not splits else since + 1
        if not since:
            best = now
            learnt.net = start.with_learnt([t.detach().clone() for t in parameters])
            learnt.updates = done
        if since >= settings.patience:
            break


def _held_out_splits(
    held: SparseCounts, n_words: int, generator: torch.Generator
) -> Iterator[Splits]:
    """Cut held-out documents, in blocks that bound the logits in memory."""
    size = max(1, BLOCK_ENTRIES // (HELD_OUT_CONTEXTS * n_words))
    most = min(len(held), MOST_HELD_OUT)
    for begin in range(0, most, size):
        block = held.slice(begin, min(begin + size, most))
        yield sample_splits(block, HELD_OUT_CONTEXTS, generator=generator)


def _sample_kept(
    rows: int, n_hidden: int, dropped: float, generator: torch.Generator
) -> Tensor | None:
    """Draw factors 0 or 1/(1 − dropped), 1 in the mean: (rows, F)."""
    if not dropped:
        return None
    u = torch.rand(rows, n_hidden, generator=generator, device=generator.device)
    return (u >= dropped).to(u.dtype) / (1 - dropped)
