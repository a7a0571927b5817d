"""The command `docboltz` and how it fails: one clear line, exit code 2, nothing half written.

A command's module is imported when the command is asked for, and imports what it needs when it
runs: `docboltz search` waits for what it uses, and `docboltz --help` never for torch.
"""

from __future__ import annotations

import errno
import io
import os
import sys
import warnings
from contextlib import suppress
from importlib import import_module
from typing import Any

import click

from docboltz import __version__
from docboltz.cli.spelling import RENAMED, OptionNames
from docboltz.errors import DocboltzError, shown
from docboltz.progress import printable

LONGEST = 2000
"""Characters of a complaint; an option may be given more."""
CLOSED_PIPE = 141  # what a shell reports for a command whose reader, `head` say, has seen enough
INTERRUPTED = 130  # and for one that Ctrl-C ended
COMMANDS = (
    "fit", "explore", "topics", "search", "similar", "show", "words", "transform", "index",
    "delete", "serve", "perplexity", "compare", "tune", "datasets", "demo", "reproduce",
)  # fmt: skip
MODULES = {"search": "find", "similar": "find", "show": "find"}
"""Where a command is that has no module of its own name."""


class Commands(click.Group):
    """All commands, each imported when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Their names."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """The command of that name."""
        if name not in COMMANDS:
            return None
        module = import_module(f"docboltz.cli.{MODULES.get(name, name)}")
        command: click.Command = getattr(module, name)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; say in one line what went wrong, in the words of its own options.

        Click itself would end it without a word when Ctrl-C does.
        """
        try:
            return super().invoke(ctx)
        except DocboltzError as error:
            command = self.get_command(ctx, ctx.invoked_subcommand or "")
            options = [p.name or "" for p in (command.params if command else [])]
            _complain(error.phrase(OptionNames(options)))
            ctx.exit(2)
        except KeyboardInterrupt as stop:
            _complain(f"interrupted: {str(stop) or 'nothing was written.'}")
            ctx.exit(INTERRUPTED)


@click.group(
    cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "show_default": True}
)
@click.version_option(__version__, message="%(prog)s %(version)s")
def app() -> None:
    """Topics, features and search for a pile of documents: no labels, no pretrained model."""


def main() -> None:
    """Run the command; turn what a user can get wrong into one line and exit code 2."""
    _open_closed_streams()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal without × shows ? instead of dying
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_: _complain(f"warning: {message}")
        sys.exit(_run(sys.argv[1:] or ["--help"]))


def _run(arguments: list[str]) -> int:
    stdout = sys.stdout
    try:
        code = app.main(arguments, prog_name="docboltz", standalone_mode=False) or 0
        sys.stdout.flush()  # now, where it can still be said that it failed
        return code
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx else "docboltz"
        message = _renamed(error) or error.format_message()
        stop = "" if message.endswith((".", "?", ")")) else "."
        _complain(f"{message}{stop} Try '{path} --help'.")
    except (BrokenPipeError, SystemExit) as end:
        # Click exits where it meets a closed pipe, with another stream in its place; who exits
        # otherwise has reasons of its own.
        if isinstance(end, SystemExit) and sys.stdout is stdout:
            return end.code if isinstance(end.code, int) else int(end.code is not None)
        _give_up_output()
        return CLOSED_PIPE
    except OSError as error:
        if error.errno == errno.EBADF and error.filename is None:  # see _open_closed_streams
            _complain("standard output is closed: the answer cannot be printed.")
        else:
            where = error.filename or "a file"
            _complain(f"cannot read or write {where}: {error.strerror or error}.")
        _give_up_output()
    except UnicodeEncodeError as error:  # half a character, in a name say
        _complain(f"{shown(error.object)} cannot be written in {error.encoding}.")
    except (MemoryError, RecursionError, RuntimeError) as error:
        if not _is_lack_of_memory(error):
            raise
        asked = f" ({said})" if (said := str(error).strip().rstrip(".")) else ""
        _complain(f"there is not enough memory for this{asked}. Ask for less at a time.")
    return 2


def _open_closed_streams() -> None:
    """Put something where the shell has closed a standard stream: no file that is opened may be it.

    Nothing comes in, remarks go nowhere, and an answer that nobody can get is an error.
    """
    names = (("stdin", os.O_RDONLY), ("stdout", os.O_RDONLY), ("stderr", os.O_WRONLY))
    for number, (name, flags) in enumerate(names):
        if getattr(sys, name) is None:
            _put_null(number, flags)
            stream = open(number, "w" if number else "r", encoding="utf-8")  # noqa: SIM115
            setattr(sys, name, stream)


def _give_up_output() -> None:
    """Drop what cannot be written, so that Python does not try and complain at its end."""
    with suppress(OSError):  # a stream that is no file, in a test say
        _put_null(sys.stdout.fileno(), os.O_WRONLY)


def _put_null(number: int, flags: int) -> None:
    """Make the null device the file of that number."""
    descriptor = os.open(os.devnull, flags)
    if descriptor != number:
        os.dup2(descriptor, number)
        os.close(descriptor)


def _is_lack_of_memory(error: BaseException) -> bool:
    """Tell whether NumPy or torch, which has errors of its own for it, has asked for too much."""
    said = str(error).lower()
    return isinstance(error, MemoryError) or "out of memory" in said or "allocate memory" in said


def _renamed(error: click.UsageError) -> str | None:
    """What to say of an option that the command has under another name."""
    if not isinstance(error, click.NoSuchOption) or error.ctx is None:
        return None
    options = (p for p in error.ctx.command.params if isinstance(p, click.Option) and not p.is_flag)
    new = RENAMED.get(error.option_name)
    known = any(new in each.opts for each in options)
    return f"No such option '{error.option_name}'. Did you mean '{new}'?" if known else None


def _complain(message: str) -> None:
    text = printable(" ".join(message.splitlines()))
    if len(text) > LONGEST:
        text = f"{text[: LONGEST // 2]} … {text[-LONGEST // 2 :]}"
    with suppress(OSError):  # with nowhere to complain to, the exit code has to do
        click.echo(f"docboltz: {text}", err=True)
