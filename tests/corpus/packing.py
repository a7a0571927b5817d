"""Files as bytes: packed in every way that is read."""

import bz2
import gzip
import lzma

import pyarrow
import pyarrow.parquet
import zstandard


def as_parquet(table, **options):
    """The bytes of a Parquet file."""
    sink = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(table, sink, **options)
    return sink.getvalue().to_pybytes()


def streamed_zst(data):
    """As `zstd` packs what it is piped: without the size of what is in it."""
    packer = zstandard.ZstdCompressor(write_content_size=False).compressobj()
    return packer.compress(data) + packer.flush()


PACKERS = {
    "gz": gzip.compress,
    "xz": lzma.compress,
    "bz2": bz2.compress,
    "zst": zstandard.compress,
}
