"""Where documents come from."""

import numpy as np
import pytest
from scipy.sparse import csr_array, save_npz

from docboltz.errors import InvalidCorpus
from docboltz.experiments.datasets import ALL, NOTES, REUTERS, Sources
from tests.corpus.splits import tiny_split


@pytest.fixture
def reuters(tmp_path):
    """Forty documents; the most frequent term of all is in four test documents alone."""
    folder = tmp_path / "reuters"
    folder.mkdir()
    counts = np.random.RandomState(0).randint(0, 4, (40, 6))
    counts[:, 5] = 0
    test = np.sort(np.random.default_rng(0).permutation(40)[36:])
    counts[test, 5] = 1000
    save_npz(folder / "counts.npz", csr_array(counts))
    save_npz(folder / "topics.npz", csr_array(np.eye(3, dtype=int)[np.arange(40) % 3]))
    (folder / "topic_names.txt").write_text("A B C", encoding="utf-8")
    return folder


def test_the_vocabulary_of_reuters_is_that_of_the_training_part(reuters):
    split = Sources(rcv1=reuters).load(REUTERS)
    assert split.test.counts.shape[0] == 4
    frequent = np.argsort(-split.train.counts.sum(axis=0), kind="stable")
    assert split.train.vocabulary.words[-1] == "5"  # never in training: the last of all
    assert frequent.tolist() == list(range(6))
    assert split.test.counts.toarray()[:, -1].tolist() == [1000] * 4


def test_counts_that_are_saved_are_those_that_are_loaded(reuters, tmp_path, monkeypatch):
    monkeypatch.setattr(Sources, "has", lambda self, dataset: dataset == REUTERS)
    sources = Sources(rcv1=reuters)
    sources.save(tmp_path / "counts")
    assert [path.name for path in (tmp_path / "counts").iterdir()] == [REUTERS]
    back = Sources(counts=tmp_path / "counts").load(REUTERS)
    assert back.fingerprint == sources.load(REUTERS).fingerprint


def test_what_is_not_there_is_named(tmp_path):
    with pytest.raises(InvalidCorpus, match="no folder"):
        Sources(counts=tmp_path / "none")
    with pytest.raises(InvalidCorpus, match="holds none of"):
        Sources(counts=tmp_path)
    with pytest.raises(InvalidCorpus, match=r"counts\.npz"):
        Sources(rcv1=tmp_path).load(REUTERS)
    assert not Sources().has(REUTERS)
    assert Sources(rcv1=tmp_path).has(REUTERS)
    tiny_split().save(tmp_path / "20news-2000")
    found = Sources(counts=tmp_path)
    assert [found.has(dataset) for dataset in ALL] == [True, False, False]
    assert set(NOTES) <= set(ALL)
