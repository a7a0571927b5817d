"""Where a store in Milvus is: manifest, address, who owns its collection, and a client of it."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from docboltz.bundles import Bundle
from docboltz.errors import InvalidParameter, require

SCHEME = "milvus+"
TOKEN = "MILVUS_TOKEN"
"""Environment variable with the token of a cluster."""
MILVUS = Bundle(
    noun="search index in Milvus",
    format="docboltz-milvus",
    version=2,
    manifest="milvus.json",
    files=(),
    remedy="Build it again with {TextModel.index}, and name its store.",
    settings=("TextModel.index",),
)


def manifest_folder(store_folder: Path) -> Path:
    """Where the manifest is."""
    return store_folder / "milvus"


def owner_name(folder: Path) -> str:
    """What a folder, which is there, is called as the owner of a collection: inode and path.

    A copy has another inode, even where containers have both at the same path.
    """
    path = folder.resolve()
    return f"{path.stat().st_ino} {path}"


def is_owner(folder: Path, content: dict[str, Any]) -> bool:
    """Whether a folder owns the collection that a manifest names; it may have been moved since."""
    inode, _, path = str(content.get("owner")).partition(" ")
    own_inode, _, own_path = owner_name(folder).partition(" ")
    return inode == own_inode and (path == own_path or not os.path.lexists(path))


def address_of(store: str) -> str:
    """What comes after "milvus+": a cluster's address, or a file of Milvus Lite, in full."""
    address = store.removeprefix(SCHEME)
    if "://" in address:
        return address
    ends = "a file that ends in .db, or a cluster's address: milvus+http://host:19530"
    require(address.endswith(".db"), "TextModel", "store", ends, store)
    return str(Path(address).absolute())


def is_lite(address: str) -> bool:
    """Tell a file of Milvus Lite, which has no binary vectors, from a cluster."""
    return "://" not in address


@cache
def connect(address: str) -> Any:
    """A client of Milvus, one for each address."""
    try:
        from pymilvus import MilvusClient
    except ImportError as error:
        raise InvalidParameter(
            f"A store in Milvus needs the package {error.name}.",
            hint="pip install 'docboltz[milvus]'",
        ) from error
    for name in ("pymilvus", "grpc._server"):  # their errors are raised as well
        logging.getLogger(name).setLevel(logging.CRITICAL)
    with calling(address):
        return MilvusClient(address, token=os.environ.get(TOKEN, ""))


@contextmanager
def calling(address: str) -> Iterator[None]:
    """Say in one line what Milvus complains about."""
    from pymilvus.exceptions import MilvusException

    try:
        yield
    except MilvusException as error:
        raise InvalidParameter(f"Milvus at {address} fails: {error.message}") from error
