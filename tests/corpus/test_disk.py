import pickle
import platform

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array, vstack

from docboltz.corpus.disk import (
    Column,
    Part,
    as_float32,
    drop_pages,
    file_of,
    joined_on_disk,
    mapped,
    trim_memory,
    write_part,
)


@given(st.lists(st.lists(st.text(max_size=3), max_size=4), max_size=4), st.slices(12))
def test_a_column_is_like_a_tuple(chunks, some):
    expected = tuple(value for chunk in chunks for value in chunk)
    found = Column(pa.chunked_array(chunks, pa.string()))
    assert tuple(found) == expected
    assert len(found) == len(expected)
    assert found[some] == expected[some]
    n = len(expected)
    assert [found[i] for i in range(-n, n)] == [*expected, *expected]
    with pytest.raises(IndexError):
        found[n]


def test_lists_of_a_column_are_tuples():
    found = Column(pa.chunked_array([[["a", "b"], []], [["é"]]]))
    assert list(found) == [("a", "b"), (), ("é",)]
    assert found[0] == ("a", "b")
    assert list(pickle.loads(pickle.dumps(found))) == list(found)


def random_counts(n, seed):
    rng = np.random.default_rng(seed)
    return csr_array(rng.poisson(0.5, (n, 5)).astype(np.int32))


def test_a_part_holds_what_was_written(tmp_path):
    names = [[f"{n}-{i}" for i in range(n)] for n in (3, 0, 4)]
    batches = [pa.record_batch({"id": pa.array(each, pa.string())}) for each in names]
    counts = [random_counts(len(batch), seed) for seed, batch in enumerate(batches)]
    file = tmp_path / "part.arrow"
    about = {"terms": ["é"], "df": np.array([3])}
    write_part(file, "stamp", zip(batches, counts, strict=True), about)
    assert Part.find(file, "other") is None
    part = Part.find(file, "stamp")
    assert len(part) == 7
    assert part.known() == {"terms": ["é"], "df": [3]}
    whole = vstack(counts)
    assert part.nnz == whole.nnz
    assert (vstack(list(part.matrices(5))) != whole).nnz == 0
    assert part.table(["id"])["id"].to_pylist() == [name for each in names for name in each]


def test_joined_matrices_are_what_one_would_be(tmp_path):
    blocks = [random_counts(n, n) for n in (7, 0, 9)]
    expected = vstack(blocks, "csr")
    found = joined_on_disk(blocks, 16, 5, expected.nnz, tmp_path)
    assert (found != expected).nnz == 0
    found.check_format(full_check=True)
    assert found.indices.dtype == np.int32
    assert file_of(found.data).parent == tmp_path
    assert joined_on_disk(blocks, 16, 5, 2**31, tmp_path).indices.dtype == np.int64


def test_what_could_not_be_joined_leaves_nothing(tmp_path):
    def blocks():
        yield random_counts(6, 0)
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="full"):
        joined_on_disk(blocks(), 6, 5, 30, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_counts_on_disk_become_floats_on_disk(tmp_path):
    counts = joined_on_disk([random_counts(6, 0)], 6, 5, 30, tmp_path)
    floats = as_float32(counts)
    assert floats.dtype == np.float32
    assert (floats.toarray() == counts.toarray()).all()
    assert not floats.data.flags.writeable, "it is mapped from a file without a name"
    before = floats.data.tolist()
    drop_pages(counts.data, floats.data, np.zeros(3))
    assert floats.data.tolist() == before


def test_an_array_in_memory_has_no_file_and_an_empty_file_no_numbers(tmp_path):
    assert file_of(np.zeros(3)[1:]) is None
    (tmp_path / "empty").touch()
    assert len(mapped(tmp_path / "empty", np.int32)) == 0


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc gives it back")
def test_freed_memory_is_given_back():
    """Freed in any order around what is still needed, blocks stay with the process."""
    blocks = [np.ones(100_000 // 8) for _ in range(2000)]  # below what is mapped on its own
    kept = blocks[1::2]
    before = resident()
    del blocks
    trim_memory()
    assert resident() < before - 50e6
    assert len(kept) == 1000


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096
