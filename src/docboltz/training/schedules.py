"""Pure functions from the number of updates made so far to the value of a setting."""

import math


def decayed_rate(update: int, *, initial: float, after: float) -> float:
    """ε = ε0 / (1 + t/T): half the initial rate after T updates (section 4.2).

    >>> decayed_rate(10_000, initial=0.1, after=10_000)
    0.05
    """
    return initial / (1 + update / after)


def gibbs_steps(update: int, *, every: int, maximum: int) -> int:
    """CD-1 at first, one step more every so many updates, up to a maximum (section 4.2).

    >>> [gibbs_steps(t, every=10_000, maximum=20) for t in (0, 9_999, 10_000, 10**6)]
    [1, 1, 2, 20]
    """
    return min(1 + update // every, maximum)


def updates_of(passes: int, n_documents: int, batch_size: int) -> int:
    """Minibatches that go through the documents so many times.

    >>> updates_of(3, 100, 32), updates_of(3, 20, 32)
    (10, 3)
    """
    return math.ceil(passes * n_documents / min(batch_size, n_documents))
