"""What dataclasses of settings share."""

from __future__ import annotations

import math
import types
import typing
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, Self

from docboltz.errors import InvalidParameter

MOST_DIGITS = 12
"""Of a number that is typed."""


class ShortRepr:
    """Shows only what is not as it is by default. For dataclasses made with `repr=False`.

    >>> from docboltz import Pretraining
    >>> Pretraining(updates=500)
    Pretraining(updates=500)
    """

    def given(self) -> dict[str, Any]:
        """The settings that are not as they are by default."""
        values = ((field, getattr(self, field.name)) for field in fields(self))  # type: ignore[arg-type]
        return {field.name: value for field, value in values if value != field.default}

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={_short(value)}" for name, value in self.given().items())
        return f"{type(self).__name__}({shown})"


class SavedSettings(ShortRepr):
    """Settings that are kept with a model, as JSON."""

    @classmethod
    def from_dict(cls, saved: Any) -> Self:
        """The settings that were saved; InvalidParameter for anything else."""
        if not isinstance(saved, Mapping):
            raise InvalidParameter(f"{cls.__name__} is a mapping. Got {type(saved).__name__}.")
        unknown = sorted(map(repr, set(saved) - {field.name for field in fields(cls)}))  # type: ignore[arg-type]
        if unknown:
            raise InvalidParameter(
                f"{cls.__name__} has no settings {', '.join(unknown)}.",
                hint="If they come from a saved model, a newer version of docboltz saved it.",
            )
        # JSON knows no tuples.
        return cls(**{k: tuple(v) if isinstance(v, list) else v for k, v in saved.items()})


def typed(kind: Any, value: Any, place: str) -> Any:
    """A value of a type that a field of a dataclass has, from JSON; refused if it is of another.

    The one strict reader of what docboltz has written itself.
    """
    origin, of = typing.get_origin(kind), typing.get_args(kind)
    if kind is float and type(value) in (int, float) and math.isfinite(value):
        return float(value)
    if kind is not float and (kind is Any or type(value) is kind):
        return value
    if origin is typing.Literal and type(value) is str and value in of:
        return value
    if origin is types.UnionType:
        for one in of:
            with suppress(InvalidParameter):
                return typed(one, value, place)
    elif is_dataclass(kind) and isinstance(value, dict):
        build: Any = kind
        hints = _hints(build)
        if hints.keys() == value.keys():
            return build(**{k: typed(hints[k], v, f"{place}.{k}") for k, v in value.items()})
    elif origin is tuple and isinstance(value, list):
        kinds = of[:1] * len(value) if of[-1] is Ellipsis else of
        if len(kinds) == len(value):
            parts = enumerate(zip(kinds, value, strict=True))
            return tuple(typed(kind, part, f"{place}[{i}]") for i, (kind, part) in parts)
    elif origin is dict and isinstance(value, dict):
        return {k: typed(of[1], part, f"{place}.{k}") for k, part in value.items()}
    raise InvalidParameter(f"{place} is not as docboltz writes it")


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def strings(value: Any) -> tuple[str, ...]:
    """A list of strings, as JSON holds it; TypeError for anything else."""
    if not (isinstance(value, list | tuple) and all(isinstance(each, str) for each in value)):
        raise TypeError("a list of strings is needed")
    return tuple(value)


def whole_number(text: str) -> int | None:
    """The number that a text spells; None for anything else, and for more than anybody needs."""
    digits = text.strip()
    return int(digits) if digits.isdecimal() and len(digits) <= MOST_DIGITS else None


def _short(value: Any) -> str:
    many = isinstance(value, tuple) and len(value) > 9
    return f"<{len(value)} of them>" if many else repr(value)
