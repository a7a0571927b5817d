"""Several workers that train one model: each has documents of its own, all make the same steps.

Every worker runs the same program and calls the same methods in the same order; each call is a
meeting at which all exchange something. Whatever decides what a worker does next (a stop, a save, a
choice) comes out of such a meeting, so that no worker waits for one that went elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import torch
from torch import Tensor, distributed

from docboltz.errors import DocboltzError

T = TypeVar("T")


class Alone:
    """One worker that has all documents. Nothing is exchanged, and no bit is changed."""

    rank, size = 0, 1

    def sum_(self, tensor: Tensor) -> None:
        """Put the sum over all workers in the place of each one's tensor: the same bits in all."""

    def gather(self, value: T) -> list[T]:
        """What each worker gave, worker 0 first. For small values: it is pickled."""
        return [value]

    def total(self, tensor: Tensor) -> Tensor:
        """The sum over all workers of a small tensor on the CPU: the same bits in all."""
        first, *others = self.gather(tensor)
        for other in others:
            first = first + other
        return first

    def any(self, flags: list[bool], device: torch.device) -> list[bool]:
        """For each flag, whether some worker has it up."""
        if self.size == 1:
            return flags
        raised = torch.tensor(flags, dtype=torch.float32, device=device)
        self.sum_(raised)
        return [x > 0 for x in raised.tolist()]

    def from_first(self, value: T) -> T:
        """What worker 0 gave. It is pickled."""
        return value

    def from_first_(self, tensor: Tensor) -> None:
        """Put worker 0's tensor in the place of each one's."""
        if self.rank > 0:
            tensor.zero_()
        self.sum_(tensor)

    def carefully(self, function: Callable[[], T]) -> T:
        """Call a function. An error in one worker is raised in all: none waits for it in vain."""
        if self.size == 1:
            return function()
        result, own = None, None
        try:
            result = function()
        except Exception as error:
            own = error
        for raised in [own, *self.gather(own)]:
            if raised is not None:
                raise raised
        return result  # type: ignore[return-value]

    def by_first(self, function: Callable[[], T]) -> T:
        """What worker 0 gets from the function, or the error it raises, in all workers."""
        mine: Callable[[], Any] = function if self.rank == 0 else (lambda: None)
        return self.from_first(self.carefully(mine))  # type: ignore[no-any-return]

    def part_of(self, whole: int, shares: list[int]) -> int:
        """This worker's part of a whole that is divided like `shares`, one for each worker.

        Parts add up to the whole, and none is larger than its share where the whole is no larger
        than all shares.
        """
        before, all_of = sum(shares[: self.rank]), sum(shares)
        return whole * (before + shares[self.rank]) // all_of - whole * before // all_of

    def seed(self, common: int) -> int:
        """This worker's own seed. Worker 0 has the common one, so that alone nothing changes."""
        # Odd, and not the constant that tells the updates of a run apart: no two streams meet.
        return (common + 0xD1B54A32D192ED03 * self.rank) % 2**63


ALONE = Alone()


class Together(Alone):
    """All workers of torch.distributed's default group: gloo on CPUs, NCCL on GPUs.

    Every worker has to be given the same settings and, where `random_state` is a number, the same.
    With NCCL the model must be on the worker's current CUDA device.
    """

    def __init__(self) -> None:
        if not (distributed.is_available() and distributed.is_initialized()):
            raise DocboltzError(
                "Training together needs a process group, and torch.distributed has none.",
                hint="Call torch.distributed.init_process_group first, in every worker.",
            )
        self.rank, self.size = distributed.get_rank(), distributed.get_world_size()

    def sum_(self, tensor: Tensor) -> None:
        """Put the sum over all workers in the place of each one's tensor: the same bits in all."""
        if self.size > 1:
            distributed.all_reduce(tensor)

    def gather(self, value: T) -> list[T]:
        """What each worker gave, worker 0 first. For small values: it is pickled."""
        if self.size == 1:
            return [value]
        found: list[Any] = [None] * self.size
        distributed.all_gather_object(found, value)
        return found

    def from_first(self, value: T) -> T:
        """What worker 0 gave. It is pickled."""
        if self.size == 1:
            return value
        found = [value if self.rank == 0 else None]
        distributed.broadcast_object_list(found, src=0)
        return found[0]  # type: ignore[return-value]
