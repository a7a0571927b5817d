"""Topics join into broader ones."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage

from docboltz.topics.tree import join, widths


def test_topics_of_one_size_join_as_scipy_s_ward_joins_them():
    means = np.random.default_rng(0).normal(size=(12, 3))
    tree = linkage(means, "ward")
    for n in (2, 5, 9):
        expected = fcluster(tree, n, "maxclust")
        found = join(np.ones(12), means, n)
        assert len(set(found)) == n
        assert len(set(zip(found, expected, strict=True))) == n


def test_small_topics_join_first():
    means = np.array([[0.0], [1.0], [2.0]])
    assert join(np.array([100.0, 1.0, 100.0]), means, 2).tolist() in ([0, 0, 1], [0, 1, 1])
    assert join(np.array([100.0, 100.0, 1.0]), means, 2).tolist() == [0, 1, 1]


@pytest.mark.parametrize("n", range(1, 40))
def test_each_level_has_a_third_of_the_next(n):
    found = widths(n)
    assert found[-1] == n
    assert all(a == round(b / 3) >= 3 for a, b in pairwise(found))
