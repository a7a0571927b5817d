"""Any bytes by any name are read or refused: what is raised is a DocboltzError of one line."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pandas
import pyarrow
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from docboltz.corpus.columns import iso_date
from docboltz.corpus.reading import as_documents, read
from docboltz.errors import DocboltzError

from ..corpus.packing import PACKERS, as_parquet
from .runs import examples, one_input

fuzz = settings(
    max_examples=examples(60, 2000),
    database=None,
    suppress_health_check=list(HealthCheck),
)

NAMES = ("", ".txt", ".csv", ".tsv", ".tab", ".jsonl", ".parquet", ".json")
COMPRESSIONS = ("", *(f".{suffix}" for suffix in PACKERS))
ENCODINGS = (
    "utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32", "utf-7", "latin-1", "cp1252", "ascii",
    "idna", "punycode", "raw_unicode_escape", "shift_jis", "gb18030", "iso2022_jp", "hz", "cp037",
    "hex", "rot13", "undefined",
)  # fmt: skip
PIECES = (
    b"text", b"id", b"label", b"date", b"body", b",", b"\t", b";", b"|", b'"', b'""', b"'", b"\n",
    b"\r", b"\r\n", b"\0", b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf", b"\xff\xfe\0\0", b"{", b"}",
    b"[", b"]", b":", b'{"text": "a"}\n', b'"text"', b"null", b"NaN", b"1e999", b"-", b"2013-08-11",
    b"11/08/2013", b"99999999999", b"\\ud800", b"\\u0000", b"PAR1", b"\x1f\x8b\x08", b"\x1b[31m",
    "\u202e".encode(), "\u2028".encode(), "Größe".encode(), b"Gr\xf6\xdfe", b"\xed\xa0\x80",
    b"d\tstring\n", b"class\t\n", b" ", b"words of a text",
)  # fmt: skip


def made_of(pieces: tuple[bytes, ...]) -> st.SearchStrategy[bytes]:
    """Bytes out of pieces that mean something, and some that do not."""
    piece = st.one_of(st.sampled_from(pieces), st.binary(max_size=6))
    return st.lists(piece, max_size=40).map(b"".join)


CONTENT = st.one_of(made_of(PIECES), st.binary(max_size=300))
COLUMN_NAMES = st.sampled_from(
    ["text", "id", "label", "date", "body", "", "1", "2", "\0", "\ud800"]
)
OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "format": st.sampled_from(["files", "csv", "tsv", "jsonl", "parquet", "lines", "xml"]),
        "encoding": st.sampled_from(ENCODINGS),
        "delimiter": st.sampled_from(
            [",", ";", "tab", " ", "\0", "e", '"', "\n", "", "::", "\ud800"]
        ),
        "header": st.booleans(),
        "quotes": st.booleans(),
        "text": st.one_of(COLUMN_NAMES, st.lists(COLUMN_NAMES, max_size=3)),
        "id": COLUMN_NAMES,
        "label": COLUMN_NAMES,
        "date": COLUMN_NAMES,
        "label_separator": st.sampled_from(["", ";", "\0", "a", "\n"]),
    },
)


def read_or_refused(source, options) -> int:
    """How many documents there are; -1 if it is refused. Anything else is a fault."""
    try:
        documents = read(source, **options)
        found = list(documents)
    except DocboltzError as error:
        refused = str(error)
    else:
        refused = ""
    assert refused.isprintable()
    if refused:
        return -1
    assert all(line.isprintable() for line in documents.report.summary())
    assert len(found) == documents.report.documents
    for document in found:
        "".join([document.id, document.text, *document.labels, document.date]).encode()
    return len(found)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


@fuzz
@given(CONTENT, st.sampled_from(NAMES), st.sampled_from(COMPRESSIONS), OPTIONS)
@example(b"\xff\xfea", ".txt", "", {})
@example(b'text\n"', ".csv", "", {})
@example(b'{"text": ' + b"[" * 500 + b"]" * 500 + b"}", ".jsonl", "", {})
@one_input()
def test_any_file(folder, content, name, compression, options):
    pack = PACKERS.get(compression[1:], bytes)
    path = folder / f"a{name}{compression}"
    path.write_bytes(pack(content))
    read_or_refused(path, options)


@fuzz
@given(CONTENT.filter(len), st.sampled_from(COMPRESSIONS[1:]), st.data())
@one_input()
def test_a_packed_file_that_is_cut_or_changed_is_never_read_in_part(
    folder, content, compression, data
):
    path = folder / f"b.txt{compression}"
    packed = PACKERS[compression[1:]](content)
    path.write_bytes(packed[: data.draw(st.integers(0, len(packed) - 1))])
    assert read_or_refused(path, {"encoding": "latin-1"}) == -1
    changed = bytearray(packed)
    changed[data.draw(st.integers(0, len(packed) - 1))] ^= data.draw(st.integers(1, 255))
    path.write_bytes(bytes(changed))
    read_or_refused(path, {"encoding": "latin-1"})


@fuzz
@given(st.lists(st.one_of(st.none(), st.text(max_size=9)), min_size=1, max_size=5), st.data())
@one_input()
def test_a_changed_parquet_file(folder, texts, data):
    whole = bytearray(
        as_parquet(pyarrow.table({"text": pyarrow.array(texts, "string"), "id": texts}))
    )
    for _ in range(data.draw(st.integers(0, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    path = folder / "c.parquet"
    path.write_bytes(bytes(whole[: data.draw(st.integers(0, len(whole)))]))
    read_or_refused(path, {})


VALUES = st.one_of(
    st.none(), st.text(max_size=9), st.binary(max_size=9), st.integers(), st.floats(),
    st.booleans(), st.decimals(), st.datetimes(), st.dates(), st.timedeltas(), st.complex_numbers(),
    st.lists(st.text(max_size=3), max_size=3), st.characters(categories=["Cs"]),
)  # fmt: skip


@fuzz
@given(st.lists(st.tuples(VALUES, VALUES, VALUES, VALUES), max_size=5), OPTIONS)
@one_input()
def test_any_frame(rows, options):
    frame = pandas.DataFrame(rows, columns=["text", "id", "label", "date"], dtype=object)
    before = repr(frame.to_numpy().tolist())
    read_or_refused(frame, options)
    assert repr(frame.to_numpy().tolist()) == before


@fuzz
@given(st.lists(VALUES, max_size=5))
@one_input()
def test_any_list(values):
    with contextlib.suppress(DocboltzError):
        assert len(list(as_documents(values, "fit"))) == len(values)


@fuzz
@given(st.one_of(st.text(), st.from_regex(r"[0-9/.:TZ +-]{4,30}", fullmatch=True)))
@example("0001-01-01T00:00:00+14:00")
@one_input()
def test_any_date(value):
    found = iso_date(value)
    assert found is None or found == "" or iso_date(found) == found


@fuzz
@given(st.text(max_size=30))
@example("a\0b")
@example("~nobody-of-that-name")
@example("~\0")
@example("memory://")
@example("zip://a::/dev/zero")
@example("[")
@one_input()
def test_any_path(folder, path):
    if not path.startswith(("/", "~", ".", "-")) and "://" not in path:
        path = f"{folder}/none/{path}"
    elif path.startswith((".", "-", "/")):
        return  # which may lead somewhere
    read_or_refused(path, {})
