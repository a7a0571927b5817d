"""Paths, URLs, globs, folders and "-" → files, and their text as UTF-8.

A small file may decompress to any size, on purpose or not: all reading is in bounded pieces.
"""

from __future__ import annotations

import codecs
import glob
import io
import lzma
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from docboltz.corpus.columns import Format
from docboltz.errors import InvalidCorpus, shown
from docboltz.progress import printable
from docboltz.storage import BUFFER, at_home, open_file, standard_input

if TYPE_CHECKING:
    from docboltz.corpus.reading import ReadReport

LONGEST = 1 << 26
"""Bytes of a document, or of a row. A longer one is a mistake, or made to fill the memory."""
TEXT_BLOCK = 1 << 19
"""Bytes of text that become rows at once."""
PIECE = 1 << 12
"""Bytes that are decompressed at once."""
LARGEST_XZ = 1 << 28
"""Bytes of memory that decompressing xz may take; its highest preset needs a quarter of it."""
SUFFIXES: dict[str, Format] = {
    ".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl",
    ".json": "jsonl", ".parquet": "parquet", ".pq": "parquet", ".txt": "lines", ".text": "lines",
}  # fmt: skip
"""The format of a file by its suffix."""
COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".xz": "xz"}
_MAGIC = {b"\x1f\x8b": ".gz", b"BZh": ".bz2", b"\x28\xb5\x2f\xfd": ".zst", b"\xfd7zXZ": ".xz"}
_BOMS = {codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32"}
_BOMS |= {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_CONTROLS = bytes(i for i in range(32) if chr(i) not in "\t\n\v\f\r\x1a\x1b") + b"\x7f"
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")


class Unreadable(InvalidCorpus):
    """A file that is damaged, or is not what it seems; others may be read all the same."""


@dataclass(frozen=True)
class Source:
    """A file to read, by its path or URL; "-" is standard input."""

    path: str
    format: Format | None = None
    """None where only the content can tell."""
    folder: str = ""
    """The folder it was found in."""

    @property
    def name(self) -> str:
        """What messages call it."""
        return "standard input" if self.path == "-" else printable(self.path)

    @property
    def relative(self) -> str:
        """The path within the folder."""
        return Path(self.path.removeprefix(self.folder)).as_posix().lstrip("/")

    @property
    def is_local(self) -> bool:
        """Whether it is a file of this machine, which can be read twice."""
        return self.path != "-" and file_system(self.path)[0] is None

    @contextmanager
    def open(self) -> Iterator[io.BufferedReader]:
        """The bytes of the file, decompressed."""
        if self.path == "-":
            packed: Any = _stream_of(iter(partial(standard_input().read1, BUFFER), b""))
            head = packed.peek()
            suffix = next((s for magic, s in _MAGIC.items() if head.startswith(magic)), "")
        else:
            system, path = file_system(self.path)
            packed = open_file(path) if system is None else system.open(path, "rb")
            packed = packed if hasattr(packed, "peek") else io.BufferedReader(packed, BUFFER)
            suffix = _suffixes(self.path)[-1]
        compression = COMPRESSIONS.get(suffix)
        with packed:
            yield packed if compression is None else _stream_of(_unpacked(packed, compression))

    def state(self) -> list[Any]:
        """What differs after the file was changed; OSError if it is gone."""
        system, path = file_system(self.path)
        if system is None:
            found = os.stat(path)
            return [self.path, found.st_size, found.st_mtime_ns]
        known = {**system.info(path), "key": system.ukey(path)}  # of https:// it is of the URL
        return [self.path, *(str(known.get(name)) for name in ("size", "ETag", "mtime", "key"))]


def file_system(path: str) -> tuple[Any, str]:
    """The file system of a URL by fsspec, None for that of this machine; and the path there."""
    found = _URL.match(path)
    if found is None or found[1] in ("file", "local"):
        path = path[found.end() :] if found else path
        return None, str(at_home(path)) if path.startswith("~") else path
    import fsspec

    try:
        if "::" in path:  # a driver within another one, which may open what is not a file
            raise ValueError("'::' is not supported")
        system, rest = fsspec.core.url_to_fs(path)
    except ImportError as error:
        raise InvalidCorpus(f"{shown(path)} needs a package: {error}.") from error
    except Exception as error:
        raise InvalidCorpus(
            f"{shown(path)} cannot be opened: {printable(str(error))}.",
            hint="URLs are those that fsspec knows, such as s3://, gs://, abfs:// or https://.",
        ) from error
    return system, str(rest)


def find_sources(paths: Sequence[str], format: Format | None) -> list[Source]:
    """The files that paths, URLs, globs and folders stand for, in order.

    In a folder every file is a document, unless all are tables. Hidden files are left out.
    """
    found: list[Source] = []
    for path in paths:
        for each, is_folder in [("-", False)] if path == "-" else _paths_of(path):
            if not is_folder:
                found.append(Source(each, format or _format(each)))
                continue
            files = _files_below(each)
            tables = [_format(file) for file in files if _format(file) not in (None, "lines")]
            by_name = files and len(tables) == len(files)
            for file in files:
                usual: Format = _format(file) or "files" if by_name else "files"
                found.append(Source(file, format or usual, each))
    if not found:
        where = f" in {', '.join(map(shown, paths))}" if paths else ""
        raise InvalidCorpus(f"There are no files{where}.", hint="Name a file, a folder or '-'.")
    if len(found) > 1 and not any(source.format or source.folder for source in found):
        # Many files without a known suffix, such as usr/share/doc/*/copyright, are texts.
        found = [Source(source.path, "files") for source in found]
    return found


def _paths_of(path: str) -> list[tuple[str, bool]]:
    """The files and folders that a path is, or a glob matches; and whether each is a folder."""
    system, plain = file_system(path)
    try:
        if system is None:
            names = [plain] if os.path.lexists(plain) else sorted(glob.glob(plain, recursive=True))
            found = [(name, os.path.isdir(name)) for name in names]
        else:
            system.invalidate_cache()
            names = [plain] if system.exists(plain) else sorted(system.glob(plain))
            found = [(system.unstrip_protocol(name), system.isdir(name)) for name in names]
    except Exception as error:  # a driver's own
        reason = printable(getattr(error, "strerror", None) or str(error))
        raise InvalidCorpus(f"{shown(path)} could not be read: {reason}.") from error
    if not found:
        what = "Nothing matches" if glob.has_magic(path) else "There is no file or folder"
        raise InvalidCorpus(f"{what} {shown(path)}.", hint="Check its spelling and the folder.")
    return found


def _files_below(folder: str) -> list[str]:
    """All files below a folder, in order. A folder that cannot be listed stands for itself."""
    system, path = file_system(folder)
    if system is not None:
        found = sorted(system.find(path))
        below = (name.removeprefix(path).split("/") for name in found)
        seen = [not any(part.startswith(".") for part in parts) for parts in below]
        return [system.unstrip_protocol(f) for f, kept in zip(found, seen, strict=True) if kept]
    files: list[str] = []
    closed: list[OSError] = []
    for where, folders, names in os.walk(path, onerror=closed.append):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        files += [os.path.join(where, name) for name in sorted(names) if not name.startswith(".")]
    return files + [str(error.filename) for error in closed]


def _suffixes(path: str) -> list[str]:
    """The suffixes of a file's name, after an empty one. The query of a URL is not part of it."""
    name = PurePosixPath(path.partition("?")[0] if _URL.match(path) else path)
    return ["", *(each.lower() for each in name.suffixes)]


def _format(path: str) -> Format | None:
    """The format that a file's name implies."""
    return SUFFIXES.get([each for each in _suffixes(path) if each not in COMPRESSIONS][-1])


# ---- bytes ----


class _Pieces(io.RawIOBase):
    """A stream of the bytes that an iterator gives."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces, self._left = iter(pieces), b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        while not self._left and (piece := next(self._pieces, None)) is not None:
            self._left = piece
        n = min(len(buffer), len(self._left))
        buffer[:n], self._left = self._left[:n], self._left[n:]
        return n


def _stream_of(pieces: Iterable[bytes]) -> io.BufferedReader:
    return io.BufferedReader(_Pieces(pieces), BUFFER)


def _unpacked(packed: Any, compression: str) -> Iterator[bytes]:
    """Decompress a stream, in small pieces, as the last one is lost where it is cut off."""
    if compression == "xz":
        yield from _unpacked_xz(packed)
        return
    import pyarrow

    stream = pyarrow.CompressedInputStream(pyarrow.PythonFile(packed, mode="r"), compression)
    while piece := stream.read(PIECE):
        yield piece


def _unpacked_xz(packed: Any) -> Iterator[bytes]:
    """Decompress xz in bounded memory. Python's LZMAFile ignores damage after the first stream."""
    part = None
    while data := packed.read(PIECE):
        while data:
            part = part or lzma.LZMADecompressor(lzma.FORMAT_XZ, LARGEST_XZ)
            yield part.decompress(data, BUFFER)
            while not (part.needs_input or part.eof):
                yield part.decompress(b"", BUFFER)
            data, part = (part.unused_data, None) if part.eof else (b"", part)
    if part is not None:
        raise EOFError("the file ends too early")


class Text:
    """The text of a file as UTF-8. Bytes that are not in its encoding become U+FFFD.

    Where the file is damaged, the text ends before the damage, and `error` is set.
    """

    def __init__(
        self, stream: io.BufferedReader, encoding: str | None, name: str, report: ReadReport
    ) -> None:
        self.error: Exception | None = None
        self._stream, self._name, self._report = stream, name, report
        head, pieces = b"", self._bytes()
        while len(head) < BUFFER and (piece := next(pieces, b"")):
            head += piece
        if self.error is not None and not head:
            raise self.error
        encoding = encoding or next((e for b, e in _BOMS.items() if head.startswith(b)), None)
        if encoding is None and _looks_binary(head):
            raise Unreadable(
                f"{name} is not a text file: it contains control characters.",
                hint="docboltz reads text, CSV, TSV, JSON Lines and Parquet, also compressed as "
                ".gz, .bz2, .xz or .zst. If it is text, name its encoding with {encoding}.",
                settings=("encoding",),
            )
        text = self._decoded(chain([head], pieces), encoding or "utf-8")
        self._utf8 = _stream_of(chain([next(text).removeprefix(codecs.BOM_UTF8)], text))
        self.lines = 0
        """Ends of lines in the blocks that were read."""
        self.blocks = self._blocks()
        """Whole lines, about `TEXT_BLOCK` bytes at a time."""

    def whole(self) -> str:
        """All of it, which is one document."""
        data = self._utf8.read(LONGEST + 1)
        if self.error is not None:
            raise self.error
        if len(data) > LONGEST:
            raise too_long(self._name)
        return data.decode()

    def _blocks(self) -> Iterator[bytes]:
        while block := self._utf8.read(TEXT_BLOCK) + self._utf8.readline(LONGEST):
            if len(block) > LONGEST and not block.endswith(b"\n"):
                raise too_long(self._name)
            self.lines += block.count(b"\n")
            yield block if self.error is None else block[: block.rfind(b"\n") + 1]

    def _bytes(self) -> Iterator[bytes]:
        try:
            while piece := self._stream.read1(BUFFER):
                yield piece
        except (OSError, EOFError, lzma.LZMAError) as error:
            self.error = error

    def _decoded(self, pieces: Iterable[bytes], encoding: str) -> Iterator[bytes]:
        decoder, line = codecs.getincrementaldecoder(encoding)("strict"), 1
        for piece in chain(pieces, [b""]):
            state = decoder.getstate()
            try:
                text = decoder.decode(piece, final=not piece)
            except UnicodeDecodeError:
                tolerant = codecs.getincrementaldecoder(encoding)("replace")
                tolerant.setstate(state)
                text = tolerant.decode(piece, final=not piece)
                decoder.setstate(tolerant.getstate())
                first = line + text[: text.find("\ufffd")].count("\n")
                self._report.note("replaced", f"{self._name}, line {first}", text.count("\ufffd"))
            line += text.count("\n")
            yield text.encode("utf-8", "replace")


def _looks_binary(head: bytes) -> bool:
    """Whether bytes hold many NULs or control characters. A few are tolerated."""
    controls = len(head) - len(head.translate(None, _CONTROLS))
    return 100 * head.count(0) > len(head) or 20 * controls > len(head)


def too_long(name: str) -> Unreadable:
    """The error about a document or row that is longer than any."""
    return Unreadable(
        f"{name} has a document or row of more than {LONGEST >> 20} MB.",
        hint="Check that rows end where documents do, or split it into shorter ones.",
    )
