"""Parquet files."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow

from ..packing import PACKERS, as_parquet
from .cases import Outcome, add_file

# ---- Parquet ----


def strings(data: list[bytes], kind: str = "string") -> Any:
    """A column of texts that are none."""
    return pyarrow.array(data, "binary" if kind == "string" else "large_binary").view(kind)


def add_parquet(name: str, columns: Any, outcome: Outcome, options: Any = None, **writing: Any):
    table = columns if isinstance(columns, pyarrow.Table) else pyarrow.table(columns)
    add_file("Parquet", name, "a.parquet", as_parquet(table, **writing), outcome, **(options or {}))


TEXTS = ["one", None, "three"]
LEFT_OUT = ("long durations", "structs of days")
"""One of their values is none that Python has."""
LEAST, MOST = -(2**63), 2**63 - 1
DEEP: Any = pyarrow.string()
for _ in range(20):
    DEEP = pyarrow.list_(DEEP)
deep_value: Any = "deep"
for _ in range(20):
    deep_value = [deep_value]
for name, column in {
    "large strings": pyarrow.array(TEXTS, "large_string"),
    "a dictionary": pyarrow.array(TEXTS).dictionary_encode(),
    "bytes": pyarrow.array([b"one", None, b"\xff"], "binary"),
    "nulls": pyarrow.nulls(3),
    "lists": pyarrow.array([["a"], None, ["b", None]]),
    "numbers": pyarrow.array([1, None, 3]),
    "decimals": pyarrow.array([Decimal("1.5"), None, Decimal("9" * 30)], pyarrow.decimal128(38, 5)),
    "wide decimals": pyarrow.array(
        [Decimal(1), None, Decimal("9" * 70)], pyarrow.decimal256(76, 2)
    ),
    "truths": pyarrow.array([True, None, False]),
    "structs": pyarrow.array([{"a": 1}, None, {"a": None}]),
    "maps": pyarrow.array([[("a", 1)], None, []], pyarrow.map_("string", "int64")),
    "instants": pyarrow.array([LEAST, None, MOST], pyarrow.timestamp("us", "Asia/Tokyo")),
    "nanoseconds": pyarrow.array([LEAST + 1, None, MOST], pyarrow.timestamp("ns")),
    "days": pyarrow.array([2**31 - 1, None, -(2**31)], pyarrow.date32()),
    "milliseconds of days": pyarrow.array([10**18, None, -(10**18)], pyarrow.date64()),
    "times": pyarrow.array([10**14 - 1, None, 0], pyarrow.time64("ns")),
    "durations": pyarrow.array([MOST, None, LEAST + 1], pyarrow.duration("us")),
    "long durations": pyarrow.array([MOST, None, 1], pyarrow.duration("s")),
    "short durations": pyarrow.array([MOST, None, 1], pyarrow.duration("ns")),
    "lists of instants": pyarrow.array([[MOST], None, []], pyarrow.list_(pyarrow.timestamp("s"))),
    "half floats": pyarrow.array(np.array([1, np.nan, np.inf], np.float16)),
    "structs of days": pyarrow.array(
        [{"d": 2**31 - 1}, None, {"d": 0}], pyarrow.struct({"d": pyarrow.date32()})
    ),
    "fixed bytes": pyarrow.array([b"abcd", None, b"\xff\xff\xff\xff"], pyarrow.binary(4)),
    "fixed lists": pyarrow.array([[1, 2], None, [3, 4]], pyarrow.list_(pyarrow.int8(), 2)),
    "deep lists": pyarrow.array([deep_value, None, deep_value], DEEP),
    "identities": pyarrow.array([b"0" * 16, None, b"1" * 16], pyarrow.uuid()),
    "a dictionary of days": pyarrow.array(
        [2**31 - 1, None, 0], pyarrow.date32()
    ).dictionary_encode(),
    "views": pyarrow.array(TEXTS, "string_view"),
    "a dictionary of instants": pyarrow.array(
        [MOST, None, 0], pyarrow.timestamp("s")
    ).dictionary_encode(),
}.items():
    try:
        pyarrow.table({"text": column}), as_parquet(pyarrow.table({"text": column}))
    except (pyarrow.ArrowException, TypeError):  # this version of pyarrow cannot write it
        continue
    for what in ("text", "id", "label", "date"):
        columns = {"text": ["a", "b", "c"], what: column}
        add_parquet(f"{name} as {what}", columns, 3 - (name in LEFT_OUT), {what: what})
    add_parquet(
        f"{name} unnamed",
        {"id": column, "text": ["a", "b", "c"], "label": column, "date": column},
        3 - (name in LEFT_OUT),
    )
add_parquet("invalid UTF-8", {"text": strings([b"good", b"\xff\xfe", b"\xed\xa0\x80"])}, 1)
add_parquet("invalid UTF-8, large", {"text": strings([b"good", b"\xff\xfe"], "large_string")}, 1)
add_parquet("nothing but invalid UTF-8", {"text": strings([b"\xff", b"\x80"])}, "undecodable")
add_parquet("invalid UTF-8 as label", {"text": ["a", "b"], "label": strings([b"ok", b"\xff"])}, 1)
add_parquet(
    "invalid UTF-8 as date",
    {"text": ["a", "b"], "date": strings([b"2013", b"\xff"])},
    1,
    {"date": "date"},
)
add_parquet("invalid UTF-8 unused", {"text": ["a", "b"], "n": strings([b"ok", b"\xff"])}, 2)
add_parquet("no rows", {"text": pyarrow.array([], "string")}, "no documents")
add_parquet("no columns", pyarrow.table({}), "no column")
add_parquet(
    "the same name",
    pyarrow.Table.from_arrays([pyarrow.array(["a"]), pyarrow.array(["b"])], ["text", "text"]),
    1,
)
add_parquet(
    "the same name, other kinds",
    pyarrow.Table.from_arrays([pyarrow.array(["a"]), pyarrow.array([1])], ["text", "text"]),
    1,
)
add_parquet("an empty name", {"": ["a"]}, 1)
add_parquet("a name with dots", {"a.b.c": ["a"], "a": [1]}, 1, {"text": "a.b.c"})
add_parquet("a long name", {"x" * 100_000: [1]}, "no column")
add_parquet("controls in names", {"\x1b[31m": [1], "\n": [2]}, "no column")
add_parquet("many row groups", {"text": ["a"] * 200}, 200, row_group_size=1)
add_parquet(
    "prefixes",
    {"text": ["a" * i for i in range(200)]},
    200,
    use_dictionary=False,
    column_encoding="DELTA_BYTE_ARRAY",
)
add_parquet("1,000 columns", {**{str(i): [i] for i in range(1000)}, "text": ["a"]}, 1)
for name, data in {
    "only its mark": b"PAR1",
    "two marks": b"PAR1PAR1",
    "an encrypted one": b"PARE" + bytes(20) + b"PARE",
    "a length beyond it": b"PAR1" + b"\xff\xff\xff\x7fPAR1",
    "text": b"text\nwords\n",
    "zeros": bytes(1000),
}.items():
    add_file("Parquet", name, "a.parquet", data, "not a readable|could not be read")
    add_file(
        "Parquet",
        f"{name}, packed",
        "a.parquet.gz",
        PACKERS["gz"](data),
        "not a readable|could not be read",
    )
WHOLE = as_parquet(pyarrow.table({"text": ["a"], "other": ["b"]}), store_schema=False)
for name in ("text", "other"):
    data = WHOLE.replace(name.encode(), b"\xff" * len(name))
    add_file("Parquet", f"a name that is no text, {name}", "a.parquet", data, "not a readable")


def number(value: int) -> bytes:
    """As Thrift writes one that is below 64."""
    return bytes([value << 1])


def items(kind: int, *values: bytes) -> bytes:
    """A list, as Thrift writes it."""
    return bytes([len(values) << 4 | kind]) + b"".join(values)


def described_column(about_values: bytes = b"", about_keys: bytes = b"") -> bytes:
    """What a row group says of a column, with more fields at the ends of both its structures."""
    kind, place = b"\x15\x0c\x19" + items(5, number(0)), b"\x19" + items(8, b"\x04text")
    sizes = b"\x15\x00\x16\x02\x16" + number(30) + b"\x16" + number(30) + b"\x26" + number(4)
    return b"\x26\x00\x1c" + kind + place + sizes + about_values + b"\x00" + about_keys + b"\x00"


def described(*columns: bytes) -> bytes:
    """A Parquet file of one column and one text, whose row group describes these columns."""
    text = b"\x05\x00\x00\x00words"
    page = b"\x15\x00" + (b"\x15" + number(len(text))) * 2 + b"\x2c\x15\x02\x15\x00\x15\x06\x15\x06"
    root, leaf = b"\x48\x06schema\x15\x02\x00", b"\x15\x0c\x25\x00\x18\x04text\x25\x00\x00"
    group = b"\x19" + items(12, *columns) + b"\x16" + number(30) + b"\x16" + number(1) + b"\x00"
    footer = b"\x15\x02\x19" + items(12, root, leaf) + b"\x16" + number(1)
    footer += b"\x19" + items(12, group) + b"\x00"
    end = len(footer).to_bytes(4, "little") + b"PAR1"
    return b"PAR1" + page + b"\x00\x00" + text + footer + end


FOUR_LEVELS = b"\x7c\x29" + items(6, *[number(0)] * 4) + b"\x00"
"""Counts of repetitions, for a column that has none: found by fuzzing."""
OWN_KEY = b"\x5c\x2c\x19" + items(8, b"\x04text") + b"\x00\x00"
REFUSED = "not a readable|could not be read"
for name, data, outcome in (
    ("written by hand", described(described_column()), 1),
    ("levels that a column has not", described(described_column(FOUR_LEVELS)), REFUSED),
    ("a column with a key of its own", described(described_column(b"", OWN_KEY)), REFUSED),
    ("a row group without columns", described(), "row group 1 has 0 columns, not 1"),
    ("a row group with more columns", described(described_column(), described_column()), "has 2"),
):
    add_file("Parquet", name, "a.parquet", data, outcome)
