"""Where documents come from."""

import numpy as np
import pytest
from scipy.sparse import csr_array, save_npz

from docboltz.errors import InvalidCorpus
from docboltz.reproduce.data import Sources, load_split, reuters_split, save_split

from .conftest import tiny_split


@pytest.mark.parametrize("multilabel", [False, True])
def test_a_split_survives_being_saved(tmp_path, multilabel):
    split = tiny_split(multilabel=multilabel)
    save_split(split, tmp_path)
    back = load_split(tmp_path)
    assert (back.train != split.train).nnz == (back.test != split.test).nnz == 0
    if multilabel:
        assert (back.test_labels != split.test_labels).nnz == 0
    else:
        assert back.test_labels.tolist() == split.test_labels.tolist()


def test_reuters_is_split_at_random_with_its_most_frequent_terms(tmp_path):
    counts = csr_array(np.arange(40).reshape(10, 4) % 7)
    save_npz(tmp_path / "counts.npz", counts)
    save_npz(tmp_path / "topics.npz", csr_array(np.eye(10, 3, dtype=int) + np.eye(10, 3, -5) > 0))
    split = reuters_split(tmp_path, max_words=2, n_test=3)
    assert split.train.shape == (7, 2)
    assert split.test.shape == (3, 2)
    totals = np.sort(counts.sum(axis=0))[-2:]
    assert sorted(split.train.sum(axis=0) + split.test.sum(axis=0)) == totals.tolist()


def test_what_is_not_there_is_said(tmp_path):
    with pytest.raises(InvalidCorpus, match="no folder"):
        Sources(counts=tmp_path / "none")
    with pytest.raises(InvalidCorpus, match="holds none of"):
        Sources(counts=tmp_path)
    with pytest.raises(InvalidCorpus, match="does not hold counts"):
        load_split(tmp_path)
    with pytest.raises(InvalidCorpus, match=r"counts\.npz"):
        reuters_split(tmp_path)
    assert not Sources().has("rcv1v2-27k")
    assert Sources(rcv1=tmp_path).has("rcv1v2-27k")
