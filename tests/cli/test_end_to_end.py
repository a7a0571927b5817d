"""The installed command in a process of its own: pipes, signals, terminals, a full disk."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from .conftest import SMALL
from .texts import ENGLISH, lines

DOCBOLTZ = Path(sys.executable).with_name("docboltz")
LINES = lines(ENGLISH)
PATIENCE = 120  # seconds before a process that should have ended is given up

pytestmark = pytest.mark.skipif(
    not DOCBOLTZ.exists(), reason="the command is not installed beside this Python"
)


def docboltz(*arguments, **options):
    return subprocess.run(
        [DOCBOLTZ, *map(str, arguments)], capture_output=True, timeout=PATIENCE, **options
    )


def test_the_whole_path(tmp_path):
    model = tmp_path / "model"
    fitted = docboltz("fit", "-", "--out", model, "--json", *SMALL, input=LINES.encode())
    assert (fitted.returncode, fitted.stderr) == (0, b"Read as one document per line\n")
    assert json.loads(fitted.stdout)["documents"] == 24
    assert len(json.loads(docboltz("topics", model, "--units", "--json").stdout)) == 4
    topics = json.loads(docboltz("topics", model, "--json").stdout)
    assert {"topic", "name", "parent", "level", "documents", "share", "words"} <= topics[0].keys()
    found = docboltz("search", model, "the football match", "--json")
    assert len(json.loads(found.stdout)) == 10
    assert found.stderr == b""
    features = tmp_path / "features.npy"
    docboltz("transform", model, "-", "--out", features, input=LINES.encode())
    assert np.load(features).shape == (24, 4)


def test_wrong_usage(tmp_path):
    done = docboltz("fit", "nowhere", "--out", tmp_path / "model")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"docboltz: There is no file or folder 'nowhere'")
    assert done.stderr.count(b"\n") == 1


def test_a_pipe_that_closes_early_is_no_error(model):
    command = f"'{DOCBOLTZ}' topics '{model}' | true"
    done = subprocess.run(["bash", "-c", command], capture_output=True, timeout=PATIENCE)
    assert (done.stdout, done.stderr) == (b"", b"")


def test_any_encoding_of_standard_output_will_do(model):
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    table = docboltz("words", model, "rocket", env=environment)
    assert (table.returncode, table.stderr) == (0, b"")
    assert b" ?" in table.stdout  # for ×


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limit")
@pytest.mark.parametrize("name", ["features.npy", "features.parquet"])
def test_a_full_disk_leaves_nothing(model, tmp_path, name):
    import resource

    corpus = tmp_path / "corpus.txt"
    corpus.write_text(LINES * 40, encoding="utf-8")
    before = sorted(tmp_path.rglob("*"))

    def limit():  # a file that may not grow is as good as a disk that is full
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    # Nor may bytecode: Python would keep the first 4,096 bytes of it for good.
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    arguments = ["transform", model, corpus, "--out", tmp_path / name]
    done = docboltz(*arguments, preexec_fn=limit, env=environment)
    assert done.returncode == 2, done.stderr
    how, what = done.stderr.splitlines()
    assert how == b"Read as one document per line"
    assert b"File too large" in what
    assert sorted(tmp_path.rglob("*")) == before


pty = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals")


class Terminal:
    """A command whose standard error is a terminal."""

    def __init__(self, *arguments):
        import pty

        self._own, theirs = pty.openpty()
        self.process = subprocess.Popen(
            [DOCBOLTZ, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=theirs,
            env={**os.environ, "COLUMNS": "100", "TERM": "xterm"},
        )
        os.close(theirs)
        self.shown = ""

    def wait_for(self, text):
        while text not in self.shown:
            more = self._read()
            assert more, f"the command ended without showing {text!r}: {self.shown[-500:]}"

    def end(self, *, stop=False):
        """The exit code, standard output and all that was shown."""
        if stop:
            self.process.send_signal(signal.SIGINT)
        while self._read():
            pass
        os.close(self._own)
        out = self.process.stdout.read().decode()
        self.process.stdin.close()
        self.process.stdout.close()
        return self.process.wait(PATIENCE), out, self.shown

    def _read(self):
        try:
            data = os.read(self._own, 65536)
        except OSError:  # Linux says so when the other side has closed
            data = b""
        self.shown += data.decode("utf-8", "replace")
        return data


@pty
def test_a_terminal_shows_progress(tmp_path):
    corpus = tmp_path / "corpus.txt"
    corpus.write_text(LINES, encoding="utf-8")
    code, out, shown = Terminal("fit", corpus, "--out", tmp_path / "model", *SMALL).end()
    assert (code, out) == (0, "")
    for step in ("Reading", "24 documents", "20/20 updates", "Indexing", "left"):
        assert step in shown


@pty
def test_interrupted_training_leaves_a_usable_model(tmp_path):
    corpus, model = tmp_path / "corpus.txt", tmp_path / "model"
    corpus.write_text(LINES, encoding="utf-8")
    forever = ("--units", "4", "--updates", "100000000")
    fit = Terminal("fit", corpus, "--out", model, "--json", *forever)
    fit.wait_for("100,000,000 updates")
    code, out, shown = fit.end(stop=True)
    assert code == 130
    assert json.loads(out)["interrupted"] is True
    assert f"interrupted: the model in {model} is usable as it is, after" in shown.replace(
        "\r\n", ""
    )
    assert docboltz("search", model, "players").returncode == 0


@pty
def test_interrupted_reading_writes_nothing(tmp_path):
    fit = Terminal("fit", "-", "--out", tmp_path / "model", *SMALL)
    fit.process.stdin.write(LINES.encode())
    fit.process.stdin.flush()  # and never closed: there might be more
    fit.wait_for("Reading")
    code, out, shown = fit.end(stop=True)
    assert (code, out) == (130, "")
    assert shown.rstrip().endswith("docboltz: interrupted: nothing was written.")
    assert list(tmp_path.iterdir()) == []
