"""Small stores that the tests of this folder build."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from docboltz.bundles import Fingerprint
from docboltz.corpus.document import Document
from docboltz.files import digest
from docboltz.search.milvus import MilvusStore
from docboltz.search.milvus_writer import build_milvus_store
from docboltz.search.store import SearchStore
from docboltz.search.writer import Block, build_store

N_WORDS = 12


def random_counts(n: int, *, seed: int = 0) -> csr_array:
    """Counts of 12 words; every document has at least one."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 5, (n, N_WORDS)) * (rng.random((n, N_WORDS)) < 0.3)
    counts[np.arange(n), rng.integers(N_WORDS, size=n)] += 1
    return csr_array(counts)


def write(
    path: Path,
    features: Any,
    counts: Any = None,
    *,
    mean: Any = None,
    block: int = 7,
    model: str = "m",
) -> None:
    features = np.asarray(features)
    counts = random_counts(len(features)) if counts is None else csr_array(counts)
    blocks = blocks_of(features, counts, block)
    build_store(path, features.shape[1], counts.shape[1], blocks, model=model, mean=mean)


def blocks_of(features: np.ndarray, counts: csr_array, block: int = 7) -> Iterator[Block]:
    documents = [Document(f"d{i}", f"text of d{i}", (f"d{i}", "x")) for i in range(len(features))]
    parts = (slice(begin, begin + block) for begin in range(0, len(features), block))
    return (Block(features[part], counts[part], documents[part]) for part in parts)


def milvus_store_of(
    path: Path, address: str, features: Any, counts: Any = None, *, mean: Any = None
) -> Any:
    """The same in Milvus."""
    features = np.asarray(features)
    counts = random_counts(len(features)) if counts is None else csr_array(counts)
    blocks, sizes = blocks_of(features, counts, 1000), (features.shape[1], counts.shape[1])
    build_milvus_store(path, address, *sizes, blocks, model="m", mean=mean)
    return MilvusStore.open(path, model="m")


def store_of(path: Path, features: Any, counts: Any = None, **options: Any) -> SearchStore:
    write(path, features, counts, **options)
    return SearchStore.open(path)


def names(path: Path) -> set[str]:
    """All files and folders below `path`, but for locks."""
    return {str(file.relative_to(path)) for file in path.rglob("*") if file.name != ".lock"}


def data_file(path: Path, name: str) -> Path:
    return path / json.loads((path / "store.json").read_text())["build"] / name


def forge(path: Path, **content: Any) -> None:
    """Give a store's manifest other content, and sizes and checksums that fit its files."""
    manifest = json.loads((path / "store.json").read_text())
    build = path / manifest["build"]
    files = {name: vars(Fingerprint.of(build / name)) for name in manifest["files"]}
    inner = {
        "build": build.name,
        "files": files,
        "content": manifest["content"] | content,
    }
    (path / "store.json").write_text(json.dumps(manifest | inner | {"checksum": digest(inner)}))
