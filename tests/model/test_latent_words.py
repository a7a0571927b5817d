from __future__ import annotations

import numpy as np
import pytest
import torch

from docboltz.errors import InvalidParameter
from docboltz.model.latent_words import (
    FixedLatentWords,
    LatentWords,
    LatentWordsUpTo,
    ProportionalLatentWords,
)


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (FixedLatentWords(7), [7, 7, 7]),
        (ProportionalLatentWords(0.5), [1, 1, 6]),
        (LatentWordsUpTo(10), [9, 8, 0]),
    ],
    ids=str,
)
def test_whole_latent_words_by_length(policy: LatentWords, expected: list[int]) -> None:
    assert policy(torch.tensor([1.0, 2.0, 12.0])).tolist() == expected


def test_both_float_types_give_the_same_latent_words() -> None:
    """A float32 model and the float64 oracle that judges it must agree on M."""
    n = torch.arange(1.0, 300.0)
    for hundredths in range(1, 300):
        policy = ProportionalLatentWords(hundredths / 100)
        assert torch.equal(policy(n).double(), policy(n.double()))
    assert ProportionalLatentWords(0.29)(torch.tensor([50.0])).item() == 15


def test_fractional_lengths_still_get_whole_words() -> None:
    for policy in (ProportionalLatentWords(0.5), LatentWordsUpTo(10)):
        m = policy(torch.tensor([2.6, 0.3]))
        assert torch.equal(m, m.round())


def test_numpys_numbers_are_numbers() -> None:
    assert FixedLatentWords(np.int64(5)) == FixedLatentWords(5)
    assert type(ProportionalLatentWords(np.float32(0.5)).c) is float
    assert LatentWordsUpTo(np.int32(9)) == LatentWordsUpTo(9)


@pytest.mark.parametrize(
    "make",
    [
        lambda: FixedLatentWords(-1),
        lambda: FixedLatentWords(2.5),
        lambda: FixedLatentWords(True),
        lambda: FixedLatentWords(10**9),
        lambda: ProportionalLatentWords(-0.1),
        lambda: ProportionalLatentWords(float("nan")),
        lambda: ProportionalLatentWords(1e9),
        lambda: LatentWordsUpTo(0),
        lambda: ProportionalLatentWords("half"),
    ],
)
def test_nonsense_is_refused_with_what_was_expected(make) -> None:
    with pytest.raises(InvalidParameter, match=r"must be .* Got .* instead"):
        make()
