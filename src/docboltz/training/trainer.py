"""Updates of a model, one after the other. Nothing here knows where the gradients come from."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from itertools import groupby
from typing import Any, Protocol

import torch
from torch import Tensor

from docboltz.model.parameters import Parameters
from docboltz.randomness import Random
from docboltz.training.documents import Batch, Documents
from docboltz.training.graphs import Replay
from docboltz.training.plans import Schedule, one_thread_ahead, plan_updates, seed_of_update

AT_ONCE = 5
"""Updates of one variant that are replayed at once: from one replay to the next there is a gap."""

WATCHED = 32
"""Documents, spread over all, that tell a person what there is to see."""

OWN = "phase"
"""Beginning of the names of tensors that each worker has of its own."""


class Optimizer(Protocol):
    """What turns gradients into steps, in place."""

    def step(self, gradients: list[Tensor], rate: Tensor) -> None:
        """Climb."""

    def tensors(self) -> dict[str, Tensor]:
        """What lives on from step to step."""


class Phase(Schedule, Protocol):
    """A way of learning. It changes parameters in place, by way of its optimiser."""

    name: str
    settings: Any
    """What it was made with."""
    refresh_every: int
    """Updates between calls of `refresh`."""

    def begin(self, p: Parameters, documents: Documents, generator: torch.Generator) -> Optimizer:
        """Make ready to improve `p`."""

    def gradients(self, batch: Batch, variant: Any, generator: Random) -> list[Tensor]:
        """Where to go, for all the optimiser moves; the mean of all workers' is what counts."""

    def refresh(self, generator: torch.Generator) -> None:
        """Do what needs no doing at every update, and cannot be replayed, before some of them."""

    def correct(self) -> None:
        """Put right what the optimiser's step has left."""

    def tensors(self) -> dict[str, Tensor]:
        """What lives on from update to update, changed in place; each worker has its own."""

    def watch(
        self, batch: Batch, learnt: Parameters, update: int, generator: torch.Generator
    ) -> dict[str, float]:
        """What there is to see after so many updates, to a person.

        `learnt` are the parameters that would be the result now: averaged ones, late in a phase.
        """


class Trainer:
    """One phase under way: everything an update changes, and the update.

    Several workers make every update together: each finds gradients on its own part of the batch
    with random numbers of its own, and all climb by the mean.
    """

    def __init__(
        self, phase: Phase, p: Parameters, documents: Documents, *, seed: int, first: int = 0
    ) -> None:
        if not p.W.T.is_contiguous():  # optimisers go through memory as it lies
            raise ValueError("W must lie word by word in memory: Parameters.copy makes it so.")
        self.phase, self.parameters, self.documents = phase, p, documents
        self.update, self._first = first, first
        device = p.W.device
        seed = documents.together.seed(seed)
        self.generator = torch.Generator(device).manual_seed(seed)
        self._optimizer = phase.begin(p, documents, self.generator)
        # A copy as large as W, for phases that average.
        self._average = p.copy() if phase.average_from < first + phase.updates else p
        self._seed = seed
        self._plan = plan_updates(phase, documents, p, self.generator, first=first)
        self._replay = Replay(self.generator, self.tensors() | self._plan.tensors())
        # NCCL's sums can be recorded under conditions that we could not try: workers do without.
        self._replay.possible &= documents.together.size == 1

    def ahead(self) -> AbstractContextManager[None]:
        """Have updates made ready ahead meanwhile, where threads are enough."""
        return one_thread_ahead(self._plan, self.phase)

    def advance(self, updates: int, stop: Callable[[], bool] = lambda: False) -> None:
        """Make so many updates, at most CHUNK, or fewer if asked to stop."""
        numbers = range(self.update, self.update + updates)
        first = self.phase.average_from
        self._plan.stage(self.update, updates)
        for (variant, averaging), alike in groupby(
            numbers, key=lambda t: (self.phase.variant(t), t >= first)
        ):
            left = len(list(alike))
            while left:
                self._refresh()
                every = self.phase.refresh_every
                together = min(left, every - self.update % every)
                many = AT_ONCE if self._replay.possible and together >= AT_ONCE else 1
                steps = partial(self._steps, many, variant, averaging)
                self._replay((variant, averaging, many), steps)
                left, self.update = left - many, self.update + many
                if stop():
                    return

    def _refresh(self) -> None:
        """Let the phase refresh itself, with random numbers that are a function of the update."""
        if self.update % self.phase.refresh_every == 0:
            seed = seed_of_update(self._seed + 1, self.update)
            generator = torch.Generator(self.generator.device).manual_seed(seed)
            self.phase.refresh(generator)

    def _steps(self, updates: int, variant: Any, averaging: bool) -> None:
        for _ in range(updates):
            self._step(variant, averaging)

    def _step(self, variant: Any, averaging: bool) -> None:
        """One update, on tensors alone."""
        batch, random, rate, share = self._plan.next()
        with torch.inference_mode():  # a tenth less to do for the interpreter
            gradients = self.phase.gradients(batch, variant, random)
            self._optimizer.step(self._averaged(gradients), rate)
            self.phase.correct()
            if averaging:
                self._average.W.lerp_(self.parameters.W, share)
                self._average.b.lerp_(self.parameters.b, share)

    def _averaged(self, gradients: list[Tensor]) -> list[Tensor]:
        """The mean of all workers' gradients, exchanged as one tensor."""
        if self.documents.together.size == 1:
            return gradients
        flat = torch.cat([gradient.reshape(-1) for gradient in gradients])
        self.documents.average_(flat)
        parts = torch.split(flat, [gradient.numel() for gradient in gradients])
        return [part.view(g.shape) for part, g in zip(parts, gradients, strict=True)]

    def agree(self) -> None:
        """Let all workers have worker 0's model, should their processors round differently."""
        if self.documents.together.size > 1:
            for name, tensor in self.tensors().items():
                if not name.startswith(OWN):
                    self.documents.together.from_first_(tensor)

    @property
    def learnt(self) -> Parameters:
        """The model so far: averaged, where averaging has begun."""
        return self._average if self.update > self.phase.average_from else self.parameters

    def watch(self) -> dict[str, float]:
        """What there is to see of the phase now."""
        device = self.generator.device
        n, looked_at = len(self.documents), min(self._plan.size, WATCHED)
        batch = self.documents.pick(torch.arange(looked_at, device=device) * n // looked_at)
        # Random numbers of its own: to look must not change what follows.
        generator = torch.Generator(device).manual_seed(self.update)
        seen = self.phase.watch(batch, self.learnt, self.update, generator)
        if self.documents.together.size > 1:
            mean = torch.tensor(list(seen.values()), dtype=torch.float64) * self.documents.share
            seen = dict(zip(seen, self.documents.together.total(mean).tolist(), strict=True))
        return {"rate": self.phase.rate(max(self.update - 1, 0)), **seen}

    @property
    def carried(self) -> dict[str, Tensor]:
        """What the optimiser carries from step to step."""
        return self._optimizer.tensors()

    def tensors(self) -> dict[str, Tensor]:
        """Everything an update changes, the random generator aside.

        What the phase keeps is a worker's own, the rest the same in all.
        """
        p, average = self.parameters, self._average
        own = {"W": p.W.T, "b": p.b}
        if average is not p:
            own |= {"average.W": average.W.T, "average.b": average.b}
        parts = ((OWN, self.phase.tensors()), ("optimizer", self._optimizer.tensors()))
        return own | {f"{part}.{name}": t for part, held in parts for name, t in held.items()}
