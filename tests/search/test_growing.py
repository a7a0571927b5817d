"""A store that grew against one that was built at once, to the byte."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from docboltz.corpus.document import Document
from docboltz.errors import InvalidModelFile, InvalidParameter
from docboltz.search import growing as module
from docboltz.search.growing import update_store
from docboltz.search.store import SearchStore
from docboltz.search.writer import STORE, Block, build_store
from tests.search.stores import names, random_counts

N, F, K = 50, 8, 12
MEAN = np.full(F, 0.1)
FEATURES = np.random.default_rng(0).random((N, F)).astype(np.float32)
COUNTS = random_counts(N)


def block(rows: range | list[int], text: str = "text") -> Block:
    dates = ("2013", "", "2014-05-06")
    documents = [Document(f"d{i}", f"{text} {i}", (f"l{i % 4}",), dates[i % 3]) for i in rows]
    return Block(FEATURES[list(rows)], COUNTS[list(rows)], documents)


def build(path: Path, *blocks: Block, model: str = "m") -> None:
    build_store(path, F, K, blocks, model=model, mean=MEAN)


def content(path: Path) -> dict[str, bytes]:
    opened = STORE.open(path)
    return {name: opened.file(name).read_bytes() for name in STORE.files}


@pytest.fixture(autouse=True)
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ROWS_AT_ONCE", 7)


def test_appended_documents_make_the_store_that_all_would_have_made(tmp_path: Path) -> None:
    build(tmp_path / "grown", block(range(20)))
    for rows in (range(20, 21), range(21, 50)):
        assert update_store(tmp_path / "grown", model="m", drop=(), blocks=[block(rows)]) == 0
    build(tmp_path / "whole", block(range(50)))
    assert content(tmp_path / "grown") == content(tmp_path / "whole")
    assert STORE.open(tmp_path / "grown").content == STORE.open(tmp_path / "whole").content
    SearchStore.open(tmp_path / "grown", model="m").verify()


def test_deleted_documents_leave_no_trace(tmp_path: Path) -> None:
    build(tmp_path / "less", block(range(50)))
    gone = ["d0", "d7", "d8", "d49", "nobody"]
    assert update_store(tmp_path / "less", model="m", drop=gone) == 4
    build(tmp_path / "never", block([i for i in range(50) if f"d{i}" not in gone]))
    assert content(tmp_path / "less") == content(tmp_path / "never")


def test_documents_of_the_same_id_are_replaced(tmp_path: Path) -> None:
    build(tmp_path / "new", block(range(50)))
    again = block([3, 30], text="other text")
    assert update_store(tmp_path / "new", model="m", drop=["d3", "d30"], blocks=[again]) == 2
    build(tmp_path / "whole", block([i for i in range(50) if i not in (3, 30)]), again)
    assert content(tmp_path / "new") == content(tmp_path / "whole")
    store = SearchStore.open(tmp_path / "new")
    assert store.documents([store.row_of("d30")])[0].text == "other text 30"


def test_who_has_it_open_keeps_it_as_it_was(tmp_path: Path) -> None:
    build(tmp_path, block(range(20)))
    reader = SearchStore.open(tmp_path)
    before = reader.search(FEATURES[:5], COUNTS[:5], 20)

    def blocks() -> Iterator[Block]:
        assert len(SearchStore.open(tmp_path)) == 20  # nor does one who opens it meanwhile see more
        yield block(range(20, 30))

    update_store(tmp_path, model="m", drop=["d0", "d1"], blocks=blocks())
    assert len(SearchStore.open(tmp_path)) == 28
    for mine, now in zip(before, reader.search(FEATURES[:5], COUNTS[:5], 20), strict=True):
        np.testing.assert_array_equal(mine, now)
    assert reader.documents([0])[0].id == "d0"


def test_what_goes_wrong_changes_nothing(tmp_path: Path) -> None:
    build(tmp_path, block(range(20)))
    before, files = content(tmp_path), names(tmp_path)

    @contextmanager
    def refusing() -> Iterator[None]:
        raise InvalidParameter("The model was replaced.")
        yield

    everything = [f"d{i}" for i in range(20)]
    with pytest.raises(InvalidParameter, match="No document would be left"):
        update_store(tmp_path, model="m", drop=everything)
    with pytest.raises(InvalidParameter, match="was replaced"):
        update_store(tmp_path, model="m", drop=["d1"], guard=refusing())
    with pytest.raises(InvalidModelFile, match="another model"):
        update_store(tmp_path, model="other", drop=["d1"])
    with pytest.raises(Exception, match="Two documents have the id 'd1'"):
        update_store(tmp_path, model="m", drop=(), blocks=[block([1])])
    assert (content(tmp_path), names(tmp_path)) == (before, files)


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
def test_a_kill_at_any_step_leaves_the_old_store_or_the_new(tmp_path: Path) -> None:
    """Killed at each call that writes, syncs or renames, one after the other."""
    code = """
import os, signal, sys
sys.path.insert(0, sys.argv[3])
from tests.search.test_growing import block, update_store
left = int(sys.argv[2])
def dying(real):
    def call(*given, **named):
        global left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*given, **named)
    return call
os.fsync, os.replace, os.mkdir = map(dying, (os.fsync, os.replace, os.mkdir))
update_store(sys.argv[1], model="m", drop=["d1"], blocks=[block([30, 31])])
"""
    build(tmp_path / "old", block(range(20)))
    build(tmp_path / "new", block([i for i in range(20) if i != 1]), block([30, 31]))
    root = str(Path(__file__).parents[2])
    seen = set()
    for steps in (0, 1, 5, 17, 18, 19, 20, 40):
        path = tmp_path / str(steps)
        build(path, block(range(20)))
        command = [sys.executable, "-c", code, str(path), str(steps), root]
        killed = subprocess.run(command, check=False, env=os.environ).returncode
        now = content(path)
        assert now in (content(tmp_path / "old"), content(tmp_path / "new"))
        seen.add((killed, now == content(tmp_path / "new")))
        update_store(path, model="m", drop=["d2"])  # goes on as if nothing had been
        assert len(list(path.glob("build-*"))) == 1
    assert {(-9, False), (0, True)} <= seen


def test_counts_come_back(tmp_path: Path) -> None:
    build(tmp_path, block(range(50)))
    words = SearchStore.open(tmp_path).words
    np.testing.assert_array_equal(words.counted().toarray(), COUNTS.toarray())
    np.testing.assert_array_equal(words.counted(7, 9).toarray(), COUNTS[7:9].toarray())
    with pytest.raises(InvalidParameter, match="whole numbers"):
        build(tmp_path, block([0])._replace(counts=csr_array(COUNTS[[0]] * 0.5)))


def test_a_damaged_store_is_not_given_new_checksums(tmp_path: Path) -> None:
    build(tmp_path, block(range(10)))
    file = STORE.open(tmp_path).file("features.f32")
    data = bytearray(file.read_bytes())
    data[0] ^= 1
    file.write_bytes(data)
    with pytest.raises(InvalidModelFile, match="changed after it was saved"):
        update_store(tmp_path, model="m", drop=["d5"])
