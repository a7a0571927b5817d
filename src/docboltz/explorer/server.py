"""Listening, stopping: uvicorn around the application."""

from __future__ import annotations

import gc
import os
import secrets
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # scikit-learn's

from docboltz.errors import InvalidParameter
from docboltz.explorer.app import make_app
from docboltz.explorer.guard import LOOPBACK
from docboltz.explorer.live import Live
from docboltz.explorer.log import Log

TOKEN = "DOCBOLTZ_TOKEN"
"""Environment variable of the token."""
SHORTEST_TOKEN = 16
MOST_CONNECTIONS = 1000
LAST_SECONDS = 10
"""That running requests have to finish when the server is stopped."""


def listen(host: str, port: int) -> socket.socket:
    """A socket at an address, or one line that says why there is none."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        found = socket.socket(family, socket.SOCK_STREAM)
        try:
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            found.bind((host, port))
        except BaseException:
            found.close()
            raise
    except (OSError, UnicodeError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InvalidParameter(
            f"Cannot listen at {host}, port {port}: {reason}.",
            hint="Name another port or address.",
        ) from error
    return found


def needed_token(host: str) -> str | None:
    """The token that requests must bring: none where only this machine can reach the server."""
    given = os.environ.get(TOKEN, "")
    if given and len(given) < SHORTEST_TOKEN:
        raise InvalidParameter(f"{TOKEN} must have at least {SHORTEST_TOKEN} characters.")
    if given and not (given.isascii() and given.replace("-", "").replace("_", "").isalnum()):
        raise InvalidParameter(f"{TOKEN} may have letters, digits, '-' and '_' only.")
    if given or host.lower() in LOOPBACK:
        return given or None
    return secrets.token_urlsafe(24)


def address(host: str, port: int, token: str | None = None) -> str:
    """What to type into a browser."""
    shown = {"0.0.0.0": socket.gethostname(), "::": socket.gethostname()}.get(host, host)
    name = f"[{shown}]" if ":" in shown else shown
    return f"http://{name}:{port}/" + (f"?token={token}" if token else "")


def run(server: Server, sock: socket.socket) -> None:
    """Answer until SIGINT or SIGTERM; then let running requests finish."""
    # Threads of a product of a few milliseconds wait for each other longer than they save: on two
    # busy cores a search took 3.7 ms of processor time with two, and 1.8 ms with one.
    threadpool_limits(1, user_api="blas")
    server.run(sockets=[sock])


class Server(uvicorn.Server):
    """uvicorn with the application."""

    def __init__(
        self,
        live: Live,
        *,
        host: str = "127.0.0.1",
        token: str | None = None,
        log: Log | None = None,
        when_ready: Callable[[], None] = lambda: None,
    ) -> None:
        """`when_ready` is called, in a thread of its own, when requests are answered."""
        config = uvicorn.Config(
            make_app(live, host=host, token=token, log=log),
            log_config=None,
            access_log=False,
            server_header=False,
            limit_concurrency=MOST_CONNECTIONS,
            timeout_graceful_shutdown=LAST_SECONDS,
            ws="none",
        )
        super().__init__(config)
        self._when_ready = when_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and say so."""
        await super().startup(sockets=sockets)
        # What is loaded stays: looking through it for garbage would hold all answers for 50 ms.
        gc.collect()
        gc.freeze()
        if self.started:
            threading.Thread(target=self._when_ready, daemon=True).start()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop when asked to. uvicorn would raise the signal again after a graceful stop."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before: dict[int, Any] = {
            number: signal.signal(number, self.handle_exit)
            for number in (signal.SIGINT, signal.SIGTERM)
        }
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
