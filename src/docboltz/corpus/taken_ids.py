"""Ids that differ, however many there are: what is kept of each is a hash, in a flat table.

A dictionary of ten million strings takes a gigabyte, the table a quarter of one. Two ids are taken
for one if 96 bits of hashes agree, once in 10^15 collections of ten million.
"""

from __future__ import annotations

from array import array
from zlib import crc32

import numpy as np

from docboltz.corpus.report import ReadReport

FIRST_PLACES = 1 << 10
MOST_TAKEN = 0.6
"""Share of the places that are taken before there are twice as many."""
_64_BITS = (1 << 64) - 1


class TakenIds:
    """The ids there are. A hash lies in the first free place from its own on, or behind all."""

    def __init__(self) -> None:
        self._n = 0
        self._suffix: dict[str, int] = {}
        """The next suffix to try, for ids that came twice."""
        self._room(FIRST_PLACES)

    def _room(self, places: int) -> None:
        self._places = places
        # Nothing goes round to the first place: behind the last there is room for those who lack
        # one, and the table grows before that is full.
        behind = places // 64 + 64
        self._hashes = array("Q", bytes(8 * (places + behind)))
        self._checks = array("I", bytes(4 * (places + behind)))

    def __len__(self) -> int:
        return self._n

    def unique(self, identity: str, report: ReadReport) -> str:
        """An id itself if it is free, else with the first free suffix "#2", "#3", …"""
        if self._add(identity):
            return identity
        report.note("duplicate_ids", identity)
        number = self._suffix.get(identity, 2)
        while not self._add(found := f"{identity}#{number}"):
            number += 1
        self._suffix[identity] = number + 1
        return found

    def _add(self, identity: str) -> bool:
        """Take an id; False if it is taken."""
        hashed = hash(identity) & _64_BITS or 1  # 0 is a free place
        check = crc32(identity.encode("utf-8", "surrogatepass"))
        hashes, place = self._hashes, hashed & (self._places - 1)
        while (there := hashes[place]) != 0:
            if there == hashed and self._checks[place] == check:
                return False
            place += 1
        hashes[place], self._checks[place] = hashed, check
        self._n += 1
        if self._n > MOST_TAKEN * self._places or place >= len(hashes) - 2:
            self._grow()
        return True

    def _grow(self) -> None:
        """Move to twice as many places, or more until nobody lacks one."""
        hashes, checks = np.asarray(self._hashes), np.asarray(self._checks)
        taken = np.flatnonzero(hashes)
        hashes, checks = hashes[taken], checks[taken]
        while True:
            self._room(2 * self._places)
            own = hashes & np.uint64(self._places - 1)
            order = np.argsort(own, kind="stable")
            # In order of their own places, each goes there or right behind the one before it.
            number = np.arange(len(order))
            place = np.maximum.accumulate(own[order].astype(np.int64) - number) + number
            if len(place) == 0 or place[-1] < len(self._hashes) - 2:
                break
        np.asarray(self._hashes)[place] = hashes[order]
        np.asarray(self._checks)[place] = checks[order]
