"""Topic features in files: Parquet with ids and labels, or a plain .npy array."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from docboltz.corpus.counting import count
from docboltz.corpus.counts import Corpus
from docboltz.corpus.document import Document
from docboltz.errors import InvalidParameter, require
from docboltz.files import replacing
from docboltz.progress import progress_bar
from docboltz.text_model import TextModel

BLOCK_DOCUMENTS = 16_384


def write_features(
    text_model: TextModel,
    documents: Iterable[Document],
    out: Path,
    *,
    inference: Any = None,
    shown: bool = False,
) -> Corpus:
    """Write the topic features of documents to `out`, whole or not at all; return their counts."""
    write = {".parquet": _write_parquet, ".npy": _write_npy}.get(out.suffix)
    if write is None:
        raise InvalidParameter(
            f"Features are written as .parquet or .npy. Got {out.name!r} instead."
        )
    known = inference in (None, "fast", "mean_field")
    require(known, "write_features", "inference", "'fast' or 'mean_field'", inference)
    with replacing(out) as file:
        with progress_bar("Reading", "documents", shown=shown) as update:
            corpus = count(
                documents,
                text_model.analysis,
                vocabulary=text_model.vocabulary,
                progress=lambda done: update(done, None),
            )
        with progress_bar("Inferring", "documents", shown=shown) as update:

            def blocks() -> Iterator[tuple[int, Any]]:
                for begin in range(0, len(corpus), BLOCK_DOCUMENTS):
                    counts = corpus.counts[begin : begin + BLOCK_DOCUMENTS]
                    yield begin, text_model.model.transform(counts, inference)
                    update(min(begin + BLOCK_DOCUMENTS, len(corpus)), len(corpus))

            write(file, corpus, len(text_model.activity), blocks())
    return corpus


def _write_npy(
    file: Path, corpus: Corpus, n_topics: int, blocks: Iterator[tuple[int, Any]]
) -> None:
    # Not a memory map: writing to one on a full disk kills the process instead of raising.
    header = {"descr": "<f4", "fortran_order": False, "shape": (len(corpus), n_topics)}
    with file.open("wb") as stream:
        np.lib.format.write_array_header_1_0(stream, header)
        for _, features in blocks:
            stream.write(features.astype("<f4", copy=False).tobytes())


def _write_parquet(
    file: Path, corpus: Corpus, n_topics: int, blocks: Iterator[tuple[int, Any]]
) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    schema = pa.schema(
        [
            ("id", pa.string()),
            ("labels", pa.list_(pa.string())),
            ("features", pa.list_(pa.float32(), n_topics)),
        ]
    )
    with parquet.ParquetWriter(file, schema) as writer:
        for begin, features in blocks:
            end = begin + len(features)
            flat = pa.array(features.reshape(-1))
            columns = [
                pa.array(corpus.ids[begin:end], pa.string()),
                pa.array([list(labels) for labels in corpus.labels[begin:end]], schema[1].type),
                pa.FixedSizeListArray.from_arrays(flat, n_topics),
            ]
            writer.write_table(pa.Table.from_arrays(columns, schema=schema))
