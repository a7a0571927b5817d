from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from docboltz.corpus.document import Document
from docboltz.errors import InvalidCorpus, InvalidParameter
from docboltz.search.documents import DocumentWriter
from docboltz.search.store import SearchStore
from docboltz.search.words import DTYPES
from docboltz.search.writer import Block, build_store
from tests.search.stores import names, random_counts, store_of, write

ONE = csr_array([[1, 0, 2]])
A = Block([[1, 1]], ONE, [Document("a", "")])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"features": np.ones((1, 3))}, r"shape \(n, 2\).*float64 of shape \(1, 3\)"),
        ({"features": np.ones(2)}, r"shape \(n, 2\).*of shape \(2,\)"),
        ({"features": [["x", "y"]]}, "numbers of shape"),
        ({"features": [[1, np.nan]]}, "finite in float32. Got 'nan at row 0, column 1'"),
        ({"features": [[np.inf, 1]]}, "finite in float32. Got 'inf at row 0, column 0'"),
        ({"counts": csr_array((1, 2))}, r"counts of 3 words. Got \(1, 2\)"),
        ({"counts": csr_array((2, 3))}, r"as many as counts.*\(1, 2, 1\)"),
        ({"documents": [Document("a", ""), Document("b", "")]}, r"as many as.*\(1, 1, 2\)"),
        ({"documents": []}, r"as many as counts and documents.*\(1, 1, 0\)"),
        ({"documents": [Document(7, "")]}, "'ids'.*Got 7"),
        ({"documents": [Document("\udcff", "")]}, "'ids'.*Unicode"),
        ({"documents": [Document("a", "", "sport")]}, "strings for document 'a'. Got 'sport'"),
        ({"documents": [Document("a", "", (3,))]}, "tuple of strings for document 'a'"),
        ({"documents": [Document("a", None)]}, "'texts'.*Got None"),
        ({"documents": [Document("a", "", (), 2013)]}, "'dates'.*Got 2013"),
        ({"documents": [Document("old", "")]}, "Two documents have the id 'old'"),
        (
            {
                "features": [[1, 1]] * 3,
                "counts": csr_array(np.ones((3, 3))),
                "documents": [Document("b", ""), Document("a", ""), Document("a", "")],
            },
            "Two documents have the id 'a'",
        ),
    ],
    ids=str,
)
def test_bad_blocks_are_refused_and_leave_nothing(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    """Neither in a new folder nor in the place of a store that was there."""
    before = Block([[1, 0]], 2 * ONE, [Document("old", "")])
    build_store(tmp_path / "full", 2, 3, [before], model="m")
    for folder in (tmp_path / "full", tmp_path / "new"):
        with pytest.raises((InvalidParameter, InvalidCorpus), match=message):
            build_store(folder, 2, 3, [before, A._replace(**changes)], model="m")
    assert not (tmp_path / "new").exists()
    store = SearchStore.open(tmp_path / "full")
    assert [document.id for document in store.documents(range(len(store)))] == ["old"]
    np.testing.assert_array_equal(store.features, [[1, 0]])
    np.testing.assert_array_equal(store.words.n_words(), [2])


def test_bad_settings_are_refused(tmp_path: Path) -> None:
    for size in (0, 2.0, True):
        for name in ("n_features", "n_words"):
            sizes = {"n_features": 2, "n_words": 3, name: size}
            with pytest.raises(InvalidParameter, match=name):
                build_store(tmp_path, **sizes, blocks=[A], model="m")
    for mean in ([1.0], [1.0, np.nan], [[1.0, 2.0]]):
        with pytest.raises(InvalidParameter, match="mean"):
            build_store(tmp_path, 2, 3, [A], model="m", mean=mean)
    assert not names(tmp_path)


def test_no_document_is_no_store(tmp_path: Path) -> None:
    new = tmp_path / "new"
    with pytest.raises(InvalidCorpus, match="no document"):
        build_store(new, 8, 3, [], model="m")
    assert not new.exists()


def test_a_block_written_by_half_is_no_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An interrupt between features and documents leaves nothing of either."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    def blocks() -> Iterator[Block]:
        yield A
        monkeypatch.setattr(DocumentWriter, "append", interrupt)
        yield A._replace(documents=[Document("b", "")])

    with pytest.raises(KeyboardInterrupt):
        build_store(tmp_path, 2, 3, blocks(), model="m")
    assert not names(tmp_path)


def test_the_sizes_of_blocks_change_nothing(tmp_path: Path, vectors: np.ndarray) -> None:
    one, other = (store_of(tmp_path / str(block), vectors, block=block) for block in (1, 50))
    np.testing.assert_array_equal(one.features, other.features)
    for name in DTYPES:
        np.testing.assert_array_equal(getattr(one.words, name), getattr(other.words, name))
    assert one.documents(range(50)) == other.documents(range(50))


def test_a_rebuild_replaces_the_store_and_its_files(tmp_path: Path, vectors: np.ndarray) -> None:
    old = store_of(tmp_path, vectors, model="old")
    (tmp_path / "build-mine").mkdir()  # not one of the store's
    new = store_of(tmp_path, vectors[:5], model="new")
    assert len(new) == 5
    assert len(list(tmp_path.glob("build-*"))) == 2
    assert "build-mine" in names(tmp_path)
    # The one that is open goes on with the files it has, though they have no names any more.
    assert old.documents([49])[0].id == "d49"
    assert old.search(vectors[:1], random_counts(1), 1, by="features").rows.tolist() == [[0]]
    assert old.similar([7], 49).rows.shape == (1, 49)


def test_an_error_in_the_middle_leaves_nothing(tmp_path: Path) -> None:
    new = tmp_path / "new"

    def blocks() -> Iterator[Block]:
        yield A
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        build_store(new, 2, 3, blocks(), model="m")
    assert not new.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="no limit on the size of files")
@pytest.mark.parametrize(
    ("n_features", "n_words", "text"), [(64, 1, 1), (1, 1, 99), (1, 100, 1)], ids=str
)
def test_a_full_disk_is_reported_and_cleaned_up(
    tmp_path: Path, n_features: int, n_words: int, text: int
) -> None:
    """Features, texts or words are the first without room."""
    code = """
import resource, signal, sys
import numpy as np
from scipy.sparse import csr_array
from docboltz.corpus.document import Document
from docboltz.errors import InvalidParameter
from docboltz.search.writer import Block, build_store
path, F, K, text = sys.argv[1], *map(int, sys.argv[2:])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
def block(i):
    documents = [Document(f"{i}-{j}", np.random.bytes(text).hex()) for j in range(600)]
    return Block(np.ones((600, F)), csr_array(np.ones((600, K))), documents)
try:
    build_store(path, F, K, map(block, range(9)), model="m")
except InvalidParameter as error:
    assert "cannot be written" in str(error), error
    assert "File too large" in str(error), error
else:
    sys.exit("no error")
"""
    path = tmp_path / "new"
    sizes = map(str, (n_features, n_words, text))
    command = [sys.executable, "-W", "error", "-c", code, str(path), *sizes]
    result = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (0, "")
    assert not path.exists()


def test_two_builds_at_once_are_refused(tmp_path: Path, vectors: np.ndarray) -> None:
    def blocks() -> Iterator[Block]:
        with (
            ThreadPoolExecutor(1) as another,
            pytest.raises(InvalidParameter, match="Another process is writing the search index"),
        ):
            another.submit(write, tmp_path, vectors).result()
        yield A

    build_store(tmp_path, 2, 3, blocks(), model="first")
    assert SearchStore.open(tmp_path).model == "first"
    write(tmp_path, vectors)


def test_a_refusal_at_the_last_moment_keeps_the_old_store(
    tmp_path: Path, vectors: np.ndarray
) -> None:
    write(tmp_path, vectors, model="old")
    before = names(tmp_path)

    @contextmanager
    def refusing() -> Iterator[None]:
        raise InvalidParameter("The model was replaced.")
        yield

    with pytest.raises(InvalidParameter, match="was replaced"):
        build_store(tmp_path, 2, 3, [A], model="new", guard=refusing())
    assert names(tmp_path) == before
    assert SearchStore.open(tmp_path).model == "old"
