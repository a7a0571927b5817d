"""Draw the picture of the start page from a real run: a search, topics and words of 20 Newsgroups.

python docs/make_picture.py                # fetch the posts, train as `docboltz demo` does, draw
python docs/make_picture.py FOLDER         # draw from a model that is there
"""

from __future__ import annotations

import sys
import textwrap
from html import escape
from pathlib import Path

import docboltz
from docboltz.answers import Hit

OUT = Path(__file__).parent / "picture.svg"
QUERY = "satellite sent to the moon"
BESIDE = "doctor pain"
N_HITS, N_TOPICS, N_WORDS = 4, 8, 7
CHARACTERS = 76
MARK = ("\x01", "\x02")
INK, GREY, LINE, FEATURES, WORDS = "#1f2933", "#66727f", "#d8dee4", "#00897b", "#f2a33a"
STYLE = f"""
text {{ font: 13px system-ui, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif; fill: {INK}; }}
.title {{ font-weight: 600; font-size: 15px; }} .grey {{ fill: {GREY}; }}
.small {{ font-size: 11.5px; }}
.hit {{ font-weight: 700; fill: #a85b00; }} .end {{ text-anchor: end; }}
"""


def text(x: float, y: float, content: str, kind: str = "") -> str:
    """Text at a place; `content` is SVG."""
    return f'<text x="{x:g}" y="{y:g}" class="{kind}">{content}</text>'


def bar(x: float, y: float, width: float, colour: str) -> str:
    """A bar, six high."""
    return f'<rect x="{x:g}" y="{y:g}" width="{width:.1f}" height="6" fill="{colour}"/>'


def box(x: float, y: float, width: float, height: float) -> str:
    """A frame with round corners."""
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="8" fill="#fff" '
        f'stroke="{LINE}"/>'
    )


def snippet_lines(hit: Hit) -> list[str]:
    """Two lines of a hit's text, the query's words marked."""
    lines, marked = [], False
    piece = hit.snippet(2 * CHARACTERS - 8, MARK)
    if piece.startswith("…"):  # with what may be half a word
        piece = "… " + piece.partition(" ")[2]
    for line in textwrap.wrap(piece, CHARACTERS + 4, max_lines=2, placeholder=" …"):
        # A word may be cut between its marks: each line closes what it opens.
        parts = escape(("\x01" if marked else "") + line)
        marked = parts.count("\x01") > parts.count("\x02")
        parts += "\x02" if marked else ""
        lines.append(parts.replace("\x01", '<tspan class="hit">').replace("\x02", "</tspan>"))
    return lines


def draw(model: docboltz.TextModel) -> str:
    """The picture as SVG."""
    parts = [box(10, 10, 575, 430), box(595, 10, 395, 232), box(595, 252, 395, 188)]

    parts += [
        f'<rect x="26" y="26" width="543" height="34" rx="17" fill="#f4f7f9" stroke="{LINE}"/>',
        '<circle cx="46" cy="42" r="6" fill="none" stroke="#66727f" stroke-width="2"/>',
        '<path d="M50.5 46.5l5 5" stroke="#66727f" stroke-width="2"/>',
        text(66, 47.5, escape(QUERY)),
    ]
    y = 86.0
    for hit in model.search(QUERY, N_HITS):
        parts += [
            text(28, y, f"{hit.score:.2f}", "title"),
            bar(74, y - 8, 220 * hit.features, FEATURES),
            bar(74 + 220 * hit.features, y - 8, 220 * hit.words, WORDS),
            text(566, y, escape(", ".join(hit.labels)), "grey small end"),
            *(text(28, y + 21 + 18 * n, line) for n, line in enumerate(snippet_lines(hit))),
        ]
        y += 84
    parts += [
        bar(28, 421, 14, FEATURES),
        text(47, 428, "about the same things", "grey small"),
        bar(182, 421, 14, WORDS),
        text(201, 428, "the same words", "grey small"),
        text(566, 428, f"{len(model.store):,} posts, no labels used", "grey small end"),
    ]

    topics = sorted(model.topics(level=-1, words=5), key=lambda topic: -topic.share)
    parts.append(text(612, 36, f"The largest of {len(topics)} topics", "title"))
    for n, topic in enumerate(topics[:N_TOPICS]):
        parts += [
            text(612, 63 + 23 * n, escape(" · ".join(topic.words))),
            text(974, 63 + 23 * n, f"{topic.share:.0%}", "grey small end"),
        ]

    parts.append(text(612, 278, f"Expected beside “{escape(BESIDE)}”", "title"))
    expected = model.words(BESIDE, N_WORDS)
    for n, word in enumerate(expected):
        at = 303 + 20 * n
        parts += [
            text(612, at, escape(word.word)),
            bar(700, at - 8, 180 * word.lift / max(w.lift for w in expected), FEATURES),
            text(974, at, f"{word.lift:.0f} × as often", "grey small end"),
        ]
    body = "\n".join(parts)
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1000 450" role="img" '
        'aria-label="A search with its hits, topics, and expected words">\n'
        f"<style>{STYLE}</style>\n"
        f'<rect width="1000" height="450" rx="10" fill="#eef2f5"/>\n{body}\n</svg>\n'
    )


def fitted() -> docboltz.TextModel:
    """The model of `docboltz demo`: 128 units, 2,000 stems, seed 0."""
    data = docboltz.load_dataset("20newsgroups")
    return docboltz.TextModel.fit(
        data.train,
        analysis=data.analysis,
        max_words=data.max_words,
        min_df=1,
        max_df=1.0,
        verbose=True,
    )


if __name__ == "__main__":
    model = docboltz.open(sys.argv[1]) if sys.argv[1:] else fitted()
    OUT.write_text(draw(model), encoding="utf-8")
