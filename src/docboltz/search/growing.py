"""A store that grows and shrinks: documents added, replaced and deleted by id.

What stays is copied as it is into a new build, in front of what is added, and words are weighed
anew: so the store is, bit by bit, the one that all of it would have made at once. Until the new
build is whole the old one answers, and who has it open keeps it. The cost is that of copying the
collection, whatever is added: give many documents, or many ids, at once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from contextlib import AbstractContextManager

import numpy as np

from docboltz.files import StrPath
from docboltz.search.store import SearchStore
from docboltz.search.words import Rows
from docboltz.search.writer import STORE, Block, StoreWriter, nothing_left

ROWS_AT_ONCE = 16_384


def update_store(
    path: StrPath,
    *,
    model: str,
    drop: Collection[str],
    blocks: Iterable[Block] = (),
    guard: AbstractContextManager[None] | None = None,
) -> int:
    """Leave out documents of these ids, add those of the blocks; give how many were left out.

    `model` and `guard` are as in `build_store`. An id in `drop` that nobody has is passed over.
    """
    with STORE.saving(path) as build:  # nobody else may change it from here on
        old = SearchStore.open(path, model=model)
        old.verify()  # what is damaged would get new checksums
        dropped = old.rows_of(drop)
        with StoreWriter(build.path, old.n_features, old.n_words) as writer:
            with STORE.trusting(path):
                _copy(old, dropped, writer)
            writer.next_number = old.next_number
            for block in blocks:
                writer.append(block, old.mean)
            n = writer.finish()
            if not n:
                raise nothing_left()
            changed = {"n_documents": n, "next_number": writer.next_number}
            build.publish({**old.opened.content, **changed}, guard=guard)
    return len(dropped)


def _copy(old: SearchStore, dropped: Rows, writer: StoreWriter) -> None:
    """Write what is in the old store, but for some rows."""
    kept = np.ones(len(old), bool)
    kept[dropped] = False
    for begin in range(0, len(old), ROWS_AT_ONCE):
        end = min(begin + ROWS_AT_ONCE, len(old))
        own = np.flatnonzero(kept[begin:end])
        if len(own):
            counts = old.words.counted(begin, end)[own]
            writer.copy(old.features[begin:end][own], counts, old.stored, old.filters, begin + own)
