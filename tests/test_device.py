import numpy as np
import pytest
import torch

from docboltz.device import choose_device, draw_seed, random_state_of
from docboltz.errors import InvalidParameter


def test_auto_is_a_device_that_is_there():
    expected = "cuda" if torch.cuda.is_available() else "cpu"
    assert choose_device("auto", "Model").type == expected
    assert choose_device("cpu", "Model") == torch.device("cpu")


@pytest.mark.parametrize("name", ["abacus", "cuda:99", "meta:x", ""])
def test_a_device_that_is_not_there(name):
    with pytest.raises(InvalidParameter, match=r"'device' parameter of Model must") as raised:
        choose_device(name, "Model")
    assert repr(name) in str(raised.value)
    assert "\n" not in str(raised.value)


def test_seeds_follow_the_random_state():
    seeds = [draw_seed(np.random.RandomState(seed)) for seed in (3, 3, 4)]
    assert seeds[0] == seeds[1] != seeds[2]


def test_a_random_state_that_is_none_is_named() -> None:
    expected = r"The 'random_state' parameter of LSI must be None, .* Got 'a' instead\."
    with pytest.raises(InvalidParameter, match=expected):
        random_state_of("a", "LSI")
