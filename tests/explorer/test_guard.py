"""Who may ask the server, how much at a time, and what the browser is told to forbid."""

import io
import json
import socket
from contextlib import redirect_stderr

import httpx
import pytest

from docboltz.explorer import guard
from docboltz.explorer.guard import LARGEST_BODY, POLICY
from docboltz.explorer.log import Log
from tests.explorer.conftest import serving

TOKEN = "correct-horse-battery-staple"


@pytest.fixture(scope="module")
def asked(saved):
    """A server that asks for a token and is bound to every address, as far as it knows."""
    with serving(saved, host="0.0.0.0", token=TOKEN) as client:
        yield client


def status(client, path="/health", **headers):
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return client.get(path, headers=names).status_code


def raw(client, request):
    """What comes back for bytes that no client would send."""
    with socket.create_connection((client.base_url.host, client.base_url.port), 10) as sock:
        sock.sendall(request)
        sock.shutdown(socket.SHUT_WR)
        received = b""
        while data := sock.recv(65536):
            received += data
    return received


@pytest.mark.parametrize(
    "host", ["localhost", "127.0.0.1", "127.0.0.1:8765", "[::1]:1", "LOCALHOST:80"]
)
def test_the_servers_own_names_are_answered(client, host):
    assert status(client, host=host) == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "evil.example:8765", "",
     "localhost@evil.example", "[", "[::1", "0.0.0.0", "127.0.0.2", "localhost.", "a b", "\xe4"],
)  # fmt: skip
def test_other_names_are_not(client, host):
    got = client.get("/health", headers={"host": host.encode("latin-1")})
    assert got.status_code in (400, 421)


def test_a_request_names_one_host(client):
    two = b"GET /health HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n"
    assert raw(client, two).split()[1] in (b"400", b"421")
    none = b"GET /health HTTP/1.0\r\n\r\n"
    assert raw(client, none).split()[1] in (b"400", b"421")


def test_pages_of_other_sites_may_not_ask(client):
    own = f"http://127.0.0.1:{client.base_url.port}"
    assert status(client, origin=own) == 200
    for other in ("http://evil.example", "null", "", "http://127.0.0.1:1", "http://localhost",
                  f"http://localhost:{client.base_url.port}", f"{own}.evil.example", "[",
                  "file://"):  # fmt: skip
        assert status(client, origin=other) == 403, other
    got = client.post(
        "/api/search", json={"queries": []}, headers={"origin": "http://evil.example"}
    )
    assert got.status_code == 403
    assert "access-control-allow-origin" not in got.headers


@pytest.mark.parametrize("path", ["/", "/style.css", "/api/search?q=moon", "/none", "/api/search"])
def test_every_answer_tells_the_browser_what_to_forbid(client, path):
    headers = client.get(path).headers
    assert headers["content-security-policy"] == POLICY
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["x-frame-options"] == "DENY"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert "server" not in headers
    refusal = client.get(path, headers={"host": "evil.example"})
    assert refusal.headers["content-security-policy"] == POLICY


def test_no_script_or_style_from_elsewhere_or_inline_is_allowed():
    assert "unsafe" not in POLICY
    assert POLICY.startswith("default-src 'none'")


def test_a_token_is_asked_for_everywhere(asked):
    for path in ("/", "/health", "/api/search?q=moon", "/openapi.json", "/style.css", "/none"):
        got = asked.get(path)
        assert got.status_code == 401
        assert "token" in got.json()["detail"]
        assert got.headers["www-authenticate"] == "Bearer"
        assert TOKEN not in got.text


def test_a_token_is_taken_from_header_cookie_or_address(asked):
    assert status(asked, authorization=f"Bearer {TOKEN}") == 200
    assert status(asked, authorization=f"bearer {TOKEN}") == 200
    assert status(asked, cookie=f"other=1; docboltz-token={TOKEN}") == 200
    assert status(asked, f"/health?token={TOKEN}") == 200
    asked.cookies.clear()
    for wrong in ("Bearer", "Bearer x", f"Basic {TOKEN}", f"Bearer {TOKEN}x", f"Bearer \xe4{TOKEN}",
                  f"Bearer {TOKEN[:-1]}"):  # fmt: skip
        assert status(asked, authorization=wrong.encode("latin-1")) == 401
    assert status(asked, cookie="docboltz-token=x") == 401
    assert status(asked, cookie=f'docboltz-token="{TOKEN}; =;;=') == 401
    assert status(asked, "/health?token=x") == 401
    assert status(asked, "/health?" + "a=1&" * 300 + "token=x") == 401


def test_a_token_in_the_address_of_the_page_becomes_a_cookie(asked):
    with httpx.Client(base_url=asked.base_url) as browser:
        got = browser.get(f"/?token={TOKEN}&a=b")
        assert (got.status_code, got.headers["location"]) == (303, "/?a=b")
        cookie = got.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=Strict" in cookie
        assert browser.get("/").status_code == 200
        assert browser.get("/api/collection").status_code == 200


def test_with_a_token_a_server_at_every_address_has_any_name_but_origins_still_count(asked):
    authorized = {"authorization": f"Bearer {TOKEN}"}
    assert status(asked, host="my.server.example:80", **authorized) == 200
    origin = "http://evil.example"
    assert status(asked, host="my.server.example", origin=origin, **authorized) == 403


@pytest.mark.parametrize("origin", ["http://[::1", "null", "", "//", "http://", "javascript:1"])
def test_an_origin_that_is_none_is_refused(client, origin):
    assert status(client, origin=origin) == 403


def test_head_is_get_without_a_body(client):
    for path in ("/", "/health", "/api/topics"):
        got = client.head(path)
        assert (got.status_code, got.content) == (200, b"")
    assert client.head("/api/nothing").status_code == 404


def test_large_requests_are_refused(client):
    json_type = {"content-type": "application/json"}
    long = b'{"text": "' + b"a" * LARGEST_BODY + b'"}'
    got = client.post("/api/explain", content=long, headers=json_type)
    assert got.status_code == 413
    assert "10 MB" in got.json()["detail"]
    got = client.post("/api/explain", content=iter([long[:1000]] * 11_000), headers=json_type)
    assert got.status_code == 413
    length = b"POST /api/explain HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n"
    assert raw(client, length).split()[1] == b"413"
    just = b'{"text": "' + b"a " * 40_000 + b'"}'
    assert client.post("/api/explain", content=just, headers=json_type).status_code == 200


def test_a_body_that_does_not_come_is_not_waited_for(client, monkeypatch):
    monkeypatch.setattr(guard, "BODY_SECONDS", 0.2)
    slow = b"POST /api/explain HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{"
    with socket.create_connection((client.base_url.host, client.base_url.port), 10) as sock:
        sock.sendall(slow)
        assert sock.recv(1000).split()[1] == b"408"


@pytest.mark.parametrize(
    "request_",
    [b"\r\n\r\n", b"GARBAGE\r\n\r\n", b"GET /\xff HTTP/1.1\r\nHost: localhost\r\n\r\n",
     b"GET / HTTP/9.9\r\nHost: localhost\r\n\r\n", b"\x16\x03\x01\x02\x00", b"\x00" * 1000,
     b"GET /api/search?q=%ff%fe%00&limit=1 HTTP/1.1\r\nHost: localhost\r\n\r\n",
     b"POST /api/search HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n",
     b"POST /api/search HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
     b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n"],
    ids=range(10),
)  # fmt: skip
def test_bytes_that_are_no_request_do_no_harm(client, request_):
    received = raw(client, request_)
    assert not received or not received.split()[1].startswith(b"5")
    assert client.get("/health").status_code == 200


def test_the_log_has_a_line_for_each_request_without_what_was_asked(saved):
    written = io.StringIO()
    with redirect_stderr(written), serving(saved, log=Log()) as client:
        client.get("/api/search", params={"q": "moon secret"})
        client.get("/%1b[31m")
        client.get("/health", headers={"host": "evil.example"})
    lines = [json.loads(line) for line in written.getvalue().splitlines()]
    found = [line for line in lines if line["event"] == "request"]
    assert [line["status"] for line in found] == [200, 404, 421]
    assert found[0]["path"] == "/api/search"
    assert set(found[0]) == {"time", "event", "method", "path", "status", "ms"}
    assert "secret" not in written.getvalue()
    assert "\x1b" not in written.getvalue()


def test_a_verbose_log_has_what_was_asked_and_a_quiet_one_nothing(saved):
    for log, expected in ((Log(verbose=True), True), (Log(quiet=True), False)):
        written = io.StringIO()
        with redirect_stderr(written), serving(saved, log=log) as client:
            client.get("/api/search", params={"q": "moon"})
        assert ("moon" in written.getvalue()) == expected
        assert bool(written.getvalue()) == expected


def test_what_nobody_expects_is_logged_and_answered_in_a_sentence(saved, monkeypatch):
    from docboltz.explorer.snapshot import Snapshot

    def broken(*_, **__):
        raise RuntimeError("the disk is \x1b[31mon fire")

    monkeypatch.setattr(Snapshot, "search", broken)
    monkeypatch.setattr(Snapshot, "topics", property(broken))
    written = io.StringIO()
    with redirect_stderr(written), serving(saved, log=Log(quiet=True)) as client:
        for path in ("/api/search?q=moon", "/api/topics"):
            got = client.get(path)
            assert got.status_code == 500
            assert got.json() == {"detail": "The server failed at this; its log says more."}
            assert got.headers["content-security-policy"] == POLICY
        assert client.get("/health").status_code == 200
    lines = [json.loads(line) for line in written.getvalue().splitlines()]
    assert len(lines) == 2
    assert all("on fire" in line["problem"] for line in lines)
