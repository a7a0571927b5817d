"""Features and topics in files: Parquet or CSV with ids, labels and so on, or a .npy array.

n documents, F features.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from docboltz.corpus.corpus import Corpus
from docboltz.corpus.readers import as_documents
from docboltz.corpus.stored import give_back_freed
from docboltz.errors import EmptyDocumentsWarning, InvalidParameter, require, warn_user
from docboltz.indexing import BLOCK_DOCUMENTS, count_documents, counts_folder
from docboltz.progress import progress_bar
from docboltz.storage import replacing, require_apart
from docboltz.topics.mixture import Assignment

if TYPE_CHECKING:
    from docboltz.inference import Inference
    from docboltz.text_model import TextModel

Blocks = Iterator[tuple[slice, NDArray[np.float32], Assignment]]
"""Features and topics block by block, each with the documents it is of."""
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""What a cell begins with that spreadsheets compute; they take the wide ones for the narrow."""
KEPT_BLOCKS = 8
"""Blocks after which what was freed is given back: some milliseconds each time."""
Write = Callable[[Path, Corpus, int, Blocks], None]


def save_features(
    model: TextModel,
    documents: Any,
    out: Path,
    *,
    wide: bool,
    spreadsheet: bool = False,
    replace: bool = False,
    inference: Inference | None,
    verbose: bool,
    metadata: dict[bytes, bytes] | None = None,
    n_jobs: int = -1,
) -> Corpus:
    """Write the features of documents to `out`, whole or not at all; give their counts.

    Parquet holds id, labels, n_words, topic, probability and features, these as one column of lists
    or, if `wide`, as a column each; CSV the same with a column for each feature; .npy the features
    alone, float32. For a `spreadsheet`, ids and labels in a CSV that it would take for formulas
    have a ' before them. A file that is there is left alone unless `replace` is set. A Parquet file
    carries the `metadata`. `n_jobs` is as in `count`.
    """
    write = writer_of(out, wide=wide, spreadsheet=spreadsheet, metadata=metadata)
    known = inference in (None, "fast", "mean_field")
    require(known, "save_features", "inference", "'fast' or 'mean_field'", inference)
    transform = model.estimator.transform
    has_topics = out.suffix != ".npy" and model.has_topics
    if out.suffix != ".npy" and not has_topics:
        warn_user(
            "The model has no documents to find topics in, so all are -1: index some.",
            EmptyDocumentsWarning,
        )
    stream = as_documents(documents, "TextModel.save_features", model.reading)
    require_apart(out, [*stream.paths, model.path])
    if out.is_file() and not replace:
        raise InvalidParameter(
            f"There is a file {out} already.",
            hint="Name another one, or add {replace=True}.",
            settings=("replace=True",),
        )
    how: dict[str, Any] = {"analysis": model.analysis, "vocabulary": model.vocabulary}
    how["n_jobs"] = n_jobs
    # A place that cannot be written is found before the work.
    with replacing(out) as file, counts_folder(out) as counts_on_disk:
        corpus = count_documents(stream, None, verbose=verbose, folder=counts_on_disk, **how)
        with progress_bar("Inferring", "documents", shown=verbose) as update:

            def assign(counts: csr_array) -> Assignment:
                if has_topics:
                    return model.assign_counts(counts)
                n = counts.shape[0]
                return Assignment(np.full(n, -1), np.zeros(n, np.float32))

            def blocks() -> Blocks:
                for begin in range(0, len(corpus), BLOCK_DOCUMENTS):
                    rows = slice(begin, min(begin + BLOCK_DOCUMENTS, len(corpus)))
                    counts = corpus.counts[rows]
                    yield rows, transform(counts, inference), assign(counts)
                    update(rows.stop, len(corpus))
                    if rows.stop // BLOCK_DOCUMENTS % KEPT_BLOCKS == 0:
                        give_back_freed()

            write(file, corpus, model.n_units, blocks())
    return corpus


def writer_of(
    out: Path,
    *,
    wide: bool = False,
    spreadsheet: bool = False,
    metadata: dict[bytes, bytes] | None = None,
) -> Write:
    """How a file of that name is written; an error for one that cannot be."""
    parquet = partial(_write_parquet, wide=wide, metadata=metadata)
    table = partial(_write_csv, cell=_for_spreadsheets if spreadsheet else str)
    kinds: dict[str, Write] = {".parquet": parquet, ".csv": table, ".npy": _write_npy}
    if out.suffix not in kinds:
        known = ", ".join(kinds)
        raise InvalidParameter(f"Features are written as {known}. Got {out.name!r} instead.")
    if wide and out.suffix != ".parquet":
        raise InvalidParameter(
            f"A {out.suffix} file has a column for each feature anyway.",
            hint="Leave out {wide=True}, or write a .parquet file.",
            settings=("wide=True",),
        )
    if spreadsheet and out.suffix != ".csv":
        raise formulas_are_for_csv(out.suffix)
    return kinds[out.suffix]


def formulas_are_for_csv(suffix: str) -> InvalidParameter:
    """An error for a file that no spreadsheet computes."""
    return InvalidParameter(
        f"A {suffix} file holds no formulas.",
        hint="Leave out {spreadsheet=True}, or write a .csv file.",
        settings=("spreadsheet=True",),
    )


def _names(n_features: int) -> list[str]:
    return [f"feature_{j}" for j in range(n_features)]


def _write_npy(file: Path, corpus: Corpus, n_features: int, blocks: Blocks) -> None:
    # Not a memory map: writing to one on a full disk kills the process instead of raising.
    header = {"descr": "<f4", "fortran_order": False, "shape": (len(corpus), n_features)}
    with file.open("wb") as stream:
        np.lib.format.write_array_header_1_0(stream, header)
        for _, features, _ in blocks:
            stream.write(features.astype("<f4", copy=False).tobytes())


def _for_spreadsheets(text: str) -> str:
    """A cell that no spreadsheet computes: a ' before what it would take for a formula.

    >>> _for_spreadsheets("=1+1"), _for_spreadsheets("news")
    ("'=1+1", 'news')
    """
    return f"'{text}" if text.startswith(FORMULA) else text


def _write_csv(
    file: Path, corpus: Corpus, n_features: int, blocks: Blocks, *, cell: Callable[[str], str]
) -> None:
    with file.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["id", "labels", "n_words", "topic", "probability", *_names(n_features)])
        lengths = corpus.lengths
        for rows, features, found in blocks:
            ids, labels = map(cell, corpus.ids[rows]), map(";".join, corpus.labels[rows])
            known = ids, map(cell, labels), lengths[rows]
            about = zip(*known, *(part.tolist() for part in found), strict=True)
            for (*first, p), values in zip(about, features.tolist(), strict=True):
                writer.writerow([*first, *(f"{v:.6g}" for v in (p, *values))])


def feature_schema(n_features: int, *, wide: bool, metadata: dict[bytes, bytes] | None) -> Any:
    """The columns of a Parquet file of features."""
    import pyarrow as pa

    about = [("id", pa.string()), ("labels", pa.list_(pa.string())), ("n_words", pa.int64())]
    about += [("topic", pa.int64()), ("probability", pa.float32())]
    lists = [("features", pa.list_(pa.float32(), n_features))]
    fields = [(name, pa.float32()) for name in _names(n_features)] if wide else lists
    return pa.schema([*about, *fields], metadata=metadata)


def _write_parquet(
    file: Path,
    corpus: Corpus,
    n_features: int,
    blocks: Blocks,
    *,
    wide: bool,
    metadata: dict[bytes, bytes] | None,
) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    schema = feature_schema(n_features, wide=wide, metadata=metadata)
    lengths = corpus.lengths
    with parquet.ParquetWriter(file, schema) as writer:
        for rows, features, found in blocks:
            columns = (
                [pa.array(np.ascontiguousarray(column)) for column in features.T]
                if wide
                else [pa.FixedSizeListArray.from_arrays(pa.array(features.reshape(-1)), n_features)]
            )
            ids = pa.array(corpus.ids[rows], pa.string())
            labels = pa.array([list(each) for each in corpus.labels[rows]], schema[1].type)
            about_them = map(pa.array, (lengths[rows], *found))
            arrays = [ids, labels, *about_them, *columns]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
