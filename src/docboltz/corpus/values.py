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


def spelled_times(column: Any) -> Any:
    """A column of pyarrow, points in time as text: Python's have no nanoseconds and no year 10000.

    Those with a time zone become UTC.
    """
    if not str(column.type).startswith("timestamp"):
        return column
    return column.cast("timestamp[s]", safe=False).cast("string")
