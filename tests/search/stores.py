"""Small stores that the tests of this folder build."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from docboltz.search.store import SearchStore
from docboltz.search.writer import StoreWriter


def write(path: Path, features: Any, *, mean: Any = None, block: int = 7, model: str = "m") -> None:
    features = np.asarray(features)
    with StoreWriter(path, n_features=features.shape[1], model=model, mean=mean) as writer:
        for begin in range(0, len(features), block):
            part = features[begin : begin + block]
            ids = [f"d{begin + i}" for i in range(len(part))]
            writer.append(part, ids, [[id_, "x"] for id_ in ids], [f"text of {i}" for i in ids])


def store_of(path: Path, features: Any, **options: Any) -> SearchStore:
    write(path, features, **options)
    return SearchStore.open(path)


def names(path: Path) -> set[str]:
    """All files and folders below `path`."""
    return {str(file.relative_to(path)) for file in path.rglob("*")}


def data_file(path: Path, name: str) -> Path:
    return path / json.loads((path / "store.json").read_text())["build"] / name
