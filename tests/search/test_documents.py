from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from docboltz.corpus.document import Document
from docboltz.errors import InvalidCorpus, InvalidParameter
from docboltz.search import documents as module
from docboltz.search.documents import (
    DOCUMENTS,
    DocumentWriter,
    StoredDocuments,
    is_text,
    next_number,
    seconds_of,
)
from docboltz.search.query import Filter

fast = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
text = st.text(st.characters(exclude_categories=["Cs"]), max_size=9)
few = st.sampled_from(["a", "b", "ü", "it's", "%_"])
dates = st.sampled_from(
    ["", "2013", "2013-08", "2013-08-11", "2013-08-11T10:20:00", "2014", "no date", "1969"]
)
columns = st.dictionaries(st.sampled_from(["k", "a b", "ü", "x.y", "$", "[0]"]), few)
collections = st.lists(
    st.builds(Document, st.uuids().map(str), text, st.lists(few).map(tuple), dates, text, columns),
    min_size=1,
    max_size=12,
)
spans = st.sampled_from(
    [("", ""), ("2013", ""), ("", "2013"), ("2013-08-11", "2014"), ("2013-08-11T10:20:00", "")]
)


def words_of(documents: list[Document]) -> csr_array:
    """Counts of the model's words: of word k if the sum of the letters has the bit k."""
    return csr_array([sum(map(ord, each.text)) >> np.arange(7) & 1 for each in documents])


def stored(
    folder: Path,
    given: list[Document],
    block: int = 5,
    *,
    old: Path | None = None,
    gone: Iterable[int] = (),
    end: int = 0,
) -> StoredDocuments:
    """Documents that get the keys end, end + 1, …, behind those of a file that are not gone."""
    for file in folder.iterdir():
        file.unlink()
    writer = DocumentWriter(folder, old)
    writer.delete(gone)
    for begin in range(0, len(given), block):
        some = given[begin : begin + block]
        writer.append(range(end + begin, end + begin + len(some)), some, words_of(some))
    writer.finish()
    return StoredDocuments(folder, 100)


@pytest.fixture(autouse=True)
def _few_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "AT_ONCE", 3)


@fast
@given(collections, st.randoms())
def test_documents_come_back_as_they_went_in(
    tmp_path: Path, given: list[Document], draw: object
) -> None:
    documents = stored(tmp_path, given)
    assert documents.take(np.arange(len(given))) == given
    rows = [draw.randrange(len(given)) for _ in range(5)]  # type: ignore[attr-defined]
    for some in (rows, []):
        assert documents.take(np.array(some, np.int64)) == [given[row] for row in some]
    assert documents.labels_and_dates() == ([d.labels for d in given], [d.date for d in given])
    assert [*documents.texts()] == [(row, f"{d.title}\n{d.text}") for row, d in enumerate(given)]
    has = [np.flatnonzero(own).tolist() for own in words_of(given).toarray()]
    for keys, expected in ((None, has), (np.array(rows), [has[row] for row in rows])):
        assert [own.tolist() for own in documents.words(keys)] == expected
    assert sorted(set(rows)) == [
        *documents.keys_of([*(given[row].id for row in rows), "nobody", "\udcff"])
    ]


@fast
@given(collections, st.lists(few, max_size=2), spans, columns)
def test_filters_are_those_of_plain_python(
    tmp_path: Path, given: list[Document], labels: list[str], span: tuple[str, str], kept: dict
) -> None:
    def lets(document: Document) -> bool:
        dated = document.date not in ("", "no date")
        since, until = span
        late = not since or (
            dated and np.datetime64(document.date, "s") >= np.datetime64(since, "s")
        )
        early = not until or (dated and document.date[: len(until)] <= until)
        return (
            (not labels or bool({*labels} & {*document.labels}))
            and (late and early)
            and all(document.columns.get(name) == value for name, value in kept.items())
        )

    wanted = Filter(tuple(labels), *span, tuple(kept.items()))
    documents = stored(tmp_path, given)
    found = documents.wanted(wanted)
    assert found.tolist() == [row for row, document in enumerate(given) if lets(document)]


@fast
@given(collections, st.sets(st.integers(0, 11)), collections)
def test_documents_join_and_go(
    tmp_path: Path, given: list[Document], gone: set[int], more: list[Document]
) -> None:
    """Those that stay keep their keys, and nothing is left of the others."""
    (tmp_path / "old").mkdir(exist_ok=True)
    (tmp_path / "new").mkdir(exist_ok=True)
    stored(tmp_path / "old", given)
    file, gone = tmp_path / "old" / DOCUMENTS, gone & set(range(len(given)))
    documents = stored(tmp_path / "new", more, old=file, gone=gone, end=len(given))
    left = {key: d for key, d in enumerate([*given, *more]) if key not in gone}
    assert documents.take(np.array([*left], np.int64)) == [*left.values()]
    assert documents.labels_and_dates()[0] == [d.labels for d in left.values()]
    labelled = [key for key, document in left.items() if "a" in document.labels]
    assert documents.wanted(Filter(("a",))).tolist() == labelled
    assert {*documents.some_labels()} == {label for d in left.values() for label in d.labels}
    for key in gone:
        assert not len(documents.keys_of([given[key].id]))
        with pytest.raises(LookupError):
            documents.take(np.array([key]))


def test_any_text_is_kept(tmp_path: Path) -> None:
    odd = ["", "\0", "a\0b", "𝄞 🛰️ \u200d", "\r\n\x1b[31m", "'; DROP TABLE documents --", "\ufeff"]
    given = [Document(f"{i}{t}", t, (f"{i}", t), t, t, {"c": t}) for i, t in enumerate(odd)]
    documents = stored(tmp_path, given)
    assert documents.take(np.arange(len(odd))) == given
    assert [documents.keys_of([d.id]).tolist() for d in given] == [[row] for row in range(len(odd))]
    for row, each in enumerate(odd):
        kept = [Filter((f"{row}",), columns=(("c", each),))]
        for wanted in [Filter((f"{row}",)), *kept * ("\0" not in each)]:  # where SQLite's JSON ends
            assert documents.wanted(wanted).tolist() == [row]


def test_half_a_character_is_refused(tmp_path: Path) -> None:
    for document in (
        Document("\udcff", ""),
        Document("a", "\udcff"),
        Document("a", "", ("\udcff",)),
    ):
        with pytest.raises(InvalidCorpus, match="half of a character"):
            stored(tmp_path, [document])
    assert [is_text(value) for value in ("𝄞", "\udcff", b"bytes", None)] == [True, *[False] * 3]


@pytest.mark.parametrize(
    ("column", "value"),
    [
        *(("labels", value) for value in ('"a"', "[1]", "null", "no JSON", "7", r'["\udcff"]')),
        *(("columns", value) for value in ("[1]", '{"a": 1}', "null", "{", '"a"')),
        *((name, value) for name in ("id", "text", "date", "title") for value in (None, b"x")),
        *(("words", value) for value in (None, "text", 4, b"odd")),
    ],
)
def test_other_things_than_documents_are_refused(
    tmp_path: Path, column: str, value: object
) -> None:
    """Though the file is of the right shape."""
    stored(tmp_path, [Document("a", "text", ("x",), "2013")])
    with closing(sqlite3.connect(tmp_path / DOCUMENTS, isolation_level=None)) as connection:
        connection.execute(f"UPDATE documents SET {column} = ?", (value,))
    documents = StoredDocuments(tmp_path, 100)
    with pytest.raises((ValueError, LookupError, TypeError)):
        print(documents.take(np.array([0])), documents.labels_and_dates(), documents.words(None))


@pytest.mark.parametrize(
    ("wanted", "rows"),
    [
        (Filter(), "01234567"),
        (Filter(since="2013"), "12345"),
        (Filter(since="2013-02"), "2345"),
        (Filter(until="2013"), "12347"),  # all of the year
        (Filter(until="2013-08-11"), "12347"),
        (Filter(until="2013-08-10"), "127"),
        (Filter(until="2013-08-11T10:19:59"), "1237"),
        (Filter(since="2013-08-11", until="2013-08-11"), "34"),
        (Filter(until="1969"), "7"),
        (Filter(since="2015"), ""),
    ],
    ids=str,
)
def test_dates_count_as_a_whole(tmp_path: Path, wanted: Filter, rows: str) -> None:
    given = ["", "2013", "2013-08", "2013-08-11", "2013-08-11T10:20:00", "2014", "no date", "1969"]
    documents = stored(tmp_path, [Document(date, "", (), date) for date in given])
    assert "".join(map(str, documents.wanted(wanted))) == rows
    assert bool(wanted) == (wanted != Filter())


def test_bad_filters_are_refused() -> None:
    for message, what in {
        r"'since'.*a date such as": {"since": "yesterday"},
        r"'until'.*a date such as": {"until": "2013-13"},
        r"'since'.*no later than 2012.* Got '2013-08'": {"since": "2013-08", "until": "2012"},
        "'label'": {"labels": (3,)},
        "'label' parameter": {"labels": "a"},
        "'where'": {"columns": (('a"b', "c"),)},
    }.items():
        with pytest.raises(InvalidParameter, match=message):
            Filter(**what)  # type: ignore[arg-type]
    Filter(since="2013-08", until="2013")


def test_numbers_and_seconds() -> None:
    begins = ["1970-01-01", "1970-01-01T00:01:00", "1969", "", "no date"]
    assert [seconds_of(date) for date in begins] == [0, 60, -365 * 86400, None, None]
    assert next_number(["7", "d9", "008", "1e3", "²", "-1", "9" * 19]) == 9
    assert [next_number([], 5), next_number(["3"], 5), next_number([])] == [5, 5, 0]
