import sys
import types

import numpy as np
import pytest
from scipy.sparse import csr_array, save_npz

from docboltz.corpus import datasets as rcv1
from docboltz.corpus.datasets import load_dataset
from docboltz.errors import InvalidCorpus
from tests.corpus.test_recovery import made_up, weights_of


def test_the_local_folder(shared_data):
    dataset = load_dataset("rcv1", path=shared_data / "rcv1v2-27k")
    assert dataset.train.counts.shape == (25_000, 10_000)
    assert dataset.test.counts.shape == (2_579, 10_000)
    assert dataset.train.vocabulary == dataset.test.vocabulary
    assert len(dataset.train.label_names) == 103
    assert dataset.counted() is dataset
    again = load_dataset("rcv1", path=shared_data / "rcv1v2-27k", max_words=50)
    assert again.test.ids == dataset.test.ids
    assert again.train.vocabulary.words == dataset.train.vocabulary.words[:50]


@pytest.fixture
def fetched(monkeypatch, cache):
    """scikit-learn's fetch_rcv1 with a made-up collection behind it."""
    counts, df = made_up(200)
    bunch = types.SimpleNamespace(
        data=weights_of(counts, df, 16),
        target=csr_array(np.eye(200, 3, dtype=np.uint8)),
        target_names=np.array(["A", "B", "C"], dtype=object),
        sample_id=np.arange(2286, 2486, dtype=np.uint32),
    )
    monkeypatch.setattr("sklearn.datasets.fetch_rcv1", lambda **options: bunch)
    return counts


def test_weights_become_counts_once(fetched, monkeypatch):
    said = []
    dataset = load_dataset("rcv1", max_words=10**6, log=said.append)
    assert any("Recovering" in message for message in said)
    assert (len(dataset.train), len(dataset.test)) == (180, 20)
    row = [int(i) - 2286 for i in dataset.test.ids]
    columns = [int(word) for word in dataset.test.vocabulary]
    assert np.mean(dataset.test.counts.toarray() == fetched.toarray()[row][:, columns]) > 0.999
    monkeypatch.setitem(sys.modules, "docboltz.corpus.recovery", None)  # the cache is enough now
    again = load_dataset("rcv1", max_words=10**6)
    assert (again.test.counts != dataset.test.counts).nnz == 0


def test_the_paper_s_split():
    assert rcv1.N_TEST[804_414] == 10_000


def test_without_network_says_what_to_put_where(monkeypatch, cache):
    def fail(**options):
        raise OSError("Name or service not known")

    monkeypatch.setattr("sklearn.datasets.fetch_rcv1", fail)
    with pytest.raises(InvalidCorpus, match=r"Name or service.*docboltz datasets rcv1.*npz"):
        load_dataset("rcv1")


def test_folders_that_hold_something_else(tmp_path):
    with pytest.raises(InvalidCorpus, match=r"counts\.npz"):
        load_dataset("rcv1", path=tmp_path)
    for name in ("counts.npz", "topics.npz", "topic_names.txt"):
        (tmp_path / name).write_text("damaged")
    with pytest.raises(InvalidCorpus, match="could not be read"):
        load_dataset("rcv1", path=tmp_path)
    save_npz(tmp_path / "counts.npz", csr_array(np.eye(3, dtype=np.int32)))
    save_npz(tmp_path / "topics.npz", csr_array(np.eye(3, dtype=np.int32)))
    with pytest.raises(InvalidCorpus, match="topics of shape"):
        load_dataset("rcv1", path=tmp_path)


def test_the_vocabulary_has_no_test_document_in_view(tmp_path):
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
