"""docboltz serve, explore: the collection over HTTP, and its page in the browser."""

from __future__ import annotations

import os
from pathlib import Path

import click

from docboltz.cli import options
from docboltz.cli.options import flag, option
from docboltz.cli.output import remark
from docboltz.errors import InvalidParameter

PORT = 8765
PORTS = click.IntRange(0, 65535)


@click.command()
@options.model_folder
@option("--port", "Where to listen; 0 for any that is free.", PORT, PORTS)
@option("--host", "Address to listen at. Any but this machine's own asks for a token.", "127.0.0.1")
@flag("--edit", "Let topics be renamed and merged.")
@flag("--verbose", "Log what is asked for.")
@flag("--quiet -q", "No log, no remarks.")
def serve(model: Path, port: int, host: str, edit: bool, verbose: bool, quiet: bool) -> None:
    """Answer programs over HTTP: search, topics, features, documents, and the page of 'explore'.

    Binds to this machine only unless told otherwise. At another address a token is asked for: that
    of the environment variable DOCBOLTZ_TOKEN, or one that is made and printed. A collection that
    is indexed anew is taken up without a restart. Ctrl-C stops the server when the requests that
    run are answered.

    Example:  docboltz serve model --port 8765
    """
    require_extra()
    from docboltz.explorer.live import Live
    from docboltz.explorer.log import Log
    from docboltz.explorer.server import TOKEN, Server, address, listen, needed_token, run

    token = needed_token(host)
    sock = listen(host, port)
    log = Log(quiet=quiet, verbose=verbose)
    live = Live(model, edit=edit, log=log)
    made = None if os.environ.get(TOKEN) else token  # whoever set it knows it
    url = address(host, sock.getsockname()[1], made)

    def ready() -> None:
        remark(f"Listening at {url} (Ctrl-C stops)", quiet=quiet and made is None)

    run(Server(live, host=host, token=token, log=log, when_ready=ready), sock)


def require_extra() -> None:
    """Say in one line what is missing to serve a page."""
    try:
        import fastapi  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise InvalidParameter(
            f"The package {error.name} is missing.", hint="pip install 'docboltz[explore]'"
        ) from error
