"""Maximum likelihood (section 3.1): mean field on the data, a pool of chains for the model.

    (1/D) ∂ log p(v) / ∂W  =  E[h xᵀ | v] / D  −  E_{p_D}[h softmax(b + Wᵀh)ᵀ],    x = v̂ + ĥ

Each document's share is divided by its D, so that each counts once, as in the perplexity. The
second term then depends on the lengths of the documents alone, which the rungs of the pool stand
for.

B documents, R rungs, F topic units, K words.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from docboltz.errors import is_number, is_whole, require
from docboltz.model.conditionals import fast_topic_mean, topic_input, word_mean
from docboltz.model.counts import SparseCounts, lengths
from docboltz.model.latent_words import LatentWords
from docboltz.model.parameters import Gradient, Parameters
from docboltz.progress import Update
from docboltz.sampling.pool import ChainPool, start_pool, sweep
from docboltz.training.schedules import decayed_rate
from docboltz.training.trainer import CHECK_EVERY, TrainingState, require_finite, shuffled_batches


@dataclass(frozen=True)
class Finetuning:
    """How maximum-likelihood training is run, after pretraining."""

    updates: int = 3000
    """Minibatches to learn from."""
    batch_size: int = 512
    """Documents per update (all of them, where the corpus is smaller)."""
    learning_rate: float = 5e-4
    """Adam's step in the first update."""
    halve_after: float = 2000
    """The update at which the rate has fallen to half."""
    weight_decay: float = 1e-5
    """Pull of W towards 0, far weaker than in pretraining: gradients are smaller here."""
    mean_field_steps: int = 5
    """Steps of the positive phase, from fast inference."""
    sweeps: int = 5
    """Sweeps of the chains for each update."""
    rungs: int = 2048
    """Persistent chains, spread over the lengths of the training documents."""
    bridge: int = 128
    """Further chains at shorter lengths, for mixing only."""

    def __post_init__(self) -> None:
        for name in ("updates", "batch_size", "mean_field_steps", "sweeps", "rungs", "bridge"):
            least = 0 if name in ("bridge", "mean_field_steps") else 1
            value = getattr(self, name)
            ok = is_whole(value) and value >= least
            require(ok, "Finetuning", name, f"a whole number of at least {least}", value)
            object.__setattr__(self, name, int(value))
        for name in ("learning_rate", "halve_after", "weight_decay"):
            value = getattr(self, name)
            ok = is_number(value) and (value > 0 or (name == "weight_decay" and value == 0))
            require(ok, "Finetuning", name, "a number above 0", value)
            object.__setattr__(self, name, float(value))


def data_statistics(p: Parameters, counts: SparseCounts, m: Tensor, *, steps: int) -> Gradient:
    """E[h xᵀ | v] / D by so many mean-field steps, averaged over the batch.

    Mean field takes topics and latent words for independent: it misses their covariance.
    """
    d = lengths(counts) + m
    seen = topic_input(p, counts)  # (B, F)
    topics = fast_topic_mean(p, counts, m)
    words = word_mean(p, topics)  # (B, K)
    for _ in range(steps):
        topics = torch.sigmoid(seen + m[:, None] * (words @ p.W.T + p.a))
        words = word_mean(p, topics)
    x = (counts.dense() + m[:, None] * words) / d[:, None]  # (B, K), each row sums to 1
    return Gradient(W=topics.T @ x / len(counts), a=topics.mean(0), b=x.mean(0))


def model_statistics(p: Parameters, pool: ChainPool) -> Gradient:
    """E_{p_D}[h softmax(b + Wᵀh)ᵀ] over the pool, words summed out exactly given the topics."""
    words = word_mean(p, pool.topics)  # (R, K)
    weighted = pool.weight[:, None] * pool.topics  # (R, F)
    return Gradient(W=weighted.T @ words, a=weighted.sum(0), b=pool.weight @ words)


def finetune(
    start: Parameters,
    counts: SparseCounts,
    latent_words: LatentWords,
    settings: Finetuning,
    *,
    generator: torch.Generator,
    progress: Update | None = None,
) -> tuple[Parameters, list[dict[str, float]]]:
    """Climb the likelihood from `start`; give the averaged parameters and what was seen on the way.

    The average over the last fifth of the updates has the likelihood of the last point and a far
    better behaved partition function. `a` stays as it is, see `Parameters`.
    """
    p = Parameters(start.W.clone(), start.a.clone(), start.b.clone())
    average = Parameters(start.W.clone(), start.a.clone(), start.b.clone())
    adam = torch.optim.Adam([p.W, p.b], maximize=True)
    n = lengths(counts)
    pool = start_pool(
        p.n_topics,
        n + latent_words(n),
        rungs=settings.rungs,
        bridge=settings.bridge,
        generator=generator,
    )
    batches = shuffled_batches(len(counts), settings.batch_size, generator=generator)
    first_averaged = 4 * settings.updates // 5
    history = []
    for update in range(settings.updates):
        # A fresh pool first has to find the model's modes.
        for parity in range(settings.sweeps if update else 40 * settings.sweeps):
            pool, info = sweep(p, pool, parity, generator=generator)
        batch = counts.rows(next(batches))
        data = data_statistics(
            p, batch, latent_words(lengths(batch)), steps=settings.mean_field_steps
        )
        model = model_statistics(p, pool)
        p.W.grad = data.W - model.W - settings.weight_decay * p.W
        p.b.grad = data.b - model.b
        rate = decayed_rate(update, initial=settings.learning_rate, after=settings.halve_after)
        adam.param_groups[0]["lr"] = rate
        adam.step()
        if update >= first_averaged:
            share = 1 / (update - first_averaged + 1)
            average.W.lerp_(p.W, share)
            average.b.lerp_(p.b, share)
        done = update + 1
        if done % CHECK_EVERY == 0 or done == settings.updates:
            require_finite(TrainingState.start(p, done))
            history.append(
                {
                    "update": done,
                    "rate": rate,
                    "exchange_acceptance": float(info.acceptance),
                    "chain_movement": float(info.movement),
                    "data_activity": float(data.a.mean()),
                    "model_activity": float(model.a.mean()),
                }
            )
        if progress is not None:
            progress(done, settings.updates)
    return average, history
