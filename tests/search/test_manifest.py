from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from docboltz.errors import InvalidModelFile
from docboltz.search.manifest import DOCUMENTS, FEATURES, Fingerprint, Manifest, checksum

BUILD = "build-0123456789abcdef"
FILES = {FEATURES: Fingerprint(1600, "ab"), DOCUMENTS: Fingerprint(99, "cd")}
MANIFEST = Manifest(50, 8, "sha256:abc", [0.5] * 8, BUILD, FILES)


def test_it_comes_back_as_it_went_in(tmp_path: Path) -> None:
    (tmp_path / "store.json").write_text(MANIFEST.dump())
    assert Manifest.load(tmp_path) == MANIFEST


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{}", "is damaged: store.json"),
        ("[1]", "is damaged: store.json"),
        ("", "is damaged: store.json"),
        (MANIFEST.dump()[:100], "is damaged: store.json"),
        (MANIFEST.dump().replace(": 1,", ": 2,"), "has format 2.*docboltz that made it"),
        (MANIFEST.dump().replace(": 50,", ": 49,"), "was altered: the checksum"),
        (MANIFEST.dump().replace("0.5", "0.6", 1), "was altered: the checksum"),
    ],
)
def test_what_is_damaged_or_altered_is_refused(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "store.json").write_text(content)
    with pytest.raises(InvalidModelFile, match=message) as caught:
        Manifest.load(tmp_path)
    assert "`docboltz index MODEL CORPUS`" in str(caught.value)


def test_what_is_no_text_or_not_there_is_refused(tmp_path: Path) -> None:
    (tmp_path / "store.json").write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidModelFile, match=r"is damaged: store\.json"):
        Manifest.load(tmp_path)
    with pytest.raises(InvalidModelFile, match="not there"):
        Manifest.load(tmp_path / "elsewhere")


@pytest.mark.parametrize("build", ["..", "../build-0123456789abcdef", "/etc", "build-1/../.."])
def test_files_outside_the_folder_are_refused(tmp_path: Path, build: str) -> None:
    """Even with a checksum that fits."""
    content: dict[str, Any] = json.loads(MANIFEST.dump())
    named = {name: content[name] for name in ("format", "version")}
    del content["format"], content["version"], content["checksum"]
    content["build"] = build
    (tmp_path / "store.json").write_text(
        json.dumps({**named, **content, "checksum": checksum(content)})
    )
    with pytest.raises(InvalidModelFile, match="outside the folder"):
        Manifest.load(tmp_path)


def test_the_fingerprint_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"abc")
    expected = Fingerprint(3, hashlib.sha256(b"abc").hexdigest())
    assert Fingerprint.of(tmp_path / "file") == expected
