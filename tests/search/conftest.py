from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture
def vectors() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(50, 8)).astype(np.float32)
