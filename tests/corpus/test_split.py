"""Documents to learn from and to test on."""

import json

import pytest
from scipy.sparse import csr_array, save_npz

from docboltz.corpus.document import Document
from docboltz.corpus.split import Split
from docboltz.errors import InvalidCorpus, InvalidParameter

from .splits import corpus_of, sentences, split_of, tiny_split


@pytest.mark.parametrize("share", [0.1, 0.2, 0.5])
@pytest.mark.parametrize("n", [60, 93])
def test_parts_are_of_the_share_asked_for_and_disjoint(n, share):
    split = split_of(sentences(n), test_share=share, seed=3)
    assert abs(len(split.test) - share * n) <= 4
    assert len(split.train) + len(split.test) == n
    assert not set(split.train.ids) & set(split.test.ids)
    again = split_of(sentences(n), test_share=share, seed=3)
    assert again.test.ids == split.test.ids
    assert split_of(sentences(n), test_share=share, seed=4).test.ids != split.test.ids


def test_the_vocabulary_is_of_the_training_part_alone():
    test = [Document(f"t{n}", "bread zyzzyva", ("food",)) for n in range(3)]
    split = split_of(sentences(), test=[*test, Document("none", "zyzzyva", ("food",))])
    assert "zyzzyva" not in split.train.vocabulary
    assert (len(split.train), len(split.test), split.n_empty) == (60, 3, (0, 1))


def test_parts_of_different_words_are_refused():
    with pytest.raises(InvalidCorpus, match="3 words and 2"):
        Split(corpus_of([[1, 0, 2]], [()]), corpus_of([[1, 0]], [()]))


def test_too_few_documents_are_refused():
    with pytest.raises(InvalidCorpus, match="at least"):
        split_of(sentences(7), test=sentences(3))
    with pytest.raises(InvalidCorpus, match=r"1 in all are too few.*say how to read it"):
        split_of(sentences(1))
    with pytest.raises(InvalidParameter, match="'test_share'"):
        split_of(sentences(), test_share=1.0)


def test_documents_without_words_stay_until_they_are_left_out():
    split = Split(corpus_of([[1, 0]] * 8 + [[0, 0]], [()] * 9), corpus_of([[0, 1]] * 2, [()] * 2))
    assert split.n_empty == (0, 0)
    rest = split.without_empty()
    assert (len(rest.train), len(rest.test), rest.n_empty) == (8, 2, (1, 0))
    assert split.counted() is split
    assert repr(split) == "Split(9 documents to learn from, 2 to test on, 2 words)"


@pytest.mark.parametrize("several_labels", [False, True])
def test_a_split_survives_being_saved(tmp_path, several_labels):
    split = tiny_split(several_labels=several_labels)
    split.save(tmp_path)
    back = Split.load(tmp_path)
    for part, other in ((split.train, back.train), (split.test, back.test)):
        assert (part.counts != other.counts).nnz == 0
        assert part.labels == other.labels
        assert part.vocabulary == other.vocabulary
    assert back.fingerprint == split.fingerprint


def test_fingerprints_tell_counts_and_labels_apart():
    split = tiny_split()
    same = Split(split.train.rows(range(60)), split.test.rows(range(30)))
    assert same.fingerprint == split.fingerprint
    fewer = Split(split.train.rows(range(59)), split.test)
    other_labels = tiny_split(several_labels=True)
    assert len({split.fingerprint, fewer.fingerprint, other_labels.fingerprint}) == 3


def test_folders_that_hold_something_else(tmp_path):
    with pytest.raises(InvalidCorpus, match=r"does not hold counts.*save_counts"):
        Split.load(tmp_path)
    tiny_split().save(tmp_path)
    for name, damage in {
        "labels.json": "{",
        "train.npz": "not a matrix",
    }.items():
        tiny_split().save(tmp_path)
        (tmp_path / name).write_text(damage, encoding="utf-8")
        with pytest.raises(InvalidCorpus, match="does not hold counts"):
            Split.load(tmp_path)
    tiny_split().save(tmp_path)
    whole = (tmp_path / "test.npz").read_bytes()
    (tmp_path / "test.npz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InvalidCorpus, match="does not hold counts"):
        Split.load(tmp_path)
    save_npz(tmp_path / "test.npz", csr_array([[1, 2]]))
    with pytest.raises(InvalidCorpus, match="does not hold counts: A corpus of 30 ids"):
        Split.load(tmp_path)
    (tmp_path / "labels.json").write_text(json.dumps({"words": 3}), encoding="utf-8")
    with pytest.raises(InvalidCorpus, match="does not hold counts"):
        Split.load(tmp_path)
