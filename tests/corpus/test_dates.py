"""Dates in any form become ISO 8601, and nothing else does."""

import datetime
from itertools import product

import numpy as np
import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st

from docboltz.corpus.dates import DateReading, date_finder

ISO = DateReading()
MORNING = "2013-08-11T10:20:00"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2013", "2013"),
        (2013, "2013"),
        (2013.0, "2013"),
        ("2013.0", "2013"),
        (np.int64(2013), "2013"),
        ("2013-08", "2013-08"),
        ("2013/8", "2013-08"),
        (pandas.Period("2013-08"), "2013-08"),
        (" 2013-08-11 ", "2013-08-11"),
        ("20130811", "2013-08-11"),
        ("2013/8/11", "2013-08-11"),
        ("2013.08.11", "2013-08-11"),
        ("11.08.2013", "2013-08-11"),
        ("08/11/2013", "2013-08-11"),
        ("08-11-2013", "2013-08-11"),
        ("August 11, 2013", "2013-08-11"),
        ("Aug. 11 2013", "2013-08-11"),
        ("11 aug 2013", "2013-08-11"),
        ("11-Aug-2013", "2013-08-11"),
        (datetime.date(2013, 8, 11), "2013-08-11"),
        (pandas.Timestamp("2013-08-11"), "2013-08-11"),
        ("2013-08-11 00:00:00", "2013-08-11"),
        ("0013-08-11T10:20", "0013-08-11T10:20:00"),
        ("2013-08-11T10:20", MORNING),
        ("20130811T102000Z", MORNING),
        ("2013-08-11 10:20:00.75 UTC", MORNING),
        ("2013-08-11T12:20:00+02:00", MORNING),
        ("2013-08-11T04:50:00-0530", MORNING),
        ("8/11/2013 10:20 AM", MORNING),
        ("8/11/2013, 10:20 pm", "2013-08-11T22:20:00"),
        ("8/11/2013 12:05 am", "2013-08-11T00:05:00"),
        ("Sun, 11 Aug 2013 12:20:00 +0200", MORNING),
        ("11 Aug 2013 10:20:00 GMT", MORNING),
        ("Tue, 6 Apr 93 13:31:20 GMT", "1993-04-06T13:31:20"),
        ("Sun Aug 11 10:20:00 +0000 2013", MORNING),
        (datetime.datetime(2013, 8, 11, 10, 20, 0, 5), MORNING),
        (pandas.Timestamp("2013-08-11 12:20", tz="Europe/Berlin"), MORNING),
        (np.datetime64(MORNING, "ns"), MORNING),
    ],
)
def test_dates_in_every_form(value, expected):
    assert ISO(value) == expected


@pytest.mark.parametrize("value", ["", " ", None, float("nan"), pandas.NaT, pandas.NA])
def test_no_value_is_no_date(value):
    assert ISO(value) == ""


@pytest.mark.parametrize(
    "value",
    [
        "3:20", "soon", "1", "13", "0999", "2013-02-30", "13/08/2013", "2013-13",
        "2013-08-11T25:00", "Smarch 11, 2013", "Monday 3 May", "in 2013",
        "2013-08-11 was hot", True, ["2013"],
        1376216400, "1376216400123", "٢٠١٣", "9999-12-31T23:00:00-05:00",
        datetime.datetime.max.replace(tzinfo=datetime.timezone(-datetime.timedelta(hours=1))),
    ],
)  # fmt: skip
def test_other_values_are_told_from_none(value):
    assert ISO(value) is None


@pytest.mark.parametrize("value", [1376216400, 1376216400.5, "1376216400", 1376216400123])
def test_seconds_and_milliseconds_since_1970_where_they_may_stand(value):
    assert DateReading(epoch=True)(value) == MORNING


@pytest.mark.parametrize("value", [5, 12345678, 9e15, -1376216400])
def test_other_numbers_are_no_dates(value):
    assert DateReading(epoch=True)(value) is None


@given(st.datetimes(datetime.datetime(1000, 1, 1), datetime.datetime(2999, 12, 31)))
def test_every_moment_survives_every_notation(moment):
    second = moment.replace(microsecond=0)
    expected = second.isoformat().removesuffix("T00:00:00")
    notations = [
        "%Y-%m-%dT%H:%M:%S",
        "%Y/%m/%d %H:%M:%SZ",
        "%d.%m.%Y %H:%M:%S",
        "%d %b %Y %H:%M:%S",
    ]
    notations += ["%m/%d/%Y %I:%M:%S %p", "%a, %d %b %Y %H:%M:%S +0000", "%a %b %d %H:%M:%S %Y"]
    assert {ISO(second.strftime(each)) for each in notations} == {expected}
    assert ISO(ISO(second)) == ISO(second)


@given(st.text() | st.integers() | st.floats() | st.binary())
def test_anything_may_be_asked(value):
    found = DateReading(epoch=True)(value)
    assert found is None or found == "" or ISO(found) == found


@pytest.mark.parametrize(
    ("values", "order", "told"),
    [
        (["11/08/2013", "13/08/2013"], "day", "day first"),
        (["11-08-2013", None, "08-13-2013 10:20"], "month", "month first"),
        (["11/08/2013"], "unknown", "month first, as nothing tells"),
        (["13/08/2013", "08/13/2013"], "unknown", "month first, as nothing tells"),
        (["13.08.2013", "2013-08-11", 7], "", ""),
    ],
)
def test_the_order_is_what_the_values_tell(values, order, told):
    reading = DateReading.of(values, epoch=False)
    assert (reading.order, str(reading)) == (order, told)
    expected = "2013-11-08" if order == "day" else "2013-08-11"
    assert reading("08/11/2013") == expected
    assert reading("11.08.2013") == "2013-08-11"


@pytest.mark.parametrize(
    ("name", "values", "found"),
    [
        ("date", ["2013-08-11", "", None], True),
        ("date", ["2013-08-11"] * 9 + ["soon"], True),
        ("date", ["2013-08-11"] * 8 + ["soon"], False),
        ("date", ["a first date", "a second"], False),
        ("date", ["", None], False),
        ("date", [], False),
        ("time", ["3:20", "4:10"], False),
        ("time", [1230, 1745], False),
        ("time", [1376216400], True),
        ("year", [1999, 2013.0], True),
        ("date", [1376216400], False),
        ("created_at", ["1376216400"], True),
        ("created_utc", [1376216400.0], True),
        ("timestamp", [0.5, 12.25], False),
    ],
)
def test_a_column_nobody_named_must_hold_dates(name, values, found):
    finder = date_finder(lambda asked: {name: values}[asked])
    assert (finder(name, False) is not None) is found
    assert finder(name, True) is not None


def test_a_named_column_may_hold_seconds():
    named, found = (date_finder(lambda name: [])("when", each) for each in (True, False))
    assert named == DateReading(epoch=True)
    assert found is None


def test_days_and_months_are_checked():
    for month, day in product(range(1, 14), (1, 29, 31, 32)):
        try:
            expected = datetime.date(2013, month, day).isoformat()
        except ValueError:
            expected = None
        assert ISO(f"2013-{month}-{day}") == expected
