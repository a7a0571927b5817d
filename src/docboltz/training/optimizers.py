"""From gradients to steps. All state lives in tensors that are changed in place."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.optim.sgd import sgd

from docboltz import kernels


class Momentum:
    """velocity ← momentum · velocity + rate · (gradient − decay · leaf); leaf += velocity."""

    def __init__(self, leaves: list[Tensor], decays: list[float], *, momentum: float) -> None:
        self._leaves, self._decays, self._momentum = leaves, decays, momentum
        self._velocity = [torch.zeros_like(leaf) for leaf in leaves]

    def step(self, gradients: list[Tensor], rate: Tensor) -> None:
        """Climb."""
        parts = zip(self._leaves, self._velocity, self._decays, gradients, strict=True)
        if kernels.available(rate):
            for leaf, velocity, decay, gradient in parts:
                kernels.climb(leaf, velocity, gradient, rate, self._momentum, decay)
            return
        step, momentum = float(rate), self._momentum
        # torch's descends, and without momentum it has no velocity that could be damped.
        damping, descent = (1 - step, -1.0) if momentum else (0.0, -step)
        for leaf, velocity, decay, gradient in parts:
            sgd(
                [leaf],
                [gradient.contiguous()],  # it goes through memory as it lies
                [velocity],
                fused=True,  # one pass through memory
                weight_decay=-decay,
                momentum=momentum,
                dampening=damping,
                lr=descent,
                nesterov=False,
                maximize=False,
            )

    def tensors(self) -> dict[str, Tensor]:
        """The velocities."""
        return {f"velocity.{i}": v for i, v in enumerate(self._velocity)}


class Adam:
    """torch's Adam, climbing, with the rate on the device and a share of it for each leaf."""

    def __init__(self, leaves: list[Tensor], shares: list[float], *, momentum: float) -> None:
        self._leaves, self._shares = leaves, shares
        device = leaves[0].device
        self._rates = [torch.zeros((), device=device) for _ in leaves]
        groups = [{"params": [leaf], "lr": r} for leaf, r in zip(leaves, self._rates, strict=True)]
        self._adam = torch.optim.Adam(
            groups,
            betas=(momentum, 0.999),
            maximize=True,
            fused=True,
            capturable=device.type == "cuda",
        )
        for leaf in leaves:  # before the first step, so that all steps are alike
            zeros = {name: torch.zeros_like(leaf) for name in ("exp_avg", "exp_avg_sq")}
            self._adam.state[leaf] = {"step": torch.zeros((), device=device), **zeros}

    def step(self, gradients: list[Tensor], rate: Tensor) -> None:
        """Climb."""
        for i, (leaf, gradient) in enumerate(zip(self._leaves, gradients, strict=True)):
            leaf.grad = gradient
            self._rates[i].copy_(rate * self._shares[i])
        self._adam.step()

    def tensors(self) -> dict[str, Tensor]:
        """The moments."""
        return {
            f"{name}.{i}": value
            for i, leaf in enumerate(self._leaves)
            for name, value in self._adam.state[leaf].items()
        }
