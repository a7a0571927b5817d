"""SQLite files: written in one go, read without trust in what is in them."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from docboltz.errors import DocboltzError, InvalidModelFile


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

    def rows(self, statement: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """What a statement selects, row by row."""
        try:
            yield from self._connection.execute(statement, values)
        except sqlite3.Error as error:
            raise ValueError(f"{self._name} cannot be read: {error}") from error
