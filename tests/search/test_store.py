"""Stores in files: damage, forgeries, replacement, crashes."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from docboltz import storage
from docboltz.corpus.document import Document
from docboltz.errors import InvalidModelFile, InvalidParameter, NoAnswer
from docboltz.search import store as module
from docboltz.search import words
from docboltz.search.documents import DOCUMENTS, StoredDocuments
from docboltz.search.store import CODES, FEATURES, KEYS, LENGTHS, STORE
from docboltz.search.words import DF, TERMS
from tests.search.stores import (
    Place,
    answers,
    ask,
    blocks_of,
    data_file,
    documents,
    features_of,
    forge,
    questions,
)

N = 30


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = Place(tmp_path / "store")
    made.write(documents(N))
    return made


def use(place: Place) -> None:
    """Ask everything that can be asked of a store."""
    store = place.open()
    question = ask('"goal match" -"x 42" "." label:l0 since:2012', np.ones(8))
    rows = np.arange(len(store))
    for by in ("both", "words", "features"):
        store.search([question, *questions(2)], 3, by)  # type: ignore[arg-type]
        store.word_parts(question, rows, by)  # type: ignore[arg-type]
    print(store.documents(rows), store.labels_and_dates(), store.presence(), store.row_of("d3"))
    with STORE.trusting(place.folder):
        print(store.terms.suggest("gaol"), store.search(questions(1), N))
    place.changed([Document("new", "goal zebra"), Document("newer", "okapi")], drop=["d3"])


def spoil(place: Place, name: str, harm: str | Callable[[np.ndarray], np.ndarray]) -> None:
    """Change the numbers of a file, or its tables by a statement; checksums fit again."""
    file = data_file(place.folder, name)
    if isinstance(harm, str):
        with closing(sqlite3.connect(file)) as connection:
            connection.executescript(harm)
    else:
        harm(np.fromfile(file, "<" + name[-2:].replace("32", "f4"))).tofile(file)
    forge(place.folder / "store.json")


def test_importing_it_loads_nothing_slow() -> None:
    code = (
        "import sys, types; sys.modules['docboltz'] = p = types.ModuleType('d');"
        "p.__path__ = [sys.argv[1]]; import docboltz.search.store, docboltz.search.milvus;"
        "sys.exit(bool({'torch', 'sklearn', 'pandas', 'pyarrow', 'pymilvus'} & set(sys.modules)))"
    )
    package = str(Path(module.__file__).parent.parent)
    assert subprocess.run([sys.executable, "-c", code, package], check=False).returncode == 0


def test_what_is_mapped_cannot_be_written(place: Place) -> None:
    store = place.open()
    assert not store.features.flags.writeable
    for each in (store.terms, store._stored):  # type: ignore[attr-defined]
        with pytest.raises(ValueError, match="readonly"):
            list(each._tables.rows("CREATE TABLE more (a)"))


@pytest.mark.parametrize("name", STORE.files)
def test_damaged_files_are_refused(place: Place, name: str) -> None:
    file = data_file(place.folder, name)
    data = file.read_bytes()
    changed = bytes(byte ^ (at == len(data) // 2) for at, byte in enumerate(data))
    for harm, message in (
        (lambda: file.unlink(), "is missing"),
        (lambda: file.write_bytes(data[:-1]), "instead of"),
        (lambda: file.write_bytes(data + b"\0"), "instead of"),
        (lambda: file.write_bytes(changed), f"{name} was changed after it was saved"),
    ):
        harm()
        with pytest.raises(InvalidModelFile, match=message) as caught:
            place.open()
        assert "Build it again with TextModel.index." in str(caught.value)
        with pytest.raises(InvalidModelFile):  # what is damaged gets no new checksums
            place.changed(drop=["d1"])
        file.write_bytes(data)
    use(place)


@pytest.mark.parametrize(
    "content",
    [
        *(
            {name: value}
            for name in ("n_documents", "n_features", "n_words", "next_number", "end")
            for value in (-1, 49.0, "50", True, None, 10**30)
        ),
        *({name: value} for name in ("n_documents", "n_features", "end") for value in (0, 7)),
        *({"mean_length": value} for value in (-1, "x", None, float("nan"))),
        {"end": 2**32 + 1},
        *({"mean": value} for value in (0, "x", [0] * 7, [[0] * 8], [None] * 8, ["x"] * 8)),
        *({"mean": [0] * 7 + [value]} for value in (float("nan"), float("inf"))),
        *({"columns": value} for value in ("x", [1], None, {})),
        {"model": None},
        {"more": 1},
    ],
    ids=str,
)
def test_a_manifest_of_wrong_content_is_refused(place: Place, content: dict[str, Any]) -> None:
    """Though its checksum fits."""
    forge(place.folder / "store.json")
    place.open()
    forge(place.folder / "store.json", **content)
    with pytest.raises(InvalidModelFile, match=r"TextModel\.index"):
        place.open()


@pytest.mark.parametrize("name", STORE.files)
@pytest.mark.parametrize("content", [b"", b"x", b"PK\3\4", bytes(4096)], ids=lambda c: str(c[:4]))
def test_files_of_other_things_are_refused(place: Place, name: str, content: bytes) -> None:
    """Though checksums fit."""
    data_file(place.folder, name).write_bytes(content)
    forge(place.folder / "store.json")
    with pytest.raises(InvalidModelFile, match=r"TextModel\.index"):
        use(place)


ODD = [-(2**63), -1, 2**40, 2**63 - 1]


def with_odd(number: int) -> Callable[[np.ndarray], np.ndarray]:
    """Make the fourth number another one."""
    return lambda a: np.where(np.arange(len(a)) == 3, number, a)


@pytest.mark.parametrize(
    ("name", "harm"),
    [
        *((KEYS, harm) for harm in (lambda a: a[:-1], lambda a: a[::-1], lambda a: a + 1)),
        *((KEYS, with_odd(number)) for number in [*ODD, 2, 7, N]),
        (KEYS, lambda a: np.r_[a[:-2], -(2**63), -1]),  # whose differences do not fit 64 bits
        (KEYS, lambda a: a.astype("<i4")),
        (DF, lambda a: a[:-1]),
        (DF, lambda a: a.astype("<i4")),
        (LENGTHS, lambda a: a[:-1]),
        (LENGTHS, lambda a: a.astype("<u8")),
        (CODES, lambda a: a[:-1]),
        (FEATURES, lambda a: a[:-1]),
        (FEATURES, lambda a: np.where(np.arange(len(a)) == 99, np.nan, a)),
        (FEATURES, lambda a: np.where(np.arange(len(a)) == 99, 7, a)),
        *((TERMS, f"UPDATE terms SET number = {n} WHERE term = 'goal'") for n in [*ODD, 99]),
        *(
            (TERMS, f"UPDATE postings SET {name} = {value}")
            for name in ("keys", "counts")
            for value in ("'text'", "'t'", "7", "0.5", "NULL", "x'ff'", "zeroblob(99)")
        ),
        (TERMS, "UPDATE postings SET keys = zeroblob(length(keys) - 4)"),
        (TERMS, "UPDATE terms SET form = CAST(x'ff' AS TEXT)"),
        (TERMS, "CREATE TRIGGER t AFTER INSERT ON terms BEGIN DELETE FROM terms; END"),
        (TERMS, "CREATE TABLE more (a)"),
        (TERMS, "ALTER TABLE terms ADD COLUMN a"),
        (TERMS, "ALTER TABLE terms RENAME COLUMN form TO from_"),
        (TERMS, "DROP TABLE postings"),
        (TERMS, "ALTER TABLE terms RENAME TO t; CREATE VIEW terms AS SELECT * FROM t"),
        (DOCUMENTS, "ALTER TABLE documents RENAME TO t; CREATE VIEW documents AS SELECT * FROM t"),
        (DOCUMENTS, "CREATE VIEW v AS SELECT load_extension('x')"),
        (DOCUMENTS, "DROP TABLE labels"),
        *((DOCUMENTS, f"UPDATE documents SET key = {n} WHERE key = 3") for n in [*ODD, N, 99]),
        (DOCUMENTS, "DELETE FROM documents WHERE key = 3"),
        (DOCUMENTS, "UPDATE documents SET labels = '7'"),
        (DOCUMENTS, "UPDATE documents SET columns = '{'"),
        (DOCUMENTS, "UPDATE documents SET text = NULL"),
        (DOCUMENTS, "UPDATE documents SET id = x'ff' WHERE key = 3"),
        *(
            (DOCUMENTS, f"UPDATE documents SET words = {value}")
            for value in ("'text'", "7", "NULL", "x'ff'", "x'06000000'", "x'ffffffff'")
        ),
        # What shows when documents join.
        (TERMS, "INSERT INTO terms SELECT max(number) + 1, 'other', 'other' FROM terms"),
        (TERMS, "INSERT INTO terms VALUES (-3, 'zebra', 'zebra')"),
        *(
            (DOCUMENTS, f"INSERT INTO documents (key, id, text) VALUES ({N}, '{id}', '')")
            for id in ("new", "other")
        ),
        *((DOCUMENTS, f"UPDATE documents SET id = 'new', key = {n} WHERE key = 3") for n in ODD),
    ],
)
def test_what_makes_no_sense_is_refused(
    place: Place, name: str, harm: str | Callable[[np.ndarray], np.ndarray]
) -> None:
    """Though checksums fit. Nothing is read from a wrong place, and no view or trigger runs."""
    spoil(place, name, harm)
    with pytest.raises((InvalidModelFile, InvalidParameter)) as caught:
        use(place)
    assert "TextModel.index" in str(caught.value) or "No document has" in str(caught.value)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("name", "harm"),
    [
        *((DF, with_odd(number)) for number in ODD),
        (DF, lambda a: a * 0 + 2**62),
        *((LENGTHS, lambda a, n=n: a * 0 + n) for n in (0, 2**32 - 1)),
        (TERMS, "UPDATE postings SET keys = zeroblob(length(keys))"),  # a key many times
        (TERMS, "UPDATE postings SET keys = CAST(substr(keys, 5) || substr(keys, 1, 4) AS BLOB)"),
        (TERMS, "UPDATE postings SET keys = CAST(replace(keys, x'00', x'ff') AS BLOB)"),
        (TERMS, "UPDATE postings SET counts = zeroblob(length(counts))"),
        *(
            (TERMS, f"UPDATE postings SET piece = {piece} WHERE piece = 0")
            for piece in ("'text'", "0.5", "-1", "x'ff'", "9223372036854775807")
        ),
        (TERMS, "UPDATE terms SET form = x'ff'"),
        (TERMS, "UPDATE terms SET form = NULL"),
        (TERMS, "UPDATE terms SET term = 'the ' || term"),
        (DOCUMENTS, "UPDATE documents SET date = 'x', seconds = 'x'"),
        (DOCUMENTS, "DELETE FROM labels"),
        (DOCUMENTS, "INSERT INTO labels VALUES ('l0', -1), ('l0', 99), ('l0', 'x')"),
    ],
)
def test_other_numbers_give_other_answers_or_are_refused(
    place: Place, name: str, harm: str | Callable[[np.ndarray], np.ndarray]
) -> None:
    spoil(place, name, harm)
    with suppress(InvalidModelFile, NoAnswer):
        use(place)


def test_forms_that_are_longer_than_sqlite_says_are_not_compared(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    spoil(place, TERMS, "UPDATE terms SET form = form || char(0) || hex(zeroblob(99))")
    monkeypatch.delattr(words, "edit_distances")
    assert place.open().terms.suggest("gaol") == ()


def test_no_key_is_given_that_four_bytes_do_not_hold(place: Place) -> None:
    forge(place.folder / "store.json", end=2**32 - 1)
    with pytest.raises(InvalidParameter, match="can ever join"):
        use(place)
    assert len(place.changed(documents(N + 1)[N:])) == N + 1


def test_files_of_a_large_store_are_compared_when_it_changes(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CHECKED_BYTES", 0)
    file = data_file(place.folder, FEATURES)
    file.write_bytes(b"\xff" * file.stat().st_size)
    store = place.open()
    with pytest.raises(InvalidModelFile, match="features are not unit vectors"):
        store.search(questions(1), N)
    with pytest.raises(InvalidModelFile, match=r"features\.f32 was changed"):
        place.changed(drop=["d1"])


def test_a_reader_keeps_what_it_has_open(place: Place) -> None:
    reader, asked = place.open(), questions(3)
    before = answers(reader, asked)
    (place.folder / "build-mine").mkdir()  # not one of the store's
    assert len(place.store(documents(5, seed=1))) == 5
    assert len(list(place.folder.glob("build-*"))) == 2
    assert answers(reader, asked) == before
    shutil.rmtree(place.folder)
    assert reader.documents([N - 1]) == documents(N)[-1:]


@pytest.mark.parametrize(("owner", "name"), [(storage, "sha256"), (StoredDocuments, "__init__")])
def test_a_store_that_is_replaced_while_it_is_opened_is_no_damaged_one(
    place: Place, monkeypatch: pytest.MonkeyPatch, owner: Any, name: str
) -> None:
    plain, rebuilds = getattr(owner, name), iter([True])

    def replacing(*given: Any) -> Any:
        if next(rebuilds, False):
            place.write(documents(20, seed=1))
        return plain(*given)

    monkeypatch.setattr(owner, name, replacing)
    assert len(place.open()) == 20


@pytest.mark.skipif(sys.platform == "win32", reason="no limit on the size of files")
@pytest.mark.parametrize(("words", "ids"), [(1, 1), (200, 1), (1, 99)])
def test_a_full_disk_is_reported_and_cleaned_up(tmp_path: Path, words: int, ids: int) -> None:
    code = """
import resource, signal, sys
from tests.search.stores import *
from docboltz.errors import InvalidParameter
folder, words, ids = Path(sys.argv[1]), *map(int, sys.argv[2:])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
text = lambda i: " ".join(f"w{i}x{j}" for j in range(words))
try:
    Place(folder).write([Document(f"{i}" + ids * "-", text(i)) for i in range(4000)], block=500)
except InvalidParameter as error:
    assert "cannot be written" in str(error), error
else:
    sys.exit("no error")
"""
    command = [sys.executable, "-c", code, str(tmp_path / "new"), str(words), str(ids)]
    root = Path(__file__).parents[2]
    ended = subprocess.run(command, check=False, capture_output=True, text=True, cwd=root)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert not (tmp_path / "new").exists()


def test_two_writers_at_once_are_refused(place: Place) -> None:
    def blocks() -> Iterator[Any]:
        with (
            ThreadPoolExecutor(1) as another,
            pytest.raises(InvalidParameter, match="Another process is writing the search index"),
        ):
            another.submit(place.write, documents(3)).result()
        yield from blocks_of(documents(2), features_of(documents(2)), 9)

    place.write(blocks=blocks(), features=np.ones((1, 8)))
    assert len(place.open()) == 2


KILLED = """
import os, signal, sys
from tests.search.stores import *
left = int(sys.argv[2])
def dying(real):
    def call(*given, **named):
        global left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*given, **named)
    return call
os.fsync, os.replace, os.mkdir = map(dying, (os.fsync, os.replace, os.mkdir))
Place(Path(sys.argv[1])).changed(documents(2, seed=1), drop=["d0", "d1", "d2"])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
def test_a_kill_at_any_step_leaves_the_old_store_or_the_new(tmp_path: Path) -> None:
    """Killed at calls that write, sync or rename."""
    root, seen = Path(__file__).parents[2], set()
    for steps in (0, 1, 6, 13, 14, 15, 16, 40):
        place = Place(tmp_path / str(steps))
        place.write(documents(9))
        command = [sys.executable, "-c", KILLED, str(place.folder), str(steps)]
        ended = subprocess.run(command, check=False, cwd=root).returncode
        n = len(place.open())
        seen.add((ended, n))
        assert len(place.changed(drop=["d5"])) == n - 1  # goes on as if nothing had been
        assert len(list(place.folder.glob("build-*"))) == 1
    assert {(-9, 9), (0, 8)} <= seen <= {(-9, 9), (-9, 8), (0, 8)}


def test_a_store_of_files_grows_to_the_bytes_of_one_pass(place: Place, tmp_path: Path) -> None:
    """But for the tables, which SQLite may lay out in another way."""
    given = documents(N)
    grown = Place(tmp_path / "grown")
    for begin, end in ((0, 11), (11, 12), (12, N)):
        grown.write(given[begin:end], append=begin > 0)
    for name in (FEATURES, CODES, LENGTHS, KEYS, DF):
        mine, whole = (data_file(each.folder, name).read_bytes() for each in (grown, place))
        assert mine == whole


def test_pages_that_lead_in_circles_are_refused(place: Place) -> None:
    """Seven pages each of which names the next 400 times: 400⁷ rows in a file of 60 kB."""
    file = data_file(place.folder, DOCUMENTS)
    with closing(sqlite3.connect(file)) as connection:
        select = "SELECT rootpage FROM sqlite_master WHERE name = 'documents'"
        ((root,),) = connection.execute(select)
        ((size,),) = connection.execute("PRAGMA page_size")
    data = bytearray(file.read_bytes())
    data += data[(root - 1) * size : root * size]  # the leaf with the rows
    for level in range(7):
        child, page = (len(data) // size).to_bytes(4, "big"), bytearray(size)
        places = [size - 5 * (i + 1) for i in range(400)]
        page[0], page[3:5] = 5, (400).to_bytes(2, "big")
        page[5:7], page[8:12] = places[-1].to_bytes(2, "big"), child
        for i, at in enumerate(places):
            page[at : at + 5] = child + b"\1"
            page[12 + 2 * i : 14 + 2 * i] = at.to_bytes(2, "big")
        if level < 6:
            data += page
        else:
            data[(root - 1) * size : root * size] = page
    data[28:32] = (len(data) // size).to_bytes(4, "big")
    file.write_bytes(data)
    forge(place.folder / "store.json")
    store = place.open()
    for call in (store.labels_and_dates, store.presence, lambda: store.search([ask('"."')], 3)):
        with pytest.raises(InvalidModelFile):
            call()
