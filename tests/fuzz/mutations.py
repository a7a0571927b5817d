"""Every field of a JSON value made wrong in every way, and bundles sealed again afterwards.

A checksum protects against accidents. Whoever writes a manifest on purpose computes it anew, and so
is done here: what is left to refuse is what the manifest says.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from docboltz.storage import digest

Path_ = tuple[Any, ...]
REMOVED = object()


def nested(depth: int) -> Any:
    """Lists in lists."""
    value: Any = 0
    for _ in range(depth):
        value = [value]
    return value


MUTATIONS: dict[str, Callable[[Any], Any]] = {
    "removed": lambda value: REMOVED,
    "null": lambda value: None,
    "true": lambda value: True,
    "minus one": lambda value: -1,
    "zero": lambda value: 0,
    "huge": lambda value: 10**30,
    "fraction": lambda value: 0.5,
    "endless": lambda value: float("inf"),
    "not a number": lambda value: float("nan"),
    "text": lambda value: "text",
    "empty text": lambda value: "",
    "half a character": lambda value: "\ud800\x1b[31m",
    "empty list": lambda value: [],
    "empty object": lambda value: {},
    "in a list": lambda value: [value],
    "in an object": lambda value: {"a": value},
    "nested": lambda value: nested(200),
    "one more": lambda value: (
        {**value, "more": 1} if isinstance(value, dict) else [*value, value[0]]
        if isinstance(value, list) and value else [1]
    ),
    "one less": lambda value: value[:-1] if isinstance(value, list | str) else -value
    if isinstance(value, int | float) and not isinstance(value, bool) else None,
}  # fmt: skip


def paths(value: Any, here: Path_ = ()) -> Iterator[Path_]:
    """All places of a JSON value; of a list its first and its last."""
    if here:
        yield here
    if isinstance(value, dict):
        for name, part in value.items():
            yield from paths(part, (*here, name))
    elif isinstance(value, list):
        for i in sorted({0, len(value) - 1}) if value else ():
            yield from paths(value[i], (*here, i))


def mutated(value: Any, path: Path_, mutation: str) -> Any:
    """A copy that is wrong in one place."""
    changed = copy.deepcopy(value)
    inside = changed
    for step in path[:-1]:
        inside = inside[step]
    new = MUTATIONS[mutation](inside[path[-1]])
    if new is REMOVED:
        del inside[path[-1]]
    else:
        inside[path[-1]] = new
    return changed


def seal(file: Path, described: Any) -> None:
    """Write a manifest whose checksum is right, whatever it says."""
    if isinstance(described, dict):
        head = ("format", "version", "docboltz", "checksum")
        own = {name: part for name, part in described.items() if name not in head}
        described = {**described, "checksum": digest(own)}
    file.write_text(json.dumps(described), encoding="utf-8")


def adopt(model: Path) -> None:
    """Let search store, topics and map belong to the model as its manifest now is."""
    described = json.loads((model / "model.json").read_text("utf-8"))
    try:
        files = {name: each["sha256"] for name, each in described["files"].items()}
        own = digest([described["content"], files])
    except (KeyError, TypeError, AttributeError):
        return  # which no part can belong to
    parts = (model / "search/store.json", model / "topics/topics.json", model / "map/map.json")
    for file in filter(Path.exists, parts):
        part = json.loads(file.read_text("utf-8"))
        part["content"]["model"] = own
        seal(file, part)
