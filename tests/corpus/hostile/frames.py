"""Data frames."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pyarrow

from .cases import add
from .parquet import deep_value, strings

# ---- data frames ----


class Odd:
    """Refuses to be compared or written."""

    def __str__(self) -> str:
        raise ValueError("no\ntext \x1b[31m of me")

    def __ne__(self, other: object) -> bool:
        raise TypeError("no")

    def __eq__(self, other: object) -> bool:
        raise TypeError("no")

    __hash__ = None  # type: ignore[assignment]


loop: list[Any] = ["in"]
for name, (values, outcome) in {
    "mixed": (["a", 1, 2.5, None, b"x", ["t"], {"k": 1}], 7),
    "categories": (pandas.Categorical(["a", None, "b"]), 3),
    "whole numbers with gaps": (pandas.array([1, None], "Int64"), 2),
    "strings with gaps": (pandas.array(["a", None], "string"), 2),
    "truths with gaps": (pandas.array([True, None], "boolean"), 2),
    "days": (pandas.to_datetime(["2013-08-11", None]), 2),
    "periods": (pandas.period_range("2013", periods=2, freq="M"), 2),
    "intervals": (pandas.interval_range(0, 2), 2),
    "durations": (pandas.to_timedelta([1, None]), 2),
    "5,000 digits": ([10**5000, "a"], "cannot be read as text"),
    "odd objects": ([Odd(), "a"], "cannot be read as text"),
    "NaNs that signal": ([Decimal("sNaN"), "a"], 2),
    "complex numbers": ([1j, "a"], 2),
    "arrays of two dimensions": ([np.eye(2), "a"], 2),
    "sets": ([{"a"}, frozenset()], 2),
    "half characters": (["\ud800", "a"], 2),
    "bytes that are no text": ([b"\xff\xfe", "a"], 2),
    "nothing": ([], "no documents"),
    "deep lists": ([deep_value, "a"], 2),
    "types": ([int, "a"], 2),
}.items():
    for what in ("text", "id", "label", "date"):

        def make(folder: Path, values: Any = values, what: str = what) -> Any:
            column = pandas.Series(values, dtype=object) if isinstance(values, list) else values
            return pandas.DataFrame({"text": ["words"] * len(values), what: column})

        refused = isinstance(outcome, str)
        add(
            "frames",
            f"{name} as {what}",
            make,
            outcome if not refused or what != "date" or not len(values) else 2,
            **{what: what},
        )
for name, frame in {
    "the same name": pandas.DataFrame([["a", "b"]], columns=["text", "text"]),
    "names that are numbers": pandas.DataFrame({0: ["a"]}),
    "names of two levels": pandas.DataFrame(
        [["a", "b"]], columns=pandas.MultiIndex.from_tuples([("x", "text"), ("y", "z")])
    ),
    "a name that is none": pandas.DataFrame({None: ["a"]}),
}.items():
    add("frames", name, lambda folder, frame=frame: frame, "")
add("frames", "no columns", lambda folder: pandas.DataFrame(), "no column")
add(
    "frames",
    "a table with invalid UTF-8",
    lambda folder: pyarrow.table({"text": strings([b"ok", b"\xff"])}),
    "",
)
add(
    "frames",
    "a table of days out of range",
    lambda folder: pyarrow.table(
        {"text": ["a"], "date": pyarrow.array([2**31 - 1], pyarrow.date32())}
    ),
    1,
)
