"""Options that belong together and reach a command as one parameter."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import Any

import click
from click.core import ParameterSource


def with_group(
    command: click.Command,
    name: str,
    group: Sequence[Callable[[Any], Any]],
    make: Callable[..., dict[str, Any]],
) -> click.Command:
    """Add a group's options after a command's arguments; it gets what `make` makes of them."""
    run, own = command.callback, command.params
    assert run is not None
    command.params = []
    for add in group:
        add(command)
    names = [str(parameter.name) for parameter in command.params]

    def filled(**given: Any) -> None:
        run(**{name: make(**{each: given.pop(each) for each in names})}, **given)

    arguments = [parameter for parameter in own if isinstance(parameter, click.Argument)]
    command.params = [*arguments, *command.params, *(p for p in own if p not in arguments)]
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
