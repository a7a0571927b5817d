"""The loop: minibatches, momentum, progress. Nothing here knows where the gradients come from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from docboltz.errors import TrainingDiverged
from docboltz.model.parameters import Gradient, Parameters
from docboltz.progress import Update

CHECK_EVERY = 100  # updates between looks for NaN: a look waits for the device
SHOW_EVERY = 10


@dataclass
class TrainingState:
    """Everything an update changes."""

    parameters: Parameters
    velocity: Gradient
    updates: int = 0

    @classmethod
    def start(cls, parameters: Parameters, updates: int = 0) -> TrainingState:
        """Begin at rest, after so many updates."""
        p = parameters
        at_rest = Gradient(torch.zeros_like(p.W), torch.zeros_like(p.a), torch.zeros_like(p.b))
        return cls(parameters, at_rest, updates)


def climb(state: TrainingState, gradient: Gradient, *, rate: float, momentum: float) -> None:
    """velocity ← momentum · velocity + rate · gradient; parameters += velocity.  In place.

    `a` stays where it is: it is redundant (see `Parameters`), and learning it destroys models.
    """
    for name in ("W", "b"):
        velocity: Tensor = getattr(state.velocity, name)
        velocity.mul_(momentum).add_(getattr(gradient, name), alpha=rate)
        getattr(state.parameters, name).add_(velocity)
    state.updates += 1


def shuffled_batches(
    n_documents: int, batch_size: int, *, generator: torch.Generator
) -> Iterator[Tensor]:
    """Endless minibatches of document numbers, all of one size; each pass has a new order.

    A minibatch may straddle two passes, so that no document is left out and no batch is small.
    """
    size = min(batch_size, n_documents)
    waiting = torch.empty(0, dtype=torch.long, device=generator.device)
    while True:
        while len(waiting) < size:
            order = torch.randperm(n_documents, generator=generator, device=generator.device)
            waiting = torch.cat([waiting, order])
        yield waiting[:size]
        waiting = waiting[size:]


def train(
    state: TrainingState,
    batches: Iterator[Tensor],
    statistics: Callable[[Parameters, Tensor, int], Gradient],
    *,
    updates: int,
    rate: Callable[[int], float],
    momentum: float,
    progress: Update | None = None,
) -> None:
    """Make so many updates of `state`, each from the statistics of one minibatch."""
    for done in range(1, updates + 1):
        gradient = statistics(state.parameters, next(batches), state.updates)
        climb(state, gradient, rate=rate(state.updates), momentum=momentum)
        if done % CHECK_EVERY == 0 or done == updates:
            require_finite(state)
        if progress is not None and (done % SHOW_EVERY == 0 or done == updates):
            progress(done, updates)


def require_finite(state: TrainingState) -> None:
    """Stop a run that has left the range of numbers before anyone takes its result for a model."""
    p = state.parameters
    if not all(bool(t.isfinite().all()) for t in (p.W, p.a, p.b)):
        raise TrainingDiverged(
            f"Training diverged: some weights are no longer finite after {state.updates} updates. "
            "Lower the learning rate (a third of it is a good first try) or raise the weight decay."
        )
