"""Files that end too early, go on with something else, or ask for too much memory."""

from __future__ import annotations

import lzma
import zlib

import pyarrow
import zstandard

from ..packing import PACKERS, as_parquet, streamed_zst
from .cases import add_file

# ---- files that end too early, or go on with something else ----

LINES = b"".join(b"line %d of many %d\n" % (i, i * 7919 % 10_007) for i in range(3000))
QUOTED = b"id,text\n" + b"".join(b'%d,"a text\nof two lines %d"\n' % (i, i) for i in range(2000))
JSON_LINES = b"".join(b'{"id": %d, "text": "words %d"}\n' % (i, i * i) for i in range(2000))
PARQUET = as_parquet(pyarrow.table({"text": [f"words {i * i}" for i in range(3000)]}))
INNER = {"a.txt": LINES, "a.csv": QUOTED, "a.jsonl": JSON_LINES, "a.parquet": PARQUET}

for suffix, pack in {**PACKERS, "streamed.zst": streamed_zst}.items():
    for file, inner in INNER.items():
        name, packed = f"{file}.{suffix}", pack(inner)
        half = pack(inner[: len(inner) // 2]), pack(inner[len(inner) // 2 :])
        cuts = {
            "to nothing": 0,
            "to a byte": 1,
            "in its head": 9,
            "in the middle": len(packed) // 2,
        }
        cuts |= {"at its end": len(packed) - 1, "before its checksum": len(packed) - 9}
        for where, cut in cuts.items():
            add_file(
                "cut off", f"{name} {where}", name, packed[:cut], "could not be read|not a read"
            )
        second = half[0] + half[1][: len(half[1]) // 2]
        add_file(
            "cut off", f"{name} in its second part", name, second, "could not be read|not a read"
        )
        add_file(
            "cut off",
            f"{name} is whole",
            name,
            packed,
            len(inner.split(b"\n")) - 1
            if file in ("a.txt", "a.jsonl")
            else 2000
            if file == "a.csv"
            else 3000,
        )
    add_file(
        "followed by junk",
        suffix,
        f"a.txt.{suffix}",
        pack(LINES) + b"junk" * 9,
        "could not be read",
    )
for cut in (0, 1, 4, 8, 12, len(PARQUET) // 2, len(PARQUET) - 9, len(PARQUET) - 1):
    add_file(
        "cut off", f"Parquet at {cut}", "a.parquet", PARQUET[:cut], "not a readable|no documents"
    )
for suffix in ("gz", "xz", "bz2"):
    damaged = bytearray(PACKERS[suffix](LINES))
    damaged[len(damaged) // 2] ^= 0xFF
    add_file("damaged", suffix, f"a.txt.{suffix}", bytes(damaged), "could not be read")
checked = bytearray(zstandard.ZstdCompressor(write_checksum=True).compress(LINES))
checked[-1] ^= 0xFF
add_file("damaged", "zst", "a.txt.zst", bytes(checked), "could not be read")
for suffix in PACKERS:
    for name, data in {
        "text": b"no such thing\n",
        "zeros": bytes(100),
        "noise": zlib.compress(b"x"),
    }.items():
        add_file(
            "not compressed", f"{name} as {suffix}", f"a.txt.{suffix}", data, "could not be read"
        )
window = zstandard.ZstdCompressionParameters(window_log=30, write_content_size=False)
wide = zstandard.ZstdCompressor(compression_params=window).compressobj()
add_file(
    "asks for memory",
    "a zst window of a gigabyte",
    "a.txt.zst",
    wide.compress(LINES) + wide.flush(),
    "too much memory",
)

greedy = lzma.compress(
    LINES, filters=[{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 3 << 29}]
)
add_file(
    "asks for memory", "an xz dictionary of a gigabyte", "a.txt.xz", greedy, "could not be read"
)
