"""Words alone, in closed form."""

from __future__ import annotations

import math

import pytest
import torch

from docboltz.model import unigram
from docboltz.model.counts import SparseCounts
from docboltz.model.unigram import (
    UNSEEN_WORD_COUNT,
    smoothed_word_frequency,
    unigram_log_likelihood,
)

COUNTS = SparseCounts(
    torch.tensor([0, 2, 2, 3]), torch.tensor([0, 2, 0]), torch.tensor([2.0, 1.0, 3.0]), 4
)


def test_a_word_no_document_has_stays_possible() -> None:
    found = smoothed_word_frequency(COUNTS)
    total = 6 + 4 * UNSEEN_WORD_COUNT
    assert found.tolist() == pytest.approx([(n + UNSEEN_WORD_COUNT) / total for n in (5, 0, 1, 0)])


def test_likelihood_is_the_product_over_words() -> None:
    frequency = torch.tensor([0.5, 0.2, 0.25, 0.05], dtype=torch.float64)
    found = unigram_log_likelihood(COUNTS, frequency)
    expected = [2 * math.log(0.5) + math.log(0.25), 0, 3 * math.log(0.5)]
    assert found.tolist() == pytest.approx(expected)


def test_words_are_not_looked_up_for_all_documents_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts may be on disk, and more than memory holds."""
    frequency = torch.tensor([0.5, 0.2, 0.25, 0.05], dtype=torch.float64)
    whole, sizes, plain = unigram_log_likelihood(COUNTS, frequency), [], SparseCounts.slice

    def cut(self: SparseCounts, begin: int, end: int) -> SparseCounts:
        sizes.append(end - begin)
        return plain(self, begin, end)

    monkeypatch.setattr(unigram, "BLOCK_DOCUMENTS", 2)
    monkeypatch.setattr(SparseCounts, "slice", cut)
    assert torch.equal(unigram_log_likelihood(COUNTS, frequency), whole)
    assert sizes == [2, 1]
