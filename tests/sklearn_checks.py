"""scikit-learn's own suite, for every estimator of the project."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

_IGNORED = pytest.mark.filterwarnings(
    # The checks feed random floats, which are not counts; the warning is tested elsewhere.
    "ignore::docboltz.errors.FractionalCountsWarning",
    "ignore::docboltz.errors.EmptyDocumentsWarning",
    "ignore::docboltz.errors.NoDensityWarning",
    "ignore::sklearn.exceptions.SkipTestWarning",
)


def with_scikit_learns_checks(*estimators: Any) -> Callable[..., Any]:
    """Run a test, of an estimator and a check, with each check for each of the estimators."""

    def decorate(test: Callable[..., None]) -> Any:
        return _IGNORED(parametrize_with_checks(list(estimators))(test))

    return decorate
