"""Processes that share work: in order, bounded, and gone when the work is."""

import os
import subprocess
import sys
import time

import pytest

from docboltz.errors import DocboltzError
from docboltz.processes import in_order, pool_of


def nothing():
    pass


def squared(x):
    time.sleep(0.01 * (x % 3))
    return x * x


def end(_):
    os._exit(1)


def loaded(_):
    return sorted({"torch", "sklearn"} & set(sys.modules))


def test_results_come_in_order_and_few_wait():
    taken = []

    def items():
        for i in range(30):
            taken.append(i)
            yield i, i

    with pool_of(2, nothing) as pool:
        found = in_order(pool, squared, lambda x: x * x, items(), most=2)
        for done, (item, result) in enumerate(found):
            assert (item, result) == (done, done * done)
            assert len(taken) <= done + 9
    assert len(taken) == 30


def test_a_process_that_dies_is_reported():
    with pytest.raises(DocboltzError, match="fewer processes"), pool_of(2, nothing) as pool:
        list(in_order(pool, end, end, [(0, 0)], most=2))


def test_counting_loads_neither_torch_nor_scikit_learn():
    code = (
        "import sys; from docboltz.corpus.counting import count; count(['a ship']);"
        "assert not {'torch', 'sklearn'} & set(sys.modules), sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
