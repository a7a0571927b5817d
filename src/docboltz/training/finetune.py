"""Maximum likelihood (section 3.1): mean field on the data, a pool of chains for the model.

    (1/D) ∂ log p(v) / ∂W  =  E[h xᵀ | v] / D  −  E_{p_D}[h softmax(b + Wᵀh)ᵀ],    x = v̂ + ĥ

Each document's share is divided by its D, so that each counts once, as in the perplexity. The
second term then depends on the lengths of the documents alone, which the rungs of the pool stand
for.

B documents, R rungs, F topic units, K words.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from docboltz.errors import is_number, is_whole, require
from docboltz.model.conditionals import word_logits, word_mean
from docboltz.model.counts import dense, times
from docboltz.model.parameters import Gradient, Parameters
from docboltz.randomness import Random
from docboltz.sampling.chains import draw_topics, gibbs_sweep, sample_topics
from docboltz.sampling.pool import (
    ChainPool,
    at_home,
    part_of_pool,
    start_pool,
    sweep,
    travelled,
    visit_modes,
)
from docboltz.sampling.words import sample_word_shares
from docboltz.storage import ShortRepr
from docboltz.training.documents import Batch, Documents
from docboltz.training.optimizers import Adam
from docboltz.training.plans import Chunk
from docboltz.training.schedules import decayed_rate
from docboltz.training.validation import WatchedDocuments

WARM_UP = 40
"""Updates' worth of sweeps before the first update: a fresh pool has to find the model's modes."""
MOST_WARM_UP_WORDS = 1e8
"""Words drawn at most before the first update: documents of thousands would take minutes."""
MEMORY = 50
"""Updates that the mean of g at each rung looks back."""
ESTIMATES = 25
"""The most estimates of the held-out log-likelihood in a run."""
ESTIMATE_EVERY = 200
"""Updates between them are a multiple of this. An estimate takes as long as several updates."""


@dataclass(frozen=True, repr=False)
class Finetuning(ShortRepr):
    """How maximum-likelihood training is run, after pretraining."""

    updates: int = 3000
    """Minibatches to learn from."""
    batch_size: int = 512
    """Documents per update (all of them, where the corpus is smaller)."""
    learning_rate: float | None = None
    """Adam's step in the first update. None is 5e-4, less for more than 128 units: 2e-4 for 512
    and so on, falling as F^(−2/3)."""
    halve_after: float = 2000
    """The update at which the rate has fallen to half."""
    weight_decay: float = 1e-5
    """Pull of each row of W towards its mean. Not in units of 1/K, as pretraining's is, and far
    weaker: steps do not shrink with the gradients here."""
    mean_field_steps: int = 5
    """Steps of the positive phase, from fast inference."""
    gibbs_steps: int = 0
    """Gibbs steps after them, on units and latent words; 0 takes the mean field as it is."""
    sweeps: int = 3
    """Sweeps of the chains for each update."""
    chains: Literal["pool", "data"] = "pool"
    """Where the negative phase gets its chains: a persistent pool at the lengths of the training
    documents, or the paper's way, chains that start at each document of the minibatch."""
    rungs: int = 512
    """Persistent chains of the pool, spread over the lengths of the training documents."""
    bridge: int = 64
    """Further chains at shorter lengths, for mixing only."""
    visit_every: int = 50
    """Updates after which the pool is shown modes that its chains do not find by themselves."""
    momentum: float = 0.9
    """Adam's first β: share of the past in the direction of a step."""
    watched: int = 200
    """Documents to hold out, at most a fiftieth of all. Their log-likelihood is estimated up to 25
    times on the way. 0 holds out none. None are held out of fewer than 500 documents, with several
    workers, or with chains="data"."""

    def __post_init__(self) -> None:
        least_of = {"bridge": 0, "mean_field_steps": 0, "gibbs_steps": 0, "watched": 0}
        for name in ("updates", "batch_size", "sweeps", "rungs", "visit_every", *least_of):
            least = least_of.get(name, 1)
            value = getattr(self, name)
            ok = is_whole(value) and value >= least
            require(ok, "Finetuning", name, f"a whole number of at least {least}", value)
            object.__setattr__(self, name, int(value))
        for name in ("learning_rate", "halve_after", "weight_decay"):
            value = getattr(self, name)
            if name == "learning_rate" and value is None:
                continue
            may_be_0 = name == "weight_decay"
            ok = is_number(value) and (value > 0 or (may_be_0 and value == 0))
            expected = "a number of at least 0" if may_be_0 else "a number above 0"
            require(ok, "Finetuning", name, expected, value)
            object.__setattr__(self, name, float(value))
        ok = is_number(self.momentum) and 0 <= self.momentum < 1
        require(
            ok, "Finetuning", "momentum", "a number from 0 up to, not including, 1", self.momentum
        )
        object.__setattr__(self, "momentum", float(self.momentum))
        ok = self.chains in ("pool", "data")
        require(ok, "Finetuning", "chains", "'pool' or 'data'", self.chains)


class MaximumLikelihood:
    """Fine-tuning as a phase of a run.

    Adding a constant c_j to a topic's whole row of W acts like its bias times D: a step that is
    small for single words is D times too large in that direction, and runs drift until all topics
    are on. So c_j, the row's mean over the words of the corpus, has a step of its own, smaller by
    the mean of D, and the rest of the row is kept from moving it.
    """

    name = "Fine-tuning"

    def __init__(self, settings: Finetuning, watched: WatchedDocuments | None = None) -> None:
        self.settings, self._watched = settings, watched
        at_least = settings.updates / ESTIMATES
        self._estimate_every = ESTIMATE_EVERY * math.ceil(at_least / ESTIMATE_EVERY)
        self.updates, self.batch_size = settings.updates, settings.batch_size
        # The average over the last fifth has the likelihood of the last point and a far better
        # behaved partition function.
        self.average_from = 4 * settings.updates // 5
        self.refresh_every, self.draws_words = settings.visit_every, False

    def begin(self, p: Parameters, documents: Documents, generator: torch.Generator) -> Adam:
        """Start the chains and let them find the model's modes."""
        s, self._p = self.settings, p
        facts = documents.facts
        self._latent = facts.latent
        names = ["data_activity", "model_activity", "chain_movement"]
        self._pool = None
        self._mean_g = self._hosts = p.b.new_zeros(0)
        if s.chains == "pool":
            names += ["exchange_acceptance", "travelled"]
            self._pool = self._start(documents, generator)
            self._mean_g = torch.zeros_like(self._pool.d)
            self._hosts = self._pool.topics.clone()
            words = float(self._pool.d.sum()) * s.sweeps
            warm_up = max(2, min(WARM_UP, round(MOST_WARM_UP_WORDS / words)))
            for number in range(warm_up):
                if number == warm_up // 2:
                    self._mean_g.zero_()  # forget the fair coins
                self._sweep(self._pool, self.variant(number), generator)
        self._seen = {name: p.b.new_zeros(()) for name in names}
        self._frequency = facts.frequency.to(p.W)  # (K,)
        self._row_mean = p.W @ self._frequency  # (F,)
        shares = [1.0, 1.0, 1 / facts.mean_d]
        return Adam([p.W.T, p.b, self._row_mean], shares, momentum=s.momentum)

    def _start(self, documents: Documents, generator: torch.Generator) -> ChainPool:
        """This worker's part of the pool: a ladder of its own, from short to long.

        Gradients of workers are averaged with their share of the documents, but a chain counts like
        any other, whichever worker has it: its weight is divided by that share.
        """
        s, p, workers = self.settings, self._p, documents.together
        rungs = max(s.rungs, workers.size)  # none is without
        d = documents.quantiles(rungs).to(p.W)
        pool = start_pool(p.n_topics, d, rungs=rungs, bridge=s.bridge, generator=generator)
        if workers.size == 1:
            return pool
        return part_of_pool(pool, workers.rank, workers.size, weight=1 / documents.share)

    def rate(self, update: int) -> float:
        """Adam's step, falling like the rate of pretraining."""
        s = self.settings
        initial = s.learning_rate
        if initial is None:
            initial = 5e-4 * min(1.0, 128 / self._p.n_topics) ** (2 / 3)
        return decayed_rate(update, initial=initial, after=s.halve_after)

    def variant(self, update: int) -> int:
        """Which rungs the first sweep exchanges: not the pairs of the last one before it."""
        return update * self.settings.sweeps % 2

    def prepare(self, chunk: Chunk) -> None:
        """Nothing is worth it."""

    def gradients(self, batch: Batch, variant: int, generator: Random) -> list[Tensor]:
        """Statistics of the data less those of the model, for Wᵀ, b and row means; moves chains."""
        s, p = self.settings, self._p
        steps, gibbs_steps = (s.mean_field_steps, s.gibbs_steps) if self._latent else (0, 0)
        data, topics = data_statistics(
            p,
            batch,
            latent=self._latent,
            steps=steps,
            gibbs_steps=gibbs_steps,
            generator=generator,
        )
        if self._pool is None:
            model, seen = self._from_data(batch, topics, generator)
        else:
            seen = self._sweep(self._pool, variant, generator)
            model = model_statistics(p, self._pool)
        seen |= {"data_activity": data.a.mean(), "model_activity": model.a.mean()}
        for name, value in seen.items():
            self._seen[name].copy_(value)
        of_row_mean = data.a - model.a  # Σ_k of W's gradient: words of a document sum to 1
        W = (data.W - model.W).T - torch.outer(self._frequency, of_row_mean)
        decay = s.weight_decay * (p.W.T - self._row_mean)  # a row's mean is a bias
        return [W - decay, data.b - model.b, of_row_mean]

    def refresh(self, generator: torch.Generator) -> None:
        """Show the pool the modes of a length, drawn from those of the longer half of its rungs."""
        if self._pool is None:
            return
        d = self._pool.d
        rung = torch.randint(len(d) // 2, len(d), (1,), device=d.device, generator=generator)
        length = float(d[rung])
        visited, hosts = visit_modes(
            self._p, self._pool, self._hosts, self._mean_g, length, generator=generator
        )
        self._hosts.copy_(hosts)
        self._pool.topics.copy_(visited.topics)
        self._pool.guest.copy_(visited.guest)

    def correct(self) -> None:
        """Give each row of W the mean it was meant to have."""
        self._p.W.add_((self._row_mean - self._p.W @ self._frequency)[:, None])

    def _sweep(self, pool: ChainPool, first: int, generator: Random) -> dict[str, Tensor]:
        """Move the chains, in place."""
        now = pool
        for parity in range(first, first + self.settings.sweeps):
            guest = now.guest
            now, info = sweep(self._p, now, parity, generator=generator)
        pool.topics.copy_(now.topics)
        pool.walker.copy_(now.walker)
        # Of the states the last sweep began with; guests do not tell what chains know.
        share = torch.full_like(info.g, 1 / MEMORY).masked_fill(self._mean_g == 0, 1)
        self._mean_g.lerp_(info.g, share.masked_fill(guest, 0))
        pool.guest.copy_(now.guest)
        return {
            "chain_movement": info.movement,
            "exchange_acceptance": info.acceptance,
            "travelled": travelled(pool),
        }

    def _from_data(
        self, batch: Batch, topics: Tensor, generator: Random
    ) -> tuple[Gradient, dict[str, Tensor]]:
        """The paper's negative phase: chains that start at the documents of the minibatch."""
        d = batch.d.round().clamp_min(1)
        start = h = sample_topics(topics, generator=generator)
        for _ in range(self.settings.sweeps):
            h, _ = gibbs_sweep(self._p, h, d, generator=generator)
        pool = ChainPool(h, d, torch.full_like(d, 1 / len(d)), d, torch.zeros_like(d))
        moved = (h != start).to(d.dtype).mean()
        return model_statistics(self._p, pool), {"chain_movement": moved}

    def tensors(self) -> dict[str, Tensor]:
        """Row means, chains, and what was seen of them."""
        pool = {} if self._pool is None else vars(self._pool)
        own = {"row_mean": self._row_mean, "mean_g": self._mean_g, "hosts": self._hosts}
        return {**own, **pool, **self._seen}

    def watch(
        self, batch: Batch, learnt: Parameters, update: int, generator: torch.Generator
    ) -> dict[str, float]:
        """Activity of the topic units on the data and in the chains, how the chains mix, and at
        some looks the log-likelihood of held-out documents."""
        seen = {name: float(value) for name, value in self._seen.items()}
        if self._pool is not None:  # from here on, measure anew how far states travel
            walker = self._pool.walker
            walker.copy_(torch.arange(len(walker), device=walker.device))
            due = update % self._estimate_every == 0 or update == self.updates
            if self._watched is not None and due:
                home = at_home(self._pool, self._hosts)
                seen |= self._watched.measure(learnt, home, generator=generator)
        return seen


def data_statistics(
    p: Parameters,
    batch: Batch,
    *,
    latent: bool = True,
    steps: int,
    gibbs_steps: int = 0,
    generator: Random,
) -> tuple[Gradient, Tensor]:
    """E[h xᵀ | v] / D averaged over the batch, and the mean-field topics (B, F).

    Mean field takes topics and latent words for independent: it misses their covariance. Gibbs
    steps from there do not: they draw latent words, and take the topics' mean given all words.
    Without `latent` words in any document nothing is missed, and no step is needed.
    """
    d, m = batch.d[:, None], (batch.d - batch.n)[:, None]
    seen = times(batch.shares, p.W.T)  # (B, F), what one of the document's words says on average
    topics = torch.sigmoid(d * (seen + p.a))
    fixed = torch.addcmul(d * p.a, d - m, seen)  # W v̂ + D a
    for _ in range(steps):
        topics = torch.sigmoid(torch.addcmul(fixed, m, word_mean(p, topics) @ p.W.T))
    inferred, own = topics, dense(batch.shares)
    if gibbs_steps:
        # D − N is whole but for rounding; where it is 0, one word is drawn, and weighs nothing.
        latent_words = m[:, 0].round().clamp_min(1)
        h = sample_topics(topics, generator=generator)
        for _ in range(gibbs_steps):
            drawn = sample_word_shares(word_logits(p, h), latent_words, generator=generator)
            x = torch.lerp(own, dense(drawn), m / d)  # (B, K), each row sums to 1
            topics, h = draw_topics(p, x, batch.d, generator=generator)
    else:
        x = torch.lerp(own, word_mean(p, topics), m / d) if latent else own
    B = len(d)
    return Gradient(W=(x.T @ (topics / B)).T, a=topics.mean(0), b=x.mean(0)), inferred


def model_statistics(p: Parameters, pool: ChainPool) -> Gradient:
    """E_{p_D}[h softmax(b + Wᵀh)ᵀ] over the pool, words summed out exactly given the topics."""
    words = word_mean(p, pool.topics)  # (R, K)
    weighted = pool.weight[:, None] * pool.topics  # (R, F)
    return Gradient(W=(words.T @ weighted).T, a=weighted.sum(0), b=pool.weight @ words)
