"""JSON and arrays of numbers → one string that a script element may hold, and back.

Read in the browser by `page/file/archive.js`: gzip of the length of the JSON (uint32), the JSON,
and the arrays one after the other; all numbers little-endian. Of each array all first bytes come
before all second ones: small whole numbers, and floating-point numbers of like size, pack better.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

KINDS = frozenset({"u1", "u2", "u4", "i4", "f2", "f4"})
"""Types of numbers that both sides know."""


def pack(content: Any, arrays: Mapping[str, NDArray[Any]]) -> str:
    """What JSON can hold, and arrays by name, as base64."""
    listed, bodies = [], []
    for name, array in arrays.items():
        kind = f"{array.dtype.kind}{array.dtype.itemsize}"
        if kind not in KINDS:
            raise TypeError(f"{name} has numbers of the type {array.dtype}")
        little = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
        bodies.append(little.reshape(-1, 1).view(np.uint8).T.tobytes())
        listed.append({"name": name, "kind": kind, "length": array.size})
    # Strict JSON: a browser reads no NaN.
    described = {"content": content, "arrays": listed}
    header = json.dumps(described, ensure_ascii=False, allow_nan=False).encode()
    whole = b"".join([np.uint32(len(header)).astype("<u4").tobytes(), header, *bodies])
    return base64.b64encode(gzip.compress(whole, 9, mtime=0)).decode("ascii")


def unpack(packed: str) -> tuple[Any, dict[str, NDArray[Any]]]:
    """What `pack` was given; arrays are flat.

    >>> content, arrays = unpack(pack({"n": 2}, {"x": np.array([[1, 2]], np.uint16)}))
    >>> content, arrays["x"]
    ({'n': 2}, array([1, 2], dtype=uint16))
    """
    whole = gzip.decompress(base64.b64decode(packed))
    begin = 4 + int(np.frombuffer(whole, "<u4", 1)[0])
    described = json.loads(whole[4:begin])
    arrays = {}
    for each in described["arrays"]:
        n, dtype = each["length"], np.dtype(f"<{each['kind']}")
        planes = np.frombuffer(whole, np.uint8, n * dtype.itemsize, begin)
        arrays[each["name"]] = planes.reshape(dtype.itemsize, n).T.copy().view(dtype).reshape(-1)
        begin += planes.size
    return described["content"], arrays
