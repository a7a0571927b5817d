"""Features and topics in files."""

import csv
import shutil

import numpy as np
import pytest
from pyarrow import parquet

import docboltz
from docboltz import OverReplicatedSoftmax, Pretraining
from docboltz.corpus.document import Document
from docboltz.errors import EmptyDocumentsWarning, InvalidCorpus, InvalidParameter
from docboltz.text_model import TextModel

DOCUMENTS = [
    Document(f"id {n}", text, labels)
    for n, (text, labels) in enumerate(
        [
            ("hockey players", ("sport", "ice")),
            ("bread and butter", ("kitchen",)),
            ("", ()),
            ("hockey butter", ()),
            ("players of games", ("sport",)),
        ]
    )
]


@pytest.fixture(scope="module")
def text_model():
    model = OverReplicatedSoftmax(3, pretraining=Pretraining(updates=9), random_state=0)
    texts = [DOCUMENTS[n].text for n in (0, 1, 1)]
    return TextModel.fit(texts, estimator=model, min_df=1, max_df=1.0)


@pytest.mark.parametrize("block", [1, 2, 100])
@pytest.mark.parametrize("inference", [None, "fast", "mean_field"])
def test_what_is_written_is_what_the_model_infers(
    text_model, tmp_path, monkeypatch, block, inference
):
    monkeypatch.setattr("docboltz.feature_files.BLOCK_DOCUMENTS", block)
    expected = text_model.estimator.transform(text_model.count(DOCUMENTS).counts, inference)
    for name in ("f.npy", "f.parquet"):
        corpus = text_model.save_features(iter(DOCUMENTS), tmp_path / name, inference=inference)
        assert len(corpus) == 5
    array = np.load(tmp_path / "f.npy")
    assert array.dtype == np.float32
    # Mean-field inference of a block stops when all of its documents have settled.
    tolerance = 1e-3 if inference == "mean_field" else 0
    assert array == pytest.approx(expected, abs=tolerance)
    table = parquet.read_table(tmp_path / "f.parquet")
    assert table["id"].to_pylist() == [document.id for document in DOCUMENTS]
    assert table["labels"].to_pylist() == [list(document.labels) for document in DOCUMENTS]
    assert table["n_words"].to_pylist() == [2, 2, 0, 2, 1]
    topic, probability = text_model.assign(DOCUMENTS)
    assert table["topic"].to_pylist() == topic.tolist()
    assert table["probability"].to_numpy() == pytest.approx(probability)
    assert np.array_equal(np.array(table["features"].to_pylist(), np.float32), array)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["f.npy", "f.parquet"]


def test_what_blocks_have_freed_is_given_back(text_model, tmp_path, monkeypatch):
    """The C library kept gigabytes of it, for ten million documents on a busy machine."""
    trimmed = []
    monkeypatch.setattr("docboltz.feature_files.BLOCK_DOCUMENTS", 1)
    monkeypatch.setattr("docboltz.feature_files.KEPT_BLOCKS", 2)
    monkeypatch.setattr("docboltz.feature_files.trim_memory", lambda: trimmed.append(1))
    text_model.save_features(iter(DOCUMENTS), tmp_path / "f.npy")
    assert len(trimmed) == 2


def test_a_column_for_each_feature(text_model, tmp_path):
    expected = text_model.transform(DOCUMENTS)
    text_model.save_features(DOCUMENTS, tmp_path / "f.csv")
    text_model.save_features(DOCUMENTS, tmp_path / "f.parquet", wide=True)
    with (tmp_path / "f.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    table = parquet.read_table(tmp_path / "f.parquet").to_pylist()
    features = [f"feature_{j}" for j in range(3)]
    about = ["id", "labels", "n_words", "topic", "probability"]
    assert list(rows[0]) == list(table[0]) == [*about, *features]
    assert [row["labels"] for row in rows] == ["sport;ice", "kitchen", "", "", "sport"]
    assert [int(row["n_words"]) for row in rows] == [row["n_words"] for row in table]
    topic, probability = text_model.assign(DOCUMENTS)
    assert topic[2] == -1, "a document without words has no topic"
    for found, digits in ((rows, 1e-5), (table, 0)):
        assert [int(row["topic"]) for row in found] == topic.tolist()
        chances = [float(row["probability"]) for row in found]
        assert chances == pytest.approx(probability, rel=max(digits, 1e-6))
        values = np.array([[float(row[name]) for name in features] for row in found])
        assert values == pytest.approx(expected, rel=digits)


def test_missing_folders_are_made(text_model, tmp_path):
    text_model.save_features(DOCUMENTS, tmp_path / "new" / "folder" / "f.npy")
    assert np.load(tmp_path / "new" / "folder" / "f.npy").shape == (5, 3)


def test_nothing_is_written_for_nothing(text_model, tmp_path):
    def interrupted():
        yield DOCUMENTS[0]
        raise KeyboardInterrupt

    with pytest.raises(InvalidParameter, match=r"\.parquet, \.csv, \.npy"):
        text_model.save_features(DOCUMENTS, tmp_path / "f.xlsx")
    with pytest.raises(InvalidParameter, match="'slow'"):
        text_model.save_features(DOCUMENTS, tmp_path / "f.npy", inference="slow")
    with pytest.raises(InvalidCorpus, match="no documents"):
        text_model.save_features([], tmp_path / "f.npy")
    with pytest.raises(KeyboardInterrupt):
        text_model.save_features(interrupted(), tmp_path / "f.parquet")
    assert list(tmp_path.iterdir()) == []


def test_an_old_file_stays_until_the_new_one_is_whole(text_model, tmp_path, monkeypatch):
    file = tmp_path / "f.npy"
    file.write_text("old")

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np.lib.format, "write_array_header_1_0", fail)
    with pytest.raises(OSError, match="No space left"):
        text_model.save_features(DOCUMENTS, file, replace=True)
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]


def test_a_model_without_documents_has_features_and_no_topics(text_model, tmp_path):
    text_model.save(tmp_path / "model")
    for folder in ("search", "topics"):
        shutil.rmtree(tmp_path / "model" / folder)
    model = docboltz.open(tmp_path / "model")
    with pytest.warns(EmptyDocumentsWarning, match="no documents to find topics in"):
        model.save_features(DOCUMENTS, tmp_path / "f.csv")
    rows = list(csv.DictReader((tmp_path / "f.csv").read_text("utf-8").splitlines()))
    assert {row["topic"] for row in rows} == {"-1"}
    model.save_features(DOCUMENTS, tmp_path / "f.npy")
    assert np.load(tmp_path / "f.npy").shape == (5, 3)
