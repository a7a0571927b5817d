"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from docboltz.errors import InvalidParameter, require

RECIPES = ("quick", "full", "density", "paper")
"""As in `docboltz.training.recipes`, which would take seconds to import."""

ModelFolder = Annotated[
    Path, typer.Argument(metavar="MODEL", help="Folder of a model made by 'docboltz fit'.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no remarks.")]
Json = Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")]
Device = Annotated[str, typer.Option("--device", help="auto, cpu or cuda.")]
Seed = Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of all chance.")]
Updates = Annotated[
    int | None,
    typer.Option(min=1, help="Minibatches of each phase of training; sweeps of LDA."),
]
Neighbours = Annotated[int, typer.Option("--top", "-k", min=1, help="How many to show.")]


def require_recipe(name: str | None) -> None:
    """Refuse a recipe nobody knows."""
    if name is not None and name not in RECIPES:
        known = f"{', '.join(RECIPES[:-1])} or {RECIPES[-1]}"
        raise InvalidParameter(f"--recipe must be {known}. Got {name!r} instead.")


def whole_numbers(name: str, given: str, least: int) -> list[int]:
    """Whole numbers split by commas."""
    parts = [part.strip() for part in given.split(",") if part.strip()]
    ok = bool(parts) and all(part.isdecimal() and int(part) >= least for part in parts)
    expected = f"whole numbers of at least {least}, split by commas"
    require(ok, "docboltz", name, expected, given)
    return [int(part) for part in parts]


def latent_words_of(given: str) -> int | Literal["auto"]:
    """The number of latent words, or "auto"."""
    if given == "auto":
        return "auto"
    if not given.isdecimal():
        raise InvalidParameter(
            f"--latent-words must be auto or a whole number of at least 0. Got {given!r} instead."
        )
    return int(given)
