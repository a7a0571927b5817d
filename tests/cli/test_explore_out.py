"""docboltz explore --out: the page in one file."""

import pytest

from docboltz.explorer import single_file

pytest.importorskip("fastapi", reason="needs docboltz[explore]")
pytest.importorskip("openTSNE", reason="needs docboltz[explore]")


def test_writes_one_file_and_says_where(docboltz, model, tmp_path):
    page = tmp_path / "new" / "page.html"
    done = docboltz("explore", model, "--out", page)
    assert (done.code, done.out) == (0, "")
    assert f"Written: {page} (0." in done.err
    assert 'id="docboltz-data"' in page.read_text(encoding="utf-8")
    assert docboltz("explore", model, "-o", page, "--quiet").err == ""


def test_keeps_as_much_of_texts_as_asked(docboltz, model, tmp_path):
    sizes = []
    for characters in (5, 2000):
        done = docboltz("explore", model, "--out", tmp_path / "a.html", "--characters", characters)
        assert done.code == 0
        sizes.append((tmp_path / "a.html").stat().st_size)
    assert sizes[0] < sizes[1]


def test_refusals_are_one_line(docboltz, model, tmp_path, monkeypatch):
    assert "--out is missing" in docboltz("explore", model, "--characters", 5).complaint
    (tmp_path / "folder").mkdir()
    assert "it is a folder" in docboltz("explore", model, "--out", tmp_path / "folder").complaint
    monkeypatch.setattr(single_file, "MOST_DOCUMENTS", 1)
    complaint = docboltz("explore", model, "--out", tmp_path / "a.html").complaint
    assert "at most 1." in complaint
    assert "Serve it instead" in complaint
    assert not (tmp_path / "a.html").exists()
