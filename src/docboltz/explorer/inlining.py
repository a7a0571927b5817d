"""ES modules → one script without imports, so that a page needs no other file.

Each module becomes a function that gives its exports, called once, after those it imports from:
names of one module stay unknown to the others, as they were. A few forms of `import` and `export`
are understood, at the beginning of a line (or behind another import); everything else is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePosixPath

NAME = r"[A-Za-z_$][\w$]*"
NAMED = r"\{[^{}]*\}"
WHAT = rf"(?:{NAME}|{NAMED}|\*\s*as\s+{NAME})"
PATH = r"""(?:"[^"\n]+"|'[^'\n]+')"""
IMPORT = re.compile(rf"import\s*(?:(?P<what>{WHAT})\s*from\s*)?(?P<path>{PATH})[ \t]*;")
IMPORTS = re.compile(
    rf"^(?:import\s*(?:{WHAT}\s*from\s*)?{PATH}[ \t]*;[ \t]*)+", re.M
)  # several on a line: minified modules have them so
DECLARED = re.compile(
    rf"^export\s+(?=(?:async\s+function|function|class|const)\b\s*\*?\s*(?P<name>{NAME})\b)",
    re.M,
)
DEFAULT = re.compile(r"^export\s+default\s+", re.M)
LISTED = re.compile(rf"(?:^|(?<=[;}}]))export\s*(?P<names>{NAMED})(?!\s*from\b)[ \t]*;?", re.M)
LEFT = re.compile(
    r"^[ \t]*(?:import|export)\b(?!\s*[:=,)])[^\n]{0,60}|\bimport\s*[.(][^\n]{0,60}", re.M
)
AWAITED = re.compile(r"^(?:(?:const|let)\s[^\n=]*=\s*)?(?:for\s+)?await\b[^\n]{0,60}", re.M)
COMMENT = re.compile(r"^[ \t]*(?://[^\n]*|/\*.*?\*/)", re.M | re.S)
RENAMED = re.compile(rf"(?P<from>{NAME})(?:\s+as\s+(?P<to>{NAME}))?")


class NotUnderstood(ValueError):
    """A module that is written in a way this file does not know."""


def inline_modules(modules: Mapping[str, str], entry: str) -> str:
    """One classic script that does what the module `entry` does; `modules` are texts by path.

    >>> modules = {"main.js": 'import { one } from "./a/b.js";\\nprint(one);\\n',
    ...            "a/b.js": "export const one = 1;\\n"}
    >>> print(inline_modules(modules, "main.js"))
    "use strict";
    const module_0 = (() => {
    const one = 1;
    return { one: one };
    })();
    const module_1 = (() => {
    const { one: one } = module_0;
    print(one);
    return {};
    })();
    """
    done: dict[str, int] = {}
    parts = ['"use strict";']

    def add(path: str, waiting: tuple[str, ...]) -> None:
        if path in done:
            return
        if path in waiting:
            raise NotUnderstood(f"{path} imports itself: {' → '.join((*waiting, path))}")
        if path not in modules:
            raise NotUnderstood(f"{waiting[-1] if waiting else 'the page'} imports {path}")
        text = modules[path].replace("\r\n", "\n")
        for line in IMPORTS.finditer(text):
            for match in IMPORT.finditer(line[0]):
                add(_resolved(path, match["path"]), (*waiting, path))
        parts.append(_as_function(path, text, done))
        done[path] = len(done)

    add(entry, ())
    return "\n".join(parts)


def _as_function(path: str, text: str, done: Mapping[str, int]) -> str:
    exports: dict[str, str] = {}

    def bound(match: re.Match[str]) -> str:
        source, what = f"module_{done[_resolved(path, match['path'])]}", match["what"]
        if what is None:
            return ""
        if what.startswith("{"):
            names = ", ".join(f"{name}: {own}" for name, own in _pairs(path, what))
            return f"const {{ {names} }} = {source};"
        if what.startswith("*"):
            return f"const {what.split()[-1]} = {source};"
        return f"const {what} = {source}.default;"

    def declared(match: re.Match[str]) -> str:
        exports[match["name"]] = match["name"]
        return ""

    def listed(match: re.Match[str]) -> str:
        exports.update({shown: own for own, shown in _pairs(path, match["names"])})
        return ""

    def default(match: re.Match[str]) -> str:
        exports["default"] = f"default_of_module_{len(done)}"
        return f"const {exports['default']} = "

    body = IMPORTS.sub(lambda line: IMPORT.sub(bound, line[0]), text)
    body = DECLARED.sub(declared, body)
    body = LISTED.sub(listed, body)
    body = DEFAULT.sub(default, body)
    code = COMMENT.sub("", body)  # which may name types as import("./x.js").X
    for pattern in (LEFT, AWAITED):
        if (found := pattern.search(code)) is not None:
            raise NotUnderstood(f"{path}: {found[0].strip()!r}")
    given = ", ".join(f"{name}: {own}" for name, own in exports.items())
    ending = f"return {{ {given} }};" if given else "return {};"
    return f"const module_{len(done)} = (() => {{\n{body.rstrip()}\n{ending}\n}})();"


def _pairs(path: str, braces: str) -> list[tuple[str, str]]:
    """The names of `{ a, b as c }`: (a, a) and (b, c)."""
    found = []
    for part in filter(None, (piece.strip() for piece in braces[1:-1].split(","))):
        match = RENAMED.fullmatch(part)
        if match is None:
            raise NotUnderstood(f"{path}: {part!r}")
        found.append((match["from"], match["to"] or match["from"]))
    return found


def _resolved(path: str, specifier: str) -> str:
    """The path of a module that another one names, in quotes, relative to itself."""
    specifier = specifier[1:-1]
    if not specifier.startswith(("./", "../")):
        raise NotUnderstood(f"{path} imports {specifier!r}, which is no path beside it")
    parts: list[str] = []
    for part in (PurePosixPath(path).parent / specifier).parts:
        if part == "..":
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join(parts)
