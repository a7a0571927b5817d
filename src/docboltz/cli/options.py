"""Arguments and options that several commands share, and what some of them hold."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import click

from docboltz.errors import require, whole_number

RECIPES = ("quick", "full", "density", "paper")
"""As in `docboltz.training.recipes`, which would take seconds to import."""

MOST_LATENT_WORDS = 1_000_000
"""As in `docboltz.model.latent_words`, for the same reason."""

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class _Name(click.Path):
    """The path of a file or folder, which has a name: an empty one would be the working folder."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value in ("", b"") or "\0" in os.fspath(value):
            self.fail("a name is needed.", param, ctx)
        if "://" in os.fspath(value):  # it would become the name of a folder
            self.fail(f"{value!r} is a URL; only documents are read from there.", param, ctx)
        return super().convert(value, param, ctx)


PATH = _Name(path_type=Path)
FILE = _Name(exists=True, dir_okay=False, allow_dash=True, path_type=Path)
COUNT = click.IntRange(min=1)
SHARE = click.FloatRange(0.01, 0.9)


def option(names: str, help: str, default: Any = ..., type: Any = None, **how: Any) -> Decorator:
    """An option, whose names are split by spaces; without default it is None."""
    if default is not ...:
        how["default"] = default
    return click.option(*names.split(), help=help, type=type, **how)


def flag(names: str, help: str) -> Decorator:
    """An option without a value."""
    return click.option(*names.split(), help=help, is_flag=True)


model_folder = click.argument(
    "model", type=PATH, metavar="MODEL", help="Folder of a model made by 'docboltz fit'."
)
quiet = flag("--quiet -q", "No progress, no remarks.")
as_json = flag("--json", "Print the answer as JSON.")
device = option("--device", "auto, cpu or cuda.", "auto")
seed = option("--seed", "Same seed, same machine: same numbers.", 0, click.IntRange(0, 2**32 - 1))
updates = option(
    "--updates",
    "Minibatches of each phase of training (sweeps of LDA), instead of the recipe's.",
    type=COUNT,
)
ray = option("--ray", "On a cluster: local, auto or its address. See the guide on clusters.")
store = option(
    "--store",
    "Where documents are kept to be searched: files (in the model's folder), milvus+name.db or "
    "milvus+http://host:19530.",
)
by = option(
    "--by", "What a document's score counts.", "both", click.Choice(("both", "features", "words"))
)


def usual(command: Callable[..., Any]) -> Callable[..., Any]:
    """--device, --quiet and --json."""
    return device(quiet(as_json(command)))


def top(n: int) -> Decorator:
    """How many to show: n unless something else is said."""
    return option("--top -k", "How many to show.", n, COUNT)


def recipe(default: str | None, help: str) -> Decorator:
    """How to train."""
    return option("--recipe", help, default, click.Choice(RECIPES))


def whole_numbers(name: str, given: str, least: int, most: int | None = None) -> list[int]:
    """Whole numbers split by commas."""
    numbers = [whole_number(part) for part in given.split(",") if part.strip()]
    found = [n for n in numbers if n is not None and least <= n <= (n if most is None else most)]
    limits = f"of at least {least}" if most is None else f"from {least} to {most:,}"
    expected = f"whole numbers {limits}, split by commas"
    require(found and len(found) == len(numbers), "docboltz", name, expected, given)
    return found


def latent_words_of(given: str) -> int | Literal["auto"]:
    """The number of latent words, or "auto"."""
    if given == "auto":
        return "auto"
    number = whole_number(given)
    expected = f"auto or a whole number from 0 to {MOST_LATENT_WORDS:,}"
    fits = number is not None and number <= MOST_LATENT_WORDS
    require(fits, "docboltz", "latent_words", expected, given)
    return number or 0
