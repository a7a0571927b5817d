"""How much work does log ζ of every length take, beside the paper's one run for each length?

python benchmarks/partition.py MODEL      # a saved model, say of 20 Newsgroups with 128 topics

Work is counted in seconds of one run. Annealing over the length serves all lengths; the paper's
annealing over temperatures is run for a few of them, and its work is scaled to all.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import docboltz


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--longest", type=int, default=1000, help="words of the longest document")
    parser.add_argument("--lengths", type=int, default=400, help="different lengths of a test set")
    arguments = parser.parse_args()
    model = docboltz.load(arguments.model)
    all_lengths = np.unique(np.geomspace(5, arguments.longest, arguments.lengths).round())
    begin = time.perf_counter()
    two = [model.log_partition(all_lengths, random_state=seed) for seed in (0, 1)]
    seconds = (time.perf_counter() - begin) / 2
    apart = (two[0].value - two[1].value).abs()
    print(f"{model.n_components} topics, {len(all_lengths)} lengths up to {arguments.longest}")
    print(
        f"annealing over the length: {seconds:.1f} s for all, {two[0].steps} steps in the last "
        f"run; standard error at most {float(two[0].error.max()):.2f} nats, two runs at most "
        f"{float(apart.max()):.2f} apart"
    )
    some = all_lengths[np.linspace(0, len(all_lengths) - 1, 4).astype(int)]
    for length in some:
        begin = time.perf_counter()
        found = model.log_partition([length], method="ais", random_state=0)
        taken = time.perf_counter() - begin
        here = int(np.flatnonzero(all_lengths == length)[0])
        own, ours = float(found.error[0]), float(two[0].error[here])
        # An error falls with the root of the work: what equal errors would take.
        equal = taken * (own / ours) ** 2
        apart_from_ours = float(found.value[0]) - float(two[0].value[here])
        print(
            f"the paper's, D = {length:.0f}: {taken:.1f} s, standard error {own:.2f} (ours "
            f"{ours:.2f}), value {apart_from_ours:+.2f} from ours; "
            f"for all lengths and equal errors {equal * len(all_lengths) / seconds:,.0f} × our time"
        )


if __name__ == "__main__":
    main()
