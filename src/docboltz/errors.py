"""What a user can get wrong. Every message says what was expected, what arrived and what to do."""

import math
import sys
import warnings
from numbers import Integral, Real


class DocboltzError(Exception):
    """The root of all errors raised on purpose; the command turns them into exit code 2."""


class InvalidParameter(DocboltzError, ValueError):
    """A setting of a model or of its training that makes no sense."""


class OtherRun(InvalidParameter):
    """A checkpoint that belongs to training with other settings or documents."""

    def __init__(self, message: str, changed: list[str]) -> None:
        super().__init__(message)
        self.changed = changed


class InvalidCounts(DocboltzError, ValueError):
    """A document-term matrix that does not hold word counts."""


class InvalidCorpus(DocboltzError, ValueError):
    """A collection of documents that cannot be read, or holds nothing to learn from."""


class InvalidModelFile(DocboltzError, ValueError):
    """A saved model that is missing, damaged, altered or from a newer version."""


class TrainingDiverged(DocboltzError, ArithmeticError):
    """Training left the range of floating-point numbers."""


class FractionalCountsWarning(UserWarning):
    """Counts that are not whole numbers: probably tf-idf weights."""


class EmptyDocumentsWarning(UserWarning):
    """Documents without a single known word."""


class CheckpointWarning(UserWarning):
    """The state of a training run that could not be saved."""


class UncertainLikelihoodWarning(UserWarning):
    """A likelihood whose error is too large to rely on."""


class MissingPackageWarning(UserWarning):
    """A package that is not installed, and without which something less good is done."""


def require(condition: bool, owner: str, name: str, expected: str, got: object) -> None:
    """Raise InvalidParameter in the one shape of message all settings share."""
    if not condition:
        raise InvalidParameter(
            f"The '{name}' parameter of {owner} must be {expected}. Got {got!r} instead."
        )


def is_whole(value: object) -> bool:
    """Tell whether a setting is a whole number, Python's or NumPy's; True and False are not."""
    return isinstance(value, Integral) and not isinstance(value, bool)


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
