"""How many searches a second the server answers, beside a route that returns a constant.

    python benchmarks/serve.py [--documents 20000] [--connections 16] [--seconds 15] [--replace 10]

A model learns from made-up texts by Zipf's law, 20 themes of 5,000 words, and two collections of
such texts are made. The server searches one of them in a process of its own; a second process asks
it over so many connections, each of which sends the next question when it has the answer to the
last, and compares every answer, byte by byte, with what a model in this process answers. Then the
index is replaced so many times by the other collection and back, while questions keep coming: an
answer must be that of one collection or of the other, whole. Server and client share the cores that
there are.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import selectors
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

N_WORDS, THEMES, QUESTIONS = 5000, 20, 500
BARE = """
import sys, uvicorn
from fastapi import FastAPI
app = FastAPI()
@app.get("/api/search")
def search(q: str, limit: int = 10) -> dict[str, str]:
    return {"status": "ok"}
uvicorn.run(app, port=int(sys.argv[1]), log_config=None, access_log=False)
"""
SERVE = "from docboltz.cli.app import main; main()"
INDEX = """
import sys, docboltz
from benchmarks.serve import texts
model = docboltz.open(sys.argv[1])
model.index(list(texts(int(sys.argv[2]), int(sys.argv[3]))))
"""
ROOT = Path(__file__).parents[1]


def vocabulary() -> list[str]:
    """Words of letters alone, none a form of another."""
    letters = "bcdfgklmnprstvz"
    syllables = [a + b for a in letters for b in "aiou"]
    n = len(syllables)
    return [
        f"{syllables[i % n]}{syllables[i // n % n]}{syllables[i * 7 % n]}q" for i in range(N_WORDS)
    ]


def texts(n: int, seed: int) -> Iterator[Any]:
    """Documents of about 1,500 characters, each of one theme; half of its words are the theme's."""
    import numpy as np

    from docboltz.corpus.document import Document

    rng, words = np.random.default_rng(seed), np.array(vocabulary())
    own = [np.random.default_rng(1000 + theme).permutation(N_WORDS) for theme in range(THEMES)]
    for i in range(n):
        theme, length = i % THEMES, int(rng.integers(100, 260))
        ranks = (N_WORDS ** rng.random(length)).astype(np.int64) - 1
        from_theme = rng.random(length) < 0.5
        columns = np.where(from_theme, own[theme][ranks], ranks)
        yield Document(f"{seed}/{i}", " ".join(words[columns]), (f"theme {theme}",))


def questions() -> list[str]:
    """Three words each: two of a theme and one of any."""
    import numpy as np

    rng, words = np.random.default_rng(5), vocabulary()
    found = []
    for i in range(QUESTIONS):
        own = np.random.default_rng(1000 + i % THEMES).permutation(N_WORDS)
        columns = [*own[rng.integers(0, 200, 2)], rng.integers(0, 1000)]
        found.append(" ".join(words[int(k)] for k in columns))
    return found


def answers(folder: Path, asked: list[str]) -> list[str]:
    """What the model answers in this process, each question alone."""
    from docboltz.explorer.batching import Question
    from docboltz.explorer.routes import answer_searches
    from docboltz.explorer.snapshot import Snapshot
    from docboltz.text_model import TextModel

    snapshot = Snapshot(TextModel.open(folder))
    alone = (answer_searches(snapshot, [Question(q, 10, "both", False, {})]) for q in asked)
    return [found[0].decode() for found in alone]


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    """Return when somebody listens."""
    for _ in range(600):
        if process.poll() is not None:
            raise SystemExit(f"the server ended with {process.returncode}")
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise SystemExit("the server does not listen")


class Connection:
    """One connection of the client: sends, receives, remembers how long that took."""

    def __init__(self, port: int, requests: list[bytes], first: int) -> None:
        self.sock = socket.create_connection(("127.0.0.1", port))
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._requests, self._next = requests, first
        self.ask()

    def ask(self) -> None:
        """Send the next question."""
        self.question = self._next % len(self._requests)
        self._next += 1
        self._received, self._whole = bytearray(), 0
        self.begin = time.perf_counter()
        self.sock.sendall(self._requests[self.question])

    def receive(self) -> tuple[int, bytes] | None:
        """Status and body, when all of it is there."""
        data = self.sock.recv(1 << 18)
        if not data:
            raise ConnectionError("the server closed the connection")
        self._received += data
        if not self._whole:
            end = self._received.find(b"\r\n\r\n")
            if end < 0:
                return None
            head = bytes(self._received[:end]).lower()
            at = head.index(b"content-length:") + len(b"content-length:")
            self._body, length = end + 4, int(head[at:].split(b"\r\n", 1)[0])
            self._whole = self._body + length
        if len(self._received) < self._whole:
            return None
        return int(self._received[9:12]), bytes(self._received[self._body : self._whole])


def without_build(answer: bytes) -> bytes:
    """An answer without the name of the state, which is another whenever documents are indexed."""
    return re.sub(rb'"build":"\w*"', b"", answer)


def client(plan: dict[str, Any]) -> dict[str, Any]:
    """Ask until the time is over, or until standard input closes; say what came back."""
    requests = [
        f"GET /api/search?q={quote(q)}&limit=10 HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
        for q in plan["questions"]
    ]
    right = [[without_build(answer.encode()) for answer in each] for each in plan["answers"]]
    selector = selectors.DefaultSelector()
    for i in range(plan["connections"]):
        connection = Connection(plan["port"], requests, i * 31)
        selector.register(connection.sock, selectors.EVENT_READ, connection)
    if plan["seconds"] is None:
        selector.register(sys.stdin.fileno(), selectors.EVENT_READ)
    begin = time.perf_counter()
    end = begin + (plan["seconds"] or 1e9)
    times, wrong, lost, seen = [], 0, 0, [0, 0]
    while time.perf_counter() < end:
        for key, _ in selector.select(1):
            if key.data is None:
                end = 0.0
                continue
            try:
                found = key.data.receive()
            except (OSError, ValueError):
                lost += 1
                selector.unregister(key.data.sock)
                fresh = Connection(plan["port"], requests, key.data.question)
                selector.register(fresh.sock, selectors.EVENT_READ, fresh)
                continue
            if found is None:
                continue
            times.append(time.perf_counter() - key.data.begin)
            status, body = found[0], without_build(found[1])
            own = right[key.data.question]
            wrong += status != 200 or bool(own and body not in own)
            if len(own) == 2:
                seen[body == own[1]] += 1
            key.data.ask()
    took = time.perf_counter() - begin
    times.sort()
    ms = [1000 * times[int(share * (len(times) - 1))] for share in (0.5, 0.99, 1.0)]
    return {"n": len(times), "per_second": len(times) / took, "ms": ms, "wrong": wrong,
            "lost": lost, "seen": seen}  # fmt: skip


class Client:
    """The client in a process of its own."""

    def __init__(self, folder: Path, **plan: Any) -> None:
        file = folder / "plan.json"
        file.write_text(json.dumps(plan))
        command = [sys.executable, __file__, "--client", str(file)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment()
        )

    def result(self) -> dict[str, Any]:
        """What came back."""
        out, _ = self._process.communicate()
        found: dict[str, Any] = json.loads(out)
        return found


def environment() -> dict[str, str]:
    """Of the processes that are started: they find the package and this file."""
    paths = [str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


def serving(command: list[str], port: int) -> subprocess.Popen[bytes]:
    """A server that listens."""
    process = subprocess.Popen([sys.executable, "-c", *command], env=environment())
    wait_for(port, process)
    return process


def prepare(folder: Path, n: int) -> tuple[list[str], list[list[str]]]:
    """A model that searches the first collection; questions, and their answers in both."""
    from docboltz.text_model import TextModel

    model = folder / "model"
    TextModel.fit(
        list(texts(3000, 0)), folder=model, units=128, updates=300, language=None, device="cpu"
    ).topics(THEMES)
    asked, found = questions(), []
    for seed in (2, 1):
        index(model, n, seed)
        found.append(answers(model, asked))
    TextModel.open(model).map()  # else the server would make it while it is measured
    return asked, [list(pair) for pair in zip(found[1], found[0], strict=True)]


def index(model: Path, n: int, seed: int) -> None:
    """Make a collection the one that is searched, as another process would."""
    command = [sys.executable, "-c", INDEX, str(model), str(n), str(seed)]
    subprocess.run(command, check=True, env=environment())


def shown(what: str, found: dict[str, Any]) -> str:
    """A line of the report."""
    p50, p99, most = found["ms"]
    return (
        f"{what:<34} {found['per_second']:7,.0f}/s   p50 {p50:5.1f} ms   p99 {p99:5.1f} ms   "
        f"longest {most:5.0f} ms   wrong {found['wrong']}   lost {found['lost']}"
    )


def main() -> None:
    """Prepare, ask, replace, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--replace", type=int, default=10)
    parser.add_argument("--folder", type=Path, help="keep what is prepared here")
    parser.add_argument("--client", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.client:
        print(json.dumps(client(json.loads(given.client.read_text()))))
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        folder.mkdir(exist_ok=True)
        kept = folder / f"prepared-{given.documents}.json"
        if not kept.exists():
            kept.write_text(json.dumps(prepare(folder, given.documents)))
        asked, right = json.loads(kept.read_text())
        plan = {"questions": asked, "connections": given.connections}
        # One after the other and again: whatever else the machine does hits both.
        for _ in range(2):
            port = free_port()
            bare = serving([BARE, str(port)], port)
            any_answer: list[list[str]] = [[] for _ in asked]
            constant = Client(
                folder, **plan, answers=any_answer, port=port, seconds=given.seconds / 2
            ).result()
            bare.terminate()
            bare.wait()
            print(shown("a constant from FastAPI", constant))
            port = free_port()
            command = [SERVE, "serve", str(folder / "model"), "--port", str(port), "--quiet"]
            server = serving(command, port)
            searches = Client(
                folder, **plan, answers=right, port=port, seconds=given.seconds
            ).result()
            print(shown(f"searches in {given.documents:,} documents", searches))
            print(f"{'':34} {searches['per_second'] / constant['per_second']:.2f} of the constant")
            if _ == 0:
                server.terminate()
                server.wait()
        if given.replace:
            asking = Client(folder, **plan, answers=right, port=port, seconds=None)
            for i in range(given.replace):
                index(folder / "model", given.documents, 2 - i % 2)
                time.sleep(1)
            print(shown(f"while the index is replaced {given.replace} ×", found := asking.result()))
            print(f"{'':34} answers of one collection and of the other: {found['seen']}")
        server.terminate()
        print(f"{'':34} the server ended with {server.wait()}")


if __name__ == "__main__":
    main()
