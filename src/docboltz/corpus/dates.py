"""Dates in any common form → ISO 8601 strings: "2013", "2013-08", "2013-08-11", "…T10:20:00".

Strings of that form sort by time, and a prefix of them is a coarser period. Times with an offset
become UTC, fractions of seconds are dropped, and so is a time of exactly midnight: many programs
write days that way.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from email.utils import parsedate_tz
from functools import lru_cache
from typing import Any, Literal

from docboltz.corpus.values import is_missing, plain

MOSTLY = 0.9
"""Share of its values that must be dates before a column that was not named is one of dates."""
SECONDS = (100_000_000, 4_102_444_800)
"""Seconds since 1970 that are taken for a date: from 1973 to 2099."""
LONGEST = 200
"""Characters of a date; mail has a few words after it."""

Order = Literal["", "day", "month", "unknown"]
"""What comes first in 11/08/2013: "" where no such value was seen, unknown where all fit both."""

_FLAGS = re.I | re.A
_ZONE = r"\s*(Z|UTC|GMT|[+-]\d\d:?(?:\d\d)?)?"
_CLOCK = r"(\d{1,2}):(\d\d)(?::(\d\d)(?:[.,]\d+)?)?\s*([AP]M)?"
_TIME = rf"(?:(?:T|,?\s+){_CLOCK}{_ZONE})?"
_YEAR = re.compile(r"([12]\d{3})(?:\.0)?", re.A)
_MONTH = re.compile(r"(\d{4})[-/](\d\d?)", re.A)
_YEAR_FIRST = re.compile(rf"(\d{{4}})([-/.])(\d\d?)\2(\d\d?){_TIME}", _FLAGS)
_YEAR_LAST = re.compile(rf"(\d\d?)([-/.])(\d\d?)\2(\d{{4}}){_TIME}", _FLAGS)
_COMPACT = re.compile(r"([12]\d{3})(\d\d)(\d\d)(?:T(\d\d)(\d\d)(\d\d)?()" + _ZONE + ")?", _FLAGS)
_DAY_AND_NAME = re.compile(rf"(\d\d?)[ -]([a-z]{{3,9}})\.?,?[ -](\d{{4}}){_TIME}", _FLAGS)
_NAME_AND_DAY = re.compile(rf"([a-z]{{3,9}})\.? (\d\d?),? (\d{{4}}){_TIME}", _FLAGS)
_NUMBER = re.compile(r"\d{9,13}(?:\.\d*)?", re.A)
# RFC 2822, as mail and news have it, and C's asctime with Twitter's zone before the year.
_MAIL = re.compile(
    r"(?:[a-z]{3},? +)?(?:\d\d? +[a-z]{3} +\d{2,4}|[a-z]{3} +\d\d?) +\d\d:\d\d(?::\d\d)?"
    r"(?: +[+-]\d{4}| +[a-z]{1,5})?(?: +\d{4})?(?: *\([^)]*\))?",
    _FLAGS,
)
_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september",
    "october", "november", "december",
)  # fmt: skip


@dataclass(frozen=True)
class DateReading:
    """How the values of one column become dates.

    >>> DateReading(order="day")("11/08/2013 10:20")
    '2013-08-11T10:20:00'
    """

    order: Order = ""
    """What 11/08/2013 begins with; 11.08.2013 always begins with the day."""
    epoch: bool = False
    """Large numbers are seconds or milliseconds since 1970."""

    @classmethod
    def of(cls, values: Iterable[Any], *, epoch: bool) -> DateReading:
        """As the first values of a column suggest."""
        seen = [found for value in values if (found := _year_last(value)) and found[2] != "."]
        day = any(int(found[1]) > 12 for found in seen)
        month = any(int(found[3]) > 12 for found in seen)
        if day == month:
            return cls("unknown" if seen else "", epoch)
        return cls("day" if day else "month", epoch)

    def __call__(self, value: Any) -> str | None:
        """The date of a value: "" where there is none, None for what is not a date."""
        value = plain(value)
        if is_missing(value):
            return ""
        if isinstance(value, float) and value.is_integer():  # years beside a NaN
            value = int(value)
        try:
            if isinstance(value, date):
                return _iso(value) if isinstance(value, datetime) else value.isoformat()
            text = str(value).strip()
            if len(text) > LONGEST:
                return None
            return self._read(text) if text else ""
        except Exception:  # 31 February; a day before the year 1 in UTC; whatever an object does
            return None

    def __str__(self) -> str:
        told = {"day": "day first", "month": "month first"}
        return told.get(self.order, "month first, as nothing tells" if self.order else "")

    def _read(self, text: str) -> str | None:
        if found := _YEAR.fullmatch(text):
            return found[1]
        if found := _MONTH.fullmatch(text):
            return date(int(found[1]), int(found[2]), 1).isoformat()[:7]
        if found := _YEAR_FIRST.fullmatch(text):
            return _moment(found[1], found[3], found[4], *found.groups()[4:])
        if found := _COMPACT.fullmatch(text):
            return _moment(*found.groups())
        if found := _YEAR_LAST.fullmatch(text):
            day_first = found[2] == "." or self.order == "day"
            day, month = (found[1], found[3]) if day_first else (found[3], found[1])
            return _moment(found[4], month, day, *found.groups()[4:])
        if found := _DAY_AND_NAME.fullmatch(text):
            return _moment(found[3], _month(found[2]), found[1], *found.groups()[3:])
        if found := _NAME_AND_DAY.fullmatch(text):
            return _moment(found[3], _month(found[1]), found[2], *found.groups()[3:])
        if self.epoch and _NUMBER.fullmatch(text):
            return _since_1970(float(text))
        return _mail_date(text) if _MAIL.fullmatch(text) else None


Finder = Callable[[str, bool], DateReading | None]
"""How the dates of a column are read, whether it was named or not; None if it has none."""


def date_finder(sample: Callable[[str], Iterable[Any]]) -> Finder:
    """A finder that looks at the first values of a column, which `sample` gives."""

    @lru_cache(1000)
    def find(name: str, named: bool) -> DateReading | None:
        values = list(sample(name))
        reading = DateReading.of(values, epoch=named or _is_timestamp(name))
        return reading if named or _are_dates(values, name, reading) else None

    return find


def _are_dates(values: list[Any], name: str, reading: DateReading) -> bool:
    """Tell whether a column that nobody named holds dates; in doubt it does not."""
    found = [reading(value) for value in values]
    if "time" in name.lower():  # 1230 is a time of day as well as a year
        found = [None if each and len(each) == 4 else each for each in found]
    filled = [each for each in found if each != ""]
    return bool(filled) and sum(each is not None for each in filled) >= MOSTLY * len(filled)


def _is_timestamp(name: str) -> bool:
    """Tell whether a column's name is one that programs give to seconds since 1970."""
    lowered = name.strip().lower()
    parts = ("timestamp", "epoch", "unix", "utc", "time_ms")
    return lowered in ("ts", "time") or lowered.endswith("_at") or any(p in lowered for p in parts)


def _year_last(value: Any) -> re.Match[str] | None:
    return _YEAR_LAST.fullmatch(value.strip()) if isinstance(value, str) else None


def _month(name: str) -> str:
    """The number of an English month, whose name may be cut short; "0" for another word."""
    lowered = name.lower()
    return next((str(n) for n, full in enumerate(_MONTHS, 1) if full.startswith(lowered)), "0")


def _moment(
    year: str,
    month: str,
    day: str,
    hour: str | None = None,
    minute: str | None = None,
    second: str | None = None,
    half: str | None = None,
    zone: str | None = None,
) -> str:
    """A date from its written parts; ValueError if there is no such day or time."""
    if hour is None or minute is None:
        return date(int(year), int(month), int(day)).isoformat()
    hours = int(hour)
    if half:
        hours = hours % 12 + 12 * (half.lower() == "pm")
    local = datetime(int(year), int(month), int(day), hours, int(minute), int(second or 0))
    return _iso(local.replace(tzinfo=_zone(zone)) if zone else local)


def _zone(written: str) -> timezone:
    if written[0] not in "+-":
        return UTC
    offset = timedelta(hours=int(written[1:3]), minutes=int(written[3:].lstrip(":") or 0))
    return timezone(-offset if written[0] == "-" else offset)


def _iso(moment: datetime) -> str:
    if moment.tzinfo is not None:
        moment = moment.astimezone(UTC)
    written = moment.replace(tzinfo=None).isoformat(timespec="seconds")
    return written.removesuffix("T00:00:00")


def _since_1970(number: float) -> str | None:
    for unit in (1, 1000):
        if SECONDS[0] <= number / unit < SECONDS[1]:
            return _iso(datetime.fromtimestamp(int(number / unit), UTC))
    return None


def _mail_date(text: str) -> str | None:
    found = parsedate_tz(text)
    if found is None:
        return None
    year, month, day, hour, minute, second, *_ = found
    local = datetime(year, month, day, hour, minute, second)
    return _iso(local - timedelta(seconds=found[9] or 0))
