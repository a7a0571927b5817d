"""Shares of topics by label and over time, and which of them rise and fall."""

import json

import numpy as np
import pytest
from scipy.special import stdtrit

from docboltz.errors import InvalidParameter
from docboltz.topics.over import find_trend, shares_by_date, shares_by_label

LABELS = [("a",), ("a", "b"), ("b",), (), ("c",), ("b", "b")]


def test_shares_by_label_are_those_of_counting():
    found = shares_by_label([0, 1, -1, 0, 1, 1], 3, LABELS)
    assert found.groups == ("b", "a", "c")  # the most frequent first
    assert found.documents.tolist() == [3, 2, 1]
    np.testing.assert_allclose(found.shares, [[0, 1 / 2, 0], [2 / 3, 1 / 2, 1], [0, 0, 0]])
    assert (found.n_without, found.n_groups_left_out, found.trend) == (1, 0, None)


def test_only_the_most_frequent_labels_are_shown():
    whole, cut = (shares_by_label([0, 1, -1, 0, 1, 1], 3, LABELS, most) for most in (20, 2))
    assert cut.groups == whole.groups[:2]
    np.testing.assert_array_equal(cut.shares, whole.shares[:, :2])
    assert (cut.n_without, cut.n_groups_left_out) == (1, 1)


def test_documents_without_labels_or_dates_make_no_groups():
    for found in (shares_by_label([0, 1], 2, [(), ()]), shares_by_date([0, 1], 2, ["", ""])):
        assert (found.groups, found.shares.shape, found.n_without) == ((), (2, 0), 2)


def test_periods_follow_one_another_and_empty_ones_are_kept():
    dates = ["2012-12-31T23:59:59", "2013-03-01", "", "2013-03", "2013"]
    found = shares_by_date([0, 1, 1, -1, 0], 2, dates, "month")
    assert found.groups == ("2012-12", "2013-01", "2013-02", "2013-03")
    assert found.documents.tolist() == [1, 0, 0, 2]
    assert found.shares.tolist() == [[1, 0, 0, 0], [0, 0, 0, 0.5]]
    assert (found.period, found.n_without) == ("month", 2)


@pytest.mark.parametrize(
    ("dates", "period", "n"),
    [
        (["2013-08-11", "2013-10-31"], "day", 82),
        (["2013-08-11T10:20:00", "2013-11-01"], "month", 4),
        (["2013-01-01", "2017-12-31"], "month", 60),
        (["2013-01-01", "2018-01-01"], "year", 6),
        (["2013-08", "2013-09"], "month", 2),
        (["2013", "2014"], "year", 2),
        (["2013-08-11"] * 9 + ["2013"], "day", 1),
        (["2013-08-11"] * 8 + ["2013"], "year", 1),
        (["2013-08-11"], "day", 1),
        (["1969-12-31", "1970-01-02"], "day", 3),
        (["", ""], "year", 0),
    ],
)
def test_the_period_follows_from_the_dates(dates, period, n):
    found = shares_by_date([0] * len(dates), 1, dates)
    assert (found.period, len(found.groups)) == (period, n)


def test_json_holds_it():
    over_time = shares_by_date([0, 1, 1], 2, ["2013", "2014", "2015"])
    first, second = json.loads(json.dumps(over_time.to_dicts(), allow_nan=False))
    assert first["groups"][0] == {"group": "2013", "documents": 1, "of": 1, "share": 1.0}
    assert (second["topic"], second["trend"]) == (1, None)
    assert second["slope"] == pytest.approx(0.5)
    two = shares_by_date([0, 1], 2, ["2013", "2014"]).to_dicts()  # no line has an error here
    assert json.loads(json.dumps(two, allow_nan=False))[0]["error"] is None
    by_label = shares_by_label([0, -1], 1, [("a",), ("a",)]).to_dicts()
    assert by_label == [
        {"topic": 0, "groups": [{"group": "a", "documents": 1, "of": 2, "share": 0.5}]}
    ]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (([0, 2], 2, ["2013", "2013"]), "from -1 to 1"),
        (([0, -2], 2, ["2013", "2013"]), "from -1 to 1"),
        (([0.5], 2, ["2013"]), "whole numbers"),
        (([[0]], 2, ["2013"]), "whole numbers"),
        (([0], 2, ["2013", "2014"]), "as many as topics, 1"),
        (([0], 0, ["2013"]), "n_topics"),
        (([0], 1, ["2013"], "week"), "day or month or year"),
        (([0], 1, ["soon"]), "expects dates such as"),
    ],
)
def test_what_cannot_be_counted_is_refused(given, message):
    with pytest.raises(InvalidParameter, match=message):
        shares_by_date(*given)


# ---- trends ----


def test_without_bursts_the_line_is_that_of_cochran_and_armitage():
    """Shares that scatter less than chance would have them: τ is 0 and the weights are n."""
    n, x = np.array([100, 50, 200, 100]), np.arange(4)
    shares = np.array([[0.1, 0.15, 0.2, 0.25]])
    p, mean = (shares @ n / n.sum())[0], x @ n / n.sum()
    S = n @ (x - mean) ** 2
    found = find_trend(n, shares)
    assert found.slope[0] == pytest.approx(0.05)
    assert found.error[0] == pytest.approx(np.sqrt(p * (1 - p) / S), rel=1e-6)


def test_bursts_of_large_periods_count_every_period_alike():
    """With sizes that make chance nothing, the line and its error are those of plain regression."""
    shares = np.array([[0.1, 0.3, 0.2, 0.5, 0.2, 0.4]])
    x = np.arange(6) - 2.5
    slope = (x @ shares[0]) / (x @ x)
    residuals = shares[0] - shares.mean() - slope * x
    found = find_trend(np.array([1, 5, 2, 30, 1, 4]) * 10**9, shares)
    assert found.slope[0] == pytest.approx(slope, rel=1e-5)
    assert found.error[0] == pytest.approx(np.sqrt(residuals @ residuals / 4 / (x @ x)), rel=1e-5)


def test_empty_periods_leave_gaps_and_nothing_else():
    rng = np.random.default_rng(0)
    n, shares = np.array([40, 0, 30, 50, 0, 0, 20]), rng.random((3, 7))
    shares[:, n == 0] = 0
    found = find_trend(n, shares)
    shares[:, n == 0] = 0.9  # of no document
    np.testing.assert_array_equal(find_trend(n, shares).slope, found.slope)


def test_what_rises_and_falls_is_named():
    n = np.full(12, 200)
    x = np.linspace(-1, 1, 12)
    found = find_trend(n, np.stack([0.3 + 0.2 * x, 0.3 - 0.2 * x, 0.3 + 0 * x, 0 * x, 0 * x + 1]))
    assert found.direction.tolist() == [1, -1, 0, 0, 0]


def test_two_periods_are_no_trend():
    found = find_trend([1000, 1000], [[0.0, 1.0]])
    assert (found.direction.tolist(), found.error.tolist()) == ([0], [np.inf])


@pytest.mark.parametrize("bursts", [False, True])
@pytest.mark.parametrize("growth", [1.0, 1.1])
def test_topics_that_do_neither_are_seldom_named(bursts, growth):
    """200 collections without a trend: at 5 %, more than 20 have one named with p = .001."""
    rng = np.random.default_rng(0)
    n, T, wrong = (50 * growth ** np.arange(36)).astype(int), 10, 0
    for _ in range(200):
        shares = rng.dirichlet(np.full(T, 2.0))
        each = rng.dirichlet(60 * shares, len(n)) if bursts else np.tile(shares, (len(n), 1))
        drawn = np.stack([rng.multinomial(k, p) for k, p in zip(n, each, strict=True)], 1)
        wrong += find_trend(n, drawn / n).direction.any()
    assert wrong <= 20


def test_the_limit_counts_the_topics():
    """One topic that just rises alone does not among twenty."""
    n, x = np.full(10, 100), np.arange(10)
    b, S = 0.3 * 0.7, 100 * ((x - 4.5) ** 2).sum()
    slope = 1.1 * stdtrit(8, 0.975) * np.sqrt(b / S)
    rising = 0.3 + slope * (x - 4.5)
    assert find_trend(n, rising[None]).direction.tolist() == [1]
    assert not find_trend(n, np.vstack([rising, np.full((19, 10), 0.1)])).direction.any()


# ---- strays, and many periods ----


def days(first, n):
    return [str(day) for day in np.datetime64(first) + np.arange(n)]


@pytest.mark.parametrize("stray", ["0001-01-01", "1970-01", "2199"])
def test_a_stray_date_makes_no_periods(stray):
    dates = days("2013-08-01", 150)
    topics = [0, 1] * 75
    expected = shares_by_date(topics, 2, dates)
    found = shares_by_date([*topics, 1], 2, [*dates, stray])
    assert (found.n_stray, found.n_without) == (1, 0)
    assert (
        found.groups == expected.groups == ("2013-08", "2013-09", "2013-10", "2013-11", "2013-12")
    )
    assert np.array_equal(found.shares, expected.shares)


def test_strays_may_be_at_both_ends_and_one_in_a_hundred():
    dates = days("2013-08-01", 400)
    strays = ["1900", "1901", "1901", "2100-01-01", "2101-01-01"]
    found = shares_by_date([0] * 405, 1, [*strays, *dates])
    assert found.n_stray == 5
    assert (found.groups[0], found.groups[-1]) == ("2013-08", "2014-09")
    farther = shares_by_date([0] * 402, 1, ["1980", "2199", *dates])
    assert farther.n_stray == 2, "the nearer is one without the farther"
    more = shares_by_date([0] * 405, 1, ["1900-01-01"] * 5 + dates)
    assert more.n_stray == 0, "five of 405 are no error of typing"
    assert more.groups[0] == "1900"


def test_dates_that_are_far_apart_are_no_strays():
    few = ["2000", "2001", "2013"]
    assert shares_by_date([0] * 3, 1, few).n_stray == 0, "of so few, who knows"
    apart = [*days("2000-01-01", 50), *days("2013-01-01", 50)]
    found = shares_by_date([0] * 100, 1, apart)
    assert (found.n_stray, found.groups[0], found.groups[-1]) == (0, "2000", "2013")


def test_a_course_joins_periods():
    found = shares_by_date([0, 0, 1, 0, 1], 2, ["2000", "2001", "2001", "2006", "2006"])
    middles, documents, shares = found.course(4)
    assert middles.tolist() == [0, 1.5, 3.5, 5.5]
    assert documents.tolist() == [1, 1, 0, 1]
    np.testing.assert_allclose(shares, [[1, 0.5, np.nan, 0.5], [0, 0.5, np.nan, 0.5]])
    middles, documents, shares = found.course(100)
    assert np.array_equal(documents, found.documents)
    filled = documents > 0
    assert np.array_equal(shares[:, filled], found.shares[:, filled])


def test_a_table_has_the_first_labels_and_says_how_many_others_there_are():
    labels = [(str(i % 7),) for i in range(70)]
    found = shares_by_label([0] * 70, 1, labels)
    assert len(found.groups) == 7
    cut = found.cut(3)
    assert (cut.groups, cut.n_groups_left_out) == (found.groups[:3], 4)
    assert cut.documents.tolist() == [10, 10, 10]
    assert cut.shares.shape == (1, 3)
