from pathlib import Path

import pytest

SHARED = Path(__file__).parents[2].parent / "shared" / "data"


@pytest.fixture
def shared_data():
    """The data for development, which lies beside the repository on some machines only."""
    if not SHARED.is_dir():
        pytest.skip("needs the development data in ../shared/data")
    return SHARED
