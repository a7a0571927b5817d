"""The explorer as one file: page, model and collection in a single HTML document.

It asks nobody for anything, and nothing in it can: its content security policy lets run the one
script that is named by its SHA-256, and lets nothing be fetched. The data is base64, in which no
text can end its element.
"""

from __future__ import annotations

import base64
import hashlib
import re
from html import escape
from pathlib import Path

from docboltz.errors import InvalidParameter, require_count
from docboltz.explorer.archive import pack
from docboltz.explorer.file_data import characters_kept, file_data
from docboltz.explorer.inlining import inline_modules
from docboltz.progress import Update
from docboltz.storage import StrPath, require_writable, write_text
from docboltz.text_model import TextModel

MOST_DOCUMENTS = 50_000
"""A browser takes seconds to unpack more, and no mail carries them."""
PAGE = Path(__file__).parent / "page"
DATA = "docboltz-data"
"""Id of the element that holds the data: that of `page/file.js`."""
STYLE = re.compile(r'<link rel="stylesheet" href="([\w./-]+)">')
SCRIPT = re.compile(r'<script type="module" src="([\w./-]+)"></script>')
ICON = re.compile(r'<link rel="icon" href="([\w./-]+\.svg)">')
TITLE = re.compile(r"<title>[^<]*</title>")
CHARSET = '<meta charset="utf-8">'
ELSEWHERE = re.compile(r"""<(?:link|script|img|iframe|object|embed)\b|\s(?:src|style|on\w+)\s*=""")
"""What would have to be fetched, or what the policy would not let run."""


def write_page(
    model: TextModel,
    path: StrPath,
    *,
    characters: int | None = None,
    progress: Update | None = None,
) -> int:
    """Write the explorer of a model's collection to one file; give the characters kept of a text.

    `characters` is how many to keep of each text; as many as make a file that can be mailed if it
    is not given. A map that is missing is computed first, which `progress` shows.
    """
    n = len(model.store)
    if n > MOST_DOCUMENTS:
        raise InvalidParameter(
            f"The collection has {n:,} documents; a single file holds at most {MOST_DOCUMENTS:,}.",
            hint="Serve it instead, or index a part of it with {TextModel.index}.",
            settings=("TextModel.index",),
        )
    if Path(path).is_dir():
        raise InvalidParameter(
            f"Cannot write the page to {path}: it is a folder.", hint="Name a file."
        )
    require_writable(Path(path).parent, "the page")
    if characters is None:
        lengths = [len(each.text) for each in model.store.documents(range(n))]
        characters = characters_kept(lengths)
    require_count(characters, "write_page", "characters")
    model.map(progress=progress)
    name = "" if model.path is None else model.path.name
    write_text(Path(path), whole_page(pack(*file_data(model, characters)), name))
    return characters


def whole_page(data: str, name: str, folder: Path = PAGE) -> str:
    """The page with its style, script and data inside; `name` is that of the collection."""

    def read(path: str) -> str:
        return (folder / path).read_text(encoding="utf-8").replace("\r\n", "\n")

    page = read("index.html")
    (entry,) = SCRIPT.findall(page)
    paths = (file.relative_to(folder).as_posix() for file in sorted(folder.rglob("*.js")))
    script = _closed(inline_modules({path: read(path) for path in paths}, entry), "script")
    style = _closed("\n".join(map(read, STYLE.findall(page))), "style")
    icons = "".join(map(_icon, map(read, ICON.findall(page))))
    for pattern in (STYLE, SCRIPT, ICON):
        page = pattern.sub("", page)
    if (found := ELSEWHERE.search(page)) is not None:
        raise ValueError(f"index.html: {page[found.start() : found.start() + 60]!r}")
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    head = (
        f'{CHARSET}\n<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f"{icons}<style>{style}</style>"
    )
    # At the end of the body, where a script finds all elements, as a module does.
    body = (
        f'<script type="application/octet-stream" id="{DATA}">{data}</script>\n'
        f"<script>{script}</script>\n</body>"
    )
    title = f"<title>{escape(f'{name} · docboltz' if name else 'docboltz')}</title>"
    for old, new in ((CHARSET, head), ("</body>", body), (TITLE.findall(page)[0], title)):
        if page.count(old) != 1:
            raise ValueError(f"index.html has {page.count(old)} times {old!r}")
        page = page.replace(old, new)
    return page


def _closed(text: str, tag: str) -> str:
    """A text that is the whole of its element, whatever it holds."""
    if (found := re.search(rf"</{tag}|<!--", text, re.IGNORECASE)) is not None:
        raise ValueError(f"{found[0]!r} would end its element")
    return text


def _icon(svg: str) -> str:
    inside = base64.b64encode(svg.encode()).decode("ascii")
    return f'<link rel="icon" href="data:image/svg+xml;base64,{inside}">\n'


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")
