from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from docboltz.errors import InvalidCorpus, InvalidParameter
from docboltz.search.documents import DocumentWriter
from docboltz.search.store import SearchStore
from docboltz.search.writer import StoreWriter
from tests.search.stores import names, store_of


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.ones((1, 3)), ["a"], [[]], [""]), r"shape \(n, 2\).*float64 of shape \(1, 3\)"),
        ((np.ones(2), ["a"], [[]], [""]), r"shape \(n, 2\).*of shape \(2,\)"),
        (([["x", "y"]], ["a"], [[]], [""]), "numbers of shape"),
        (([[1, np.nan]], ["a"], [[]], [""]), "finite in float32. Got 'nan at row 0, column 1'"),
        (([[np.inf, 1]], ["a"], [[]], [""]), "finite in float32. Got 'inf at row 0, column 0'"),
        (([[1, 1]], ["a", "b"], [[]], [""]), r"as many as ids.*\(1, 2, 1, 1\)"),
        (([[1, 1]], ["a"], [[]], []), r"as many as ids.*\(1, 1, 1, 0\)"),
        (([[1, 1]], [7], [[]], [""]), "'ids'.*Got 7"),
        (([[1, 1]], ["\udcff"], [[]], [""]), "'ids'.*Unicode"),
        (([[1, 1]], ["a"], ["sport"], [""]), "list of strings for document 'a'. Got 'sport'"),
        (([[1, 1]], ["a"], [[3]], [""]), "list of strings for document 'a'"),
        (([[1, 1]], ["a"], [[]], [None]), "'snippets'.*Got None"),
        (([[1, 1]], ["old"], [[]], [""]), "Two documents have the id 'old'"),
        (([[1, 1]] * 3, ["b", "a", "a"], [[]] * 3, [""] * 3), "Two documents have the id 'a'"),
    ],
)
def test_bad_blocks_are_refused_and_leave_nothing(
    tmp_path: Path, arguments: tuple[Any, ...], message: str
) -> None:
    with StoreWriter(tmp_path, n_features=2, model="m") as writer:
        writer.append([[1, 1]], ["old"], [[]], [""])
        with pytest.raises((InvalidParameter, InvalidCorpus), match=message):
            writer.append(*arguments)
        writer.append([[1, 0]], ["b"], [[]], [""])
    store = SearchStore.open(tmp_path)
    assert [hit.id for hit in store.documents([0, 1])] == ["old", "b"]
    np.testing.assert_array_equal(store.features[1], [1, 0])


def test_bad_settings_are_refused(tmp_path: Path) -> None:
    for n_features in (0, 2.0, True):
        with pytest.raises(InvalidParameter, match="n_features"):
            StoreWriter(tmp_path, n_features=n_features, model="m")  # type: ignore[arg-type]
    for mean in ([1.0], [1.0, np.nan], [[1.0, 2.0]]):
        with pytest.raises(InvalidParameter, match="mean"):
            StoreWriter(tmp_path, n_features=2, model="m", mean=mean)
    assert not names(tmp_path)


def test_no_document_is_no_store(tmp_path: Path) -> None:
    new = tmp_path / "new"
    with (
        pytest.raises(InvalidCorpus, match="no document"),
        StoreWriter(new, n_features=8, model="m"),
    ):
        pass
    assert not new.exists()


def test_a_block_written_by_half_is_no_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever catches an interrupt and carries on must not get documents beside their features."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    def build() -> None:
        with StoreWriter(tmp_path, n_features=2, model="m") as writer:
            writer.append([[1, 1]], ["a"], [[]], [""])
            monkeypatch.setattr(DocumentWriter, "append", interrupt)
            with suppress(KeyboardInterrupt):
                writer.append([[1, 1]], ["b"], [[]], [""])

    with pytest.raises(InvalidCorpus, match="not wholly written"):
        build()
    assert not names(tmp_path)


def test_the_sizes_of_blocks_change_nothing(tmp_path: Path, vectors: np.ndarray) -> None:
    one, other = (store_of(tmp_path / str(block), vectors, block=block) for block in (1, 50))
    np.testing.assert_array_equal(one.features, other.features)
    assert one.documents(range(50)) == other.documents(range(50))
