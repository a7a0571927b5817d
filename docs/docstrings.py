"""Lets the reference read our docstrings.

Parameters are described where numpydoc has their type, which stands in the signature anyway:

    units : number of hidden units.

What follows the colon is moved to the description's place, prose after a list goes before it, and
examples become blocks of code.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

SECTION = re.compile(
    r"^(Parameters|Attributes)\n-+\n"  # its heading,
    r"((?:(?:\S.* : .*|[ ].*)?(?:\n|\Z))*)",  # and the lines that name something, or go on
    re.M,
)
ITEM = re.compile(r"^(\w+(?:, \w+)*) : (.*(?:\n .*)*)", re.M)
EXAMPLE = re.compile(r"^>>> .*(?:\n(?!\s*$).*)*", re.M)


def readable(docstring: str) -> str:
    """The docstring as the tool reads it: prose and examples, then lists."""
    lists: list[str] = []

    def keep(section: re.Match[str]) -> str:
        title, body = section.groups()
        lists.append(f"{title}\n{'-' * len(title)}\n{ITEM.sub(spread, body).rstrip()}\n")
        return ""

    prose = SECTION.sub(keep, docstring)
    prose = EXAMPLE.sub(lambda found: f"```pycon\n{found[0]}\n```", prose)
    prose, heading, returned = prose.partition("Returns\n-------\n")
    return "\n\n".join([prose.rstrip(), *lists, heading + returned])


def spread(item: re.Match[str]) -> str:
    """An item for each of the names that share a description."""
    names, text = item.groups()
    return "\n".join(f"{name}\n    {text}" for name in names.split(", "))


class Readable(griffe.Extension):
    """Applies `readable` to every docstring."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called for everything that is read."""
        if obj.docstring is not None:
            obj.docstring.value = readable(obj.docstring.value)
