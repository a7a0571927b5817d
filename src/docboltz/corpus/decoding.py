"""Files → bytes → text: decompression, and encodings that nobody wrote down.

UTF-8 is tried first. Bytes that are not UTF-8 are given to charset-normalizer, which tells scripts
apart very well and Western from Central European letters badly; there Windows-1252 wins unless it
reads clearly worse.
"""

from __future__ import annotations

import codecs
import gzip
import io
import lzma
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from docboltz.corpus.report import ReadReport

COMPRESSIONS = (".gz", ".xz", ".zst")
MAGIC = {b"\x1f\x8b": ".gz", b"\xfd7zXZ": ".xz", b"\x28\xb5\x2f\xfd": ".zst"}
BUFFER = 1 << 16
SAMPLE = 1 << 13

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


def read_errors() -> tuple[type[Exception], ...]:
    """Whatever reading a missing, forbidden or damaged file can raise."""
    import zstandard

    return (OSError, EOFError, zlib.error, lzma.LZMAError, zstandard.ZstdError)


def open_bytes(source: Path | io.BufferedReader, suffix: str) -> io.BufferedReader:
    """Open a file, or take a stream, and undo the compression that a suffix names.

    Closing the result may leave a stream open.
    """
    stream: Any
    if suffix == ".gz":
        stream = gzip.open(source)  # noqa: SIM115
    elif suffix == ".xz":
        stream = lzma.open(source)  # noqa: SIM115
    else:
        stream = source.open("rb", buffering=BUFFER) if isinstance(source, Path) else source
        if suffix != ".zst":
            return cast(io.BufferedReader, stream)
        import zstandard

        stream = zstandard.ZstdDecompressor().stream_reader(stream, read_across_frames=True)
    return io.BufferedReader(stream, BUFFER)


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
            except UnicodeError:
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


def decoded_lines(stream: io.BufferedReader, decoder: Decoder) -> Iterator[str | None]:
    """The lines of a stream without their ends; None for a line that is not text."""
    wide = wide_encoding(peek(stream))
    named = decoder.named and codecs.lookup(decoder.named).name
    if named and named.startswith(("utf-16", "utf-32")):
        wide = decoder.named
    if wide:
        # A newline is two or four bytes here, so bytes cannot be cut into lines first.
        for text in io.TextIOWrapper(stream, encoding=wide, errors="replace", newline="\n"):
            yield None if "\ufffd" in text else text.rstrip("\r\n")
        return
    for line in stream:
        text_or_none = decoder.decode(line)
        yield None if text_or_none is None else text_or_none.rstrip("\r\n")


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
