"""Ids that differ in a whole collection whose parts were made apart: by the law of one stream.

What becomes of an id depends on the ids before it that have the same root, "a" of "a#2", and on no
others (`TakenIds`). So tasks look for ids that are there twice, each among its share of all roots,
and documents of those roots alone, few as a rule, are gone through in order.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import parquet

from docboltz.cluster.connection import get, start
from docboltz.corpus.report import ReadReport
from docboltz.corpus.taken_ids import TakenIds
from docboltz.storage import replacing

SHARES = 16
"""Tasks that look for ids that are there twice."""
RENAMED = b"docboltz.renamed"
"""Where a file's metadata has the documents that got new ids, with those they had: a file that is
not made again may need others when its neighbours have changed."""
_SUFFIXES = re.compile(r"(#[0-9]+)+\Z")

Hashes = NDArray[np.uint64]
NewIds = dict[int, str]
"""By the number of a document in its file."""


def find_new_ids(files: Sequence[Path]) -> tuple[list[NewIds], ReadReport]:
    """New ids for the documents of each file whose id is taken, as if files were read one by one.

    Ray is joined.
    """
    hashed = [start(hashes_of, file, num_returns=SHARES) for file in files]
    twice = [start(roots_of_twins, *share) for share in zip(*hashed, strict=True)]
    roots = start(union, *twice)  # stays where tasks find it, however many there are
    report, taken = ReadReport(), TakenIds()
    if not len(get(roots)):
        return [{} for _ in files], report
    found = []
    for given in [start(ids_of_roots, file, roots) for file in files]:
        named = {row: (id, taken.unique(id, report)) for row, id in get(given).items()}
        found.append({row: new for row, (old, new) in named.items() if old != new})
    return found, report


def hashes_of(file: Path) -> list[Hashes]:
    """Hashes of root and id of every document, (n, 2), in shares by the root."""
    pairs = ((_hash(_root(id)), _hash(id)) for id in given_ids(file))
    whole: Hashes = np.fromiter(pairs, np.dtype((np.uint64, 2)))
    share = whole[:, 0] % SHARES
    return [whole[share == each] for each in range(SHARES)]


def roots_of_twins(*hashes: Hashes) -> Hashes:
    """Roots, by their hashes, of ids that are there more than once."""
    whole = np.concatenate(hashes)
    whole = whole[np.argsort(whole[:, 1])]
    return np.unique(whole[1:][whole[1:, 1] == whole[:-1, 1], 0])


def union(*roots: Hashes) -> Hashes:
    """All of them."""
    return np.unique(np.concatenate(roots))


def ids_of_roots(file: Path, roots: Hashes) -> NewIds:
    """Ids that have one of these roots."""
    wanted = set(roots.tolist())
    return {row: id for row, id in enumerate(given_ids(file)) if _hash(_root(id)) in wanted}


def given_ids(file: Path) -> Iterator[str]:
    """The ids of a file as its documents had them."""
    with parquet.ParquetFile(file) as source:
        before = _renamed(source)
        batches = source.iter_batches(columns=["id"])
        ids = (id for batch in batches for id in batch["id"].to_pylist())
        for row, id in enumerate(ids):
            yield before[row][0] if row in before else id


def rename(file: Path, new: NewIds) -> None:
    """Give documents of a file new ids, and all others those they had, unless they have them."""
    with parquet.ParquetFile(file) as source:
        if new == {row: now for row, (_, now) in _renamed(source).items()}:
            return
        both = {row: (id, new[row]) for row, id in enumerate(given_ids(file)) if row in new}
        schema, given, row = source.schema_arrow, given_ids(file), 0
        schema = schema.with_metadata({**schema.metadata, RENAMED: json.dumps(both)})
        with replacing(file) as draft, parquet.ParquetWriter(draft, schema) as writer:
            for group in range(source.num_row_groups):
                table = source.read_row_group(group)
                ids = [new.get(row + i, id) for i, id in enumerate(islice(given, len(table)))]
                place = schema.get_field_index("id")
                writer.write_table(table.set_column(place, "id", pa.array(ids, pa.string())))
                row += len(table)


def _renamed(source: parquet.ParquetFile) -> dict[int, tuple[str, str]]:
    """Documents of a file that have new ids: the one that was given, and the new one."""
    saved = json.loads(source.schema_arrow.metadata.get(RENAMED, b"{}"))
    return {int(row): (given, now) for row, (given, now) in saved.items()}


def _root(id: str) -> str:
    """What is left of an id without suffixes.

    >>> _root("a#2#13"), _root("a#b")
    ('a', 'a#b')
    """
    return _SUFFIXES.sub("", id) if "#" in id else id


def _hash(id: str) -> int:
    """The same in all processes, unlike Python's own."""
    return int.from_bytes(blake2b(id.encode(), digest_size=8).digest())
