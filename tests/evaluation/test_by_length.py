"""A measure by document length, by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from docboltz.errors import InvalidParameter
from docboltz.evaluation.by_length import by_length


def test_documents_come_shortest_first_and_ties_in_row_order():
    found = by_length([0.1, 0.2, 0.3, 0.4], [5, 2, 5, 1])
    assert found.length.tolist() == [1, 2, 5, 5]
    assert found.value.tolist() == [0.4, 0.2, 0.1, 0.3]
    # Short sorts keep the order by themselves; long ones have to be asked to.
    values = np.random.default_rng(0).random(500)
    assert np.array_equal(by_length(values, np.arange(500) % 2).value[:250], values[::2])


def test_smoothing_by_hand():
    found = by_length([1, 2, 3, 4, 5, 9], range(6), window=3)
    # Two documents at either end, three elsewhere.
    by_hand = [(1 + 2) / 2, 2, 3, 4, (4 + 5 + 9) / 3, (5 + 9) / 2]
    assert found.smoothed == pytest.approx(by_hand)
    assert by_length([1, 2, 3, 4, 5, 9], range(6), window=2).smoothed == pytest.approx(by_hand)
    assert by_length([1, 2, 3, 4, 5, 9], range(6), window=1).smoothed.tolist() == [1, 2, 3, 4, 5, 9]
    assert found.window == 3


def test_a_tenth_of_the_documents_is_the_usual_window():
    assert by_length(np.zeros(410), np.arange(410)).window == 41
    assert by_length(np.zeros(5), np.arange(5)).window == 1


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 30), window=st.integers(1, 40))
def test_a_moving_mean_is_the_mean_of_what_the_window_covers(seed, n, window):
    values = np.random.default_rng(seed).random(n)
    found = by_length(values, np.arange(n), window=window)
    half = window // 2
    slow = [values[max(0, i - half) : i + half + 1].mean() for i in range(n)]
    assert found.smoothed == pytest.approx(slow)


def test_means_of_groups_by_hand():
    # By length: 1, 0, 1, 1, 0, 0, 1; the first group has the seventh document.
    found = by_length([0, 1, 1, 0, 1, 0, 1], [20, 1, 3, 2, 4, 10, 30])
    assert found.quantile_means(1) == pytest.approx([4 / 7])
    assert found.quantile_means(3) == pytest.approx([2 / 3, 1 / 2, 1 / 2])
    assert found.quantile_means(5) == pytest.approx([1 / 2, 1, 0, 0, 1])
    for wrong in (0, 8, 2.5):
        with pytest.raises(InvalidParameter, match="from 1 to 7"):
            found.quantile_means(wrong)


def test_truth_values_make_shares():
    found = by_length(np.array([True, False, True, True]), [1, 2, 3, 4])
    assert found.quantile_means(2) == pytest.approx([0.5, 1.0])


def test_documents_without_a_value_are_left_out_and_counted():
    found = by_length([0.5, np.nan, 0.1], [9, 1, 4])
    assert found.length.tolist() == [4, 9]
    assert found.n_left_out == 1
    assert found.histogram.sum() == 2


def test_boundaries_and_histogram():
    lengths = np.random.default_rng(0).permutation(np.arange(1, 1002))
    found = by_length(np.zeros(1001), lengths)
    assert found.decile_boundaries == pytest.approx(np.arange(101, 1000, 100))
    assert found.histogram.sum() == 1001
    for count, begin, end in zip(
        found.histogram, found.bin_edges[:-1], found.bin_edges[1:], strict=True
    ):
        assert count == np.sum((lengths >= begin) & (lengths < end))
    assert (found.bin_edges[0], found.bin_edges[-1]) == (1, 1002)


@pytest.mark.parametrize("lengths", [[0, 0, 3], [0], [7, 7], [1, 100_000]])
def test_every_length_has_a_bin(lengths):
    found = by_length(np.zeros(len(lengths)), lengths)
    assert found.histogram.sum() == len(lengths)
    assert np.all(np.diff(found.bin_edges) > 0)


@pytest.mark.parametrize(
    ("values", "lengths", "options", "message"),
    [
        ([1, 2], [1], {}, r"'lengths'.*\(2,\)"),
        ([[1], [2]], [1, 2], {}, "one dimension"),
        ([np.nan], [1], {}, "a number for some document"),
        ([], [], {}, "a number for some document"),
        ([1], [-1], {}, "numbers of words"),
        ([1], [1], {"window": 0}, "a number of documents"),
        ([1], [1], {"window": 1.5}, "a number of documents"),
    ],
)
def test_what_cannot_be_ordered(values, lengths, options, message):
    with pytest.raises(InvalidParameter, match=message):
        by_length(values, lengths, **options)
