"""What is no file, leads nowhere, or has a name that is no name."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .cases import add, add_file

# ---- what is no file ----


def fifo(path: Path) -> Path:
    os.mkfifo(path)
    return path


def unix_socket(path: Path) -> Path:
    with socket.socket(socket.AF_UNIX) as opened:
        here = os.getcwd()
        os.chdir(path.parent)  # the path of a socket has at most 108 bytes
        try:
            opened.bind(path.name)
        finally:
            os.chdir(here)
    return path


def link(path: Path, target: str) -> Path:
    path.symlink_to(target)
    return path


def beside_a_text(make: Callable[[Path], Any]) -> Callable[[Path], Path]:
    def with_text(folder: Path) -> Path:
        (folder / "text").write_text("some words\n")
        make(folder)
        return folder

    return with_text


NOT_FILES: dict[str, Callable[[Path], Any]] = {}
for end in ("", ".txt", ".csv", ".jsonl", ".parquet", ".txt.gz"):
    NOT_FILES[f"a pipe a{end}"] = lambda folder, end=end: fifo(folder / f"a{end}")
    NOT_FILES[f"a socket a{end}"] = lambda folder, end=end: unix_socket(folder / f"a{end}")
    for device in ("zero", "null", "full"):
        NOT_FILES[f"a link a{end} to /dev/{device}"] = lambda folder, end=end, device=device: link(
            folder / f"a{end}", f"/dev/{device}"
        )
for what, make in NOT_FILES.items():
    add("not a file", what, make, "only files are opened")
    add("not a file", f"{what}, in a folder", beside_a_text(make), 1)
    add(
        "not a file",
        f"{what}, as files",
        lambda folder, make=make: [make(folder)],
        "only files",
        format="files",
    )
for device in ("zero", "null", "full", "urandom", "tty"):
    add(
        "not a file",
        f"/dev/{device}",
        lambda folder, device=device: f"/dev/{device}",
        "only files are opened|No such device|no file or folder",
    )
add(
    "not a file",
    "a pipe that a pattern matches",
    lambda f: fifo(f / "a.txt") and str(f / "*.txt"),
    "only files",
)
add(
    "not a file",
    "an empty folder named like a table",
    lambda f: (f / "a.csv").mkdir() or f / "a.csv",
    "no documents",
)
add(
    "not a file",
    "a folder named like a packed file",
    beside_a_text(lambda f: (f / "a.gz").mkdir()),
    1,
)
add(
    "not a file",
    "/proc/self/mem",
    lambda folder: "/proc/self/mem",
    "could not be read|no documents",
)
add("links", "to nowhere", lambda f: link(f / "a.txt", "nowhere"), "No such file")
add("links", "to nowhere, in a folder", beside_a_text(lambda f: link(f / "a", "nowhere")), 1)
add("links", "to itself", lambda f: link(f / "a.txt", "a.txt"), "could not be read")
add("links", "to itself, in a folder", beside_a_text(lambda f: link(f / "a", "a")), 1)
add("links", "to the folder above", beside_a_text(lambda f: link(f / "up", "..")), 1)
add("links", "to the folder itself", beside_a_text(lambda f: link(f / "again", ".")), 1)


# ---- paths ----

for name, path in {
    "empty": "",
    "a NUL": "a\0b",
    "a newline": "no\nsuch\nfile",
    "an escape": "\x1b[31mred",
    "long": "a" * 5000,
    "deep": "a/" * 3000,
    "half a character": "\udcff\udcfe",
    "a bracket": "[",
    "a range": "[z-a].txt",
    "stars": "*" * 200 + "x",
    "nobody's home": "~nobody-of-that-name/a.txt",
    "a mark of direction": "\u202etxt.a",
    "an unknown URL": "gopher://x/y",
    "a URL without a name": "memory://",
    "a URL in a URL": "zip://a::/dev/zero",
    "a URL of nothing": "memory://none/x.csv",
    "a glob of nothing": "memory://none/*.csv",
    "a file: of nothing": "file:///none",
    "a URL with controls": "memory://\x1b[0m/\n",
    "only a scheme": "s3://",
    "a driver that is missing": "gs://bucket/a.csv",
}.items():
    add(
        "paths",
        name,
        lambda folder, path=path: path,
        "no file or folder|Nothing matches|not be read|cannot be opened|not installed|no documents|"
        "Nobody knows",
    )
for name, given in {
    "a number": 3,
    "bytes": b"a.txt",
    "none": None,
    "nothing": [],
    "a dict": {},
    "numbers": [1, 2],
}.items():
    add(
        "paths",
        f"{name} in place of a path",
        lambda folder, given=given: given,
        "takes paths|no paths|no file or folder",
    )
for name, file in {
    "a newline": "a\nb.csv",
    "an escape": "\x1b]0;x\x07.csv",
    "not UTF-8": os.fsdecode(b"\xff\xfe.csv"),
    "a quote": "'\".csv",
    "markup": "[red]a.csv",
    "braces": "{a}{0}.csv",
    "a percent": "%s%d.csv",
    "right to left": "\u202e.csv",
    "only spaces": "  .csv",
    "a backslash": "a\\b.csv",
    "a star": "*.csv",
    "a bracket": "[ab].csv",
    "a dash": "-.csv",
}.items():
    add_file("file names", name, file, "text\nwords\n", 1)
    add_file("file names", f"{name}, and nothing to read", file, "price\tn\n1\t2\n", "no column")
