"""The files of the page: read once at the start, so that no path of a request reaches the disk."""

from __future__ import annotations

import gzip
import hashlib
import mimetypes
from dataclasses import dataclass
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

FOLDER = Path(__file__).parent / "page"
TYPES = {".js": "text/javascript", ".mjs": "text/javascript", ".svg": "image/svg+xml"}
"""Where a machine's own table may say otherwise, and a browser would refuse a script."""
LEAST_COMPRESSED = 1000
"""Bytes; less is sent as it is."""


@dataclass(frozen=True)
class StaticFile:
    """A file as it is sent."""

    data: bytes
    packed: bytes | None
    type: str
    etag: str

    @classmethod
    def read(cls, file: Path) -> StaticFile:
        """Read it from disk."""
        return cls.of(file.read_bytes(), _type(file))

    @classmethod
    def of(cls, data: bytes, type: str) -> StaticFile:
        """Pack it."""
        packed = gzip.compress(data, 6, mtime=0) if len(data) >= LEAST_COMPRESSED else None
        smaller = packed if packed is not None and len(packed) < len(data) else None
        return cls(data, smaller, type, f'"{hashlib.sha256(data).hexdigest()[:32]}"')

    def response(self, request: Request) -> Response:
        """What a request for it gets: nothing new, or the file, packed if it may be."""
        headers = {"ETag": self.etag, "Cache-Control": "no-cache", "Vary": "Accept-Encoding"}
        asked = request.headers.get("if-none-match", "")
        if self.etag in (tag.strip().removeprefix("W/") for tag in asked.split(",")):
            return Response(status_code=304, headers=headers)
        if self.packed is not None and accepts_gzip(request):
            headers["Content-Encoding"] = "gzip"
            return Response(self.packed, media_type=self.type, headers=headers)
        return Response(self.data, media_type=self.type, headers=headers)


def accepts_gzip(request: Request) -> bool:
    """Tell whether an answer may be packed."""
    named = (each.partition(";") for each in request.headers.get("accept-encoding", "").split(","))
    return any(
        name.strip().lower() == "gzip" and how.replace(" ", "") not in ("q=0", "q=0.0")
        for name, _, how in named
    )


def page_files(folder: Path = FOLDER) -> dict[str, StaticFile]:
    """All files of the page by their paths; that of index.html is also ""."""
    found = {
        file.relative_to(folder).as_posix(): StaticFile.read(file)
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }
    return {"": found["index.html"], **found}


def _type(file: Path) -> str:
    return TYPES.get(file.suffix) or mimetypes.guess_type(file.name)[0] or "text/plain"
