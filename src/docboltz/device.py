"""Where the arithmetic runs, and its random numbers."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from torch import Tensor

from docboltz.errors import InvalidParameter, is_whole, require

OTHER_METHODS = 2**32 - 1
"""Second part of the seed of every method but fit: no stream of theirs is one of fit's."""

_process = os.getpid()
"""Process whose threads torch computes on."""


def choose_device(name: str, owner: str) -> torch.device:
    """Turn a device setting into a device that is there, for this process too."""
    _do_without_lost_threads()
    if name != "cpu" and torch.cuda._is_in_bad_fork():
        expected = "'cpu' in a process that was forked from one that uses the GPU"
        hint = "Or start processes anew: multiprocessing.get_context('spawn')."
        require(False, owner, "device", expected, name, hint=hint)
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    known = isinstance(name, str) and name.partition(":")[0] in ("cpu", "cuda")
    require(known, owner, "device", "'auto', 'cpu', 'cuda' or 'cuda:1' and so on", name)
    try:
        torch.empty(0, device=name)
    except (RuntimeError, AssertionError) as error:
        hint = f"Torch says: {str(error).splitlines()[0]}"
        require(False, owner, "device", "a device that is there", name, hint=hint)
    return torch.device(name)


def _do_without_lost_threads() -> None:
    """Compute on one thread in a forked process: torch would wait for ever for its parent's."""
    global _process
    if _process != os.getpid():
        torch.set_num_threads(1)
        _process = os.getpid()


def require_memory(bytes_each: int, n: int, owner: str, name: str) -> None:
    """Refuse, before anything is allocated, more of something than this machine could hold."""
    try:
        most = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # Windows does not say
        return
    expected = f"at most {most // bytes_each:,}, by the {most / 1e9:,.0f} GB of memory here"
    require(n * bytes_each <= most, owner, name, expected, n)


def random_state_of(value: Any, owner: str) -> np.random.RandomState:
    """Turn a `random_state` setting into what scikit-learn makes of it."""
    try:
        state: np.random.RandomState = check_random_state(value)
    except ValueError as error:
        expected = "None, a whole number from 0 to 2^32 - 1 or a numpy.random.RandomState"
        raise InvalidParameter(
            owner=owner, name="random_state", expected=expected, got=value
        ) from error
    return state


def seed_of_method(given: Any, own: Any, owner: str) -> int:
    """Seed a method other than fit: the one rule for `random_state`, in all models.

    `given` is the method's own `random_state` and is used where there is one. Where it is None,
    `own`, the model's, decides: a whole number gives the same numbers at every call, from a stream
    other than fit's; a RandomState is drawn from; None gives fresh numbers.
    """
    state = random_state_of(own if given is None else given, owner)
    if given is None and is_whole(own):
        state = np.random.RandomState([own, OTHER_METHODS])
    return draw_seed(state)


def draw_seed(rng: np.random.RandomState) -> int:
    """Draw a seed for torch's generators from scikit-learn's random state."""
    return int(rng.randint(2**31 - 1))


def share(array: NDArray[Any]) -> Tensor:
    """A tensor in the memory of an array, which may be read-only (a file that is mapped, say).

    Torch has no read-only tensors and warns of such arrays. Nothing in docboltz writes to what it
    shares, so there is nothing to warn of.
    """
    return torch.from_numpy(array if array.flags.writeable else np.asarray(_Alias(array)))


class _Alias:
    """The memory of an array, presented to NumPy as if it could be written to."""

    def __init__(self, array: NDArray[Any]) -> None:
        self._array = array  # keeps the memory alive
        self.__array_interface__ = {**array.__array_interface__, "data": (array.ctypes.data, False)}
