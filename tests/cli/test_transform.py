"""docboltz transform."""

import io
import sys

import numpy as np
from pyarrow import parquet

from docboltz.text_model import TextModel

from .texts import ENGLISH, lines, records


def test_both_formats_hold_the_features_of_the_library(docboltz, model, corpus, tmp_path):
    expected = TextModel.open(model).transform(record["text"] for record in records(ENGLISH))
    array, table = tmp_path / "f.npy", tmp_path / "f.parquet"
    outcome = docboltz("transform", model, corpus, "--out", array)
    assert (outcome.code, outcome.out) == (0, "")
    assert outcome.err.endswith(f"24 documents: features saved to {array}\n")
    assert docboltz("transform", model, corpus, "--out", table, "--json").json["documents"] == 24
    assert np.array_equal(np.load(array), expected)
    rows = parquet.read_table(table).to_pylist()
    assert np.array_equal(np.array([row["features"] for row in rows], np.float32), expected)
    assert [row["id"] for row in rows] == [record["id"] for record in records(ENGLISH)]
    assert [row["labels"] for row in rows] == [record["labels"] for record in records(ENGLISH)]


def test_mean_field(docboltz, model, corpus, tmp_path):
    out = tmp_path / "f.npy"
    docboltz("transform", model, corpus, "--out", out, "-q", "--inference", "mean_field")
    loaded = TextModel.open(model)
    counts = loaded.count(record["text"] for record in records(ENGLISH)).counts
    assert np.array_equal(np.load(out), loaded.estimator.transform(counts, "mean_field"))


def test_standard_input(docboltz, model, tmp_path, monkeypatch):
    typed = io.TextIOWrapper(io.BytesIO(lines(ENGLISH).encode()))
    monkeypatch.setattr(sys, "stdin", typed)
    docboltz("transform", model, "-", "--out", tmp_path / "f.npy", "-q")
    assert np.load(tmp_path / "f.npy").shape == (24, 4)


def test_wrong_usage_writes_nothing(docboltz, model, corpus, tmp_path):
    before = sorted(tmp_path.rglob("*"))
    for options, said in (
        (["--out", tmp_path / "f.xlsx"], ".parquet, .csv, .npy. Got 'f.xlsx'"),
        (
            ["--out", tmp_path / "f.npy", "--inference", "slow"],
            "'slow' is not one of",
        ),
        (
            ["--out", tmp_path / "f.csv", "--wide"],
            "A .csv file has a column for each feature anyway. Leave out --wide, or write",
        ),
        (["--out", tmp_path / "f.npy", "--wide"], "A .npy file has a column for each"),
        (["--out", tmp_path / "f.npy", "--device", "abacus"], "'abacus'"),
        (["--out", tmp_path / "f.npy", "--label", "nope"], "no label column 'nope'"),
        (["--out", corpus / "f.npy"], "cannot be written"),
        ([], "Missing option '--out'"),
    ):
        assert said in docboltz("transform", model, corpus, *options).complaint
    assert sorted(tmp_path.rglob("*")) == before


def test_a_cluster_needs_the_extra_and_files(docboltz, model, corpus, tmp_path, monkeypatch):
    command = ("transform", model, corpus, "--out", tmp_path / "f", "--ray", "local")
    monkeypatch.setitem(sys.modules, "ray", None)
    missing = "docboltz: The package ray is missing. pip install 'docboltz[ray]'\n"
    assert docboltz(*command, "-q").complaint == missing
    outcome = docboltz("transform", model, "-", *command[3:])
    assert outcome.complaint.startswith("docboltz: Only files can be read in parts")
    assert not (tmp_path / "f").exists()


def test_a_file_without_formulas_is_no_setting_that_is_true(docboltz, model, corpus, tmp_path):
    said = "docboltz: A {} file holds no formulas. Leave out --spreadsheet, or write a .csv file.\n"
    for suffix in (".parquet", ".npy"):
        command = ("transform", model, corpus, "--out", tmp_path / f"f{suffix}", "--spreadsheet")
        assert docboltz(*command).complaint == said.format(suffix)
    on_cluster = ("transform", model, corpus, "--out", tmp_path / "f", "--ray", "local")
    assert docboltz(*on_cluster, "--spreadsheet").complaint == said.format(".parquet")
