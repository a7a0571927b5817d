"""What dataclasses of settings share."""

from __future__ import annotations

from dataclasses import fields
from typing import Any


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


def _short(value: Any) -> str:
    many = isinstance(value, tuple) and len(value) > 9
    return f"<{len(value)} of them>" if many else repr(value)
