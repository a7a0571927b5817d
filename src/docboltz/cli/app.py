"""The command `docboltz` and how it fails: one clear line, exit code 2, nothing half written.

Every command imports what it needs when it runs, so that `docboltz --help` never waits for torch.
"""

from __future__ import annotations

import functools
import io
import sys
import warnings
from collections.abc import Callable
from typing import Annotated, Any

import typer

from docboltz import __version__
from docboltz.cli.compare import compare
from docboltz.cli.data import datasets
from docboltz.cli.demo import demo
from docboltz.cli.density import perplexity
from docboltz.cli.explore import topics, words
from docboltz.cli.features import transform
from docboltz.cli.find import index, search, similar
from docboltz.cli.fit import fit
from docboltz.cli.options import OptionNames
from docboltz.cli.reproduce import reproduce
from docboltz.cli.tune import tune
from docboltz.errors import DocboltzError
from docboltz.progress import printable

UsageError: Any = typer.BadParameter.__base__  # click's, or that of Typer's own copy of click
INTERRUPTED = 130  # what a shell reports for a command that Ctrl-C ended

app = typer.Typer(
    name="docboltz",
    help="Topics, features and search for a pile of documents: no labels, no pretrained model.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # boxes would leave the texts sixteen columns of eighty
    context_settings={"help_option_names": ["-h", "--help"]},
)
COMMANDS = (
    fit, topics, search, similar, words, transform, index, perplexity, compare, tune, datasets,
    demo, reproduce,
)  # fmt: skip


def _failing_well(command: Callable[..., None]) -> Callable[..., None]:
    """Say in one line what went wrong, in the words of the command's own options.

    Typer itself would end the command without a word when Ctrl-C does.
    """

    @functools.wraps(command)
    def run(**given: Any) -> None:
        try:
            command(**given)
        except DocboltzError as error:
            _complain(error.phrase(OptionNames(given)))
            raise typer.Exit(2) from None
        except KeyboardInterrupt as stop:
            _complain(f"interrupted: {str(stop) or 'nothing was written.'}")
            sys.exit(INTERRUPTED)

    return run


for command in COMMANDS:
    app.command()(_failing_well(command))


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"docboltz {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show version."),
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command; turn what a user can get wrong into one line and exit code 2."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal without × shows ? instead of dying
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_: _complain(f"warning: {message}")
        sys.exit(_run(sys.argv[1:] or ["--help"]))


def _run(arguments: list[str]) -> int:
    try:
        return app(arguments, prog_name="docboltz", standalone_mode=False) or 0
    except UsageError as error:
        path = error.ctx.command_path if error.ctx else "docboltz"
        message = error.format_message()
        stop = "" if message.endswith((".", "?")) else "."
        _complain(f"{message}{stop} Try '{path} --help'.")
    except OSError as error:
        where = error.filename or "a file"
        _complain(f"cannot read or write {where}: {error.strerror or error}.")
    return 2


def _complain(message: str) -> None:
    typer.echo("docboltz: " + printable(" ".join(message.splitlines())), err=True)
