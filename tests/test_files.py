"""Files are written whole or not at all, and places that cannot be written are named."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from docboltz.errors import InvalidCorpus
from docboltz.storage import cache_folder, replacing, sha256


def test_a_file_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "sub" / "a.txt"

    def half() -> None:
        with replacing(path) as target:
            target.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        half()
    assert list(path.parent.iterdir()) == []
    with replacing(path) as target:
        target.write_text("whole")
    assert [p.read_text() for p in path.parent.iterdir()] == ["whole"]
    assert sha256(path) == hashlib.sha256(b"whole").hexdigest()


def test_an_unwritable_folder_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("not a folder")

    def write() -> None:
        with replacing(tmp_path / "file" / "a"):
            pass

    with pytest.raises(InvalidCorpus, match="cannot be written") as error:
        write()
    assert "DOCBOLTZ_CACHE" not in str(error.value)
    monkeypatch.setenv("DOCBOLTZ_CACHE", str(tmp_path / "file"))
    assert cache_folder() == tmp_path / "file"
    with pytest.raises(InvalidCorpus, match="DOCBOLTZ_CACHE"):
        write()
