"""The command `docboltz` and how it fails: one clear line, exit code 2, nothing half written.

Every command imports what it needs when it runs, so that `docboltz --help` never waits for torch.
"""

from __future__ import annotations

import sys
import warnings
from typing import Annotated

import click
import typer

from docboltz import __version__
from docboltz.cli.data import datasets
from docboltz.cli.demo import demo
from docboltz.cli.explore import topics, words
from docboltz.cli.features import transform
from docboltz.cli.find import index, search, similar
from docboltz.cli.fit import fit
from docboltz.errors import DocboltzError

app = typer.Typer(
    name="docboltz",
    help="Topics, features and search for a pile of documents: no labels, no pretrained model.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (fit, topics, search, similar, words, transform, index, datasets, demo):
    app.command()(command)


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
    warnings.showwarning = lambda message, *_: _complain(f"warning: {message}")
    try:
        sys.exit(app(standalone_mode=False))
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx else "docboltz"
        _complain(f"{error.format_message()} Try '{path} --help'.")
    except (DocboltzError, click.ClickException) as error:
        _complain(str(error))
    except (KeyboardInterrupt, click.Abort):
        _complain("interrupted.")
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()  # the reader of a pipe has gone: not worth a word
        sys.exit(0)
    except OSError as error:
        where = f" {error.filename}" if error.filename else ""
        _complain(f"cannot read or write{where}: {error.strerror or error}.")
    sys.exit(2)


def _complain(message: str) -> None:
    typer.echo(f"docboltz: {message}", err=True)
