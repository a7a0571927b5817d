"""Jobs: when they are done, and what makes them other jobs."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

import docboltz
from docboltz.cluster.parts import STAMP, Job, jobs_of, stamp_of
from docboltz.errors import InvalidCorpus


def job(file: Path, made_by: str = "a model", **options: str) -> Job:
    (only,) = jobs_of(docboltz.read(file, **options).parts(), file.parent / "out", made_by)
    return only


def test_a_stamp_is_of_the_file_how_it_is_read_and_what_is_made_of_it(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("text,title\none,two\n")
    first = job(file)
    assert first.stamp == job(file).stamp
    os.utime(file, ns=(1, 1))
    others = [job(file), job(file, "another model"), job(file, text="title")]
    assert len({first.stamp, *(other.stamp for other in others)}) == 4


def test_a_job_is_done_when_a_file_bears_its_stamp(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("text\none\n")
    own = job(file)
    own.file.parent.mkdir()
    assert not own.is_done
    own.file.write_bytes(b"something else")
    assert not own.is_done
    for stamp in ("other", own.stamp):
        table = pa.table({"x": [1]}).replace_schema_metadata({STAMP: stamp})
        parquet.write_table(table, own.file)
        assert stamp_of(own.file) == stamp
        assert own.is_done == (stamp == own.stamp)


def test_a_file_that_is_gone_is_named(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("text\none\n")
    parts = docboltz.read(file).parts()
    file.unlink()
    with pytest.raises(InvalidCorpus, match=r"a\.csv.* could not be read"):
        jobs_of(parts, tmp_path, None)
