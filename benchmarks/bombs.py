"""Files of a few megabytes that unpack to 20 GB: how much memory and time reading them takes.

Two kinds of text, one line and lines of four letters, packed in every way that is read; a JSON
record, a quote that is never closed, and Parquet whose rows share one long text. Each is read by a
process of its own, through `docboltz.read`. The many short lines are read for SECONDS, as long as a
stream goes on: what they would take in all follows from the rate.

    python benchmarks/bombs.py [--gigabytes 20] [--seconds 20] [FOLDER]
"""

from __future__ import annotations

import argparse
import bz2
import gzip
import lzma
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

PIECE = 1 << 24
READ = """
import resource, sys, time
import docboltz
from docboltz.errors import DocboltzError

path, seconds = sys.argv[1], float(sys.argv[2])
begin = time.process_time()
n = size = 0
said = "read"
try:
    for document in docboltz.read(path):
        n += 1
        size += len(document.text) + 1
        if (n % 1000 == 0 or len(document.text) > 10**6) and time.process_time() - begin > seconds:
            said = "goes on"
            break
except DocboltzError as error:
    said = str(error).replace(path, "FILE")
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(n, size, time.process_time() - begin, peak, said, sep="\t")
"""


def text_of(kind: str, size: int) -> Iterator[bytes]:
    """A text of a size, piece by piece."""
    begin, piece = {
        "one line": (b"", b"words " * (PIECE // 6)),
        "short lines": (b"", b"word\n" * (PIECE // 5)),
        "lines of 60 MB": (b"", b"words " * (PIECE // 6)),
        "one JSON record": (b'{"text": "', b"words " * (PIECE // 6)),
        "JSON of empty lists": (b'{"text": [', b"[]," * (PIECE // 3)),
        "a quote never closed": (b'text,n\n"', b"word,\n" * (PIECE // 6)),
        "a row of empty fields": (b"text,n\n", b"," * PIECE),
    }[kind]
    yield begin
    for n in range(size // PIECE):
        yield piece
        if kind == "lines of 60 MB" and n % 4 == 3:
            yield b"\n"


def pack(suffix: str, pieces: Iterator[bytes], path: Path) -> None:
    """Write a packed file; a piece is packed once for many, as parts may follow each other."""
    if suffix == "zst":
        import zstandard

        with path.open("wb") as file, zstandard.ZstdCompressor().stream_writer(file) as stream:
            for piece in pieces:
                stream.write(piece)
        return
    packers = {"gz": gzip.compress, "xz": lzma.compress, "bz2": bz2.compress}
    known: dict[bytes, bytes] = {}
    with path.open("wb") as file:
        for piece in pieces:
            if piece not in known:
                known[piece] = packers[suffix](piece)
            file.write(known[piece])


def write_parquet(path: Path, size: int) -> None:
    """One text of 16 MB in every row, which the file holds once for each thousand of them."""
    import pyarrow
    import pyarrow.parquet

    n_rows = max(1, size // PIECE)
    column = pyarrow.DictionaryArray.from_arrays(
        pyarrow.array([0] * n_rows, "int32"), pyarrow.array(["words " * (PIECE // 6)])
    )
    options = {"compression": "zstd", "dictionary_pagesize_limit": 1 << 30}
    pyarrow.parquet.write_table(pyarrow.table({"text": column}), path, **options)


def measure(path: Path, seconds: float, size: int) -> str:
    """A row of the table."""
    command = [sys.executable, "-c", READ, str(path), str(seconds)]
    begin = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return f"ended with {done.returncode} after {time.perf_counter() - begin:.1f} s"
    n, read, took, peak, said = done.stdout.rstrip("\n").split("\t")
    rate = int(read) / float(took) / 1e6
    if said == "goes on":
        said = f"goes on at {rate:.0f} MB/s: all of it in {size / rate / 1e6 / 60:.0f} min"
    return f"{int(n):,} | {float(took):.1f} | {float(peak):.0f} | {said}"


def main() -> None:
    """Make them, read them, print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", help="where to make them; a temporary one by default")
    parser.add_argument("--gigabytes", type=float, default=20)
    parser.add_argument("--seconds", type=float, default=20)
    given = parser.parse_args()
    size = int(given.gigabytes * 1e9)
    print(
        "| unpacks to | file | MB packed | documents | processor seconds | peak MB | what happens |"
    )
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        kinds = {"one line": "txt", "short lines": "txt"}
        made = [
            (kind, name, each)
            for kind, name in kinds.items()
            for each in ("gz", "xz", "bz2", "zst")
        ]
        made += [("lines of 60 MB", "txt", "zst"), ("one JSON record", "jsonl", "zst")]
        made += [("JSON of empty lists", "jsonl", "zst"), ("a quote never closed", "csv", "zst")]
        made += [("a row of empty fields", "csv", "zst"), ("rows that share a text", "parquet", "")]
        for kind, name, suffix in made:
            path = Path(folder, f"a.{name}" + (f".{suffix}" if suffix else ""))
            if suffix:
                pack(suffix, text_of(kind, size), path)
            else:
                write_parquet(path, size)
            row = measure(path, given.seconds, size)
            print(
                f"| {kind} | {path.suffix} | {os.path.getsize(path) / 1e6:.1f} | {row} |",
                flush=True,
            )
            path.unlink()


if __name__ == "__main__":
    main()
