"""From a stream of documents to a model with the collection it searches."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_array

import docboltz
from docboltz import OverReplicatedSoftmax, Pretraining, Validation, fitting
from docboltz.corpus.corpus import Corpus, Vocabulary
from docboltz.corpus.counting import Parts, TextCounter
from docboltz.corpus.document import Document
from docboltz.errors import (
    FewDocumentsWarning,
    InvalidCorpus,
    InvalidParameter,
)
from docboltz.fitting import TrainingInterrupted, describe_units
from docboltz.search.store import SearchStore
from docboltz.storage import fingerprint
from docboltz.text_model import TextModel

DOCUMENTS = [
    Document("a", "Hockey players\n\n  skate \t fast.", ("sport",)),
    Document("b", "The hockey player scored.", ("sport", "short")),
    Document("c", "the of and", ()),
    Document("d", "Butter on bread." + " More bread and butter." * 500, ("kitchen",)),
    Document("e", "", ()),
    Document("f", "Flour, butter, bread.", ("kitchen",)),
]


def estimator(updates=5):
    return OverReplicatedSoftmax(
        2, pretraining=Pretraining(updates=updates), random_state=0, device="cpu"
    )


def fit(documents, out, model=None, **options):
    return TextModel.fit(
        documents, estimator=model or estimator(), folder=out, min_df=1, max_df=1.0, **options
    )


def files(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_more_units_than_documents_with_words_are_warned_of_once(tmp_path):
    model = OverReplicatedSoftmax(5, pretraining=Pretraining(updates=5), device="cpu")
    with pytest.warns(FewDocumentsWarning, match=r"^4 documents .* 5 units.*\(units\)") as caught:
        fit(iter(DOCUMENTS), tmp_path / "model", model)
    assert len(caught) == 1


@pytest.mark.parametrize("block", [1, 4, 100])
def test_the_store_holds_every_document_in_order(tmp_path, monkeypatch, block):
    monkeypatch.setattr("docboltz.indexing.BLOCK_DOCUMENTS", block)
    model = fit(iter(DOCUMENTS), tmp_path / "model")
    store = SearchStore.open(tmp_path / "model" / "search", model=fingerprint(tmp_path / "model"))
    assert (len(store), model.n_wordless) == (6, 2)
    assert model.fingerprint == store.about.model
    assert store.documents(range(6)) == DOCUMENTS


def test_features_are_centred_and_documents_without_words_are_zero(tmp_path):
    model = fit(DOCUMENTS, tmp_path / "model")
    store = SearchStore.open(tmp_path / "model" / "search")
    centred = model.transform(DOCUMENTS) - model.activity
    expected = centred / np.linalg.norm(centred, axis=1, keepdims=True)
    expected[[2, 4]] = 0
    assert store.features == pytest.approx(expected, abs=1e-5)


def test_the_saved_model_is_the_built_one(tmp_path):
    model = fit(DOCUMENTS, tmp_path / "model")
    opened = docboltz.open(tmp_path / "model")
    assert np.array_equal(opened.transform(["hockey"]), model.transform(["hockey"]))


def test_index_replaces_the_collection_and_counts_with_the_models_words(tmp_path):
    model = fit(DOCUMENTS, tmp_path / "model")
    before, topics = files(tmp_path / "model"), model.tree.numbers.tolist()
    corpus = model.index([Document("x", "Bread, xyzzy", ("new",))])
    assert corpus.n_outside == 1
    store = SearchStore.open(tmp_path / "model" / "search", model=fingerprint(tmp_path / "model"))
    assert [hit.id for hit in store.documents([0])] == ["x"]
    assert model.tree.numbers.tolist() == topics
    assert sum(topic.documents for topic in model.topics(level=-1)) <= 1, "of the new collection"
    unchanged = {path for path in before if not {"search", "topics"} & {*path.parts}}
    assert unchanged
    assert all(path.read_bytes() == before[path] for path in unchanged)


def test_an_index_that_a_new_model_overtakes_is_refused(tmp_path):
    model = fit(DOCUMENTS, tmp_path / "model")

    def documents():
        yield from DOCUMENTS
        fit(DOCUMENTS, tmp_path / "model", estimator(7), replace=True)

    with pytest.raises(InvalidParameter, match="was replaced while"):
        model.index(documents())
    assert docboltz.open(tmp_path / "model").search("bread")


def corpus_of(counts, words):
    ids = tuple(map(str, range(len(counts))))
    return Corpus(csr_array(np.array(counts)), ids, ((),) * len(ids), Vocabulary(words))


def model_with(features):
    """A model that gives the documents, taken in order, these features."""
    features = np.array(features, np.float32)
    rows = iter(features)
    return SimpleNamespace(
        components_=np.zeros((features.shape[1], 2)),
        transform=lambda counts, *_: np.array([next(rows) for _ in range(counts.shape[0])]),
    )


def test_a_unit_by_hand():
    corpus = corpus_of([[2, 1], [0, 2]], ["a", "b"])
    (unit,) = describe_units(model_with([[1], [0]]), corpus)
    # Shares of a and b: document 0 has (2/3, 1/3), document 1 (0, 1); the average is (1/3, 2/3).
    # With one average document on either side: with the unit (1/2, 1/2), without (1/6, 5/6).
    kl = 1 / 2 * np.log2(3) + 1 / 2 * np.log2(3 / 5)
    assert unit.sharpness == pytest.approx(kl)
    assert unit.activity == pytest.approx(0.5)
    assert unit.words == ("a",)  # b is less frequent with the unit than without


def test_a_unit_that_is_on_everywhere_alike_says_nothing():
    corpus = corpus_of([[2, 1], [0, 2], [5, 1]], ["a", "b"])
    units = describe_units(model_with([[0.3, 1.0], [0.3, 1.0], [0.3, 1.0]]), corpus)
    assert [unit.sharpness for unit in units] == pytest.approx([0, 0], abs=1e-6)
    assert [unit.activity for unit in units] == pytest.approx([0.3, 1.0])


def test_documents_without_words_and_blocks_change_nothing(monkeypatch):
    counts = [[2, 1], [0, 2], [1, 0], [3, 3]]
    features = [[0.9], [0.1], [0.8], [0.4]]
    expected = describe_units(model_with(features), corpus_of(counts, ["a", "b"]))
    monkeypatch.setattr("docboltz.fitting.BLOCK_DOCUMENTS", 2)
    padded = corpus_of([[0, 0], *counts[:2], [0, 0], *counts[2:]], ["a", "b"])
    (unit,) = describe_units(model_with(features), padded)
    assert unit.words == expected[0].words
    assert unit.sharpness == pytest.approx(expected[0].sharpness)
    assert unit.activity == pytest.approx(expected[0].activity)


# ---- what can go wrong ----


def test_a_model_is_replaced_only_when_asked(tmp_path):
    fit(DOCUMENTS, tmp_path / "model")
    with pytest.raises(InvalidParameter, match=r"a model in .* already.*replace=True"):
        fit(DOCUMENTS, tmp_path / "model")
    fit(DOCUMENTS, tmp_path / "model", estimator(6), replace=True)


def test_one_document_is_not_enough(tmp_path):
    with pytest.raises(InvalidCorpus, match="One document is not enough"):
        fit(DOCUMENTS[:1], tmp_path / "model")
    with pytest.raises(InvalidCorpus, match="no documents"):
        fit([], tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_an_unusable_folder_is_refused_before_anything_is_read(tmp_path):
    def never():
        raise AssertionError("read")
        yield

    (tmp_path / "file").touch()
    with pytest.raises(InvalidParameter, match="it is a file"):
        fit(never(), tmp_path / "file")


def test_an_interrupt_while_reading_leaves_nothing(tmp_path):
    def stream():
        yield from DOCUMENTS
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(stream(), tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


class Interrupted(OverReplicatedSoftmax):
    """Stopped by Ctrl-C after its training, or before the first update."""

    learnt_something = True

    def fit_keeping_checkpoint(self, X):
        if self.learnt_something:
            super().fit_keeping_checkpoint(X)
        raise KeyboardInterrupt


def test_an_interrupt_while_training_keeps_what_was_learnt(tmp_path, monkeypatch):
    model = Interrupted(2, pretraining=Pretraining(updates=3), random_state=0, device="cpu")
    with pytest.raises(TrainingInterrupted, match="usable as it is, after 3 updates") as stop:
        fit(DOCUMENTS, tmp_path / "model", model)
    assert len(SearchStore.open(tmp_path / "model" / "search")) == 6
    assert np.isfinite(stop.value.model.transform(["hockey"])).all()


def test_an_interrupt_leaves_the_model_that_was_there_alone(tmp_path):
    fit(DOCUMENTS, tmp_path / "model")
    before = fingerprint(tmp_path / "model")
    model = Interrupted(2, pretraining=Pretraining(updates=3), random_state=1, device="cpu")
    with pytest.raises(TrainingInterrupted, match="is untouched") as stop:
        fit(DOCUMENTS, tmp_path / "model", model, replace=True)
    assert stop.value.model.path == tmp_path / "model-interrupted"
    assert fingerprint(tmp_path / "model") == before
    assert len(SearchStore.open(tmp_path / "model-interrupted" / "search")) == 6


def test_training_may_be_interrupted_again_and_again(tmp_path):
    """The same call goes on every time, whatever earlier ones left."""
    out = tmp_path / "model"
    for _ in range(3):
        model = Interrupted(2, pretraining=Pretraining(updates=3), random_state=0, device="cpu")
        with pytest.raises(TrainingInterrupted, match=f"model in {out} is usable"):
            fit(DOCUMENTS, out, model)
    fit(DOCUMENTS, out, restart=True)
    assert not (tmp_path / "model-interrupted").exists()
    with pytest.raises(InvalidParameter, match="a model in"):
        fit(DOCUMENTS, out)


def test_the_callers_estimator_is_left_alone(tmp_path):
    own = estimator()
    first = fit(DOCUMENTS, tmp_path / "model", own)
    before = first.transform(["hockey bread"])
    fit(list(reversed(DOCUMENTS)), None, own)
    assert not hasattr(own, "components_")
    assert own.checkpoint is None
    assert first.estimator.checkpoint is None
    assert np.array_equal(first.transform(["hockey bread"]), before)


def test_features_are_centred_as_they_are_searched(tmp_path):
    model = OverReplicatedSoftmax(
        4, pretraining=Pretraining(updates=50), inference="mean_field", random_state=0, device="cpu"
    )
    fitted = fit(DOCUMENTS, None, model)
    counts = fitted.count(DOCUMENTS).without_empty().counts
    assert fitted.activity == pytest.approx(fitted.estimator.transform(counts, "fast").mean(0))


def test_an_interrupt_before_the_first_update_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(Interrupted, "learnt_something", False)
    with pytest.raises(KeyboardInterrupt):
        fit(DOCUMENTS, tmp_path / "model", Interrupted(2))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("error", [KeyboardInterrupt(), InvalidParameter("The disk is full.")])
def test_a_model_that_could_not_be_indexed_is_kept_and_said_to_be(tmp_path, monkeypatch, error):
    def refuse(*_):
        raise error

    monkeypatch.setattr("docboltz.search.store.unit_vectors", refuse)
    with pytest.raises(
        type(error), match="is complete; to search its documents, index them"
    ) as raised:
        fit(DOCUMENTS, tmp_path / "model")
    assert str(raised.value).startswith("The disk is full. The" if error.args else "the")
    assert docboltz.open(tmp_path / "model").units()


def test_a_full_disk_is_noticed_before_training(tmp_path, monkeypatch):
    monkeypatch.setattr(
        fitting.shutil, "disk_usage", lambda _: SimpleNamespace(total=10**9, free=1000)
    )
    model = estimator()
    with pytest.raises(InvalidParameter, match=r"takes about .* MB and the disk has 0 MB left"):
        fit(DOCUMENTS, tmp_path / "model", model)
    assert not hasattr(model, "components_")
    assert not (tmp_path / "model").exists()


# ---- counts on disk ----


@pytest.fixture
def few_bytes(monkeypatch):
    """Counts go to disk at once, part by part."""
    monkeypatch.setattr("docboltz.corpus.counting.MOST_HELD", 5_000)
    monkeypatch.setattr("docboltz.corpus.counting.BATCH_DOCUMENTS", 30)


@pytest.fixture
def lines(tmp_path):
    """A file of 300 documents, some of them without a word."""
    rng = np.random.default_rng(0)
    words = [f"{a}{b}" for a in ("sea", "sky", "pan") for b in "bdfgk"]
    file = tmp_path / "lines.jsonl"
    with file.open("w") as stream:
        for i in range(300):
            text = " ".join(rng.choice(words, 6)) if i % 25 else ""
            print(json.dumps({"id": f"d{i}", "text": text, "label": f"l{i % 3}"}), file=stream)
    return docboltz.read(file)


@pytest.mark.filterwarnings("ignore::docboltz.errors.NoDensityWarning")
@pytest.mark.parametrize("validation", [None, Validation(0.2)], ids=["plain", "validation"])
def test_counts_on_disk_make_the_same_model(
    tmp_path, monkeypatch, few_bytes, lines, capsys, validation
):
    def model():
        return estimator().set_params(validation=validation)

    disk = fit(lines, tmp_path / "disk", model(), verbose=True)
    said = capsys.readouterr().err
    features = disk.save_features(lines, tmp_path / "disk.npy")
    indexed = disk.index(lines)
    predicted = disk.perplexity(lines).value
    assert bool(disk.estimator.looks_) == (validation is not None)
    assert features.on_disk
    assert indexed.on_disk
    assert (len(indexed), indexed.n_empty) == (300, 12)
    monkeypatch.setattr("docboltz.corpus.counting.MOST_HELD", 1 << 28)
    memory = fit(lines, tmp_path / "memory", model(), verbose=True)
    assert "they are kept in" not in capsys.readouterr().err
    assert f"they are kept in {tmp_path / 'disk.counts'}" in said
    for name, array in memory._arrays.items():
        assert np.array_equal(array, disk._arrays[name]), name
    assert disk.fingerprint == memory.fingerprint
    assert np.array_equal(disk.store.features, memory.store.features)
    assert disk.store.documents(range(300)) == memory.store.documents(range(300))
    assert disk.topics() == memory.topics()
    assert predicted == memory.perplexity(lines).value
    memory.save_features(lines, tmp_path / "memory.npy")
    assert (tmp_path / "memory.npy").read_bytes() == (tmp_path / "disk.npy").read_bytes()
    assert not any(path.name.endswith(".counts") for path in tmp_path.iterdir())


def interrupt(lines, out):
    """Leave parts of a count behind."""
    plain, seen = Parts.add, []

    def add(self, *given):
        plain(self, *given)
        seen.append(given)
        if len(seen) == 4:
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Parts, "add", add)
        with pytest.raises(KeyboardInterrupt):
            fit(lines, out)
    assert any(out.with_suffix(".counts").iterdir())


def test_an_interrupted_count_goes_on_with_the_same_call(tmp_path, monkeypatch, few_bytes, lines):
    interrupt(lines, tmp_path / "model")
    counted = []

    class Watched(TextCounter):
        def count(self, texts):
            counted.append(len(texts))
            return super().count(texts)

    with monkeypatch.context() as patch:
        patch.setattr("docboltz.corpus.counting.TextCounter", Watched)
        model = fit(lines, tmp_path / "model")
    assert 0 < sum(counted) < 300
    assert not (tmp_path / "model.counts").exists()
    whole = fit(lines, tmp_path / "whole")
    assert model.fingerprint == whole.fingerprint
    assert model.store.documents(range(300)) == whole.store.documents(range(300))


def test_restart_counts_anew(tmp_path, few_bytes, lines):
    out = tmp_path / "model"
    interrupt(lines, out)
    for file in (tmp_path / "model.counts").glob("part-*"):
        file.write_bytes(b"")
    fit(lines, out, restart=True)
    assert not (tmp_path / "model.counts").exists()


def test_files_that_were_changed_are_counted_anew(tmp_path, few_bytes, lines):
    interrupt(lines, tmp_path / "model")
    file = tmp_path / "lines.jsonl"
    file.write_text(file.read_text().replace("sea", "hill"))
    model = fit(docboltz.read(file), tmp_path / "model")
    assert not any(word.startswith("sea") for word in model.vocabulary)


def test_a_count_that_nobody_can_go_on_with_leaves_nothing(tmp_path, few_bytes, lines):
    def stream():
        yield from lines
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(stream(), tmp_path / "model")
    assert [path.name for path in tmp_path.iterdir()] == ["lines.jsonl"]
