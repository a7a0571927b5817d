"""Where the arithmetic runs, and its random numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from sklearn.utils import check_random_state

from docboltz.errors import InvalidParameter, require


def choose_device(name: str, owner: str) -> torch.device:
    """Turn a device setting into a device that is there."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    known = isinstance(name, str) and name.partition(":")[0] in ("cpu", "cuda")
    require(known, owner, "device", "'auto', 'cpu', 'cuda' or 'cuda:1' and so on", name)
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise InvalidParameter(
            f"The 'device' parameter of {owner} must name a device that is there. "
            f"Got {name!r} instead ({reason})."
        ) from error
    return device


def random_state_of(value: Any, owner: str) -> np.random.RandomState:
    """Turn a `random_state` setting into what scikit-learn makes of it."""
    try:
        state: np.random.RandomState = check_random_state(value)
    except ValueError as error:
        expected = "None, a whole number from 0 to 2^32 - 1 or a numpy.random.RandomState"
        raise InvalidParameter(
            f"The 'random_state' parameter of {owner} must be {expected}. Got {value!r} instead."
        ) from error
    return state


def draw_seed(rng: np.random.RandomState) -> int:
    """Draw a seed for torch's generators from scikit-learn's random state."""
    return int(rng.randint(2**31 - 1))
