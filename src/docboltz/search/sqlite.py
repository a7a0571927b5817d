"""SQLite files: written in one go, read without trust in what is in them."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakMethod

from docboltz.errors import DocboltzError, InvalidModelFile

Remembered = TypeVar("Remembered")
MOST_ROWS = 10_000
"""Of a statement, unless it says otherwise."""


def create(file: Path, schema: Sequence[str], old: Path | None = None) -> sqlite3.Connection:
    """A new file with these tables, or a copy of an old one. No crash is survived while writing."""
    if old is not None:
        shutil.copyfile(old, file)
    with writing():
        connection = sqlite3.connect(file, isolation_level=None)
        statements = ["PRAGMA journal_mode = OFF", "PRAGMA synchronous = OFF"]
        for statement in [*statements, *(() if old is not None else schema), "BEGIN"]:
            connection.execute(statement)
    return connection


def close(connection: sqlite3.Connection) -> None:
    """Write what is left and close a file."""
    with closing(connection), writing():
        connection.execute("COMMIT")


@contextmanager
def writing() -> Iterator[None]:
    """Raise SQLite's errors about the disk as OSError; others are the fault of the older file."""
    try:
        yield
    except DocboltzError:
        raise
    except sqlite3.OperationalError as error:
        code = errno.ENOSPC if "full" in str(error) else errno.EIO
        raise OSError(code, os.strerror(code)) from error
    except (sqlite3.Error, LookupError, ValueError) as error:
        raise InvalidModelFile(
            f"The search index is damaged and cannot be changed: {error}.",
            hint="Build it again with {TextModel.index}.",
            settings=("TextModel.index",),
        ) from error


class SavedTables:
    """A file that somebody else may have made, opened to be read. May be shared by threads.

    Tables are used only if the schema is the expected one to the letter, so that no view, trigger
    or function of the file runs. What cannot be read raises ValueError.
    """

    def __init__(self, file: Path, schema: Sequence[str]) -> None:
        uri, self._name = f"{file.absolute().as_uri()}?mode=ro&immutable=1", file.name
        try:
            self._connection = sqlite3.connect(uri, uri=True, check_same_thread=False)
        except sqlite3.Error as error:
            raise ValueError(f"{file.name} cannot be opened: {error}") from error
        self._connection.executescript("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON")
        found = self.rows("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid")
        if [sql for (sql,) in found] != list(schema):
            raise ValueError(f"{file.name} holds other tables")

    def rows(
        self, statement: str, values: Sequence[Any] = (), most: int = MOST_ROWS
    ) -> Iterator[tuple[Any, ...]]:
        """What a statement selects, row by row.

        More than `most` rows, or much more work than they need, is an error: pages of a file may
        lead in circles.
        """
        left = iter(range(100 + most // 1000))
        try:
            self._connection.set_progress_handler(lambda: next(left, None) is None, 1_000_000)
            for n, row in enumerate(self._connection.execute(statement, values)):
                if n >= most:
                    raise ValueError(f"{self._name} holds more than {most:,} rows")
                yield row
        except sqlite3.Error as error:
            raise ValueError(f"{self._name} cannot be read: {error}") from error


def remembered(method: Callable[..., Remembered], n: int) -> Callable[..., Remembered]:
    """A method that remembers n answers. Its object is freed as if it did not, and its files."""
    weak = WeakMethod(method)

    def answer(*given: Any) -> Remembered:
        own = weak()
        assert own is not None
        found: Remembered = own(*given)
        return found

    return lru_cache(n)(answer)
