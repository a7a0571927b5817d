from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.search.stores import Place


@pytest.fixture(scope="session")
def milvus(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A file of Milvus Lite for all tests, which takes a second to begin; or $MILVUS_URI."""
    pytest.importorskip("milvus_lite", reason="needs pip install 'docboltz[milvus]'")
    return "milvus+" + os.environ.get("MILVUS_URI", str(tmp_path_factory.mktemp("m") / "m.db"))


@pytest.fixture(params=[None, "milvus"], ids=["files", "milvus"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """A folder for a store of either kind."""
    return Place(tmp_path / "store", request.param and request.getfixturevalue(request.param))
