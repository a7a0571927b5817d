"""Figures: what they show, and that the same numbers give the same file."""

import numpy as np
import pytest

from docboltz import plots
from docboltz.errors import InvalidParameter
from docboltz.evaluation.by_length import by_length

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
