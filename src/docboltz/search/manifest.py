"""What a store is on disk, and what is checked of it. A store is one folder:

    store.json                    the format, n, F, the model, the mean, and which build is in use
    build-XXXX/features.f32       (n, F) little-endian float32, a unit vector a document; mapped
    build-XXXX/documents.parquet  id, labels and snippet of each document, in the same order

store.json carries the sizes and SHA-256 of the other two and a checksum of itself. An index that
was truncated or edited is refused instead of giving quietly different hits.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from docboltz.errors import InvalidModelFile

FORMAT = "docboltz search store"
VERSION = 1
MANIFEST = "store.json"
FEATURES = "features.f32"
DOCUMENTS = "documents.parquet"
BUILD = re.compile("build-[0-9a-f]{16}")


@dataclass(frozen=True)
class Fingerprint:
    """What tells one file from another, or from a damaged copy."""

    bytes: int
    sha256: str

    @classmethod
    def of(cls, file: Path) -> Fingerprint:
        """Read the whole file."""
        with open(file, "rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
            return cls(stream.tell(), digest)


@dataclass(frozen=True)
class Manifest:
    """The content of store.json."""

    n_documents: int
    n_features: int
    model: str
    mean: list[float] | None
    build: str
    files: dict[str, Fingerprint]

    def dump(self) -> str:
        """As JSON, with the format in front and the checksum at the end."""
        content = asdict(self)
        described = {"format": FORMAT, "version": VERSION, **content}
        return json.dumps({**described, "checksum": checksum(content)}, indent=1) + "\n"

    @classmethod
    def load(cls, folder: Path) -> Manifest:
        """Read and check the store.json of a folder."""
        try:
            content = json.loads((folder / MANIFEST).read_bytes())
        except OSError as error:
            raise unusable(folder, f"is not there, or not readable: {error.strerror}") from error
        except ValueError:
            content = None
        if not isinstance(content, dict) or content.pop("format", None) != FORMAT:
            raise unusable(folder, f"is damaged: {MANIFEST} is not one of docboltz's")
        version = content.pop("version", None)
        if version != VERSION:
            what = f"has format {version!r}, and this docboltz reads format {VERSION}"
            raise unusable(folder, what, "Use the docboltz that made it, or build it again")
        if content.pop("checksum", None) != checksum(content):
            raise unusable(folder, f"was altered: the checksum of {MANIFEST} does not match")
        if not BUILD.fullmatch(content["build"]):
            raise unusable(folder, f"was altered: {MANIFEST} names files outside the folder")
        files = {name: Fingerprint(**each) for name, each in content.pop("files").items()}
        return cls(**content, files=files)


def checksum(content: dict[str, Any]) -> str:
    """SHA-256 of what store.json says, in one fixed spelling."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def unusable(folder: Path, what: str, instead: str = "Build it") -> InvalidModelFile:
    """An error for a store that cannot be searched, with what to do about it."""
    return InvalidModelFile(
        f"The search index in {folder} {what}. {instead} with `docboltz index MODEL CORPUS`."
    )
