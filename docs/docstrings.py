"""Lets the reference read our docstrings: parameters are described where numpydoc has their type.

    topics : number of topic units.

Types stand in the signature, so what follows the colon is moved to the description's place.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

SECTION = re.compile(r"^(Parameters|Attributes|Returns)\n-+\n(.*?)(?=^\w+\n-+\n|\Z)", re.M | re.S)
ITEM = re.compile(r"^(\*{0,2}\w+(?:, \w+)*) : (.*)$", re.M)


def spread(docstring: str) -> str:
    """Put every description on lines of its own, and end a section where the prose begins."""

    def section(found: re.Match[str]) -> str:
        title, body = found.groups()
        lines = body.split("\n")
        # A paragraph that is not indented and names nothing is prose after the list.
        end = next(
            (n for n, line in enumerate(lines) if line and line[0] != " " and not ITEM.match(line)),
            len(lines),
        )
        items = ITEM.sub(r"\1\n    \2", "\n".join(lines[:end]).rstrip())
        after = "\n".join(lines[end:])
        return f"{title}\n{'-' * len(title)}\n{items}\n\n" + (f"\nNotes\n-----\n{after}" * bool(after))

    return SECTION.sub(section, docstring)


class Spread(griffe.Extension):
    """Applies `spread` to every docstring."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called for everything that is read."""
        if obj.docstring is not None:
            obj.docstring.value = spread(obj.docstring.value)
