"""A small model that is fitted."""

from __future__ import annotations

import pytest

from docboltz import OverReplicatedSoftmax, Pretraining
from tests.test_laws import corpus


@pytest.fixture(scope="module")
def fitted() -> OverReplicatedSoftmax:
    quick = Pretraining(updates=20)
    return OverReplicatedSoftmax(4, pretraining=quick, random_state=0).fit(corpus())
