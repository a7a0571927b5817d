"""Figures: what they show, and that the same numbers give the same file."""

from itertools import pairwise

import numpy as np
import pytest

from docboltz import plots
from docboltz.errors import InvalidParameter
from docboltz.evaluation.by_length import by_length
from docboltz.topics.over import shares_by_date, shares_by_label

NAMES = ("ORS", "RS", "DocNADE", "LDA", "LSI", "TF-IDF", "Unigram")
RECALL = (0.01, 0.1, 1.0)


@pytest.fixture
def curves():
    rng = np.random.default_rng(0)
    return {name: np.sort(rng.random(3))[::-1] for name in NAMES}


@pytest.fixture
def lengths():
    rng = np.random.default_rng(0)
    words = rng.geometric(0.02, 200)
    return {name: by_length(rng.random(200), words) for name in NAMES}


def letters(figure):
    """Every text of a figure."""
    found = [text for legend in figure.legends for text in legend.get_texts()]
    for axes in figure.axes:
        found += [axes.xaxis.label, axes.yaxis.label]
        found += [*axes.get_xticklabels(), *axes.get_yticklabels()]
    return found


def test_precision_recall_is_in_percent(curves):
    axes = plots.precision_recall(curves, RECALL).axes[0]
    assert axes.get_xscale() == "log"
    for line, (name, curve) in zip(axes.get_lines(), curves.items(), strict=True):
        assert line.get_label() == name
        np.testing.assert_allclose(line.get_xdata(), [1, 10, 100])
        np.testing.assert_allclose(line.get_ydata(), 100 * curve)


def test_by_length_has_curves_above_and_the_histogram_below(lengths):
    figure = plots.by_length(lengths)
    above, below = figure.axes
    assert above.get_xlim() == below.get_xlim()
    heights = [bar.get_height() for bar in below.patches]
    assert sum(heights) == pytest.approx(100)
    named = [line for line in above.get_lines() if not line.get_label().startswith("_")]
    assert [line.get_label() for line in named] == list(NAMES)


def test_queries_without_words_have_a_place():
    figure = plots.by_length({"ORS": by_length([0.1, 0.5, 0.7], [0, 3, 40])})
    assert figure.axes[1].get_xscale() == "symlog"


@pytest.mark.parametrize("kind", ["curves", "lengths"])
def test_everything_is_labelled_legible_and_told_apart(kind, curves, lengths):
    figure = plots.by_length(lengths)
    if kind == "curves":
        figure = plots.precision_recall(curves, RECALL)
    assert all(axes.get_ylabel() for axes in figure.axes)
    assert figure.axes[-1].get_xlabel()
    assert min(text.get_fontsize() for text in letters(figure)) >= 9
    assert tuple(figure.get_size_inches()) == (3.5, 2.8)
    lines = [x for x in figure.axes[0].get_lines() if not x.get_label().startswith("_")]
    assert len({line.get_color() for line in lines}) == len(NAMES)
    assert len({line.get_marker() for line in lines}) == len(NAMES)


def test_a_name_looks_the_same_in_all_panels():
    one, two = ([1, 2], [3, 4]), ([1, 2], [5, 6])
    figure = plots.beside({"left": {"a": one, "c": two}, "right": {"b": one, "c": two}}, x="", y="")
    looks = [{x.get_label(): x.get_color() for x in axes.get_lines()} for axes in figure.axes]
    assert looks[0] == looks[1]
    assert len(set(looks[0].values())) == 3
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["a", "c", "b"]


def test_curves_stand_beside_each_other():
    curves = {"AIS": ([5, 9], [1.0, 2.0]), "lower bound": ([5, 9], [2.0, 3.0])}
    figure = plots.beside({"ORS": curves, "RS": curves}, x="D", y="nats")
    assert [axes.get_title() for axes in figure.axes] == ["ORS", "RS"]
    for axes in figure.axes:
        for line, (name, (x, y)) in zip(axes.get_lines(), curves.items(), strict=True):
            assert (line.get_label(), line.get_xdata().tolist()) == (name, x)
            assert line.get_ydata().tolist() == y
    assert min(text.get_fontsize() for text in letters(figure)) >= 9


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_the_same_numbers_give_the_same_file(tmp_path, curves, suffix):
    paths = [tmp_path / f"{number}{suffix}" for number in range(2)]
    for path in paths:
        plots.save(plots.precision_recall(curves, RECALL), path)
    one, other = (path.read_bytes() for path in paths)
    assert one == other
    assert sorted(tmp_path.iterdir()) == paths


def test_svg_can_be_embedded(lengths):
    svg = plots.to_svg(plots.by_length(lengths))
    assert svg.startswith("<svg")
    assert svg.rstrip().endswith("</svg>")
    assert 'href="http' not in svg
    assert "<dc:date" not in svg


def test_what_cannot_be_drawn_is_refused(tmp_path, curves, lengths):
    with pytest.raises(InvalidParameter, match="one curve"):
        plots.precision_recall({}, RECALL)
    with pytest.raises(InvalidParameter, match="3 precisions"):
        plots.precision_recall({"ORS": [0.5]}, RECALL)
    with pytest.raises(InvalidParameter, match="rising"):
        plots.precision_recall({"ORS": [0.5, 0.1]}, [0.0, 1.0])
    with pytest.raises(InvalidParameter, match="same queries"):
        plots.by_length({**lengths, "other": by_length([0.1], [3])})
    with pytest.raises(InvalidParameter, match=r"\.png or \.svg"):
        plots.save(plots.precision_recall(curves, RECALL), tmp_path / "figure.gif")


def over_time(n_topics=8):
    rng = np.random.default_rng(0)
    topics, months = rng.integers(1, n_topics, 2000), rng.integers(1, 13, 2000)
    topics[rng.random(2000) < months / 24] = 0  # rises
    return shares_by_date(topics, n_topics, [f"2013-{month:02}" for month in months])


def by_label(n_topics=8):
    rng = np.random.default_rng(0)
    labels = [(f"label {i}",) for i in rng.integers(0, 5, 500)]
    return shares_by_label(rng.integers(0, n_topics, 500), n_topics, labels)


def test_lines_show_the_topics_that_change_most():
    shares, names = over_time(), [f"name {t}" for t in range(8)]
    (axes,) = plots.topic_shares_figure(shares, names).axes
    lines = axes.get_lines()
    assert len(lines) == plots.MOST_LINES
    assert lines[0].get_label() == "name 0 ↑"
    np.testing.assert_allclose(lines[0].get_ydata(), 100 * shares.shares[0])
    assert axes.get_xticklabels()[0].get_text() == "2013-01"
    assert axes.get_xlabel() == "Month"


def test_periods_without_documents_are_no_zeros():
    shares = shares_by_date([0, 0, 0, 1], 2, ["2010", "2011", "2013", "2013"])
    (axes,) = plots.topic_shares_figure(shares, ["a", "b"]).axes
    assert all(line.get_xdata().tolist() == [0, 1, 3] for line in axes.get_lines())


def test_the_map_shows_shares_by_label_the_largest_topics_first():
    shares, names = by_label(40), [f"{t} {'long ' * 9}" for t in range(40)]
    axes, bar = plots.topic_shares_figure(shares, names).axes
    shown = axes.get_images()[0].get_array()
    order = np.argsort(-(shares.shares @ shares.documents), kind="stable")[: plots.MOST_ROWS]
    np.testing.assert_allclose(shown, 100 * shares.shares[order])
    rows = [text.get_text() for text in axes.get_yticklabels()]
    assert [int(row.split()[0]) for row in rows] == order.tolist()
    assert max(map(len, rows)) == plots.LONGEST_NAME
    assert [text.get_text() for text in axes.get_xticklabels()] == list(shares.groups)
    assert bar.get_ylabel() == "Share of\ndocuments (%)"


@pytest.mark.parametrize("n_topics", [1, 5, 30])
def test_no_letter_of_the_map_is_cut_or_on_another(n_topics):
    labels = [(f"a long name of a label {i}",) for i in range(8)]
    shares = shares_by_label(np.arange(8) % n_topics, n_topics, labels)
    figure = plots.topic_shares_figure(shares, [f"some long name {t}" for t in range(n_topics)])
    figure.draw_without_rendering()
    axes, bar = figure.axes
    texts = [*axes.get_yticklabels(), *axes.get_xticklabels(), bar.yaxis.label, axes.xaxis.label]
    boxes = [text.get_window_extent() for text in texts]
    for box in boxes:
        assert box.x0 >= 0
        assert box.y0 >= 0
        assert box.x1 <= figure.bbox.x1
        assert box.y1 <= figure.bbox.y1
    rows = boxes[:n_topics]
    assert all(below.y1 <= above.y0 + 2 for above, below in pairwise(rows))


@pytest.mark.parametrize(
    ("dates", "expected"),
    [
        (["2001", "2009"], ["2002", "2004", "2006", "2008"]),
        (["2019-11", "2021-02"], ["2020-01", "2020-07", "2021-01"]),
        (["2020-02-27", "2020-03-05"], ["2020-02-27", "2020-03-05"]),
        (["0001", "2026"], ["0500", "1000", "1500", "2000"]),
    ],
)
def test_round_periods_are_named_and_have_room(dates, expected):
    shares = shares_by_date([0, 0], 1, dates)
    figure = plots.topic_shares_figure(shares, ["a"])
    (axes,) = figure.axes
    names = axes.get_xticklabels()
    assert [name.get_text() for name in names] == expected
    figure.draw_without_rendering()
    boxes = [name.get_window_extent() for name in names]
    assert all(one.x1 < other.x0 for one, other in pairwise(boxes))
    assert boxes[0].x0 >= 0
    assert boxes[-1].x1 <= figure.bbox.x1


def test_a_line_of_many_periods_is_that_of_a_few_joined():
    dates = [str(day) for day in np.datetime64("2020-01-01") + np.arange(600)]
    shares = shares_by_date(np.arange(600) % 2, 2, dates, "day")
    (axes,) = plots.topic_shares_figure(shares, ["a", "b"]).axes
    line = axes.get_lines()[0]
    assert len(line.get_xdata()) == 60
    np.testing.assert_allclose(line.get_ydata(), 50)


@pytest.mark.parametrize("shares", [over_time(), by_label()], ids=["time", "label"])
def test_figures_of_shares_are_legible_and_the_same_each_time(tmp_path, shares):
    figure = plots.topic_shares_figure(shares, list("abcdefgh"))
    assert min(text.get_fontsize() for text in letters(figure)) >= 9
    for suffix in plots.FORMATS:
        for number in range(2):
            drawn = plots.topic_shares_figure(shares, list("abcdefgh"))
            plots.save(drawn, tmp_path / f"{number}{suffix}")
        assert len({(tmp_path / f"{number}{suffix}").read_bytes() for number in range(2)}) == 1


def test_shares_that_cannot_be_drawn_are_refused():
    with pytest.raises(InvalidParameter, match="one for each of 8 topics"):
        plots.topic_shares_figure(over_time(), ["a"])
    with pytest.raises(InvalidParameter, match="a group at least"):
        plots.topic_shares_figure(shares_by_label([0], 1, [()]), ["a"])
