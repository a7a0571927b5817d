"""Arguments and options that several commands share, and how messages name options."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Literal

import click

from docboltz.errors import Spelling, require

RECIPES = ("quick", "full", "density", "paper")
"""As in `docboltz.training.recipes`, which would take seconds to import."""
CALLED = {
    "n_components": "topics",
    "max_words": "words",
    "random_state": "seed",
    "share": "validation",
    "n": "top",
}
"""Options that are not named as the parameters of Python are."""

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
VERB = "TextModel."
QUOTES = "'\""
PATH = click.Path(path_type=Path)
COUNT = click.IntRange(min=1)
SHARE = click.FloatRange(0.01, 0.9)

model_folder = click.argument(
    "model", type=PATH, metavar="MODEL", help="Folder of a model made by 'docboltz fit'."
)
quiet = click.option("--quiet", "-q", is_flag=True, help="No progress, no remarks.")
as_json = click.option("--json", is_flag=True, help="Print the answer as JSON.")
device = click.option("--device", default="auto", help="auto, cpu or cuda.")
seed = click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    default=0,
    help="Same seed, same machine: same numbers.",
)
updates = click.option(
    "--updates",
    type=COUNT,
    help="Minibatches of each phase of training (sweeps of LDA), instead of the recipe's.",
)
by = click.option(
    "--by",
    type=click.Choice(("both", "topics", "words")),
    default="both",
    help="What a document's score counts.",
)


class OptionNames(Spelling):
    """The options of one command, in messages: `--min-df` where Python has `min_df`.

    >>> names = OptionNames(["min_df", "stem", "words"])
    >>> names.subject("count", "min_df"), names.setting("stem=False"), names.setting("max_words")
    ('--min-df', '--no-stem', '--words')
    >>> names.subject("FixedLatentWords", "m"), names.setting("TextModel.fit")
    ("The 'm' parameter of FixedLatentWords", "'docboltz fit'")
    """

    def __init__(self, parameters: Iterable[str]) -> None:
        self._parameters = set(parameters)

    def _option(self, name: str) -> str | None:
        called = CALLED.get(name, name)
        found = next((each for each in (called, name) if each in self._parameters), None)
        return None if found is None else found.replace("_", "-")

    def subject(self, owner: str, name: str) -> str:
        """The option, or the parameter where the command has no such option."""
        option = self._option(name)
        return super().subject(owner, name) if option is None else f"--{option}"

    def setting(self, mention: str) -> str:
        """The option with its value, as it is typed."""
        if mention.startswith(VERB):
            return f"'docboltz {mention.removeprefix(VERB)}'"
        name, equals, value = mention.partition("=")
        option = self._option(name)
        if option is None:
            return mention
        if not equals or value == "True":
            return f"--{option}"
        return f"--no-{option}" if value == "False" else f"--{option} {value.strip(QUOTES)}"


def usual(command: Callable[..., Any]) -> Callable[..., Any]:
    """--device, --quiet and --json."""
    return device(quiet(as_json(command)))


def top(n: int) -> Decorator:
    """How many to show: n unless something else is said."""
    return click.option("--top", "-k", type=COUNT, default=n, help="How many to show.")


def recipe(default: str | None, help: str) -> Decorator:
    """How to train."""
    return click.option("--recipe", type=click.Choice(RECIPES), default=default, help=help)


def whole_numbers(name: str, given: str, least: int) -> list[int]:
    """Whole numbers split by commas."""
    parts = [part.strip() for part in given.split(",") if part.strip()]
    ok = bool(parts) and all(part.isdecimal() and int(part) >= least for part in parts)
    expected = f"whole numbers of at least {least}, split by commas"
    require(ok, "docboltz", name, expected, given)
    return [int(part) for part in parts]


def latent_words_of(given: str) -> int | Literal["auto"]:
    """The number of latent words, or "auto"."""
    ok = given == "auto" or (given.isdecimal() and len(given) <= 12)
    require(ok, "docboltz", "latent_words", "auto or a whole number of at least 0", given)
    return "auto" if given == "auto" else int(given)
