"""The command `docboltz` and how it fails: one clear line, exit code 2, nothing half written.

Every command imports what it needs when it runs, so that `docboltz --help` never waits for torch.
"""

from __future__ import annotations

import functools
import io
import re
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
from docboltz.cli.reproduce import reproduce
from docboltz.cli.tune import tune
from docboltz.errors import DocboltzError

UsageError: Any = typer.BadParameter.__base__  # click's, or that of Typer's own copy of click
OPTIONS = (
    "by",
    "dataset",
    "device",
    "format",
    "inference",
    "language",
    "latent",
    "latent_words",
    "max_df",
    "method",
    "min_df",
    "models",
    "only",
    "part",
    "topics",
)
INTERRUPTED = 130  # what a shell reports for a command that Ctrl-C ended

app = typer.Typer(
    name="docboltz",
    help="Topics, features and search for a pile of documents: no labels, no pretrained model.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # boxes would leave the texts sixteen columns of eighty
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _interruptible(command: Callable[..., None]) -> Callable[..., None]:
    """Say what Ctrl-C left behind. Typer itself would end the command without a word."""

    @functools.wraps(command)
    def run(**given: Any) -> None:
        try:
            command(**given)
        except KeyboardInterrupt as stop:
            _complain(f"interrupted: {str(stop) or 'nothing was written.'}")
            sys.exit(INTERRUPTED)

    return run


COMMANDS = (
    fit,
    topics,
    search,
    similar,
    words,
    transform,
    index,
    perplexity,
    compare,
    tune,
    datasets,
    demo,
    reproduce,
)
for command in COMMANDS:
    app.command()(_interruptible(command))


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
        said = error.format_message()
        _complain(f"{said}{'' if said.endswith(('.', '?')) else '.'} Try '{path} --help'.")
    except DocboltzError as error:
        _complain(_in_options(str(error)))
    except OSError as error:
        where = error.filename or "a file"
        _complain(f"cannot read or write {where}: {error.strerror or error}.")
    return 2


def _in_options(message: str) -> str:
    """Speak of a command's options where the library speaks of parameters.

    >>> _in_options("The 'inference' parameter of write_features must be 'fast'. Got 'x' instead.")
    "--inference must be 'fast'. Got 'x' instead."
    >>> _in_options("Lower min_df (got 2).")
    'Lower --min-df (got 2).'
    """
    options = "|".join(OPTIONS)
    message = re.sub(r"\b(min|max)_df (?=\(got)", r"--\1-df ", message)
    return re.sub(
        rf"The '({options})' parameter of .+? must",
        lambda found: f"--{found[1].replace('_', '-')} must",
        message,
    )


def _complain(message: str) -> None:
    typer.echo("docboltz: " + " ".join(message.splitlines()), err=True)
