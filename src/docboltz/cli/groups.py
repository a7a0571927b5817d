"""Options that belong together and reach a command as one parameter."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import Any

import click
from click.core import ParameterSource


def with_group(
    command: click.Command,
    name: str,
    group: Sequence[click.Parameter],
    make: Callable[..., dict[str, Any]],
) -> click.Command:
    """Put a group's options after a command's arguments; it gets what `make` makes of them."""
    run = command.callback
    assert run is not None

    def filled(**given: Any) -> None:
        run(**{name: make(**{str(p.name): given.pop(str(p.name)) for p in group})}, **given)

    of_command = command.params
    first = [p for p in of_command if isinstance(p, click.Argument)]
    command.params = [*first, *group, *(p for p in of_command if p not in first)]
    command.callback = filled
    return command


def given_options(context: click.Context, names: Container[str]) -> list[str]:
    """Those options that a command was given, spelled to be given to another."""
    spelled: list[str] = []
    for option in context.command.params:
        name = str(option.name)
        given = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if not (isinstance(option, click.Option) and given and name in names):
            continue
        value = context.params[name]
        if option.is_flag:
            spelled.append((option.opts if value else option.secondary_opts)[0])
            continue
        for each in value if option.multiple else [value]:
            spelled += [option.opts[0], f"{each:g}" if isinstance(each, float) else str(each)]
    return spelled
