from docboltz.text_table import cells, table_lines

COLUMNS = {"n": "right", "what": "left", "text": "cut"}
ROWS = [["1", "some words", "one two three four five six seven eight"], ["22", "", "日本語"]]


def test_a_table_without_a_width_is_as_wide_as_it_must_be():
    assert table_lines(COLUMNS, ROWS) == [
        " n  what        text",
        " 1  some words  one two three four five six seven eight",
        "22              日本語",
    ]


def test_a_cut_column_gives_way_first():
    lines = table_lines(COLUMNS, ROWS, 36)
    assert lines[1:] == [" 1  some words  one two three four …", "22              日本語"]
    assert all(cells(line) <= 36 for line in lines)


def test_texts_are_wrapped_in_their_columns():
    columns = {"name": "left", "long": "left", "n": "right"}
    lines = table_lines(columns, [["a b c d e f g h", "one two three four five six", "7"]], 32)
    assert lines == [
        "name           long            n",
        "a b c d e f g  one two three   7",
        "h              four five six",
    ]


def test_what_cannot_be_narrower_stays():
    lines = table_lines({"a": "right", "b": "left"}, [["1" * 30, "word " * 3 + "x"]], 20)
    assert lines[1].startswith("1" * 30 + "  word word")
    assert "".join(lines).count("word") == 3
    assert table_lines({"a": "left"}, [], 3) == ["a"]


def test_marks_take_no_room():
    (_, line) = table_lines({"text": "cut"}, [["\1bold\2 and not bold at all"]], 16)
    assert line == "\1bold\2 and not bo…"
