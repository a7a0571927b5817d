"""How a stream of rows is looked at before it is read."""

from docboltz.corpus import rows
from docboltz.corpus.rows import first_of


def test_the_first_rows_are_taken_and_the_others_stay():
    stream = iter(range(1000))
    assert first_of(stream, lambda row: 1) == list(range(rows.ENOUGH_ROWS))
    assert next(stream) == rows.ENOUGH_ROWS


def test_a_short_stream_is_taken_whole():
    assert first_of(iter("abc"), len) == ["a", "b", "c"]


def test_long_rows_are_fewer():
    stream = iter(["x" * rows.ENOUGH_TEXT] * 9)
    assert len(first_of(stream, len)) == 1
