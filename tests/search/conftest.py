from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from tests.search.stores import random_counts


@pytest.fixture
def vectors() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(50, 8)).astype(np.float32)


@pytest.fixture
def counts() -> csr_array:
    """Of as many documents as there are vectors."""
    return random_counts(50)
