"""All that can stop a build, and what must be left of it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from docboltz.errors import InvalidParameter
from docboltz.search.store import SearchStore
from docboltz.search.writer import StoreWriter
from tests.search.stores import names, store_of, write


def test_a_rebuild_replaces_the_store_and_its_files(tmp_path: Path, vectors: np.ndarray) -> None:
    old = store_of(tmp_path, vectors, model="old")
    (tmp_path / "build-mine").mkdir()  # not one of the store's
    new = store_of(tmp_path, vectors[:5], model="new")
    assert len(new) == 5
    assert len(names(tmp_path)) == 5
    assert "build-mine" in names(tmp_path)
    # The one that is open goes on with the files it has, though they have no names any more.
    assert old.documents([49])[0].id == "d49"
    assert old.search(vectors[:1], 1)[0].tolist() == [[0]]


@pytest.mark.parametrize("call", ["replace", "fsync"])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failing_end_keeps_the_old_store(
    tmp_path: Path,
    vectors: np.ndarray,
    monkeypatch: pytest.MonkeyPatch,
    call: str,
    error: BaseException,
) -> None:
    def fail(*_: object) -> None:
        raise error

    write(tmp_path, vectors, model="old")
    before = names(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(os, call, fail)
        with pytest.raises((InvalidParameter, KeyboardInterrupt)):
            write(tmp_path, vectors[:5], model="new")
    assert names(tmp_path) == before
    store = SearchStore.open(tmp_path)
    store.verify()
    assert (store.model, len(store)) == ("old", 50)


def test_an_interrupt_after_the_replacement_keeps_the_new_store(
    tmp_path: Path, vectors: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    def replace_and_fail(source: Path, target: Path) -> None:
        os.rename(source, target)
        raise KeyboardInterrupt

    write(tmp_path, vectors, model="old")
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", replace_and_fail)
        with pytest.raises(KeyboardInterrupt):
            write(tmp_path, vectors[:5], model="new")
    store = SearchStore.open(tmp_path)
    store.verify()
    assert (store.model, len(names(tmp_path))) == ("new", 4)


KILLED = """
import os, sys
import numpy as np
from docboltz.search.writer import StoreWriter
count = [0]
def die_at(real, wanted):
    def call(*arguments, **options):
        count[0] += 1
        if count[0] == wanted:
            os._exit(9)
        return real(*arguments, **options)
    return call
for name in ("mkdir", "fsync", "replace", "unlink", "rmdir"):
    setattr(os, name, die_at(getattr(os, name), int(sys.argv[2])))
with StoreWriter(sys.argv[1], n_features=2, model="new") as writer:
    writer.append(np.ones((3, 2)), list("abc"), [[]] * 3, [""] * 3)
os._exit(0)
"""


def test_a_process_killed_at_any_step_leaves_a_whole_store(tmp_path: Path) -> None:
    """Dies at each system call of a build in turn; the next build sweeps up what it left."""
    models = []
    for step in range(1, 20):
        write(tmp_path, np.eye(2), model="old")
        assert len(names(tmp_path)) == 4
        command = [sys.executable, "-c", KILLED, str(tmp_path), str(step)]
        code = subprocess.run(command, check=False).returncode
        store = SearchStore.open(tmp_path)
        store.verify()
        assert len(store) == {"old": 2, "new": 3}[store.model]
        models.append(store.model)
        if code == 0:
            break
    assert code == 0
    assert step > 9
    assert models == sorted(models, reverse=True)  # old, …, old, new, …, new


def test_an_error_in_the_middle_leaves_nothing(tmp_path: Path, vectors: np.ndarray) -> None:
    new = tmp_path / "new"

    def documents() -> Iterator[str]:
        yield "a"
        raise ZeroDivisionError

    def build() -> None:
        with StoreWriter(new, n_features=8, model="m") as writer:
            for id_ in documents():
                writer.append(vectors[:1], [id_], [[]], [""])

    with pytest.raises(ZeroDivisionError):
        build()
    assert not new.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="no limit on the size of files")
def test_a_full_disk_is_reported_and_cleaned_up(tmp_path: Path) -> None:
    code = """
import resource, signal, sys
import numpy as np
from docboltz.errors import InvalidParameter
from docboltz.search.writer import StoreWriter
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
F = int(sys.argv[2])
try:
    with StoreWriter(sys.argv[1], n_features=F, model="m") as writer:
        for i in range(100):
            ids = [f"{i}-{j}" for j in range(600)]
            snippets = [repr(np.random.rand(9)) for _ in ids]
            writer.append(np.ones((600, F)), ids, [[]] * 600, snippets)
except InvalidParameter as error:
    assert "cannot be written" in str(error), error
else:
    sys.exit("no error")
"""
    path = tmp_path / "new"
    for n_features in ("64", "1"):  # the features or the documents are the first without room
        command = [sys.executable, "-W", "error", "-c", code, str(path), n_features]
        result = subprocess.run(command, check=False, capture_output=True, text=True)
        assert (result.returncode, result.stderr) == (0, "")
        assert not path.exists()


def test_an_unwritable_folder_is_a_clear_error(tmp_path: Path, vectors: np.ndarray) -> None:
    (tmp_path / "file").write_text("in the way")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(InvalidParameter, match=f"cannot be written to {path}"):
            write(path, vectors)
    assert names(tmp_path) == {"file"}


@pytest.mark.skipif(
    sys.platform == "win32" or os.geteuid() == 0, reason="root and Windows write anyway"
)
def test_a_read_only_folder_is_a_clear_error(tmp_path: Path, vectors: np.ndarray) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(InvalidParameter, match="Permission denied"):
        write(tmp_path, vectors)
    tmp_path.chmod(0o700)


@pytest.mark.skipif(sys.platform == "win32", reason="no lock there")
def test_two_builds_at_once_are_refused(tmp_path: Path, vectors: np.ndarray) -> None:
    with StoreWriter(tmp_path, n_features=8, model="first") as writer:
        with pytest.raises(InvalidParameter, match="Another process is building"):
            write(tmp_path, vectors)
        writer.append(vectors[:1], ["a"], [[]], [""])
    assert SearchStore.open(tmp_path).model == "first"
    write(tmp_path, vectors)
