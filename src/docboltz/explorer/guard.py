"""What stands between the network and the application: who may ask, how much, and what it may do.

A page of another site that this machine's browser shows can send requests to 127.0.0.1, and after
rebinding its own name to that address read the answers. So Host must name this server, and Origin,
where a browser sends one, must be the server's own. Where others than this machine can reach the
server, a token is asked for as well.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import time
import traceback
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from docboltz.explorer.log import Log

LARGEST_BODY = 10 * 2**20
"""Bytes of a request."""
BODY_SECONDS = 30.0
"""Time a client has to send them."""
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
COOKIE = "docboltz-token"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; worker-src 'self' blob:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
HEADERS = [
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
]


class Guard:
    """An ASGI application around another."""

    def __init__(self, app: ASGIApp, *, host: str, token: str | None, log: Log) -> None:
        """`host` is the address the server listens at; without a token nobody is asked for one."""
        self._app, self._token, self._log = app, token, log
        # Whoever listens at every address is called by names only others know; the token guards.
        everywhere = token is not None and host in ("0.0.0.0", "::", "")
        self._hosts = None if everywhere else LOOPBACK | {host.lower()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request, or hand it on with its whole body."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        begin, status, begun, more = time.perf_counter(), 500, False, list(HEADERS)

        async def answer(message: Message) -> None:
            nonlocal status, begun
            if message["type"] == "http.response.start":
                status, begun = message["status"], True
                message["headers"] = [*message.get("headers", ()), *more]
            await send(message)

        try:
            headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
            refusal = self._refusal(scope, headers, more)
            if refusal is None:
                body = await _whole_body(headers, receive)
                if isinstance(body, bytes):
                    if scope["method"] == "HEAD":  # the server sends no body with it
                        scope = {**scope, "method": "GET"}
                    await self._app(scope, _replayed(body, receive), answer)
                    return
                refusal = body
            await _refuse(answer, *refusal)
        except Exception:
            self._log.failure(traceback.format_exc())
            if not begun:
                await _refuse(answer, 500, "The server failed at this; its log says more.")
        finally:
            self._log.request(scope, status, begin)

    def _refusal(
        self, scope: Scope, headers: dict[bytes, str], more: list[tuple[bytes, bytes]]
    ) -> tuple[int, str] | None:
        """Why a request is not answered; `more` gets headers for the answer."""
        hosts = [value for name, value in scope["headers"] if name == b"host"]
        host = headers.get(b"host", "")
        if len(hosts) != 1 or (self._hosts is not None and _name(host) not in self._hosts):
            return 421, "This server answers under its own name only: check the address."
        origin = headers.get(b"origin")
        if origin is not None and origin.lower().partition("://")[2] != host.lower():
            return 403, "Pages of other sites may not ask this server."
        if self._token is None:
            return None
        given = _tokens(scope, headers)
        if not any(_same(each, self._token) for each in given.values()):
            more.append((b"www-authenticate", b"Bearer"))
            return 401, (
                "A token is needed: open the address that the server printed, or send the header "
                "'Authorization: Bearer <token>'."
            )
        if "query" in given and _same(given["query"], self._token):
            cookie = f"{COOKIE}={self._token}; Path=/; HttpOnly; SameSite=Strict"
            more.append((b"set-cookie", cookie.encode()))
            if scope["method"] == "GET" and scope["path"] == "/":
                # Out of the address, where it would be copied along.
                rest = [pair for pair in _query(scope) if pair[0] != "token"]
                more.append((b"location", ("/?" + urlencode(rest) if rest else "/").encode()))
                return 303, "The token is kept."
        return None


def _tokens(scope: Scope, headers: dict[bytes, str]) -> dict[str, str]:
    """The tokens that a request brings, by where."""
    found = {}
    kind, _, value = headers.get(b"authorization", "").partition(" ")
    if kind.lower() == "bearer":
        found["header"] = value.strip()
    try:
        cookies = SimpleCookie(headers.get(b"cookie", ""))
        if COOKIE in cookies:
            found["cookie"] = cookies[COOKIE].value
    except CookieError:
        pass
    for name, value in _query(scope):
        if name == "token":
            found["query"] = value
    return found


def _query(scope: Scope) -> list[tuple[str, str]]:
    try:
        text = scope["query_string"].decode("latin-1")
        return parse_qsl(text, keep_blank_values=True, max_num_fields=100)
    except ValueError:
        return []


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode())


def _name(host: str) -> str:
    """The name in a Host header, without its port; "" if it is none."""
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""


async def _whole_body(headers: dict[bytes, str], receive: Receive) -> bytes | tuple[int, str]:
    """The body of a request, or why it is refused."""
    too_large = 413, f"A request may have {LARGEST_BODY // 2**20} MB: send less at a time."
    length = headers.get(b"content-length", "0")
    if not (length.isascii() and length.isdecimal()):
        return 400, "Content-Length must be a whole number."
    if int(length[:20]) > LARGEST_BODY:
        return too_large
    if length == "0" and b"transfer-encoding" not in headers:
        return b""
    parts, size = [], 0
    try:
        async with asyncio.timeout(BODY_SECONDS):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    return 400, "The request ended before its body did."
                parts.append(message.get("body", b""))
                size += len(parts[-1])
                if size > LARGEST_BODY:
                    return too_large
                if not message.get("more_body", False):
                    return b"".join(parts)
    except TimeoutError:
        return 408, "The body of the request did not come in time."


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Give a body that was received, then whatever else comes."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return messages.pop() if messages else await receive()

    return receive_again


async def _refuse(send: Any, status: int, detail: str) -> None:
    body = json.dumps({"detail": detail}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
