"""Kinds of hostile cases and their numbers, as a table for docs/lab/hardening.md."""

from __future__ import annotations

import ast
import io
from collections import Counter
from contextlib import redirect_stdout
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


class Collected:
    """Counts the tests of each file."""

    def __init__(self) -> None:
        self.tests: Counter[Path] = Counter()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Count what was found."""
        self.tests.update(item.path for item in session.items)


def table() -> str:
    """A row for each file: what its docstring says, and how many cases it has."""
    found = Collected()
    folders = [str(ROOT / "hostile"), str(ROOT / "fuzz")]
    with redirect_stdout(io.StringIO()):
        pytest.main(["--collect-only", "-qq", *folders], plugins=[found])
    rows = ["| kind | file | cases |", "|---|---|---|"]
    for path, n in sorted(found.tests.items()):
        about = (ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "").splitlines()[0]
        kind = about.rstrip(".").partition(":")[0]
        rows.append(f"| {kind} | `{path.relative_to(ROOT)}` | {n:,} |")
    return "\n".join([*rows, f"| all | | {sum(found.tests.values()):,} |"])


if __name__ == "__main__":
    print(table())
