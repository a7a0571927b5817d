"""docboltz serve and explore as they are typed: what they say, how they fail, how they stop."""

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time

import httpx
import pytest

from docboltz.explorer.server import address, listen, needed_token
from docboltz.text_model import TextModel
from tests.text_models import TEXTS, fitted

COMMAND = [sys.executable, "-c", "from docboltz.cli.app import main; main()"]


class Started:
    """A command that runs, with what it says line by line."""

    def __init__(self, *arguments, **environment):
        without = {k: v for k, v in os.environ.items() if k != "DOCBOLTZ_TOKEN"}
        self.process = subprocess.Popen(
            [*COMMAND, *map(str, arguments)],
            stderr=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**without, **environment},
        )

    def __enter__(self):
        self.said = self.process.stderr.readline()
        found = re.search(r"http://\S+", self.said)
        assert found, self.said + self.process.stderr.read()
        self.url = found[0]
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def end(self, how):
        self.process.send_signal(how)
        _, rest = self.process.communicate(timeout=30)
        return self.process.returncode, rest


def failure(*arguments, **environment):
    """The line that a command fails with."""
    environment = {**os.environ, **environment}
    done = subprocess.run(
        [*COMMAND, *map(str, arguments)], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 2, done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith("docboltz: ")
    return line


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_server_answers_until_it_is_stopped(saved, how):
    with Started("serve", saved, "--port", 0) as server:
        assert httpx.get(server.url + "health").json()["status"] == "ok"
        hits = httpx.get(server.url + "api/search", params={"q": "moon"}).json()["hits"]
        assert [hit["id"] for hit in hits] == [
            hit.id for hit in TextModel.open(saved).search("moon")
        ]
        code, log = server.end(how)
    assert code == 0
    assert log.count('"event": "request"') == 2
    assert "Traceback" not in log


def test_explore_serves_the_page_and_lets_topics_be_changed(folder):
    with Started("explore", folder, "--port", 0, "--no-browser") as server:
        page = httpx.get(server.url)
        assert page.headers["content-type"].startswith("text/html")
        assert httpx.get(server.url + "api/collection").json()["edit"] is True
        renamed = httpx.post(server.url + "api/topics/0/name", json={"name": "called by hand"})
        assert renamed.status_code == 200
        code, log = server.end(signal.SIGTERM)
    assert (code, log) == (0, "")
    with Started("explore", folder, "--port", 0, "--no-browser") as server:
        topics = httpx.get(server.url + "api/topics").json()
    assert "called by hand" in {topic["name"] for topic in topics}


def test_explore_opens_the_page_once_it_answers(saved, tmp_path):
    browser = tmp_path / "browser"
    browser.write_text(
        f"#!{sys.executable}\nimport sys, urllib.request\nurllib.request.urlopen(sys.argv[1])\n"
        f"open({str(tmp_path / 'opened')!r}, 'w').write(sys.argv[1])\n"
    )
    browser.chmod(0o755)
    with Started("explore", saved, "--port", 0, BROWSER=f"{browser} %s") as server:
        for _ in range(200):
            if (tmp_path / "opened").exists():
                break
            time.sleep(0.05)
        assert (tmp_path / "opened").read_text() == server.url


def test_explore_takes_another_port_if_its_own_is_taken_and_none_was_named(saved):
    with socket.socket() as taken:
        try:
            taken.bind(("127.0.0.1", 8765))
            taken.listen()
        except OSError:
            pass  # taken by somebody else, who does as well
        with Started("explore", saved, "--no-browser") as server:
            assert not server.url.endswith(":8765/")
            assert httpx.get(server.url + "health").status_code == 200


def test_a_port_that_is_taken_is_said_in_a_line(saved):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        for command in ("serve", "explore"):
            line = failure(command, saved, "--port", port)
            assert f"port {port}" in line
            assert "another port" in line


def test_what_cannot_be_served_is_said_in_a_line(tmp_path):
    for command in ("serve", "explore"):
        assert "There is no docboltz model" in failure(command, tmp_path / "none", "--port", 0)
    model = fitted(TEXTS)
    model.save(tmp_path / "model")
    import shutil

    shutil.rmtree(tmp_path / "model" / "search")
    for command in ("serve", "explore"):
        assert "'docboltz index'" in failure(command, tmp_path / "model", "--port", 0)
    assert "no-such-host" in failure("serve", tmp_path / "model", "--host", "no-such-host.invalid")


def test_a_missing_package_is_named_with_what_installs_it(saved, tmp_path):
    (tmp_path / "fastapi.py").write_text("raise ImportError('gone', name='fastapi')")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    for command in ("serve", "explore"):
        line = failure(command, saved, "--port", 0, PYTHONPATH=path)
        assert "fastapi is missing" in line
        assert "pip install 'docboltz[explore]'" in line


def test_another_address_asks_for_a_token_which_is_printed_once(saved):
    with Started("serve", saved, "--port", 0, "--host", "0.0.0.0") as server:
        token = re.search(r"token=(\S+)", server.said)[1]
        port = re.search(r":(\d+)/", server.said)[1]
        url = f"http://127.0.0.1:{port}/health"
        assert httpx.get(url).status_code == 401
        assert httpx.get(url, headers={"authorization": f"Bearer {token}"}).status_code == 200
        _, log = server.end(signal.SIGTERM)
    assert token not in log
    assert len(token) >= 32


def test_a_token_of_the_environment_is_taken_on_this_machine_too(saved):
    token = "a-token-of-my-own-42"
    with Started("serve", saved, "--port", 0, DOCBOLTZ_TOKEN=token) as server:
        assert token not in server.said
        assert httpx.get(server.url + "health").status_code == 401
        authorized = {"authorization": f"Bearer {token}"}
        assert httpx.get(server.url + "health", headers=authorized).status_code == 200
    assert "16 characters" in failure("serve", saved, "--port", 0, DOCBOLTZ_TOKEN="short")
    assert "letters" in failure("serve", saved, "--port", 0, DOCBOLTZ_TOKEN="a; Path=/evil; b=1234")


def test_tokens_are_made_where_they_are_needed(monkeypatch):
    monkeypatch.delenv("DOCBOLTZ_TOKEN", raising=False)
    assert needed_token("127.0.0.1") is needed_token("localhost") is needed_token("::1") is None
    assert needed_token("0.0.0.0") != needed_token("0.0.0.0")
    assert address("::1", 80, "x") == "http://[::1]:80/?token=x"
    assert address("127.0.0.1", 8765) == "http://127.0.0.1:8765/"


def test_a_request_that_runs_while_the_server_stops_is_answered(saved, monkeypatch):
    from docboltz.explorer.live import Live
    from docboltz.explorer.server import Server
    from docboltz.explorer.snapshot import Snapshot

    began, topics = threading.Event(), Snapshot.topics.func

    def slow(self):
        began.set()
        time.sleep(0.7)
        return topics(self)

    monkeypatch.setattr(Snapshot, "topics", property(slow))
    sock = listen("127.0.0.1", 0)
    server = Server(Live(saved))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]})
    thread.start()
    url = f"http://127.0.0.1:{sock.getsockname()[1]}/api/topics"
    found = []
    while not server.started:
        time.sleep(0.01)
    asking = threading.Thread(target=lambda: found.append(httpx.get(url, timeout=20)))
    asking.start()
    began.wait(10)
    server.should_exit = True
    asking.join()
    thread.join()
    sock.close()
    assert found[0].status_code == 200
    assert found[0].json()
