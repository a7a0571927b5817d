"""What a user can get wrong: errors that carry what was expected, what arrived and what to do.

An error keeps its parts apart, and whoever shows it phrases them: `str(error)` speaks of
parameters, the command line of options. A hint names settings as `{name}` or `{name=value}`, verbs
as `{TextModel.fit}`, and columns that are read as `{TextModel.read(date=…)}`, and lists them in
`settings`; a `Spelling` puts each face's own words there.
"""

from __future__ import annotations

import copyreg
import math
import sys
import warnings
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

LONGEST_SHOWN = 200
"""Characters of a value that a message shows."""


class Spelling:
    """How a face of docboltz names its settings; this one is Python's."""

    def subject(self, owner: str, name: str) -> str:
        """What a sentence about a setting begins with."""
        return f"The '{name}' parameter of {owner}"

    def setting(self, mention: str) -> str:
        """A setting or verb that a hint mentions: `name`, `name=value` or `TextModel.verb`."""
        return mention


PYTHON = Spelling()


class DocboltzError(Exception):
    """The root of all errors raised on purpose; the command turns them into exit code 2."""

    def __init__(self, problem: str = "", *, hint: str = "", settings: Sequence[str] = ()) -> None:
        super().__init__(problem)
        self.problem = problem
        """What is wrong, in a sentence."""
        self.hint = hint
        """What to do about it."""
        self.settings = tuple(settings)
        """Settings that the hint names in braces."""

    def phrase(self, spelling: Spelling) -> str:
        """The whole message, with settings spelled as the reader knows them."""
        hint = self.hint
        for mention in self.settings:
            hint = hint.replace("{" + mention + "}", spelling.setting(mention))
        return " ".join(part for part in (self._statement(spelling), hint) if part)

    def _statement(self, spelling: Spelling) -> str:
        return self.problem

    def __str__(self) -> str:
        return self.phrase(PYTHON)

    def __reduce__(self) -> Any:
        # Exceptions are pickled by their arguments, which forgets the fields.
        return copyreg.__newobj__, (type(self), *self.args), vars(self)  # type: ignore[attr-defined]


class InvalidParameter(DocboltzError, ValueError):
    """A setting of a model, of its training or of a command that makes no sense.

    >>> str(InvalidParameter(owner="TextAnalysis", name="stem", expected="True or False", got=3))
    "The 'stem' parameter of TextAnalysis must be True or False. Got 3 instead."
    """

    def __init__(
        self,
        problem: str = "",
        *,
        owner: str = "",
        name: str = "",
        expected: str = "",
        got: object = None,
        hint: str = "",
        settings: Sequence[str] = (),
    ) -> None:
        super().__init__(problem, hint=hint, settings=settings)
        self.owner, self.name, self.expected = owner, name, expected
        self.got = shown(got)

    def _statement(self, spelling: Spelling) -> str:
        if not self.name:
            return self.problem
        subject = spelling.subject(self.owner, self.name)
        return f"{subject} must be {self.expected}. Got {self.got} instead."


class NoAnswer(InvalidParameter):
    """A question to something saved that is whole but cannot answer it."""


class OtherRun(InvalidParameter):
    """A checkpoint that belongs to training with other settings or documents."""

    changed: tuple[str, ...] = ()
    """What is not the same."""


class InvalidCounts(DocboltzError, ValueError):
    """A document-term matrix that does not hold word counts."""


class InvalidCorpus(DocboltzError, ValueError):
    """A collection of documents that cannot be read, or holds nothing to learn from."""


class NoDocuments(InvalidCorpus):
    """A collection without a single readable document."""


class InvalidModelFile(DocboltzError, ValueError):
    """Something saved that is missing, damaged, altered or from a newer version."""


class TrainingDiverged(DocboltzError, ArithmeticError):
    """Training left the range of floating-point numbers."""


class FractionalCountsWarning(UserWarning):
    """Counts that are not whole numbers: probably tf-idf weights."""


class EmptyDocumentsWarning(UserWarning):
    """Documents without a single known word."""


class FewDocumentsWarning(UserWarning):
    """Fewer documents to learn from than units to learn."""


class LanguageWarning(UserWarning):
    """Texts that seem to be in another language than their analysis is set to."""


class CheckpointWarning(UserWarning):
    """The state of a training run that could not be saved."""


class UncertainLikelihoodWarning(UserWarning):
    """A likelihood whose error is too large to rely on."""


class NoDensityWarning(UserWarning):
    """A likelihood by a model that was not trained for its density."""


class MissingPackageWarning(UserWarning):
    """A package that is not installed, and without which something less good is done."""


def require(
    condition: object, owner: str, name: str, expected: str, got: object, **hint: Any
) -> None:
    """Raise InvalidParameter, perhaps with hint and settings, unless a setting is as expected."""
    if not condition:
        raise InvalidParameter(owner=owner, name=name, expected=expected, got=got, **hint)


def require_count(value: object, owner: str, name: str, least: int = 1) -> None:
    """Raise InvalidParameter unless a setting is a whole number of at least `least`."""
    ok = is_whole(value) and value >= least  # type: ignore[operator]
    require(ok, owner, name, f"a whole number of at least {least}", value)


def shown(value: object) -> str:
    """A value as messages show it: not all of a large one.

    >>> shown("a" * 1000)[-6:]
    'aaaaa…'
    """
    text = repr(value)
    return text if len(text) <= LONGEST_SHOWN else f"{text[: LONGEST_SHOWN - 1]}…"


def is_whole(value: object) -> bool:
    """Tell whether a setting is a whole number, Python's or NumPy's; True and False are not."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def whole_number(text: str) -> int | None:
    """The whole number that a text spells; None for anything else, and for more than 12 digits."""
    return int(text) if text.strip().isdecimal() and len(text.strip()) <= 12 else None


def is_number(value: object) -> bool:
    """Tell whether a setting is a finite number, Python's or NumPy's; True and False are not."""
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn at the line of the user's own code that led here, past docboltz and scikit-learn."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None:
        package = frame.f_globals.get("__name__", "").partition(".")[0]
        if package not in ("docboltz", "sklearn"):
            break
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
