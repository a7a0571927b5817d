"""docboltz explore: the collection as a page in the browser, or in a file."""

from __future__ import annotations

from pathlib import Path

import click

from docboltz.cli import options
from docboltz.cli.options import flag, option
from docboltz.cli.output import remark
from docboltz.cli.serve import PORT, PORTS, require_extra
from docboltz.errors import InvalidParameter

HOST = "127.0.0.1"


@click.command()
@options.model_folder
@option("--port", f"Where to listen; without it {PORT}, or any if that is taken.", type=PORTS)
@flag("--no-browser", "Do not open the page, only say where it is.")
@option("--out -o", "Write the page to a file instead, which needs no server.", type=options.PATH)
@option("--characters", "With --out: how much of each text to keep.", type=options.COUNT)
@flag("--quiet -q", "No progress, no remarks.")
def explore(
    model: Path,
    port: int | None,
    no_browser: bool,
    out: Path | None,
    characters: int | None,
    quiet: bool,
) -> None:
    """See, search and change the collection in the browser: map, topics, search, documents.

    The page is served on this machine and to this machine only, until Ctrl-C. The map is computed
    the first time and kept with the model. With --out the page is one file that can be mailed, and
    that works without a server and without a network.

    Example:  docboltz explore model
    """
    if characters is not None and out is None:
        raise click.UsageError("--characters says what --out keeps; --out is missing.")
    require_extra()
    import webbrowser

    from docboltz.explorer.live import Live
    from docboltz.explorer.server import Server, address, listen, run
    from docboltz.progress import progress_bar
    from docboltz.storage import require_apart
    from docboltz.text_model import TextModel

    opened = TextModel.open(model)
    opened.store  # noqa: B018  (a model without documents is refused now)
    with progress_bar("Making the map", "steps", shown=not quiet) as update:
        if out is not None:
            from docboltz.explorer.single_file import write_page

            if not out.is_dir():
                require_apart(out, [model])
            write_page(opened, out, characters=characters, progress=update)
            remark(f"Written: {out} ({out.stat().st_size / 1e6:.1f} MB)", quiet=quiet)
            return
        if not opened.has_map:
            opened.map(progress=update)
    try:
        sock = listen(HOST, PORT if port is None else port)
    except InvalidParameter:
        if port is not None:
            raise
        sock = listen(HOST, 0)
    live = Live(model, edit=True)
    url = address(HOST, sock.getsockname()[1])

    def ready() -> None:
        remark(f"The page is at {url} (Ctrl-C stops)", quiet=quiet)
        if not no_browser:
            webbrowser.open(url)

    run(Server(live, when_ready=ready), sock)
