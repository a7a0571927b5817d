from __future__ import annotations

import pytest
import torch

from docboltz.errors import InvalidParameter
from docboltz.model.latent_words import (
    FixedLatentWords,
    LatentWords,
    LatentWordsUpTo,
    ProportionalLatentWords,
    policy_from_dict,
    policy_to_dict,
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


def test_policies_survive_a_round_trip(policy: LatentWords) -> None:
    assert policy_from_dict(policy_to_dict(policy)) == policy


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
        lambda: policy_from_dict({"policy": "NoSuchPolicy"}),
    ],
)
def test_nonsense_is_refused_with_what_was_expected(make) -> None:
    with pytest.raises(InvalidParameter, match=r"must be .* Got .* instead"):
        make()
