import re
from html import unescape

import pytest

from docboltz.errors import DocboltzError
from docboltz.explorer import single_file
from docboltz.explorer.archive import unpack
from docboltz.explorer.file_data import characters_kept, shortened
from docboltz.explorer.single_file import whole_page, write_page
from tests.explorer.collections import HOSTILE, documents, fitted

INDEX = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>docboltz</title>
<link rel="icon" href="icon.svg">
<link rel="stylesheet" href="style.css">
<link rel="stylesheet" href="more.css">
<script type="module" src="main.js"></script>
</head>
<body>
<p><a href="#here">Here</a></p>
</body>
</html>
"""


@pytest.fixture(scope="module")
def model():
    return fitted()


@pytest.fixture
def page(tmp_path):
    files = {"index.html": INDEX, "icon.svg": "<svg/>", "style.css": "p { color: red }"}
    files |= {"more.css": "a { color: blue }", "main.js": 'import { a } from "./a.js";\na();\n'}
    files |= {"a.js": "export function a() {}\n"}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def data_of(page):
    return unpack(re.search(r'id="docboltz-data">([^<]*)</script>', page)[1])


def test_holds_the_whole_page_and_the_whole_collection(model, tmp_path):
    kept = write_page(model, tmp_path / "page.html")
    written = (tmp_path / "page.html").read_text(encoding="utf-8")
    content, _ = data_of(written)
    assert content["documents"]["id"] == [document.id for document in documents()]
    assert content["documents"]["text"][-3] == " ".join(HOSTILE.split())
    assert kept >= len(HOSTILE)
    assert not re.search(r'<(?:link|script|img)[^>]*(?:src|href)="(?!data:)', written)
    assert "onerror" not in written  # what texts hold is in base64


def test_is_written_whole_or_not_at_all(model, tmp_path, monkeypatch):
    (tmp_path / "page.html").write_text("old")
    monkeypatch.setattr(single_file, "pack", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_page(model, tmp_path / "page.html")
    assert [file.name for file in tmp_path.iterdir()] == ["page.html"]
    assert (tmp_path / "page.html").read_text() == "old"


def test_texts_are_cut_and_say_so(model, tmp_path):
    assert write_page(model, tmp_path / "page.html", characters=20) == 20
    content, _ = data_of((tmp_path / "page.html").read_text(encoding="utf-8"))
    texts = [" ".join(document.text.split()) for document in documents()]
    assert content["documents"]["text"] == [shortened(text, 20) for text in texts]
    assert "20" in content["collection"]["remark"]
    long = [text for text in content["documents"]["text"] if text.endswith(" …")]
    assert len(long) > 80


def test_says_nothing_of_texts_that_are_whole(model, tmp_path):
    write_page(model, tmp_path / "page.html")
    content, _ = data_of((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert "remark" not in content["collection"]


@pytest.mark.parametrize("characters", [0, -1, 2.5, "10"])
def test_refuses_numbers_of_characters_that_are_none(model, tmp_path, characters):
    with pytest.raises(DocboltzError, match="characters"):
        write_page(model, tmp_path / "page.html", characters=characters)


def test_a_collection_that_is_too_large_is_refused_before_any_work(model, tmp_path, monkeypatch):
    monkeypatch.setattr(single_file, "MOST_DOCUMENTS", 10)
    monkeypatch.setattr(type(model), "map", lambda *_: pytest.fail("work began"))
    with pytest.raises(DocboltzError, match=r"93 documents; .* at most 10") as error:
        write_page(model, tmp_path / "page.html")
    assert "Serve it" in str(error.value)
    assert not list(tmp_path.iterdir())


def test_a_place_that_cannot_be_written_is_refused_before_any_work(model, tmp_path, monkeypatch):
    monkeypatch.setattr(type(model), "map", lambda *_: pytest.fail("work began"))
    (tmp_path / "file").touch()
    for path in (tmp_path, tmp_path / "file" / "page.html"):
        with pytest.raises(DocboltzError, match="Cannot write the page"):
            write_page(model, path)


def test_as_many_characters_as_fit_together():
    lengths = [100, 900, 2000]
    assert characters_kept(lengths, 10_000) == 2000
    assert characters_kept(lengths, 1700) == 800
    assert characters_kept(lengths, 1) == 200
    assert characters_kept([], 100) == 200


def test_the_policy_names_what_may_run(page):
    written = whole_page("QQ==", "<b>&\"'", page)
    policy = unescape(re.search(r'Content-Security-Policy" content="([^"]*)"', written)[1])
    script, style = (
        re.search(rf"<{tag}>(.*?)</{tag}>", written, re.DOTALL)[1] for tag in ("script", "style")
    )
    assert policy.split("; ") == [
        "default-src 'none'",
        f"script-src '{single_file._hash(script)}'",
        f"style-src '{single_file._hash(style)}'",
        "img-src data: blob:",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    assert "<title>&lt;b&gt;&amp;&quot;&#x27; · docboltz</title>" in written
    assert style == "p { color: red }\na { color: blue }"
    assert written.index("Content-Security-Policy") < written.index("<title>")
    assert 'rel="icon" href="data:image/svg+xml;base64,PHN2Zy8+"' in written


@pytest.mark.parametrize(
    ("name", "more", "problem"),
    [
        ("main.js", "const a = '</SCRIPT >';\n", "would end"),
        ("main.js", "const a = '<!--';\n", "would end"),
        ("style.css", "/* </style> */", "would end"),
        ("index.html", '<img src="picture.png">', "<img"),
        ("index.html", '<p onclick="a()">', "onclick"),
        ("index.html", '<p style="color: red">', "style="),
        ("index.html", '<link rel="preload" href="a.js">', "preload"),
        ("index.html", "</body>", "2 times"),
    ],
)
def test_refuses_a_page_that_would_not_be_whole(page, name, more, problem):
    with (page / name).open("a") as file:
        file.write(more)
    with pytest.raises(ValueError, match=problem):
        whole_page("QQ==", "", page)
