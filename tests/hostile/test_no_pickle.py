"""Nothing that docboltz reads from a file can run code: no pickle, whoever made the file."""

from __future__ import annotations

import ast
import io
import os
import pickle
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array, save_npz

import docboltz
from docboltz.corpus.corpus import load_matrix
from docboltz.corpus.datasets import load_dataset
from docboltz.errors import DocboltzError

SOURCE = Path(docboltz.__file__).parent


def calls(tree: ast.AST) -> list[tuple[ast.Call, str]]:
    """Every call, with its name as it is written."""
    return [(node, ast.unparse(node.func)) for node in ast.walk(tree) if isinstance(node, ast.Call)]


@pytest.mark.parametrize(
    "file", sorted(SOURCE.rglob("*.py")), ids=lambda f: f.relative_to(SOURCE).as_posix()
)
def test_no_module_unpickles_a_file(file: Path) -> None:
    tree = ast.parse(file.read_text("utf-8"))
    imported = {
        alias.name.partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in [*node.names, ast.alias(getattr(node, "module", None) or "")]
    }
    assert not imported & {"pickle", "cPickle", "dill", "shelve", "marshal", "cloudpickle"}
    for call, name in calls(tree):
        assert name not in {"torch.load", "joblib.load", "pandas.read_pickle", "pd.read_pickle"}
        assert name not in {"eval", "exec", "os.system", "fetch_20newsgroups"}
        if name.endswith("np.load") or name == "load_npz":
            allowed = [k.value for k in call.keywords if k.arg == "allow_pickle"]
            assert all(isinstance(a, ast.Constant) and a.value is False for a in allowed)
        if name == "fetch_rcv1":  # to a folder of our own, where there is no pickle to be read
            assert [k.arg for k in call.keywords] == ["data_home"]
            assert ast.unparse(call.keywords[0].value) == "home"
        assert not any(k.arg == "shell" for k in call.keywords)


class Trap:
    """Unpickled, it leaves a file behind."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> object:
        return os.mkdir, (str(self.path),)


def test_pickles_are_not_read_wherever_they_lie(tmp_path: Path) -> None:
    sprung, data = tmp_path / "sprung", io.BytesIO()
    trap = pickle.dumps(Trap(sprung))
    for name in ("20news-bydate_py3.pkz", "counts.npz", "topics.npz", "topic_names.txt", "x.json"):
        (tmp_path / name).write_bytes(trap)
    (tmp_path / "RCV1").mkdir()
    for name in ("samples_py3.pkl", "sample_id_py3.pkl", "sample_topics_py3.pkl"):
        (tmp_path / "RCV1" / name).write_bytes(trap)
    for dataset in ("20newsgroups", "rcv1"):
        with pytest.raises(DocboltzError):
            load_dataset(dataset, path=tmp_path)
    np.save(data, np.array([Trap(sprung)], dtype=object))
    (tmp_path / "m.npz").write_bytes(data.getvalue())
    for name in ("m.npz", "counts.npz"):
        with pytest.raises(ValueError, match="holds no matrix"):
            load_matrix(tmp_path / name)
    for file in ("model.json", "parameters.safetensors"):
        (tmp_path / file).write_bytes(trap)
    with pytest.raises(DocboltzError):
        docboltz.open(tmp_path)
    assert not sprung.exists()


def test_an_npz_that_unpacks_to_more_than_any_memory_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_npz(tmp_path / "m.npz", csr_array(np.eye(50)))
    assert load_matrix(tmp_path / "m.npz").shape == (50, 50)
    monkeypatch.setattr("docboltz.corpus.corpus.LARGEST", 1000)
    with pytest.raises(ValueError, match="it would take"):
        load_matrix(tmp_path / "m.npz")


@pytest.mark.parametrize("seed", range(40))
def test_a_garbage_npz_is_refused(tmp_path: Path, seed: int) -> None:
    """Of a real one, some bytes are others."""
    save_npz(tmp_path / "m.npz", csr_array(np.eye(20)))
    rng = np.random.default_rng(seed)
    data = bytearray((tmp_path / "m.npz").read_bytes())
    for _ in range(rng.integers(1, 20)):
        data[rng.integers(len(data))] = rng.integers(256)
    (tmp_path / "m.npz").write_bytes(data[: rng.integers(len(data) // 2, len(data) + 1)])
    with suppress(ValueError):
        load_matrix(tmp_path / "m.npz")
