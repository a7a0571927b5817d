import pickle
import platform

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from docboltz.corpus import stored
from docboltz.corpus.stored import (
    StoredLabels,
    StoredStrings,
    StringFiles,
    as_float32,
    folder_of,
    give_back_freed,
    let_go,
    mapped,
)

FILES = StringFiles.of("ids")
texts = st.text(st.characters(codec=None), max_size=5)  # half characters too


def write(folder, parts):
    places = []
    for number, strings in enumerate(parts):
        places.append(folder / str(number))
        places[-1].mkdir()
        FILES.write(places[-1], strings)
    return StoredStrings(places, FILES)


@given(st.lists(st.lists(texts, max_size=4), max_size=4), st.integers(1, 5), st.slices(12))
def test_strings_come_back_as_a_tuple_would_give_them(tmp_path_factory, parts, block, some):
    expected = tuple(string for part in parts for string in part)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stored, "BLOCK_STRINGS", block)
        found = write(tmp_path_factory.mktemp("strings"), parts)
        assert tuple(found) == expected
        assert len(found) == len(expected)
        assert found[some] == expected[some]
        assert [found[i] for i in range(-len(expected), len(expected))] == [*expected, *expected]
        with pytest.raises(IndexError):
            found[len(expected)]


def test_labels_come_back_as_tuples(tmp_path):
    labels = [("a", "b"), (), ("é",), ("a", "b")]
    found = StoredLabels(write(tmp_path, [StoredLabels.encode(labels)]))
    assert list(found) == labels
    assert found[1:] == tuple(labels[1:])
    assert (found[0], len(found)) == (("a", "b"), 4)


def test_labels_on_disk_can_be_sent_to_another_process(tmp_path):
    labels = [("a", "b"), (), ("é",)]
    found = StoredLabels(write(tmp_path, [StoredLabels.encode(labels)]))
    assert list(pickle.loads(pickle.dumps(found))) == labels


def test_counts_on_disk_become_floats_on_disk(tmp_path):
    file = tmp_path / "counts"
    file.write_bytes(np.array([1, 2, 3], np.int32).tobytes())
    data = mapped(file, np.int32)
    counts = csr_array((data, np.array([0, 1, 0]), np.array([0, 2, 3])), shape=(2, 2))
    floats = as_float32(counts)
    assert floats.dtype == np.float32
    assert (floats.toarray() == counts.toarray()).all()
    assert isinstance(stored._map_of(floats.data), np.memmap)
    assert folder_of(counts.data) == tmp_path
    let_go(counts.data, floats.data, np.zeros(3))
    assert floats.data.tolist() == [1, 2, 3]


def test_an_array_in_memory_has_no_folder_and_an_empty_file_no_numbers(tmp_path):
    assert folder_of(np.zeros(3)[1:]) is None
    (tmp_path / "empty").touch()
    assert len(mapped(tmp_path / "empty", np.int32)) == 0


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc gives it back")
def test_freed_memory_is_given_back():
    """Freed in any order around what is still needed, blocks stay with the process."""
    blocks = [np.ones(100_000 // 8) for _ in range(2000)]  # below what is mapped on its own
    kept = blocks[1::2]
    before = resident()
    del blocks
    give_back_freed()
    assert resident() < before - 50e6
    assert len(kept) == 1000


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096
