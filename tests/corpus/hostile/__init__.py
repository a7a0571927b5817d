"""Input that nobody should send, by kind; what becomes of each piece is said beside it.

A case makes its input in a folder and is read. It gives so many documents, or is refused with a
message that matches: nothing else may happen.
"""

from . import frames, json_and_csv, not_files, packed, parquet, texts
from .cases import CASES, Case

__all__ = ["CASES", "Case", "frames", "json_and_csv", "not_files", "packed", "parquet", "texts"]
