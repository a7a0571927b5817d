"""Random numbers tied to a document's own words."""

from __future__ import annotations

import numpy as np
import torch
from scipy import sparse
from scipy.stats import chisquare, kstest

from docboltz.baselines.draws import document_keys, repeat_words, shuffle_words, uniform
from docboltz.inference import to_torch
from docboltz.model.counts import SparseCounts
from tests.test_laws import corpus

RARE = 1e-4
"""Failure rate of each statistical test, had the seed not been fixed."""


def sequences(counts: list[list[float]]) -> SparseCounts:
    return repeat_words(to_torch(sparse.csr_array(np.array(counts, np.float32))))


def test_words_are_repeated_as_often_as_they_occur() -> None:
    found = sequences([[2, 0, 1], [0, 0, 0], [0, 3, 0]])
    assert found.words.tolist() == [0, 0, 2, 1, 1, 1]
    assert found.starts.tolist() == [0, 3, 3, 6]


def test_fractions_are_rounded_but_no_word_is_lost() -> None:
    assert sequences([[0.2, 1.6, 0]]).words.tolist() == [0, 1, 1]


def test_uniform_numbers_are_uniform_along_every_counter() -> None:
    keys = document_keys(np.arange(2000), np.arange(2001), 0)
    for draws in (uniform(keys, 3), uniform(keys[:1], np.arange(2000)), uniform(keys, 0, 7)):
        assert kstest(draws, "uniform").pvalue > RARE
    neighbours = np.corrcoef(uniform(keys, 0), uniform(keys, 1))[0, 1]
    assert abs(neighbours) < 4 / np.sqrt(2000)  # 4 standard errors


def test_keys_depend_on_words_and_seed_alone() -> None:
    words = sequences([[2, 0, 1], [0, 1, 2], [2, 0, 1]])
    flat, starts = words.words.numpy(), words.starts.numpy()
    keys = document_keys(flat, starts, 5)
    assert keys[0] == keys[2] != keys[1]
    assert keys[1] == document_keys(flat[3:6], np.array([0, 3]), 5)[0]
    assert keys[0] != document_keys(flat, starts, 6)[0]


def test_shuffling_keeps_each_documents_words() -> None:
    words = repeat_words(to_torch(corpus(20).astype(np.float32)))
    shuffled = shuffle_words(words, 0)
    assert not torch.equal(shuffled.words, words.words)
    for begin, end in zip(words.starts[:-1], words.starts[1:], strict=True):
        assert torch.equal(shuffled.words[begin:end].sort()[0], words.words[begin:end])


def test_all_orders_are_equally_likely() -> None:
    words = sequences([[1, 1, 1]])
    orders = [tuple(shuffle_words(words, 0, number).words.tolist()) for number in range(1200)]
    seen = [orders.count(order) for order in set(orders)]
    assert len(seen) == 6
    assert chisquare(seen).pvalue > RARE
