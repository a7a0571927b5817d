import numpy as np
import pytest

from docboltz.corpus import parts as module
from docboltz.corpus.corpus import select_columns
from docboltz.corpus.parts import PART, Part, Parts, remove_parts
from docboltz.errors import InvalidModelFile, InvalidParameter


def part(n, seed=0, n_terms=5):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, n_terms, n).astype(np.int32)
    rows = [rng.permutation(n_terms)[:length] for length in lengths]
    return Part(
        lengths,
        np.concatenate([*rows, []]).astype(np.int32),
        rng.integers(1, 9, lengths.sum()).astype(np.int32),
        ids=[f"{seed}-{i}é" for i in range(n)],
        labels=[("a",) * (i % 3) for i in range(n)],
        dates=["2013" if i % 2 else "" for i in range(n)],
        new_terms=[f"term{seed}"],
        words=["words", "word"],
        word_terms=np.zeros(2, np.int32),
        word_counts=np.array([3, 4]),
        n_outside=seed,
    )


def written(folder, *given, run="this"):
    parts = Parts(folder, run)
    for each in given:
        parts.add(each)
    return parts


def equal(a, b):
    arrays = ("lengths", "terms", "counts", "word_terms", "word_counts")
    strings = ("ids", "labels", "dates", "new_terms", "words")
    assert all(np.array_equal(getattr(a, name), getattr(b, name)) for name in arrays)
    assert all(tuple(getattr(a, name)) == tuple(getattr(b, name)) for name in strings)
    return a.n_outside == b.n_outside


def test_parts_of_the_same_run_are_taken_up(tmp_path):
    given = [part(7, 1), part(0, 2), part(9, 3)]
    written(tmp_path / "new", *given)
    again = Parts(tmp_path / "new", "this")
    assert len(again) == 3
    assert all(map(equal, given, again))
    ids, labels, dates = again.about()
    assert tuple(ids) == tuple(id for each in given for id in each.ids)
    assert tuple(labels) == tuple(own for each in given for own in each.labels)
    assert len(dates) == 16


@pytest.mark.parametrize("run", ["", "other"])
def test_parts_of_another_run_are_removed(tmp_path, run):
    written(tmp_path, part(3), part(4))
    assert len(Parts(tmp_path, run)) == 0
    assert not any(tmp_path.iterdir())


def test_parts_after_a_missing_one_are_removed(tmp_path):
    written(tmp_path, part(3), part(4), part(5))
    PART.remove(tmp_path / "part-000001")
    assert len(Parts(tmp_path, "this")) == 1
    assert [place.name for place in tmp_path.iterdir()] == ["part-000000"]


@pytest.mark.parametrize("change", [lambda data: data[:-1], lambda data: data[:-1] + b"\1"])
def test_a_damaged_part_is_noticed(tmp_path, change):
    written(tmp_path, part(30))
    (file,) = tmp_path.glob("part-000000/build-*/counts.i4")
    file.write_bytes(change(file.read_bytes()))
    with pytest.raises(InvalidModelFile, match=r"damaged: counts.i4 .*\n?.*Remove the folder"):
        Parts(tmp_path, "this")


@pytest.mark.parametrize("block", [3, 1000])
def test_joined_parts_are_what_one_matrix_would_give(tmp_path, monkeypatch, block):
    monkeypatch.setattr(module, "BLOCK_DOCUMENTS", block)
    given = [part(7, 1), part(0, 2), part(9, 3)]
    whole = Part(
        *(np.concatenate([getattr(p, n) for p in given]) for n in ("lengths", "terms", "counts")),
        *([],) * 5,
        *(np.empty(0, np.int64),) * 2,
        n_outside=0,
    ).whole(5)
    columns = np.array([3, 0, 4])
    expected = select_columns(whole, columns)
    found = written(tmp_path, *given).joined(columns, 5, expected.nnz)
    for name in ("data", "indices", "indptr"):
        one, other = getattr(found, name), getattr(expected, name)
        assert one.dtype == other.dtype
        assert np.array_equal(one, other)
    found.check_format(full_check=True)
    assert found.has_sorted_indices


def test_what_an_interrupted_count_joined_does_not_pile_up(tmp_path):
    given, columns = part(7, 1), np.arange(5)
    before = written(tmp_path, given).joined(columns, 5, len(given.terms))
    for _ in range(3):
        again = Parts(tmp_path, "this").joined(columns, 5, len(given.terms))
        assert len(list(tmp_path.glob("joined-*"))) == 1
    assert (before != again).nnz == 0  # who has it mapped keeps it


def test_a_part_whose_writer_was_killed_is_removed(tmp_path):
    """There is a build, and no manifest yet."""
    folder = tmp_path / "counts"
    written(folder, part(3))
    (folder / "part-000000" / "part.json").rename(folder / "part-000000" / ".lock")
    (folder / "part-000001").mkdir()  # killed right away
    remove_parts(folder)
    assert not folder.exists()


def test_only_what_is_of_a_count_is_removed(tmp_path):
    folder = tmp_path / "counts"
    written(folder, part(3)).joined(np.arange(5), 5, 9)
    (folder / "part-000007").mkdir()
    (folder / "part-000007" / "mine.txt").touch()
    remove_parts(folder)
    assert [str(p.relative_to(folder)) for p in folder.rglob("*")] == [
        "part-000007",
        "part-000007/mine.txt",
    ]
    remove_parts(tmp_path / "nowhere")


def test_what_cannot_be_written_is_said(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InvalidParameter, match="cannot be written"):
        written(tmp_path / "file", part(3))


def test_parts_of_a_count_that_another_process_is_at_stay(tmp_path, monkeypatch):
    (tmp_path / "joined-1").mkdir()

    def locked(kind, folder):
        raise InvalidParameter("another process")

    with monkeypatch.context() as patch:
        patch.setattr(type(PART), "locked", locked)
        remove_parts(tmp_path)
    assert (tmp_path / "joined-1").exists()
    remove_parts(tmp_path)
    assert not tmp_path.exists()
