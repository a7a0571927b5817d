"""Files are written whole or not at all."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from docboltz import storage as files
from docboltz.errors import InvalidCorpus
from docboltz.storage import cache_folder, folder_above, replacing, sha256, temporary_folder


def test_the_environment_names_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCBOLTZ_CACHE", str(tmp_path))
    assert cache_folder() == tmp_path


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
    with pytest.raises(InvalidCorpus, match="DOCBOLTZ_CACHE"):
        write()


def test_the_nearest_folder_above_is_one_that_is_there(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in ("new", "new/model", "file/model"):
        assert folder_above(tmp_path / path) == tmp_path


@pytest.mark.skipif(sys.platform == "win32", reason="nothing is removed there")
def test_a_folder_is_held_though_somebody_looks_at_it_when_it_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = files.tempfile.TemporaryDirectory

    def looked_at(**options: Any) -> Any:
        folder = made(**options)
        descriptor = os.open(folder.name, os.O_RDONLY)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        threading.Timer(0.3, os.close, [descriptor]).start()
        return folder

    import fcntl

    monkeypatch.setattr(files.tempfile, "TemporaryDirectory", looked_at)
    with temporary_folder("docboltz-reading", tmp_path) as own:
        monkeypatch.undo()
        os.utime(own, (0, 0))
        with temporary_folder("docboltz-reading", tmp_path):
            assert own.exists()


HOLDING = """
import sys, time
from pathlib import Path
from docboltz.storage import temporary_folder
with temporary_folder("docboltz-reading", Path(sys.argv[1])) as folder:
    (folder / "0").write_text("gigabytes")
    print(folder, flush=True)
    time.sleep(600)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="nothing is removed there")
def test_the_folder_of_a_killed_process_is_removed_and_no_other(tmp_path: Path) -> None:
    processes = [
        subprocess.Popen([sys.executable, "-c", HOLDING, tmp_path], stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    live, dead = (Path(p.stdout.readline().decode().strip()) for p in processes if p.stdout)
    processes[1].kill()
    processes[1].wait()
    other = tmp_path / "docboltz-reading-another-machine-0123"
    linked = tmp_path / f"{dead.name}-linked"
    other.mkdir()
    linked.symlink_to(other)
    for folder in (live, dead, other):
        os.utime(folder, (0, 0))
    try:
        with temporary_folder("docboltz-reading", tmp_path) as own:
            assert sorted(tmp_path.iterdir()) == sorted([live, own, other, linked])
            with temporary_folder("docboltz-reading", tmp_path):
                assert own.exists()
        assert sorted(tmp_path.iterdir()) == sorted([live, other, linked])
    finally:
        processes[0].kill()
        processes[0].communicate()
        processes[1].communicate()
