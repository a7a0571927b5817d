import json

from docboltz.cli.output import print_json, print_table


def test_a_piped_row_is_one_line(capsys):
    print_table("Title", {"n": "right", "text": "left"}, [["1", "word " * 300], ["10", "x"]])
    title, header, first, second = capsys.readouterr().out.splitlines()
    assert title.strip() == "Title"
    assert header.split() == ["n", "text"]
    assert first.split() == ["1", *["word"] * 300]
    assert second.split() == ["10", "x"]


def test_text_is_neither_markup_nor_emoji_nor_control(capsys):
    print_table(None, {"text": "left"}, [["[red]:smile:\x1b[2J\t\u202e"]])
    assert capsys.readouterr().out.splitlines()[1].rstrip() == "[red]:smile: [2J"


def test_json_is_utf_8_even_for_broken_file_names(capfdbinary):
    print_json({"id": "Größe", "file": "\udcff"})
    written = capfdbinary.readouterr().out.decode("utf-8")
    assert json.loads(written) == {"id": "Größe", "file": "\udcff"}
    assert "Größe" in written


def test_a_cut_column_is_one_line_on_a_terminal(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "40")
    print_table(None, {"n": "right", "name": "left", "text": "cut"}, [["1", "abc", "word " * 300]])
    _, row = capsys.readouterr().out.splitlines()
    assert row.split()[:3] == ["1", "abc", "word"]
    assert row.rstrip().endswith("…")
    assert len(row) <= 40
