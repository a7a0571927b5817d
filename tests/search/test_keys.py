"""Rows over keys with gaps, against lists."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from docboltz.search.keys import Keys

changes = st.lists(st.tuples(st.sets(st.integers(0, 30)), st.integers(0, 9)), max_size=6)


@given(st.integers(0, 20), changes)
def test_rows_are_numbered_over_the_keys_that_are_left(
    n: int, steps: list[tuple[set[int], int]]
) -> None:
    keys, left, end = Keys.of(n, []), list(range(n)), n
    for rows, more in steps:
        gone = np.array([left[row] for row in sorted(rows) if row < len(left)], np.int64)
        keys = keys.changed(gone, more)
        left = [key for key in left if key not in gone] + list(range(end, end + more))
        end += more
        assert (keys.n, keys.end) == (len(left), end)
        rows_left = np.arange(len(left))
        assert keys.of_rows(rows_left).tolist() == left
        assert keys.to_rows(np.array(left, np.int64)).tolist() == rows_left.tolist()
        again = Keys.of(keys.n, keys.gone)
        assert (again.gone, again.end) == (keys.gone, keys.end)
        assert all(a[1] < b[0] for a, b in zip(keys.gone, keys.gone[1:], strict=False))


@pytest.mark.parametrize("gone", [[[2, 1]], [[1, 1]], [[-1, 1]], [[0, 2], [1, 3]], [[9, 10]], [1]])
def test_spans_that_make_no_sense_are_refused(gone: object) -> None:
    with pytest.raises(ValueError, match=r"sense|reshape"):
        Keys.of(3, gone)
