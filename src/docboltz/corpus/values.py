"""Values of tables as Python's own, and whether there is one."""

from __future__ import annotations

from typing import Any


def is_missing(value: object) -> bool:
    """Tell whether a value stands for none: None, NaN, or pandas' NA and NaT."""
    if value is None or type(value).__name__ == "NAType":
        return True
    try:
        different = value != value  # as only NaN and NaT are
    except Exception:  # some objects refuse to be compared
        return False
    return type(different).__name__ in ("bool", "bool_") and bool(different)


def plain(value: Any) -> Any:
    """NumPy's scalars and arrays and polars' series, which stand in frames, as Python's own."""
    if type(value).__name__ == "datetime64":
        value = value.astype("datetime64[s]")  # of nanoseconds NumPy would make a number
    if hasattr(value, "tolist"):
        return value.tolist()
    return value.to_list() if hasattr(value, "to_list") else value


UNDECODABLE = object()
"""Stands for a value that Python cannot hold, such as a text whose bytes are none."""


def column_values(column: Any) -> list[Any]:
    """The values of a column of pyarrow, days and points in time as text.

    Python's have no nanoseconds and no year 10000. Those with a time zone become UTC.
    """
    if str(column.type).startswith("timestamp"):
        column = column.cast("timestamp[s]", safe=False).cast("string")
    elif str(column.type).startswith("date"):
        column = column.cast("string")
    try:
        return list(column.to_pylist())
    except (ValueError, OverflowError):
        return [cell_value(cell) for cell in column]


def cell_value(cell: Any) -> Any:
    """The value of a scalar of pyarrow; anything else as it is."""
    try:
        return cell.as_py() if hasattr(cell, "as_py") else cell
    except (ValueError, OverflowError):
        return UNDECODABLE
