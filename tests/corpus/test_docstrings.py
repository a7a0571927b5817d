import sys

import pytest

from docboltz.corpus import datasets as docstrings
from docboltz.corpus.datasets import collect_docstrings, load_docstrings
from docboltz.errors import InvalidCorpus

LONG = "a text of more than twenty words " * 4


@pytest.fixture
def package(tmp_path, monkeypatch):
    folder = tmp_path / "site" / "seapack"
    (folder / "ships").mkdir(parents=True)
    (folder / "tests").mkdir()
    (folder / "__init__.py").write_text(f'"""{LONG} top."""\nraise SystemExit("was imported")\n')
    (folder / "ships" / "sail.py").write_text(
        f'class Sail:\n    """{LONG} class."""\n    def up(self):\n        """{LONG} up."""\n'
        f'def copy():\n    """{LONG} up."""\ndef short():\n    """Few words."""\n'
        f'if True:\n    async def later():\n        """{LONG} later."""\n'
    )
    (folder / "ships" / "broken.py").write_text("def (:")
    (folder / "tests" / "test_a.py").write_text(f'"""{LONG} test."""\n')
    monkeypatch.syspath_prepend(str(folder.parent))
    return folder


def test_docstrings_are_parsed_named_and_labelled(package):
    documents = list(collect_docstrings("seapack", package))
    assert [(d.id, d.labels) for d in documents] == [
        ("seapack", ("seapack",)),
        ("seapack.ships.sail.Sail", ("seapack.ships",)),
        ("seapack.ships.sail.Sail.up", ("seapack.ships",)),
        ("seapack.ships.sail.later", ("seapack.ships",)),
    ]


def test_collected_once_then_cached(package, cache):
    said = []
    first = load_docstrings(0, said.append, ["seapack"])
    (package / "ships" / "sail.py").unlink()
    assert load_docstrings(0, said.append, ["seapack"]) == first
    assert len(said) == 1
    assert [len(part) for part in first] == [3, 1]
    assert "seapack" not in sys.modules


def test_rare_labels_fall_back_on_the_package(package, cache, monkeypatch):
    train, test = load_docstrings(0, lambda message: None, ["seapack"])
    assert {d.labels for d in train + test} == {("seapack",)}
    monkeypatch.setattr(docstrings, "MIN_PER_LABEL", 2)
    monkeypatch.setattr(docstrings, "_VERSION", 2)
    train, test = load_docstrings(0, lambda message: None, ["seapack"])
    assert {d.labels for d in train + test} == {("seapack",), ("seapack.ships",)}


def test_nothing_installed(cache):
    with pytest.raises(InvalidCorpus, match="no_such_package"):
        load_docstrings(0, lambda message: None, ["no_such_package"])


def test_a_real_package(cache):
    train, test = load_docstrings(0, lambda message: None, ["numpy"])
    assert len(train) > 500
    assert len(test) > 100
    assert ("numpy.linalg",) in {d.labels for d in train}
