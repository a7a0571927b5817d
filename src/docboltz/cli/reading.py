"""Groups of options, spread into a command's parameters and put together again.

Typer knows parameters, not groups of them. `reads_corpus` shows it the fields of `CorpusSource` in
place of a command's parameter `source`, and those of `WordOptions` in place of `counting`, and
hands the command the filled objects.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from docboltz.cli.corpus_options import CorpusSource, WordOptions
from docboltz.cli.output import remark

if TYPE_CHECKING:
    from docboltz.corpus.report import ReadReport

GROUPS: dict[str, type] = {"source": CorpusSource, "counting": WordOptions}


def reads_corpus(command: Callable[..., None]) -> Callable[..., None]:
    """Spread the parameters `source` and `counting` of a command into their fields."""
    own = inspect.signature(command, eval_str=True).parameters
    groups = {
        name: inspect.signature(kind, eval_str=True).parameters
        for name, kind in GROUPS.items()
        if name in own
    }
    parameters: list[inspect.Parameter] = []
    for name, parameter in own.items():
        parameters += groups[name].values() if name in groups else [parameter]

    @functools.wraps(command)
    def run(**given: Any) -> None:
        filled = {
            name: GROUPS[name](**{field: given.pop(field) for field in of_group})
            for name, of_group in groups.items()
        }
        command(**filled, **given)

    keyword_only = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters]
    run.__signature__ = inspect.Signature(keyword_only)  # type: ignore[attr-defined]
    return run


def spelled_options(group: CorpusSource | WordOptions) -> list[str]:
    """The options that make a group what it is, as a command line has them.

    >>> spelled_options(WordOptions(stem=False, min_df=1.0))
    ['--min-df', '1', '--no-stem']
    """
    spelled: list[str] = []
    for field in fields(group):
        value, name = getattr(group, field.name), field.name.replace("_", "-")
        if field.name == "corpus" or value == field.default or value is None:
            continue
        if isinstance(value, bool):
            spelled.append(f"--{'' if value else 'no-'}{name}")
        else:
            for each in value if isinstance(value, list) else [value]:
                spelled += [f"--{name}", f"{each:g}" if isinstance(each, float) else str(each)]
    return spelled


def remark_reading(report: ReadReport, *, quiet: bool, json: bool) -> None:
    """Say how the corpus was read (JSON says so itself), what was left out, and why."""
    for line in report.problems() if json else report.summary():
        remark(line, quiet=quiet)
