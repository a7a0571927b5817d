"""Files → bytes → text: decompression, and encodings that nobody wrote down.

UTF-8 is tried first. Bytes that are not UTF-8 are given to charset-normalizer, which tells scripts
apart very well and Western from Central European letters badly; there Windows-1252 wins unless it
reads clearly worse.

A small file may unpack to any size, on purpose or not: everything here takes bounded pieces.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import re
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from typing import Any

from docboltz.corpus.report import ReadReport
from docboltz.errors import InvalidCorpus
from docboltz.storage import BUFFER

LONGEST = 1 << 26
"""Bytes of a line, of a row or of a document. What is longer is some mistake, or a trap."""
LARGEST_XZ = 1 << 28
"""Bytes of memory that undoing xz may take; its strongest setting asks for a quarter of it."""
SAMPLE = 1 << 13

COMPRESSIONS = (".gz", ".xz", ".bz2", ".zst")
_MAGIC = {
    ".gz": re.compile(rb"\x1f\x8b"),
    ".xz": re.compile(rb"\xfd7zXZ\0"),
    ".bz2": re.compile(rb"BZh[1-9](?:1AY&SY|\x17rE8P)"),
    ".zst": re.compile(rb"\x28\xb5\x2f\xfd"),
}

LATIN = ["cp1252", "cp1250", "cp1254", "cp1257"]
OTHERS = [
    "cp1251", "koi8_r", "cp1253", "cp1255", "cp1256", "shift_jis", "euc_jp", "gb18030", "big5",
    "euc_kr",
]  # fmt: skip
_BOMS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CONTROLS = bytes(i for i in range(32) if chr(i) not in "\t\n\v\f\r\x1a\x1b") + b"\x7f"


READ_ERRORS: tuple[type[Exception], ...] = (OSError, EOFError, zlib.error, lzma.LZMAError)
"""Whatever reading a missing, forbidden or damaged file can raise."""


def compression(head: bytes) -> str:
    """The suffix of the compression that first bytes tell, or ""."""
    return next((suffix for suffix, magic in _MAGIC.items() if magic.match(head)), "")


def unpacked(stream: io.BufferedReader, suffix: str) -> io.BufferedReader:
    """Undo the compression that a suffix names. Closing the result may leave the stream open.

    What ends too early or goes on with something else raises one of READ_ERRORS.
    """
    if not suffix:
        return stream
    if not peek(stream):
        raise EOFError("it is empty, which no compressed file is")
    raw: Any
    if suffix == ".gz":
        raw = gzip.GzipFile(fileobj=stream)
    elif suffix == ".zst":
        import pyarrow

        raw = pyarrow.CompressedInputStream(pyarrow.PythonFile(stream, mode="r"), "zstd")
    else:
        new_part = partial(lzma.LZMADecompressor, lzma.FORMAT_XZ, LARGEST_XZ)
        raw = _Unpacked(stream, new_part if suffix == ".xz" else bz2.BZ2Decompressor)
    return io.BufferedReader(raw, BUFFER)


class _Unpacked(io.RawIOBase):
    """Undoes xz and bz2, whose own readers take a second part that is damaged for none at all."""

    def __init__(self, packed: io.BufferedReader, new_part: Callable[[], Any]) -> None:
        self._packed = packed
        self._new_part = new_part
        self._part = new_part()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        while True:
            data = b""
            if self._part.eof:
                # Another part may follow, after zeros that fill up a block of a tape.
                data = self._part.unused_data.lstrip(b"\0")
                while not data and (more := self._packed.read(BUFFER)):
                    data = more.lstrip(b"\0")
                if not data:
                    return 0
                self._part = self._new_part()
            elif self._part.needs_input:
                data = self._packed.read(BUFFER)
                if not data:
                    raise EOFError("it ends too early")
            found = self._part.decompress(data, len(buffer))
            if found:
                buffer[: len(found)] = found
                return len(found)


def peek(stream: io.BufferedReader) -> bytes:
    """The first bytes of a stream, which stay in it."""
    return stream.peek(BUFFER)[:BUFFER]


def wide_encoding(head: bytes) -> str | None:
    """UTF-16 or UTF-32, if the bytes begin with its mark."""
    return next((name for bom, name in _BOMS if head.startswith(bom)), None)


def looks_binary(data: bytes) -> bool:
    """Whether bytes are no text: many NULs or control characters. A stray one is forgiven."""
    sample = data[:BUFFER]
    if wide_encoding(sample):
        return False
    n_controls = len(sample) - len(sample.translate(None, _CONTROLS))
    return 100 * sample.count(0) > len(sample) or 20 * n_controls > len(sample)


class Decoder:
    """Decodes the pieces of one file. Falls back on one detected encoding for the whole file."""

    def __init__(self, report: ReadReport, encoding: str | None, head: bytes = b"") -> None:
        self._report = report
        self._fallback: str | None = None
        self.named = encoding
        if encoding is None and not (wide_encoding(head) or _is_utf8(head)):
            self._fallback = detect(head)

    def decode(self, data: bytes) -> str | None:
        """The text of some bytes, or None if they are not text."""
        for encoding in self._candidates(data):
            try:
                text = data.decode(encoding)
            except (ValueError, OverflowError):  # punycode knows numbers that are no character
                continue
            self._report.encodings[encoding] += 1
            return text.removeprefix("\ufeff")
        return None

    def _candidates(self, data: bytes) -> Iterator[str]:
        if self.named:
            yield self.named
            return
        if b"\0" not in data or not (wide_encoding(data) or looks_binary(data)):
            yield "utf-8"
        if wide := wide_encoding(data):
            yield wide
        elif looks_binary(data):
            return
        if self._fallback:
            yield self._fallback
        if found := detect(data):
            yield found


def decoded_lines(
    stream: io.BufferedReader, decoder: Decoder, name: str = "The text"
) -> Iterator[str | None]:
    """The lines of a stream without their ends; None for a line that is not text."""
    head = peek(stream)
    wide = wide_encoding(head)
    if decoder.named and is_wide(decoder.named):
        require_mark(decoder.named, head, name)
        wide = decoder.named
    if wide:
        # A newline is two or four bytes here, so bytes cannot be cut into lines first.
        texts = io.TextIOWrapper(stream, encoding=wide, errors="replace", newline="\n")
        try:
            for text in _bounded(texts.readline, LONGEST // 4, name):
                yield None if "\ufffd" in text else text.rstrip("\r\n")
        finally:
            texts.detach()  # whoever opened the stream closes it
        return
    for line in _bounded(stream.readline, LONGEST, name):
        text_or_none = decoder.decode(line)
        yield None if text_or_none is None else text_or_none.rstrip("\r\n")


def _bounded(read_line: Callable[[int], Any], longest: int, name: str) -> Iterator[Any]:
    for number in count(1):
        line = read_line(longest + 1)
        if len(line) > longest:
            raise too_long(f"{name}, line {number},")
        if not line:
            return
        yield line


def too_long(what: str) -> InvalidCorpus:
    """The error about a document that is none."""
    return InvalidCorpus(
        f"{what} is longer than {LONGEST >> 20} MB, which is no document.",
        hint="Check that lines end where documents do, or cut it into shorter ones.",
    )


def is_wide(encoding: str) -> bool:
    """Whether an encoding takes two or four bytes for a line end."""
    return codecs.lookup(encoding).name.startswith(("utf-16", "utf-32"))


def require_mark(encoding: str, head: bytes, name: str) -> None:
    """Refuse UTF-16 and UTF-32 that do not say which byte of a character comes first."""
    found = codecs.lookup(encoding).name
    if found in ("utf-16", "utf-32") and head and wide_encoding(head) != found:
        either = (f"encoding={found}-le", f"encoding={found}-be")
        raise InvalidCorpus(
            f"{name} does not begin with the mark that {encoding} asks for.",
            hint="Name the order of its bytes: {" + "} or {".join(either) + "}.",
            settings=either,
        )


def detect(data: bytes) -> str | None:
    """A guess at the encoding of bytes that are not UTF-8; None if they are not text."""
    from charset_normalizer import from_bytes

    sample = _non_ascii_lines(data)
    if not sample or looks_binary(data):
        return None
    n_high = sum(byte > 127 for byte in sample)
    n_letters = sum(chr(byte).isalpha() for byte in sample if byte < 128)
    latin = 2 * n_high < n_letters or n_high < 8
    best = None
    if n_high >= (32 if latin else 8):
        candidates = LATIN if latin else OTHERS
        found = from_bytes(sample, cp_isolation=candidates, enable_fallback=False, threshold=0.5)
        western = next((m for m in found if "cp1252" in m.could_be_from_charset), None)
        best = found.best()
        # 0.1 of "chaos" separates Polish read as Western (garbage) from German read as Baltic.
        if western is not None and best is not None and western.chaos <= best.chaos + 0.1:
            return "cp1252"
    if best is not None:
        return str(best.encoding)
    try:
        data.decode("cp1252")
    except UnicodeError:
        # Every byte is something in latin-1; undefined control characters betray other things.
        n_controls = sum(0x80 <= byte < 0xA0 for byte in sample)
        return "latin-1" if n_controls * 50 <= len(sample) else None
    return "cp1252"


def _is_utf8(head: bytes) -> bool:
    try:
        # The last bytes may be the beginning of a character that the head cuts off.
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return False
    return True


def _non_ascii_lines(data: bytes) -> bytes:
    """The lines that tell something about the encoding, up to a few thousand bytes."""
    lines: list[bytes] = []
    size = 0
    for line in io.BytesIO(data):
        if not line.isascii():
            lines.append(line[:SAMPLE])
            size += len(lines[-1])
            if size >= SAMPLE:
                break
    return b"".join(lines)
