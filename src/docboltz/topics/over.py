"""How topics are spread over labels and over time.

T topics, G groups (labels, or periods one after the other), n_g documents of a group, s_tg the
share of them that has topic t, p_t its share of all documents.

Trend: a topic's share of a period differs from a straight line by the chance of drawing n_g
documents, of variance b_t/n_g with b_t = p_t (1 − p_t), and because topics come in bursts, of
variance τ_t². The line is that of weighted least squares with the weights

    w_tg = 1 / (b_t/n_g + τ_t²),    slope_t = Σ_g w_tg (x_g − x̄_t) s_tg / S_t,
    S_t = Σ_g w_tg (x_g − x̄_t)²,    error_t² = 1 / S_t,

x_g = 0, 1, 2, … over the P periods with documents. τ_t² makes the scatter Σ_g w_tg (s_tg − line)²
what it should be, P − 2 (Paule and Mandel's rule), or is 0 where the scatter is less anyway. With
weights n_g instead, and periods that differ in size, topics that only come in bursts would mostly
be said to rise or fall.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from docboltz.errors import InvalidParameter, require, require_count

Period = Literal["day", "month", "year"]
PERIODS: tuple[Period, ...] = get_args(Period)
MOST_ASKED_FOR = 5000
"""Periods of a length that is given."""
FEWEST_PERIODS, MOST_PERIODS = 4, 60
"""As many months, at least and at most, are shown as months; fewer as days, more as years."""
TOLD = 0.9
"""Share of the dates that must tell a period for it to be chosen: "2013" tells no month."""
ERROR_RATE = 0.05
"""Nominal probability that any topic at all is said to rise or fall if none does."""

STRAY, FEWEST_DATES = 100, 20
"""One date in so many may be a stray, an error of typing or a clock that was not set: one at least,
among so many dates."""

HALVINGS = 40
"""Steps that find τ²: to 1e-12."""

_LENGTHS: dict[Period, int] = {"day": 10, "month": 7, "year": 4}
_UNITS: dict[Period, str] = {"day": "D", "month": "M", "year": "Y"}

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Trend:
    """How shares change from period to period: a straight line for each topic."""

    slope: Floats
    """Change of the share in a period: (T,)."""
    error: Floats
    """Its standard error; infinite with fewer than three periods: (T,)."""
    direction: NDArray[np.int8]
    """1 rising, −1 falling, 0 neither for certain: (T,).

    A topic rises or falls if its slope is further from 0 than, in 95 of 100 collections in which
    no topic does either, that of any (Student's t with P − 2 degrees of freedom, Bonferroni over
    the topics). Periods are taken to scatter independently and normally. In 400 simulated
    collections each of 4 to 48 periods and 10 or 50 topics, with and without bursts, a topic was
    named wrongly in 0 to 6 % where periods had equal or steadily growing sizes, and in up to 16 %
    where these differed at random, a hundredfold and more, and bursts were strong.
    """


@dataclass(frozen=True, eq=False)
class Shares:
    """The share of each topic among the documents of each group."""

    groups: tuple[str, ...]
    """Labels, most frequent first, or periods in order: "2013", "2013-08" or "2013-08-11"."""
    documents: Ints
    """Documents of each group, those of no topic included: (G,)."""
    shares: Floats
    """Of these, the share that has the topic; 0 in a group without documents: (T, G)."""
    n_without: int
    """Documents without a label, or without a date that tells the period: left out."""
    n_groups_left_out: int = 0
    """Labels beyond the most frequent ones."""
    period: Period | None = None
    """Of groups that are periods."""
    trend: Trend | None = None
    """Of groups that are periods."""
    n_stray: int = 0
    """Documents whose dates are further from all others than these are from each other: left out,
    for there would be more empty periods than others."""

    def to_dicts(self) -> list[dict[str, Any]]:
        """As JSON can hold it: a dictionary for each topic."""
        sizes, dicts = self.documents.tolist(), []
        for topic, row in enumerate(self.shares.tolist()):
            groups = [
                {"group": group, "documents": round(share * n), "of": n, "share": share}
                for group, share, n in zip(self.groups, row, sizes, strict=True)
            ]
            dicts.append({"topic": topic, "groups": groups, **self._trend_of(topic)})
        return dicts

    def cut(self, most: int) -> Shares:
        """The first groups alone: as many labels as a table or a picture has room for."""
        left_out = max(0, len(self.groups) - most)
        return replace(
            self,
            groups=self.groups[:most],
            documents=self.documents[:most],
            shares=self.shares[:, :most],
            n_groups_left_out=self.n_groups_left_out + left_out,
        )

    def course(self, most: int) -> tuple[Floats, Floats, Floats]:
        """Periods joined, side by side, into at most so many runs of about one length, B.

        The place of each run's middle among the periods, (B,), its documents in a period on
        average, (B,), and the share of each topic among them, NaN where there are none, (T, B).
        """
        G = len(self.groups)
        ends = np.linspace(0, G, min(most, G) + 1).astype(np.int64)
        begins, lengths = ends[:-1], np.diff(ends)
        documents = np.add.reduceat(self.documents, begins)
        inside = np.add.reduceat(self.shares * self.documents, begins, axis=1)
        shares = inside / np.where(documents > 0, documents, np.nan)
        return begins + (lengths - 1) / 2, documents / lengths, shares

    def _trend_of(self, topic: int) -> dict[str, Any]:
        if self.trend is None:
            return {}
        slope, error = float(self.trend.slope[topic]), float(self.trend.error[topic])
        direction = {1: "rising", -1: "falling"}.get(int(self.trend.direction[topic]))
        return {"trend": direction, "slope": slope, "error": error if np.isfinite(error) else None}


def shares_by_label(
    topics: ArrayLike, n_topics: int, labels: Sequence[tuple[str, ...]], most: int = 1000
) -> Shares:
    """Shares of topics within each of the `most` frequent labels.

    `topics` holds the topic of each document, from 0, or −1 for none: (n,). A document with several
    labels counts for each.

    >>> found = shares_by_label([0, 1, 1, -1], 2, [("a",), ("a", "b"), ("b",), ()])
    >>> found.groups, found.documents.tolist(), found.shares.tolist(), found.n_without
    (('a', 'b'), [2, 2], [[0.5, 0.0], [0.5, 1.0]], 1)
    """
    own = _checked(topics, n_topics, len(labels), "shares_by_label", "labels")
    require_count(most, "shares_by_label", "most")
    sizes = Counter(label for each in labels for label in set(each))
    groups = sorted(sizes, key=lambda label: (-sizes[label], label))[: int(most)]
    number = {label: g for g, label in enumerate(groups)}
    pairs = [
        (row, number[label])
        for row, each in enumerate(labels)
        for label in set(each)
        if label in number
    ]
    rows, codes = np.array(pairs, np.int64).reshape(-1, 2).T
    documents, shares = _shares(own[rows], int(n_topics), codes, len(groups))
    n_without = sum(not each for each in labels)
    return Shares(tuple(groups), documents, shares, n_without, len(sizes) - len(groups))


def shares_by_date(
    topics: ArrayLike, n_topics: int, dates: Sequence[str], period: Period | None = None
) -> Shares:
    """Shares of topics in each period from the first document to the last, and their trend.

    `topics` as in `shares_by_label`; `dates` are strings of ISO 8601, "" where there is none. Left
    out, the period is a month if that makes 4 to 60 periods, a day if they are fewer and a year if
    they are more, as far as nine tenths of the dates tell it. Of a hundred dates, one that is
    further from all others than these are from each other does not count.

    >>> found = shares_by_date([0, 1, 1], 2, ["2013-08-11", "2014", "2016-01"])
    >>> found.groups, found.shares[1].tolist()
    (('2013', '2014', '2015', '2016'), [0.0, 1.0, 0.0, 1.0])
    """
    own = _checked(topics, n_topics, len(dates), "shares_by_date", "dates")
    known = period is None or period in PERIODS
    require(known, "shares_by_date", "period", f"None or {' or '.join(PERIODS)}", period)
    written = np.array(dates, dtype="U10") if len(dates) else np.empty(0, "U10")
    lengths = np.char.str_len(written)
    dated = np.flatnonzero(lengths > 0)
    stray = dated[_strays(written[dated])]
    dated = np.setdiff1d(dated, stray)
    period = _period(written[dated], lengths[dated]) if period is None else period
    rows = dated[lengths[dated] >= _LENGTHS[period]]
    codes = _numbers(written[rows], period)
    first, last = (int(codes.min()), int(codes.max())) if len(rows) else (0, -1)
    fits = last - first < MOST_ASKED_FOR
    expected = f"one that makes at most {MOST_ASKED_FOR:,} periods, such as 'year'"
    require(fits, "shares_by_date", "period", expected, period)
    groups = np.arange(first, last + 1).astype(f"datetime64[{_UNITS[period]}]").astype(str)
    documents, shares = _shares(own[rows], int(n_topics), codes - first, len(groups))
    n_without = len(own) - len(rows) - len(stray)
    trend = find_trend(documents, shares)
    names, n_stray = tuple(groups.tolist()), len(stray)
    return Shares(names, documents, shares, n_without, period=period, trend=trend, n_stray=n_stray)


def find_trend(documents: ArrayLike, shares: ArrayLike) -> Trend:
    """The trend of shares, (T, G), of periods with so many documents, (G,). See `Trend`."""
    n, s = np.asarray(documents, np.float64), np.asarray(shares, np.float64)
    x = np.flatnonzero(n).astype(np.float64)
    n, s = n[n > 0], s[:, n > 0]
    T, P = s.shape
    if P < 3 or not T:
        return Trend(np.zeros(T), np.full(T, np.inf), np.zeros(T, np.int8))
    p = s @ n / n.sum()
    b = np.maximum(p * (1 - p), 1e-9)  # shares of a topic of all or no documents are equal anyway
    chance = b[:, None] / n  # (T, P)
    low, high = np.zeros(T), np.ones(T)  # of τ²: no share is further than 1 from another
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        wide = _line(x, s, 1 / (chance + middle[:, None])).scatter > P - 2
        low, high = np.where(wide, middle, low), np.where(wide, high, middle)
    slope, error, _ = _line(x, s, 1 / (chance + high[:, None]))
    from scipy.special import stdtrit  # which takes as long to import as all else here

    limit = stdtrit(P - 2, 1 - ERROR_RATE / (2 * T))
    certain = np.abs(slope) > limit * error
    return Trend(slope, error, np.where(certain, np.sign(slope), 0).astype(np.int8))


class _Line(NamedTuple):
    slope: Floats
    error: Floats
    scatter: Floats
    """Σ_g w_tg (s_tg − line)²: (T,)."""


def _line(x: Floats, shares: Floats, weights: Floats) -> _Line:
    """The weighted least-squares line of each topic: shares and weights are (T, P)."""
    total = weights.sum(1)
    centred = x - (weights @ x / total)[:, None]
    S = (weights * centred**2).sum(1)
    slope = (weights * centred * shares).sum(1) / S
    mean = (weights * shares).sum(1) / total
    residuals = shares - mean[:, None] - slope[:, None] * centred
    return _Line(slope, 1 / np.sqrt(S), (weights * residuals**2).sum(1))


def _checked(topics: ArrayLike, n_topics: int, n: int, owner: str, name: str) -> Ints:
    require_count(n_topics, owner, "n_topics")
    own = np.asarray(topics)
    whole = own.ndim == 1 and (own.dtype.kind in "iu" or not own.size)
    fits = whole and bool(((own >= -1) & (own < n_topics)).all())
    require(fits, owner, "topics", f"whole numbers from -1 to {n_topics - 1}", topics)
    require(len(own) == n, owner, name, f"as many as topics, {len(own)}", n)
    return own.astype(np.int64)


def _shares(topics: Ints, n_topics: int, groups: Ints, n_groups: int) -> tuple[Ints, Floats]:
    """Documents of each group, (G,), and shares of topics among them, (T, G)."""
    documents = np.bincount(groups, minlength=n_groups)
    has = topics >= 0
    cells = np.bincount(topics[has] * n_groups + groups[has], minlength=n_topics * n_groups)
    return documents, cells.reshape(n_topics, n_groups) / np.maximum(documents, 1)


def _strays(dates: NDArray[np.str_]) -> Ints:
    """Places of the few first and last dates with a gap to the others wider than all of these."""
    if len(dates) < FEWEST_DATES:
        return np.empty(0, np.int64)
    days = _since_1970(dates, "D")  # the first where only a month or a year is told
    order = np.argsort(days, kind="stable")
    most = max(1, len(days) // STRAY)
    for _ in range(3):  # at one end, at the other, and once more without those of the other
        at = days[order]
        for n in range(most, 0, -1):
            if abs(at[n] - at[n - 1]) > abs(at[-1] - at[n]):
                order = order[n:]
                break
        order = order[::-1]
    return np.setdiff1d(np.arange(len(days)), order)


def _period(dates: NDArray[np.str_], lengths: NDArray[np.integer[Any]]) -> Period:
    """The period that makes a readable number of groups; without dates, years."""
    told = (
        {period: bool((lengths >= n).mean() >= TOLD) for period, n in _LENGTHS.items()}
        if len(dates)
        else {}
    )
    if not told.get("month"):
        return "year"
    months = _numbers(dates[lengths >= _LENGTHS["month"]], "month")
    n = int(months.max() - months.min()) + 1
    if n > MOST_PERIODS:
        return "year"
    return "day" if n < FEWEST_PERIODS and told["day"] else "month"


def _numbers(dates: NDArray[np.str_], period: Period) -> Ints:
    """Periods since 1970."""
    return _since_1970(dates.astype(f"U{_LENGTHS[period]}"), _UNITS[period])


def _since_1970(dates: NDArray[np.str_], unit: str) -> Ints:
    try:
        return dates.astype(f"datetime64[{unit}]").astype(np.int64)
    except ValueError as error:
        raise InvalidParameter(
            f"shares_by_date() expects dates such as 2013, 2013-08 or 2013-08-11. {error}."
        ) from error
