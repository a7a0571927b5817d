"""Encodings that are none, and bytes that are none of theirs."""

from __future__ import annotations

from .cases import add_file

# ---- encodings ----

for name in (
    "hex",
    "rot13",
    "zlib",
    "bz2",
    "base64",
    "uu",
    "quopri",
    "undefined",
    "",
    " ",
    "utf-9",
    "\0",
    "a" * 5000,
    "\udcff",
    "aliases",
    "../utf_8",
    "mbcs",
    "\n",
    "utf 8\x1b[0m",
):
    outcome = "encoding' parameter"
    add_file(
        "encodings", f"that are none: {name[:20]!r}", "a.txt", "words\n", outcome, encoding=name
    )
for name in ("utf-16", "utf-32", "U16", "utf_32"):
    for file in ("a.txt", "a.csv", "a.jsonl", "a"):
        data = "text\nwords\n".encode("utf-16-le")
        add_file(
            "encodings",
            f"{name} without a mark, {file}",
            file,
            data,
            "begin with the mark",
            encoding=name,
        )
    add_file(
        "encodings",
        f"{name} without a mark, as a file",
        "a.txt",
        "words".encode("utf-16-le"),
        "begin with the mark",
        encoding=name,
        format="files",
    )
for name, (data, outcome) in {
    "NULs": (b"a\0\0b\n" * 9, "not look like text"),
    "a NUL": (b"some long line " * 30 + b"\0\n", 1),
    "half a UTF-16 character": ("words\n".encode("utf-16") + b"a", 1),
    "only a mark": (b"\xef\xbb\xbf", "no documents"),
    "only a UTF-16 mark": (b"\xff\xfe", "no documents"),
    "only a UTF-32 mark": (b"\xff\xfe\0\0", "no documents"),
    "marks": (b"\xef\xbb\xbf" * 9 + b"\n", 1),
    "half characters": (b"a \xed\xa0\x80 b and some words\n", 1),
    "overlong": (b"\xc0\xaf words and words\n", 1),
    "beyond Unicode": (b"\xf4\x90\x80\x80 and words\n", "undecodable"),
    "CR": (b"one\rtwo\rthree", 1),
    "CRLF": (b"one\r\ntwo\r\n", 2),
    "LFCR": (b"one\n\rtwo\n\r", 2),
    "no line end": (b"one", 1),
    "only line ends": (b"\n" * 999, "no documents"),
    "vertical tabs": (b"a\x0bb\x0cc\n", 1),
    "a file end of DOS": (b"one\n\x1a", 2),
    "line separators": ("a\u2028b\u2029c\x85d\n".encode(), 1),
    "UTF-16 half": ("\ud800 words\n".encode("utf-16", "surrogatepass"), "no documents"),
    "one byte": (b"\xff", 1),
}.items():
    add_file("bytes", name, "a.txt", data, outcome)
for name in (
    "utf-7",
    "utf-8-sig",
    "punycode",
    "idna",
    "cp037",
    "cp1252",
    "shift_jis",
    "iso2022_jp",
    "hz",
    "utf-16-le",
    "utf-32-be",
    "ascii",
    "latin-1",
    "raw_unicode_escape",
    "big5",
    "gb18030",
):
    for kind, data in {
        "noise": bytes(range(256)) * 4,
        "high": b"\xff\xfe\x80" * 50,
        "text": b"plain words\n" * 3,
    }.items():
        add_file("named encodings", f"{name}, {kind}", "a.txt", data, "", encoding=name)
