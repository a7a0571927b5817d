from __future__ import annotations

from pathlib import Path, PurePosixPath

import fsspec
import pytest

SHARED = Path(__file__).parents[2].parent / "shared" / "data"


@pytest.fixture
def shared_data():
    """The data for development, which lies beside the repository on some machines only."""
    if not SHARED.is_dir():
        pytest.skip("needs the development data in ../shared/data")
    return SHARED


class MemoryPath:
    """As much of a pathlib.Path as tests use, of files in a store: fsspec's own, in memory."""

    def __init__(self, path: str = "/docboltz-tests") -> None:
        self._path = PurePosixPath(path)
        self._system = fsspec.filesystem("memory")

    def __truediv__(self, name: str) -> MemoryPath:
        return MemoryPath(str(self._path / name))

    def __str__(self) -> str:
        return f"memory://{self._path}"

    __fspath__ = __str__

    @property
    def parent(self) -> MemoryPath:
        return MemoryPath(str(self._path.parent))

    def mkdir(self, *, parents: bool = False, exist_ok: bool = False) -> None:
        self._system.makedirs(str(self._path), exist_ok=exist_ok)

    def write_bytes(self, data: bytes) -> None:
        self._system.pipe_file(str(self._path), data)

    def write_text(self, text: str) -> None:
        self.write_bytes(text.encode())

    def read_bytes(self) -> bytes:
        return bytes(self._system.cat_file(str(self._path)))

    def remove(self) -> None:
        if self._system.exists(str(self._path)):
            self._system.rm(str(self._path), recursive=True)


@pytest.fixture(params=["local", "store"])
def place(request, tmp_path):
    """A folder of this machine, and one of a store that fsspec reaches: they are read alike."""
    if request.param == "local":
        yield tmp_path
        return
    folder = MemoryPath()
    folder.mkdir()
    yield folder
    folder.remove()
