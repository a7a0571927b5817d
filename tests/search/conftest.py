from __future__ import annotations

import os

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


@pytest.fixture(scope="session")
def milvus(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A file of Milvus Lite for all tests, which takes a second to begin; or $MILVUS_URI."""
    pytest.importorskip("milvus_lite", reason="needs pip install 'docboltz[milvus]'")
    return "milvus+" + os.environ.get("MILVUS_URI", str(tmp_path_factory.mktemp("m") / "m.db"))
