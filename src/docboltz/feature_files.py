"""Features and topics in files: Parquet or CSV with ids, labels and so on, or a .npy array.

n documents, F features.
"""

from __future__ import annotations

import csv
import secrets
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from docboltz.corpus.corpus import Corpus
from docboltz.corpus.counting import ABOUT
from docboltz.corpus.disk import STAMP, trim_memory
from docboltz.corpus.reading import as_documents
from docboltz.errors import EmptyDocumentsWarning, InvalidParameter, require, warn_user
from docboltz.indexing import BLOCK_DOCUMENTS, count_documents, counting_beside
from docboltz.progress import progress_bar
from docboltz.storage import digest, replacing, require_apart, require_writable
from docboltz.topic_verbs import FOLDER
from docboltz.topics.mixture import Assignment
from docboltz.topics.topic_tree import TOPICS

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
) -> Corpus:
    """Write the features of documents to `out`, whole or not at all; give their counts.

    Parquet holds id, labels, n_words, topic, probability and features, these as one column of lists
    or, if `wide`, as a column each; CSV the same with a column for each feature; .npy the features
    alone, float32. For a `spreadsheet`, ids and labels in a CSV that it would take for formulas
    have a ' before them. A file that is there is left alone unless `replace` is set.
    """
    write = writer_of(out, wide=wide, spreadsheet=spreadsheet)
    known = inference in (None, "fast", "mean_field")
    require(known, "save_features", "inference", "'fast' or 'mean_field'", inference)
    if out.suffix != ".npy" and not model.has_topics:
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
    analysis, transform = model.analysis, model.estimator.transform
    # A place that cannot be written is found before the work.
    with replacing(out) as file, counting_beside(out, stream, analysis, model.vocabulary) as parts:
        corpus = count_documents(parts, stream, analysis, verbose=verbose, kept=ABOUT)
        of_counts = partial(transform, inference=inference)
        write_features(model, corpus, file, write, of_counts, verbose=verbose)
    return corpus


def write_features(
    model: TextModel,
    corpus: Corpus,
    file: Path,
    write: Write,
    infer: Callable[[csr_array], Any],
    *,
    verbose: bool = False,
) -> None:
    """Write the features and topics of counted documents; `infer` gives the features of some."""
    has_topics = model.has_topics

    def assign(counts: csr_array) -> Assignment:
        if has_topics:
            return model.assign_counts(counts)
        n = counts.shape[0]
        return Assignment(np.full(n, -1), np.zeros(n, np.float32))

    def blocks() -> Blocks:
        for begin in range(0, len(corpus), BLOCK_DOCUMENTS):
            rows = slice(begin, min(begin + BLOCK_DOCUMENTS, len(corpus)))
            counts = corpus.counts[rows]
            yield rows, infer(counts), assign(counts)
            update(rows.stop, len(corpus))
            if rows.stop // BLOCK_DOCUMENTS % KEPT_BLOCKS == 0:
                trim_memory()

    with progress_bar("Inferring", "documents", shown=verbose) as update:
        write(file, corpus, model.n_units, blocks())


def save_features_on_cluster(
    model: TextModel,
    documents: Any,
    out: Path,
    *,
    ray: str,
    device: str,
    wide: bool,
    replace: bool,
    inference: Inference | None,
    verbose: bool,
) -> Corpus:
    """Write the features of each part of the documents to a file in the folder `out`.

    Together they are what `docboltz.feature_files.save_features` writes. Features that are there,
    by the same model of the same files, are not inferred again; other features are replaced, and
    other files if `replace` allows it.
    """
    owner = "TextModel.save_features"
    known = inference in (None, "fast", "mean_field")
    require(known, owner, "inference", "'fast' or 'mean_field'", inference)
    if model.path is None:
        raise InvalidParameter(
            "Workers of a cluster read the model from a folder, and this one is not saved.",
            hint="Save it to a folder that all nodes can read.",
        )
    stream = as_documents(documents, owner, model.reading)
    folder, path = out.absolute(), Path(model.path).absolute()
    require_apart(folder, [*stream.paths, path])
    require_writable(folder, "features")
    tree = path / FOLDER
    topics = TOPICS.open(tree).identity if TOPICS.exists(tree) else None
    analysis, vocabulary = model.analysis, model.vocabulary
    made_by = [model.fingerprint, topics, wide, inference]
    stream.parts()  # an error for what is no file
    from docboltz.cluster.connection import joined, run_tasks

    with joined(ray, owner), counting_beside(folder, stream, analysis, vocabulary) as parts:
        how: Any = {"kept": ABOUT, "verbose": verbose, "on_cluster": True}
        corpus = count_documents(parts, stream, analysis, **how)
        rows: dict[Path, NDArray[np.int64]] = {}
        stamps: dict[Path, str] = {}
        row = 0
        for number, part in enumerate(parts.files):
            file = folder / f"part-{number:05d}.parquet"
            rows[file] = np.arange(row, row + len(part))
            numbered_from = row if stream.report.numbered else None
            own = [part.path.name, part.stamp, numbered_from, *made_by]
            stamps[file] = digest(own) if part.stamp else secrets.token_hex()
            row += len(part)
        _require_own(folder, list(rows), replace=replace)
        missing = [file for file in rows if stamp_of_file(file) != stamps[file]]
        shared = type(model), path, model.fingerprint, device, wide, inference

        def jobs() -> Iterator[tuple[Any, ...]]:
            for file in missing:
                yield corpus.rows(rows[file]), file, stamps[file], *shared

        gpus = 1 if device.startswith("cuda") else 0
        run_tasks(infer, jobs(), len(missing), label="Inferring", shown=verbose, num_gpus=gpus)
        for draft in folder.glob(".part-*.parquet"):  # of a worker that died
            draft.unlink(missing_ok=True)
    return corpus


def infer(
    corpus: Corpus,
    file: Path,
    stamp: str,
    cls: type[TextModel],
    path: Path,
    fingerprint: str,
    device: str,
    wide: bool,
    inference: Inference | None,
) -> None:
    """Write the features of documents to a file."""
    model = opened(cls, path, fingerprint, device)  # type: ignore[arg-type]
    write = writer_of(file, wide=wide, metadata={STAMP: stamp.encode()})
    with replacing(file) as draft:
        transform = partial(model.estimator.transform, inference=inference)
        write_features(model, corpus, draft, write, transform)


@lru_cache(maxsize=1)
def opened(cls: type[TextModel], path: Path, fingerprint: str, device: str) -> TextModel:
    """The model in a folder, which a worker opens once."""
    model = cls.open(path, device=device)
    if model.fingerprint != fingerprint:
        raise InvalidParameter(f"The model in {path} was replaced.", hint="Begin again.")
    return model


def stamp_of_file(file: Path) -> str | None:
    """The stamp of a Parquet file, None if it has none."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        metadata = parquet.read_schema(file).metadata or {}
    except (pa.ArrowInvalid, OSError):  # none yet, or somebody else's
        return None
    return metadata.get(STAMP, b"").decode() or None


def _require_own(folder: Path, files: list[Path], *, replace: bool) -> None:
    """Refuse a folder with other files, which would be read as features too, or be lost."""
    there = sorted(folder.iterdir()) if folder.exists() else []
    other = [file for file in there if file not in files and not file.name.startswith(".")]
    if other:
        raise InvalidParameter(
            f"{folder} holds {other[0].name!r}, which is none of these features' files.",
            hint="Name a new folder, or the one that these documents' features are in.",
        )
    for file in () if replace else files:
        if file.exists() and stamp_of_file(file) is None:
            raise InvalidParameter(
                f"There is a file {file}, which is not one of docboltz's features.",
                hint="Name another folder, or add {replace=True}.",
                settings=("replace=True",),
            )


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

    about = [("id", pa.string()), ("labels", pa.list_(pa.string())), ("n_words", pa.int64())]
    about += [("topic", pa.int64()), ("probability", pa.float32())]
    lists = [("features", pa.list_(pa.float32(), n_features))]
    fields = [(name, pa.float32()) for name in _names(n_features)] if wide else lists
    schema = pa.schema([*about, *fields], metadata=metadata)
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
