from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from docboltz.corpus.document import Document
from docboltz.errors import InvalidParameter
from docboltz.search.filters import (
    NO_DATE,
    Filter,
    FilterWriter,
    StoredFilters,
    require_dates,
    require_known,
    seconds_of,
)

DATES = ["", "2013", "2013-08", "2013-08-11", "2013-08-11T10:20:00", "2014", "no date"]
LABELS = [("a",), (), ("a", "b"), ("b",), ("a",), (), ("ü",)]
DOCUMENTS = [Document(str(i), "", *both) for i, both in enumerate(zip(LABELS, DATES, strict=True))]


@pytest.fixture
def stored(tmp_path: Path) -> StoredFilters:
    with FilterWriter(tmp_path) as writer:
        writer.append(DOCUMENTS[:3])
        writer.append(DOCUMENTS[3:])
        writer.finish()
    return StoredFilters(tmp_path, len(DOCUMENTS))


@pytest.mark.parametrize(
    ("wanted", "rows"),
    [
        (Filter(), range(7)),
        (Filter(("a",)), [0, 2, 4]),
        (Filter(("a", "ü")), [0, 2, 4, 6]),
        (Filter(("b", "none")), [2, 3]),
        (Filter(since="2013"), [1, 2, 3, 4, 5]),
        (Filter(since="2013-02"), [2, 3, 4, 5]),
        (Filter(until="2013"), [1, 2, 3, 4]),  # all of the year
        (Filter(until="2013-08-11"), [1, 2, 3, 4]),
        (Filter(until="2013-08-10"), [1, 2]),
        (Filter(until="2013-08-11T10:19:59"), [1, 2, 3]),
        (Filter(since="11 Aug 2013", until="Aug 11, 2013"), [3, 4]),
        (Filter(("a",), "2013-08-11", "2013"), [4]),
        (Filter(since="2015"), []),
    ],
    ids=str,
)
def test_documents_are_filtered(stored: StoredFilters, wanted: Filter, rows: list[int]) -> None:
    assert sorted({*range(7)} - {*stored.rows_without(wanted).tolist()}) == list(rows)
    assert bool(wanted) == (wanted != Filter())


def test_rows_are_copied(stored: StoredFilters, tmp_path: Path) -> None:
    (other := tmp_path / "other").mkdir()
    with FilterWriter(other) as writer:
        writer.append([Document("", "", ("new",))])
        writer.copy(stored, np.array([2, 5, 6]))
        writer.finish()
    copied = StoredFilters(other, 4)
    assert [copied.label_sets[i] for i in copied.labels] == [("new",), ("a", "b"), (), ("ü",)]
    np.testing.assert_array_equal(copied.seconds[1:], stored.seconds[[2, 5, 6]])


def test_a_label_that_nobody_has_is_an_error(stored: StoredFilters) -> None:
    with pytest.raises(InvalidParameter, match=r"No document has the label 'c'.* 3, such as 'a'"):
        require_known(("c",), stored.known_labels)
    require_known(("c", "b"), stored.known_labels)
    with pytest.raises(InvalidParameter, match="none has any"):
        require_known(("c",), [])


def test_a_time_that_ends_before_it_begins_is_refused() -> None:
    with pytest.raises(InvalidParameter, match=r"'since'.*no later than 2012.* Got '2013-08'"):
        Filter(since="2013-08", until="2012")
    Filter(since="2013-08", until="2013")


def test_dates_that_nobody_has_are_an_error(stored: StoredFilters, tmp_path: Path) -> None:
    require_dates(Filter(until="1999"), stored.dated)
    (other := tmp_path / "other").mkdir()
    with FilterWriter(other) as writer:
        writer.append([Document("a", "", (), ""), Document("b", "", (), "no date")])
        writer.finish()
    with pytest.raises(InvalidParameter, match=r"No document has a date\. Name their column"):
        require_dates(Filter(until="2013"), StoredFilters(other, 2).dated)


def test_bad_filters_are_refused() -> None:
    with pytest.raises(InvalidParameter, match=r"'since'.*a date such as"):
        Filter(since="yesterday")
    with pytest.raises(InvalidParameter, match="'label'"):
        Filter((3,))  # type: ignore[arg-type]


def test_dates_are_the_seconds_they_begin_with() -> None:
    begins = ["1970-01-01", "1970-01-01T00:01:00", "1969", ""]
    assert seconds_of(begins).tolist() == [0, 60, -365 * 86400, NO_DATE]


def test_a_number_of_documents_that_does_not_fit_is_refused(
    stored: StoredFilters, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match="not those of 8 documents"):
        StoredFilters(tmp_path, 8)
