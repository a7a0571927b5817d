"""One small model for all tests of the server; whoever changes it takes a copy."""

import shutil
import threading
import time
from contextlib import contextmanager

import httpx
import pytest

from docboltz.explorer.live import Live
from docboltz.explorer.server import Server, listen
from tests.explorer.collections import fitted


@pytest.fixture(scope="session")
def saved(tmp_path_factory):
    """The folder of a model with a collection, topics and a map."""
    folder = tmp_path_factory.mktemp("explorer") / "model"
    model = fitted()
    model.topics(3)
    model.save(folder)
    model.map()
    return folder


@pytest.fixture
def folder(saved, tmp_path):
    """One that may be changed."""
    return shutil.copytree(saved, tmp_path / "model")


@contextmanager
def serving(folder, *, edit=False, **options):
    """A server of a model, in a thread, and a client that asks it."""
    sock = listen("127.0.0.1", 0)
    server = Server(Live(folder, edit=edit), **options)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]})
    thread.start()
    try:
        while not server.started and thread.is_alive():
            time.sleep(0.01)
        url = f"http://127.0.0.1:{sock.getsockname()[1]}"
        with httpx.Client(base_url=url, timeout=30) as client:
            yield client
    finally:
        server.should_exit = True
        thread.join()
        sock.close()


@pytest.fixture(scope="module")
def client(saved):
    """Of a server that changes nothing."""
    with serving(saved) as found:
        yield found
