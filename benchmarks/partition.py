"""How much work does log ζ of every length take, beside the paper's one run for each length?

python benchmarks/partition.py MODEL [MODEL ...]     # saved models, say of 20 Newsgroups

Annealing over the length serves all lengths. The paper's annealing over temperatures (128 chains,
1,000 temperatures) is run for some of them. How far each is off is measured against a third run:
annealing over the length with eight times the particles. An error is taken to fall with the root of
the work, which flatters the paper's way: no work of that size finds a mode its chains miss. The
lower bound of log ζ is part of every run; its share of the time is printed.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import docboltz
from docboltz.sampling.lower_bound import StateSet


class Clock:
    """Seconds spent in some methods of a class."""

    def __init__(self, kind: type, *names: str) -> None:
        self.seconds = 0.0
        for name in names:
            setattr(kind, name, self._timed(getattr(kind, name)))

    def _timed(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*arguments: Any) -> Any:
            begin = time.perf_counter()
            found = method(*arguments)
            if torch.cuda.is_available():
                torch.cuda.synchronize()
            self.seconds += time.perf_counter() - begin
            return found

        return timed


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+")
    parser.add_argument("--longest", type=int, default=1000, help="words of the longest document")
    parser.add_argument("--lengths", type=int, default=400, help="different lengths of a test set")
    parser.add_argument("--device", default="auto")
    arguments = parser.parse_args()
    clock = Clock(StateSet, "add", "add_means", "lower_bound")
    for path in arguments.models:
        compare(docboltz.load(path, device=arguments.device), arguments, clock)


def compare(
    model: docboltz.OverReplicatedSoftmax, arguments: argparse.Namespace, clock: Clock
) -> None:
    """One model: a line for each length the paper's way is tried on, and all of them together."""
    lengths = np.unique(np.geomspace(5, arguments.longest, arguments.lengths).round())
    model.log_zeta([5, 20], particles=16, random_state=0)  # compiles kernels
    model.log_zeta([5], method="ais", random_state=0)
    clock.seconds, begin = 0.0, time.perf_counter()
    ours = model.log_zeta(lengths, random_state=0)
    seconds, of_bound = time.perf_counter() - begin, clock.seconds
    truth = model.log_zeta(lengths, particles=1024, random_state=1)
    p = model._parameters()
    kind = type(model).__name__
    print(f"{kind}, {model.n_components} units, {p.n_words:,} words, {p.W.device}")
    print(
        f"annealing over the length: {seconds:.1f} s for {len(lengths)} lengths up to "
        f"{arguments.longest}, standard error at most {ours.error.max():.2f} nats, at most "
        f"{abs(ours.value - truth.value).max():.2f} from the longer run; the lower bound takes "
        f"{of_bound:.2f} s, {of_bound / seconds:.1%} of the time"
    )
    print(
        f"{'D':>6} {'log ζ':>9} {'proven ≥':>9} {'ours off':>9} {'AIS off':>9} {'its error':>9} "
        f"{'AIS s':>6} {'× work':>10}"
    )
    probed = lengths[np.linspace(0, len(lengths) - 1, 9).astype(int)]
    factors = []
    for length in probed:
        begin = time.perf_counter()
        ais = model.log_zeta([length], method="ais", random_state=0)
        taken = time.perf_counter() - begin
        i = int(np.flatnonzero(lengths == length)[0])
        known = float(truth.value[i])
        off, off_ais = abs(float(ours.value[i]) - known), float(ais.estimate[0]) - known
        error = max(off, float(ours.error[i]))
        error_ais = max(abs(off_ais), float(ais.error[0]))
        factors.append(taken / seconds * len(lengths) * (error_ais / error) ** 2)
        print(
            f"{length:6.0f} {known:9.2f} {ours.lower_bound[i]:9.2f} {off:9.3f} "
            f"{off_ais:+9.3f} {float(ais.error[0]):9.3f} {taken:6.1f} {factors[-1]:10,.0f}"
        )
    mean = np.mean(np.minimum(factors, 1000))
    print(
        f"for all lengths at equal errors, × our time: {min(factors):,.1f} at the length most in "
        f"favour of the paper's way, {np.median(factors):,.0f} in the median, {mean:,.0f} on "
        "average with no length counted above 1,000"
    )


if __name__ == "__main__":
    main()
