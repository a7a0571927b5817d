"""Progress for people who watch; lines, now and then, for log files. A terminal: tests/cli."""

import io
import sys

from docboltz.progress import progress_bar


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_silent_when_not_shown(capsys):
    with progress_bar("Reading", "documents", shown=False) as update:
        update(1, None)
        update(2, 2)
    assert capsys.readouterr() == ("", "")


def test_silent_while_little_time_has_passed(capsys):
    with progress_bar("Reading", "documents", shown=True) as update:
        update(1, None)
        update(2, 2)
    out, err = capsys.readouterr()
    assert (out, err.strip()) == ("", "")


def test_a_line_now_and_then_where_there_is_no_terminal(capsys, monkeypatch):
    now = iter([0.0, 2.0, 4.0, 31.0, 40.0, 65.0])
    monkeypatch.setattr("docboltz.progress.time.monotonic", lambda: next(now))
    with progress_bar("Training", "updates", shown=True) as update:
        update(50, 3000)
        update(100, 3000)
        update(800, 3000)
        update(1200, 3000, "units on 42%")
        update(1900, None)
    lines = (
        "Training: 100 of 3,000 updates; 0:01:56 left\n"
        "Training: 1,200 of 3,000 updates; 0:01:00 left; units on 42%\n"
    )
    assert capsys.readouterr() == ("", lines)


def test_what_is_prepared_before_anything_is_done_is_told_at_once(capsys):
    with progress_bar("Training", "updates", shown=True) as update:
        update(0, 3000, "preparing")
        update(1, 3000)
    assert capsys.readouterr() == ("", "Training: 0 of 3,000 updates; preparing\n")


def watched(monkeypatch):
    """Make standard error a terminal, 80 columns wide; what a fixture sets, pytest undoes."""
    for name, value in {"TERM": "xterm", "COLUMNS": "80", "NO_COLOR": "1"}.items():
        monkeypatch.setenv(name, value)
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    return terminal


def test_a_known_total_shows_the_time_left(monkeypatch):
    terminal = watched(monkeypatch)
    with progress_bar("Training", "updates", shown=True) as update:
        update(1000, 3000)
    assert "1,000/3,000 updates" in terminal.getvalue()
    assert "left" in terminal.getvalue()
    assert "…" not in terminal.getvalue()


def test_an_unknown_total_shows_none(monkeypatch):
    terminal = watched(monkeypatch)
    with progress_bar("Reading", "documents", shown=True) as update:
        update(1000, None)
    assert "1,000 documents" in terminal.getvalue()
    assert "left" not in terminal.getvalue()


def test_a_note_is_shown_where_there_is_room(monkeypatch):
    for columns, shown in (("80", False), ("140", True)):
        terminal = watched(monkeypatch)
        monkeypatch.setenv("COLUMNS", columns)
        with progress_bar("Training", "updates", shown=True) as update:
            update(1000, 3000, "units on 42%")
        assert ("1,000/3,000 updates; units on 42%" in terminal.getvalue()) == shown
        assert "…" not in terminal.getvalue()
