"""A real browser, a small collection, and the real server: what every test of the page needs.

Chromium is found on PATH, or where DOCBOLTZ_CHROMIUM says. A test fails if anything is written to
the console of the browser as an error, unless it says that it will be.
"""

from __future__ import annotations

import csv
import os
import random
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import docboltz
from docboltz import OverReplicatedSoftmax, Pretraining
from docboltz.text_model import TextModel

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
pytest.importorskip("fastapi", reason="needs docboltz[explore]")
pytest.importorskip("openTSNE", reason="needs docboltz[explore]")

CHROMIUM = os.environ.get("DOCBOLTZ_CHROMIUM") or shutil.which("chromium")
ARGUMENTS = [
    "--no-sandbox",
    "--headless=new",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # WebGL without a graphics card
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
]
DESKTOP = {"width": 1200, "height": 800}
TELEPHONE = {"width": 390, "height": 844}

THEMES = {
    "sailing": "boat sail wind harbour anchor mast deck rudder crew tide keel regatta",
    "baking": "bread flour oven yeast dough butter crust loaf sugar knead bake pastry",
    "chess": "knight bishop rook pawn queen castle opening gambit endgame board checkmate king",
    "garden": "soil seed rose tulip prune compost spade flower root leaf water greenhouse",
    "music": "violin cello concert orchestra melody sonata piano rhythm chord tempo flute choir",
    "space": "rocket orbit shuttle moon satellite launch astronaut planet comet gravity mars probe",
}
PER_THEME = 40
LONG = 4
"""The document that does not fit into the panel."""

HACK = "window.__hacked=1"
HOSTILE = [
    f"<script>{HACK}</script>",
    f'"><img src=x onerror="{HACK}">',
    f"javascript:{HACK}",
    "\x1b[31mred\x1b[0m \x1b]0;title\x07",
    "\u202egnp.exe\u202c \u2067abc",
    f"'><svg onload={HACK}>",
    f"</title><iframe srcdoc='<script>parent.{HACK.split('.')[1]}</script>'>",
    "=cmd|'/c calc'!A1",
]


def train(source: Path, folder: Path, **columns: Any) -> Path:
    """A model with a map: six themes take a few seconds."""
    estimator = OverReplicatedSoftmax(
        16, pretraining=Pretraining(updates=400), random_state=0, device="cpu"
    )
    texts = docboltz.read(source, **columns)
    model = TextModel.fit(texts, folder=folder, estimator=estimator)
    model.topics(6)
    model.map()
    return folder


def sentences(seed: int = 0) -> Iterator[tuple[str, str]]:
    """Themes and texts about them, a third of whose words may be of others."""
    draw = random.Random(seed)
    every = " ".join(THEMES.values()).split()
    for i in range(PER_THEME * len(THEMES)):
        theme = list(THEMES)[i % len(THEMES)]
        own = THEMES[theme].split()
        length = 800 if i == LONG else draw.randint(8, 25)
        words = (draw.choice(own if draw.random() < 0.7 else every) for _ in range(length))
        yield theme, " ".join(words) + "."


def write_table(path: Path, names: list[str], rows: list[list[str]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([names, *rows])
    return path


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with labels and dates; not to be changed."""
    folder = tmp_path_factory.mktemp("browser")
    rows = [
        [
            f"{theme}/{i}",
            f"About {theme}, no. {i}",
            text.replace(" ", "\n\n", 1),
            theme,
            f"{2020 + i // 120}-{1 + i // 10 % 12:02}-{1 + i % 28:02}",
            "me" if i % 2 else "you",
        ]
        for i, (theme, text) in enumerate(sentences())
    ]
    names = ["id", "title", "text", "label", "date", "author"]
    table = write_table(folder / "hobbies.csv", names, rows)
    given = {name: name for name in names[:-1]}
    return train(table, folder / "hobbies", **given, keep=["author"])


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model whose documents, ids, labels, words and names of columns would like to run."""
    folder = tmp_path_factory.mktemp("hostile")
    names = [HOSTILE[1], HOSTILE[0], "label" + HOSTILE[5]]
    rows = [
        [f"{HOSTILE[i % 8]} {i}", f"{HOSTILE[i % 8]} {text} {HOSTILE[(i + 1) % 8]}", HOSTILE[i % 5]]
        for i, (_, text) in enumerate(sentences(1))
    ]
    table = write_table(folder / "hostile.csv", names, rows)
    return train(
        table, folder / "<img src=x onerror=x>", id=names[0], text=names[1], label=names[2]
    )


# ---- the server ----


@dataclass
class Server:
    """The command a person types, in a process of its own."""

    folder: Path
    port: int = 0
    patience: float = 60
    """Seconds until it must answer."""
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def start(self) -> None:
        self.port = self.port or free_port()
        command = "from docboltz.cli.app import main; main()"
        arguments = ["explore", str(self.folder), "--no-browser", "--port", str(self.port)]
        self.process = subprocess.Popen(
            [sys.executable, "-c", command, *arguments],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + self.patience
        while True:
            try:
                urllib.request.urlopen(self.url + "health", timeout=5).close()
                return
            except OSError:
                assert self.process.poll() is None, "the server ended"
                assert time.monotonic() < deadline, "the server does not answer"
                time.sleep(0.05)

    def stop(self) -> None:
        if self.process is not None:
            self.process.terminate()
            self.process.wait(20)
            self.process = None


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


@contextmanager
def serving(folder: Path, patience: float = 60) -> Iterator[Server]:
    server = Server(folder, patience=patience)
    try:
        server.start()
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="session")
def server(trained: Path) -> Iterator[Server]:
    """One for all tests that change nothing."""
    with serving(trained) as found:
        yield found


@pytest.fixture
def own_server(trained: Path, tmp_path: Path) -> Iterator[Server]:
    """One whose model may be changed, and which may be stopped."""
    with serving(Path(shutil.copytree(trained, tmp_path / "own"))) as found:
        yield found


# ---- the browser ----


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    if not CHROMIUM:
        pytest.skip("needs chromium on PATH, or its path in DOCBOLTZ_CHROMIUM")
    with playwright.sync_playwright() as started:
        found = started.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield found
        found.close()


@dataclass
class Opened:
    """A page and what its browser complained about."""

    page: Any
    complaints: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)
    """Parts of complaints that a test provokes."""

    def unexpected(self) -> list[str]:
        return [c for c in self.complaints if not any(part in c for part in self.expected)]


Open = Callable[..., Opened]


@pytest.fixture
def open_page(browser: Any) -> Iterator[Open]:
    """Opens an address and waits for the map; the console must stay free of errors."""
    opened: list[Opened] = []
    contexts = []

    def open_address(url: str, *, dark: bool = False, **options: Any) -> Opened:
        options.setdefault("viewport", DESKTOP)
        scheme = "dark" if dark else "light"
        context = browser.new_context(color_scheme=scheme, reduced_motion="reduce", **options)
        contexts.append(context)
        found = Opened(context.new_page())
        opened.append(found)
        found.page.set_default_timeout(15_000)
        found.page.on("console", lambda m: m.type == "error" and found.complaints.append(m.text))
        found.page.on("pageerror", lambda error: found.complaints.append(str(error)))
        found.page.on("dialog", lambda dialog: found.complaints.append(f"dialog {dialog.message}"))
        found.page.goto(url)
        found.page.wait_for_selector("html[data-map=ready]", state="attached")
        return found

    yield open_address
    for found in opened:
        assert found.unexpected() == []
    for context in contexts:
        context.close()
