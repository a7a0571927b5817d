"""docboltz fit on the kinds of corpora people have, and on those nobody can learn from."""

import gzip
import json
import os
import re
import signal
import sys
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from docboltz.cli.fit import likelihood_course
from docboltz.cli.options import MOST_LATENT_WORDS as KNOWN_MOST
from docboltz.cli.options import RECIPES as KNOWN_RECIPES
from docboltz.model.latent_words import MOST_LATENT_WORDS
from docboltz.text_model import TextModel
from docboltz.training.recipes import RECIPES
from docboltz.training.trainer import Trainer

from .conftest import SMALL, write_json_lines
from .texts import ENGLISH, GERMAN, lines, records

N_DOCUMENTS = sum(map(len, ENGLISH.values()))


def folders(path):
    for theme, texts in ENGLISH.items():
        (path / theme).mkdir(parents=True)
        for n, text in enumerate(texts):
            (path / theme / f"{n}.txt").write_text(text, encoding="utf-8")
    return path


def jsonl(path):
    return write_json_lines(path.with_suffix(".jsonl"), records(ENGLISH))


def parquet_file(path):
    parquet.write_table(pa.Table.from_pylist(records(ENGLISH)), path.with_suffix(".parquet"))
    return path.with_suffix(".parquet")


def csv(path):
    path = path.with_suffix(".csv")
    rows = [f'{r["id"]},"{r["text"]}",{r["labels"][0]}' for r in records(ENGLISH)]
    path.write_text("\n".join(["id,text,label", *rows]), encoding="utf-8")
    return path


def one_per_line(path):
    path = path.with_suffix(".txt.gz")
    path.write_bytes(gzip.compress(lines(ENGLISH).encode()))
    return path


@pytest.mark.parametrize(("units", "few"), [(N_DOCUMENTS, False), (N_DOCUMENTS + 1, True)])
def test_more_units_than_documents_are_told_in_the_words_of_the_command(
    docboltz, tmp_path, units, few
):
    corpus, options = jsonl(tmp_path / "corpus"), ("--units", units, "--updates", 2)
    err = docboltz("fit", corpus, "--out", tmp_path / "model", *options, "--device", "cpu").err
    assert (f"{N_DOCUMENTS} documents are fewer than" in err) == few
    assert ("ask for fewer (--units)" in err) == few
    assert "warning" not in err


@pytest.mark.parametrize(
    ("make", "first_id", "first_labels"),
    [
        (folders, "kitchen/0.txt", ["kitchen"]),
        (jsonl, "sport-1", ["sport", "odd"]),
        (parquet_file, "sport-1", ["sport", "odd"]),
        (csv, "sport-1", ["sport"]),
        (one_per_line, "0", []),
    ],
)
def test_every_kind_of_corpus_goes_all_the_way(docboltz, tmp_path, make, first_id, first_labels):
    corpus, out = make(tmp_path / "corpus"), tmp_path / "model"
    summary = docboltz("fit", corpus, "--out", out, "--json", *SMALL).json
    assert summary["documents"] == summary["read"]["documents"] == N_DOCUMENTS
    assert (summary["units"], summary["updates"], summary["interrupted"]) == (4, 20, False)
    assert len(docboltz("topics", out, "--units", "--json").json) == 4
    found = docboltz("topics", out, "--level", -1, "--json").json
    assert len(found) == summary["topics"] > 1

    features = tmp_path / "features.parquet"
    assert docboltz("transform", out, corpus, "--out", features, "-q") == (0, "", "")
    table = parquet.read_table(features).to_pylist()
    assert len(table) == N_DOCUMENTS
    assert (table[0]["id"], table[0]["labels"]) == (first_id, first_labels)

    # A text finds itself: same words, same features, cosine 1.
    text = next(t for texts in ENGLISH.values() for t in texts if t in _text_of(corpus, first_id))
    hits = docboltz("search", out, text, "--json", "--top", N_DOCUMENTS).json
    assert next(hit for hit in hits if hit["id"] == first_id)["score"] == pytest.approx(1, abs=1e-4)


def _text_of(corpus, identity):
    if corpus.is_dir():
        return (corpus / identity).read_text()
    return ENGLISH["sport"][0]


def test_another_language(docboltz, tmp_path):
    corpus = write_json_lines(tmp_path / "deutsch.jsonl", records(GERMAN))
    out = tmp_path / "modell"
    assert docboltz("fit", corpus, "-o", out, "-q", "--language", "de", *SMALL).code == 0
    vocabulary = TextModel.open(out).vocabulary
    assert {"haus", "dach", "suppe"} <= set(vocabulary.forms)
    assert not {"der", "die", "und", "über", "während"} & set(vocabulary.forms)
    # One stem for singular and plural, umlaut or not.
    haus = TextModel.open(out).count(["Haus", "Häuser", "HÄUSER"]).counts.toarray()
    assert (haus == haus[0]).all()
    assert haus[0].sum() == 1
    hits = docboltz("search", out, GERMAN["kueche"][0], "--json").json
    assert "kueche-1" in [hit["id"] for hit in hits if hit["score"] > 0.9999]
    shown = next(hit["text"] for hit in hits if hit["id"] == "kueche-1")
    assert shown == GERMAN["kueche"][0]


def test_no_language_no_stems_no_stop_words(docboltz, corpus, tmp_path):
    for number, options in enumerate(
        (["--language", "none"], ["--no-stem", "--no-stop-words"], ["--pretokenised"])
    ):
        out = tmp_path / str(number)
        options = [*options, "--max-df", "1"]
        assert docboltz("fit", corpus, "-o", out, "-q", *SMALL, *options).code == 0
        words = TextModel.open(out).vocabulary.words
        assert "the" in words
        assert "players" in words
        assert ("smooth." in words) == (options[0] == "--pretokenised")


def test_quiet_says_nothing_and_json_says_one_thing(docboltz, corpus, tmp_path):
    loud = docboltz("fit", corpus, "--out", tmp_path / "a", *SMALL)
    assert (loud.code, loud.out) == (0, "")
    how, what, hint = loud.err.splitlines()
    assert how == "Read as JSON Lines: text 'text', id 'id', label 'labels'"
    n = len(TextModel.open(tmp_path / "a").tree.numbers)
    assert what.endswith(f"4 units, {n} topics: saved to {tmp_path / 'a'}")
    assert "docboltz search" in hint
    assert docboltz("fit", corpus, "--out", tmp_path / "b", "--quiet", *SMALL) == (0, "", "")
    assert docboltz("fit", corpus, "--out", tmp_path / "c", "--json", *SMALL).err == f"{how}\n"


def test_same_seed_same_model(docboltz, corpus, tmp_path):
    arrays = []
    for name, seed in (("a", 7), ("b", 7), ("c", 8)):
        docboltz("fit", corpus, "--out", tmp_path / name, "-q", "--seed", seed, *SMALL)
        arrays.append(TextModel.open(tmp_path / name).estimator.components_)
    assert np.array_equal(arrays[0], arrays[1])
    assert not np.array_equal(arrays[0], arrays[2])


def test_what_was_left_out_is_told(docboltz, tmp_path):
    rows = [*records(ENGLISH), {"id": "sport-1", "text": "The players won."}, {"text": "of the"}]
    corpus = write_json_lines(tmp_path / "corpus.jsonl", rows)
    with corpus.open("a", encoding="utf-8") as file:
        file.write('{"text": "never closed\n')
    outcome = docboltz("fit", corpus, "--out", tmp_path / "model", *SMALL)
    assert outcome.code == 0
    for told in ("1 malformed row", "'sport-1'", "1 document has no word of the vocabulary"):
        assert told in outcome.err
    assert docboltz("similar", tmp_path / "model", "0").code == 0, "documents are numbered"


BINARY = bytes(range(256)) * 40


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("empty.txt", b"", "no documents in"),
        ("empty.jsonl", b"\n\n", "no documents in"),
        ("header.csv", b"id,text\n", "no documents in"),
        ("one.txt", b"Only a single line of text.\n", "One document is not enough"),
        ("stop.txt", b"the of and\nit was not\n", "None of the 2 documents has a word left"),
        ("numbers.txt", b"1 2 3\n4 5 6\n", "None of the 2 documents has a word left"),
        ("rare.txt", b"alpha beta\ngamma delta\n", "Lower --min-df"),
        ("junk.txt", BINARY, "is not a text file"),
        ("junk.jsonl", BINARY, "is not a text file"),
        ("junk.parquet", BINARY, "junk.parquet"),
        ("cut.txt.gz", gzip.compress(b"some text\n" * 9999)[:40], "could not be read"),
        ("prose.jsonl", b"This is not JSON.\nNor is this.\n", "not valid JSON"),
        ("columns.csv", b"a,b\n1,one\n2,two\n", "It has the columns 'a', 'b'"),
        ("array.json", b'[{"text": "a"}]', "one JSON array"),
    ],
    ids=lambda value: value if isinstance(value, str) and "." in value else "",
)
def test_nothing_to_learn_from(docboltz, tmp_path, name, content, said):
    corpus, out = tmp_path / name, tmp_path / "model"
    corpus.write_bytes(content)
    assert said in docboltz("fit", corpus, "--out", out).complaint
    assert list(tmp_path.iterdir()) == [corpus]


def test_a_named_column_that_is_not_there(docboltz, corpus, tmp_path):
    said = docboltz("fit", corpus, "--out", tmp_path / "model", "--text", "body").complaint
    assert "no text column 'body'" in said
    assert "'id', 'text', 'labels'" in said
    assert not (tmp_path / "model").exists()


def test_junk_among_the_files_of_a_folder_is_left_out(docboltz, tmp_path):
    corpus = folders(tmp_path / "corpus")
    (corpus / "sport" / "photo.jpg").write_bytes(BINARY)
    outcome = docboltz("fit", corpus, "--out", tmp_path / "model", "--json", *SMALL)
    assert outcome.json["documents"] == N_DOCUMENTS
    assert "1 file could not be read to its end" in outcome.err
    assert "photo.jpg" in outcome.err


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux allows any bytes in file names")
def test_file_names_and_texts_that_are_no_unicode(docboltz, tmp_path):
    corpus = folders(tmp_path / "corpus")
    (corpus / "sport" / "0.txt").rename(corpus / "sport" / "\udcff.txt")
    out, name = tmp_path / "model", r"sport/\udcff.txt"
    assert docboltz("fit", corpus, "--out", out, "-q", *SMALL).code == 0
    assert docboltz("similar", out, name, "--json").code == 0
    assert docboltz("transform", out, corpus, "--out", tmp_path / "f.parquet", "-q").code == 0
    assert name in parquet.read_table(tmp_path / "f.parquet")["id"].to_pylist()


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read and write everything"
)
def test_no_permission(docboltz, corpus, tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    assert "permission" in docboltz("fit", corpus, "--out", closed / "model").complaint
    corpus.chmod(0)
    assert "could not be read" in docboltz("fit", corpus, "--out", tmp_path / "model").complaint


def test_a_document_of_50_megabytes(docboltz, corpus, tmp_path):
    sentence = " ".join(ENGLISH["space"]) + "\n"
    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "huge.txt").write_text(sentence * (50_000_000 // len(sentence) + 1))
    for n, text in enumerate(ENGLISH["sport"]):
        (folder / f"{n}.txt").write_text(text)
    out = tmp_path / "model"
    options = ("--units", "2", "--updates", "2", "--latent-words", "10", "--json", "-q")
    assert docboltz("fit", folder, "--out", out, *options).json["documents"] == 9
    shown = docboltz("show", out, "huge.txt", "--json").json
    assert shown["text"] == (folder / "huge.txt").read_text()


def test_a_model_is_replaced_by_a_good_one_only(docboltz, model, corpus, tmp_path):
    before = {path: path.read_bytes() for path in model.rglob("*") if path.is_file()}
    (tmp_path / "stop.txt").write_text("the of and\n")
    refused = docboltz("fit", corpus, "--out", model, *SMALL)
    assert refused == (
        2,
        "",
        f"docboltz: There is a model in {model} already. Name another folder, or add --replace.\n",
    )
    assert docboltz("fit", tmp_path / "stop.txt", "--out", model, "--replace").code == 2
    assert {path: path.read_bytes() for path in model.rglob("*") if path.is_file()} == before
    again = ("fit", corpus, "--out", model, "--replace", "-q", *SMALL, "--seed", "5")
    assert docboltz(*again).code == 0
    assert docboltz("search", model, "football", "--json").code == 0
    assert (
        json.loads((model / "model.json").read_text())["content"]["parameters"]["random_state"] == 5
    )


def interrupt_update(monkeypatch, number):
    """Press Ctrl-C during the update with this number."""
    real, made = Trainer._step, []

    def step(self, *arguments):
        real(self, *arguments)
        made.append(1)
        if len(made) == number:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Trainer, "_step", step)


@pytest.mark.parametrize(("recipe", "update"), [("quick", 7), ("full", 7), ("full", 27)])
def test_the_same_command_goes_on_after_an_interrupt(
    docboltz, corpus, tmp_path, monkeypatch, recipe, update
):
    """Of 20 updates by contrastive divergence, and in the trial of "full" 20 of matching."""
    command = ("fit", corpus, "--recipe", recipe, *SMALL)
    few = replace(RECIPES["full"]["validation"], fewest=10)
    monkeypatch.setitem(RECIPES["full"], "validation", few)
    with monkeypatch.context() as patch:
        interrupt_update(patch, update)
        stopped = docboltz(*command, "--out", tmp_path / "model")
    assert stopped.code == 130
    assert f"usable as it is, after {update} updates. Run the same command again" in stopped.err
    assert docboltz("search", tmp_path / "model", "players").code == 0
    again = docboltz(*command, "--out", tmp_path / "model")
    assert again.code == 0
    assert f"Going on from the checkpoint in {tmp_path / 'model.checkpoint'}." in again.err
    assert not (tmp_path / "model.checkpoint").exists()
    assert docboltz(*command, "--out", tmp_path / "at-once").code == 0
    one, other = (TextModel.open(tmp_path / name).estimator for name in ("model", "at-once"))
    assert np.array_equal(one.components_, other.components_)


def test_other_settings_do_not_go_on_from_a_checkpoint(docboltz, corpus, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        interrupt_update(patch, 7)
        docboltz("fit", corpus, "--out", tmp_path / "model", *SMALL)
    more = ("--units", "5", "--updates", "20", "--min-df", "1")
    out = tmp_path / "model"
    refused = docboltz("fit", corpus, "--out", out, *more)
    assert "Going on" not in refused.err
    said = "other settings or documents. Not the same: --units. Give what it was begun with"
    assert said in refused.err
    complaint = docboltz("fit", corpus, "--out", out, "-q", *SMALL, "--recipe", "full").complaint
    assert "Not the same: --recipe; --updates; --validation. Give" in complaint
    complaint = docboltz("fit", corpus, "--out", out, "-q", *SMALL, "--no-stem").complaint
    assert "Not the same: the documents, or what counts as a word. Give" in complaint
    assert "add --restart to start anew" in complaint
    assert docboltz("fit", corpus, "--out", out, "-q", *more, "--restart").code == 0
    assert len(TextModel.open(out).estimator.components_) == 5
    assert not (tmp_path / "model.checkpoint").exists()


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--latent-words", "99999999999", "must be auto or a whole number from 0 to 1,000,000."),
        ("--latent-words", "9" * 30, "must be auto or a whole number from 0 to 1,000,000."),
        ("--latent-words", "900000", "for these documents of 6.0 words on average. Got 900000"),
        ("--min-df", "99999", "No word can be in 99,999 documents: there are 24. Lower --min-df"),
        ("--min-df", "1e30", "documents: there are 24. Lower --min-df; 2 is a good start."),
        ("--units", "9" * 12, "and the disk has"),
        ("--units", "9" * 12, "Lower --units, free some space"),
        ("--units", "9" * 29, "Lower --units, free some space"),
    ],
)
def test_a_huge_number_is_told_what_is_allowed(docboltz, corpus, tmp_path, option, value, said):
    command = ("fit", corpus, "--out", tmp_path / "new", "-q", "--updates", "2", "--min-df", "1")
    assert said in docboltz(*command, option, value).complaint


def test_units_that_fit_on_the_disk_and_not_in_memory_are_counted(
    docboltz, corpus, tmp_path, monkeypatch
):
    monkeypatch.setattr("docboltz.fitting._require_space", lambda *_: None)
    command = ("fit", corpus, "--out", tmp_path / "new", "-q", "--units", "9" * 12)
    said = docboltz(*command).complaint
    assert re.search(
        r"--units must be at most [\d,]+, by the \d+ GB of memory here\. Got 9{12}", said
    )


def test_the_command_knows_how_many_latent_words_there_may_be(docboltz, corpus):
    assert KNOWN_MOST == MOST_LATENT_WORDS
    said = docboltz("tune", corpus, "--latent", "0,1000001").complaint
    assert "--latent must be whole numbers from 0 to 1,000,000, split by commas" in said


def test_the_command_knows_all_recipes():
    assert tuple(RECIPES) == KNOWN_RECIPES


def test_validation_and_recipes_are_options(docboltz, corpus, tmp_path):
    command = ("fit", corpus, "--out", tmp_path / "model", *SMALL)
    assert docboltz(*command, "--validation", "0.2", "-q").code == 0
    assert TextModel.open(tmp_path / "model").estimator.validation.share == 0.2
    complaint = docboltz(*command, "--recipe", "slow", "--replace").complaint
    assert "'--recipe': 'slow' is not one of 'quick', 'full', 'density', 'paper'" in complaint


def test_divergence_saves_the_last_good_state(docboltz, corpus, tmp_path, monkeypatch):
    real, made = Trainer._step, []

    def step(self, *arguments):
        real(self, *arguments)
        made.append(1)
        if len(made) == 150:
            self.parameters.W.fill_(float("nan"))

    monkeypatch.setattr(Trainer, "_step", step)
    options = ("--units", "4", "--updates", "300", "--min-df", "1", "-q")
    complaint = docboltz("fit", corpus, "--out", tmp_path / "model", *options).complaint
    assert "after update 100" in complaint
    assert f"It is saved in {tmp_path / 'model'}" in complaint
    assert TextModel.open(tmp_path / "model").estimator.n_updates_ == 100


def test_workers_are_those_of_a_cluster(docboltz, corpus, tmp_path):
    outcome = docboltz("fit", corpus, "--out", tmp_path / "model", "--workers", 2)
    assert outcome.complaint.endswith("Got 2 instead. Name the cluster: --ray local.\n")


def test_a_density_tells_the_perplexity_of_documents_it_has_not_learned_from(docboltz, tmp_path):
    many = [{**r, "id": f"{r['id']}/{n}"} for n in range(21) for r in records(ENGLISH)]
    corpus = write_json_lines(tmp_path / "corpus.jsonl", many)
    command = ("fit", corpus, "--recipe", "density", *SMALL)
    said = docboltz(*command, "--out", tmp_path / "model").err
    [line] = [line for line in said.splitlines() if line.startswith("Held-out perplexity")]
    look = TextModel.open(tmp_path / "model").estimator.history_[-1]
    perplexity = f"{np.exp(-look['held_out_log_likelihood']):,.0f}"
    assert line == f"Held-out perplexity {perplexity} (10 documents that were not learned from)."
    assert docboltz(*command, "--out", tmp_path / "quiet", "--quiet").err == ""
    assert "perplexity" not in docboltz(*command, "--out", tmp_path / "json", "--json").err


def looks_with(nats):
    """History of fine-tuning with an estimate every 200 updates."""
    return [
        {"update": 200 * n, "held_out_log_likelihood": -value, "held_out_documents": 12}
        for n, value in enumerate(nats, 1)
    ]


def test_the_course_of_the_perplexity_is_a_curve_with_a_hint():
    assert likelihood_course([{"update": 100}]) is None
    settled = likelihood_course(looks_with([7.0, 6.5, 6.2, 6.1, 6.1, 6.1, 6.1, 6.1, 6.1, 6.1]))
    assert settled == (
        "Held-out perplexity \u2588\u2584\u2582" + "\u2581" * 7 + " 1,097 \u2192 446 "
        "(12 documents that were not learned from)."
    )
    falling = likelihood_course(looks_with([7.0, 6.9, 6.8, 6.7, 6.6, 6.5]))
    assert falling.endswith(" It was still falling when training ended.")
    risen = likelihood_course(looks_with([7.0, 6.0, 6.1, 6.2, 6.3, 6.4]))
    assert risen.endswith(" It was lowest after 400 updates of fine-tuning.")
    assert len(likelihood_course(looks_with([7.0, 900.0]))) < 160
