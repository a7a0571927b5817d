"""A bad file is refused in one line with code 2, or read as far as it can be, and that is said."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow
import pytest

from docboltz.corpus.reading import read
from docboltz.errors import DocboltzError

from .packing import PACKERS, as_parquet, streamed_zst

LINES = b"".join(b"line %d of many %d\n" % (i, i * 7919 % 10_007) for i in range(3000))
CSV = b"id,text\n" + b"".join(b'%d,"a text\nof two lines %d"\n' % (i, i) for i in range(2000))
JSON_LINES = b"".join(b'{"id": %d, "text": "words %d"}\n' % (i, i * i) for i in range(2000))
PARQUET = as_parquet(pyarrow.table({"text": [f"words {i * i}" for i in range(3000)]}))
NOISE = bytes(range(256)) * 100

REFUSED: dict[str, tuple[bytes, str]] = {
    "noise.csv": (NOISE, "is not a text file: it contains control characters"),
    "noise.jsonl": (NOISE, "is not a text file"),
    "noise.txt": (NOISE, "is not a text file"),
    "noise": (NOISE, "is not a text file"),
    "zeros.txt.gz": (PACKERS["gz"](bytes(1 << 20)), "is not a text file"),
    "utf-16-without-a-mark.txt": ("words\n".encode("utf-16-le"), "is not a text file.*encoding"),
    "empty.csv": (b"", "There are no documents in .*: it is empty, or has only a header"),
    "empty.jsonl": (b"", "There are no documents"),
    "empty.txt": (b"", "There are no documents"),
    "empty.txt.gz": (b"", "There are no documents"),
    "blank.csv": (b"\n\n\n", "There are no documents"),
    "mark.txt": (b"\xef\xbb\xbf", "There are no documents"),
    "header.csv": (b"text,label\n", "There are no documents"),
    "open-header.csv": (b'text,"label\na,b\nc,d\n', "quote in the header .*quotes"),
    "short-rows.csv": (b"n,text\n1\n2\n", "2 malformed rows left out .*row 2: 1 values instead of"),
    "no-text.csv": (b"price,n\n1,2\n", "no column with a usual name for texts.*'price', 'n'"),
    "array.json": (b'[\n{"text": "a"}\n]', "is one JSON array.*jq"),
    "array.jsonl": (b'[{"text": "a"}]', "is one JSON array.*jq"),
    "pretty.json": (b'{\n  "text": "a"\n}\n', "3 malformed rows left out .*line 1: not valid JSON"),
    "deep.jsonl": (b'{"a":' * 100_000, "1 malformed row left out .*line 1"),
    "numbers.jsonl": (b"1\n2\n", "2 malformed rows left out .*line 1: not a JSON object"),
    "no-text.jsonl": (b'{"n": 1}\n', "no column with a usual name for texts.*'n'"),
    "text.parquet": (b"text\nwords\n", "could not be read: .*not a parquet file"),
    "mark.parquet": (b"PAR1", "could not be read: "),
    "long.txt": (b"word " * 14_000_000, "a document or row of more than 64 MB"),
    "long.jsonl": (b'{"text": "%s"}' % (b"word " * 14_000_000), "more than 64 MB"),
    "greedy.txt.zst": (
        b"\x28\xb5\x2f\xfd\x00\xf8" + bytes(20),  # a window of two terabytes
        "could not be read: ",
    ),
}
for _suffix in PACKERS:
    REFUSED[f"text.txt.{_suffix}"] = (b"no such thing\n", "could not be read: ")
    REFUSED[f"cut.parquet.{_suffix}"] = (PACKERS[_suffix](PARQUET)[:-9], "could not be read: ")
for _cut in (1, 8, 100, len(PARQUET) // 2, len(PARQUET) - 9, len(PARQUET) - 1):
    REFUSED[f"cut-{_cut}.parquet"] = (PARQUET[:_cut], "could not be read: ")


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_in_one_line_that_names_it(tmp_path: Path, name: str) -> None:
    data, message = REFUSED[name]
    (tmp_path / name).write_bytes(data)
    with pytest.raises(DocboltzError, match=message) as error:
        list(read(tmp_path / name))
    assert str(tmp_path / name) in str(error.value)
    assert str(error.value).isprintable()
    assert len(str(error.value)) < 1000


@pytest.mark.parametrize("name", ["noise.csv", "header.csv", "array.json", "cut-8.parquet"])
def test_the_command_refuses_it_with_code_2(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(REFUSED[name][0])
    main = "import sys; sys.argv[0] = 'docboltz'; from docboltz.cli.app import main; main()"
    command = [
        sys.executable,
        "-c",
        main,
        "fit",
        str(tmp_path / name),
        "--out",
        str(tmp_path / "m"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("docboltz: ")
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "m").exists()


WAYS = {**PACKERS, "streamed.zst": streamed_zst}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("name", "data", "whole"),
    [("a.txt", LINES, 3000), ("a.csv", CSV, 2000), ("a.jsonl", JSON_LINES, 2000)],
)
def test_a_file_that_is_cut_off_is_read_up_to_there(
    tmp_path: Path, name: str, data: bytes, whole: int, way: str
) -> None:
    path = tmp_path / f"{name}.{way}"
    packed = WAYS[way](data)
    two = WAYS[way](data[: len(data) // 2]), WAYS[way](data[len(data) // 2 :])
    for some in (packed[: len(packed) // 2], packed[:-1], packed[:-9], two[0] + two[1][:-9]):
        path.write_bytes(some)
        documents, found = read(path), []
        with suppress(DocboltzError):
            found = list(documents)
        if not found:
            with pytest.raises(DocboltzError, match="could not be read: "):
                list(documents)
            continue
        assert 0 < len(found) <= whole
        assert documents.report.unreadable == 1
        where = documents.report.first["unreadable"]
        assert where.startswith(f"{path}: ")
        assert f"(after {len(found):,} documents)" in where
    path.write_bytes(packed)
    documents = read(path)
    assert (len(list(documents)), documents.report.problems()) == (whole, [])


@pytest.mark.parametrize("suffix", PACKERS)
def test_what_follows_a_compressed_file_or_is_damaged_is_said(tmp_path: Path, suffix: str) -> None:
    packed = PACKERS[suffix](LINES)
    (tmp_path / f"a.txt.{suffix}").write_bytes(packed + b"junk" * 9)
    damaged = bytearray(packed)
    damaged[len(damaged) // 2] ^= 0xFF
    (tmp_path / f"b.txt.{suffix}").write_bytes(damaged)
    (tmp_path / "c.txt").write_bytes(LINES)
    names = [str(tmp_path / name) for name in (f"a.txt.{suffix}", f"b.txt.{suffix}", "c.txt")]
    documents = read(names, format="lines")
    assert len(list(documents)) >= 3000
    assert documents.report.unreadable == 2 if suffix != "zst" else documents.report.unreadable >= 1


def test_bytes_that_are_not_in_the_encoding_are_replaced_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"text,n\n" + b"fine,1\n" * 50_000 + b"caf\xe9,2\nb\xffd,3\n")
    documents = read(path)
    assert [d.text for d in documents][-2:] == ["caf\ufffd", "b\ufffdd"]
    assert documents.report.problems() == [
        "2 characters are not valid in the encoding (UTF-8 by default) and were replaced "
        f"(first: {path}, line 50002)"
    ]
    documents = read(path, encoding="latin-1")
    assert [d.text for d in documents][-2] == "café"
    assert documents.report.problems() == []


def test_half_characters_are_spelled_out(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(
        r'{"id": "\udcff", "text": "caf\u00e9 \ud83d", "labels": ["\ude00"]}'
    )
    (document,) = read(tmp_path / "a.jsonl")
    assert (document.id, document.text) == (r"\udcff", r"café \ud83d")
    assert document.labels == (r"\ude00",)


def test_one_bad_file_among_others_is_reported(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(CSV)
    (tmp_path / "b.csv").write_bytes(NOISE)
    (tmp_path / "c.parquet").write_bytes(PARQUET[:-9])
    (tmp_path / "d.csv").write_bytes(b"")
    (tmp_path / "e.jsonl").write_bytes(JSON_LINES)
    documents = read(tmp_path)
    assert len(list(documents)) == 4000
    assert documents.report.unreadable == 2
    assert json.loads(json.dumps(documents.report.to_dict()))["unreadable"] == 2


MEMORY = 1 << 30
"""Bytes that a bomb may take, beyond what is loaded anyway."""


def bomb(path: Path, suffix: str, begin: bytes, unit: bytes, times: int) -> Path:
    """A small file that decompresses to a large one."""
    path = path.with_name(f"{path.name}.{suffix}")
    path.write_bytes(PACKERS[suffix](begin + unit * times))
    return path


@pytest.mark.parametrize(
    ("name", "begin", "unit"),
    [
        ("a.txt", b"", b"a"),
        ("a.csv", b"text,n\n", b"a"),
        ("a.csv", b'text,n\n"', b"a\n"),
        ("a.csv", b"text,n\n", b","),
        ("a.csv", b"text,n\n", b'"'),
        ("a.jsonl", b'{"text": "', b"a"),
        ("a.jsonl", b'{"text": ', b"["),
        ("a", b"", b"a"),
    ],
)
@pytest.mark.parametrize("suffix", ["gz", "zst"])
def test_a_bomb_takes_little_memory(
    tmp_path: Path, name: str, begin: bytes, unit: bytes, suffix: str
) -> None:
    path = bomb(tmp_path / name, suffix, begin, unit, (200 << 20) // len(unit))
    code = (
        "import sys, resource; from docboltz.corpus.reading import read\n"
        "try: list(read(sys.argv[1]).batches())\n"
        "except ValueError as error: print(error)\n"
    )

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))

    run: dict[str, Any] = {"capture_output": True, "text": True, "preexec_fn": limit}
    done = subprocess.run([sys.executable, "-c", code, str(path)], check=False, **run)
    assert done.returncode == 0, done.stderr
    assert "more than 64 MB" in done.stdout
    assert str(path) in done.stdout
