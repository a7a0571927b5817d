"""Docstrings of the scientific packages installed here: real text that every machine has.

Source files are parsed, never imported. A docstring is labelled by its module, such as
"scipy.stats"; modules with few docstrings by their package alone.
"""

from __future__ import annotations

import ast
import gzip
import importlib.util
import json
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from importlib import metadata
from itertools import chain
from pathlib import Path

from docboltz.corpus.counts import split_rows
from docboltz.corpus.document import Document
from docboltz.errors import InvalidCorpus
from docboltz.files import cache_folder, digest, replacing

PACKAGES = (
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
    seed: int, log: Callable[[str], None], packages: Sequence[str] = PACKAGES
) -> tuple[list[Document], list[Document]]:
    """Training and test docstrings, a fifth of them for test."""
    documents = _cached(_installed(packages), log)
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


def _cached(packages: dict[str, tuple[Path, str]], log: Callable[[str], None]) -> list[Document]:
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
