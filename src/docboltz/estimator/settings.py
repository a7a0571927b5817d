"""What an estimator is made with: a recipe, and settings that replace parts of it."""

from __future__ import annotations

import os
from dataclasses import fields, replace
from typing import Any, Self

from sklearn.base import BaseEstimator

from docboltz.errors import InvalidParameter, require, require_count
from docboltz.inference import Inference
from docboltz.storage import StrPath
from docboltz.training.finetune import Finetuning
from docboltz.training.matching import Matching
from docboltz.training.pretrain import Pretraining
from docboltz.training.recipes import RECIPES, RecipeName, find_recipe
from docboltz.training.validation import Validation

SETTINGS: dict[str, type[Any]] = {
    "pretraining": Pretraining,
    "finetuning": Finetuning,
    "matching": Matching,
    "validation": Validation,
}
"""Parameters of a model that are settings of their own."""


class Configured(BaseEstimator):
    """Parameters of an estimator, those of its settings among them: `pretraining__updates`.

    Settings are frozen: to set a part of them is to replace them. Where a model has none of its
    own, the recipe's are what is changed.
    """

    def __init__(
        self,
        n_components: int = 128,
        *,
        recipe: RecipeName = "quick",
        pretraining: Pretraining | None = None,
        finetuning: Finetuning | None = None,
        matching: Matching | None = None,
        validation: Validation | None = None,
        checkpoint: StrPath | None = None,
        inference: Inference = "fast",
        device: str = "auto",
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.n_components = n_components
        self.recipe = recipe
        self.pretraining = pretraining
        self.finetuning = finetuning
        self.matching = matching
        self.validation = validation
        self.checkpoint = checkpoint
        self.inference = inference
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Give the parameters by name; with `deep` those of the settings in force too."""
        params: dict[str, Any] = super().get_params(deep=deep)
        if deep:
            for name, kind in SETTINGS.items():
                settings = self._in_force(name)
                if isinstance(settings, kind):
                    params |= {f"{name}__{part}": value for part, value in vars(settings).items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name; `pretraining__updates=500` replaces a part of the settings.

        Settings that are changed become the model's own: another recipe set later leaves them.
        """
        own: dict[str, Any] = {}
        parts: dict[str, dict[str, Any]] = {name: {} for name in SETTINGS}
        for key, value in params.items():
            name, nested, part = key.partition("__")
            place, key = (parts[name], part) if nested and name in SETTINGS else (own, key)
            place[key] = value
        super().set_params(**own)
        for name, changes in parts.items():
            if changes:
                setattr(self, name, self._changed(name, changes))
        return self

    def _changed(self, name: str, changes: dict[str, Any]) -> Any:
        owner, settings, kind = type(self).__name__, self._in_force(name), SETTINGS[name]
        if not isinstance(settings, kind):
            raise InvalidParameter(
                f"{name}__{next(iter(changes))} changes a part of '{name}', and this {owner} has "
                "none.",
                hint=f"Give it one first, {name}={kind.__name__}(), or a recipe that has it.",
            )
        known = [field.name for field in fields(settings)]
        for part in changes:
            if part not in known:
                raise InvalidParameter(
                    f"{owner} has no parameter '{name}__{part}'.",
                    hint=f"{kind.__name__} has {', '.join(known)}.",
                )
        return replace(settings, **changes)

    def _in_force(self, name: str) -> Any:
        """The settings of that name: the model's own, or where it has none the recipe's."""
        own, phases = getattr(self, name), dict(RECIPES.get(str(self.recipe), {}))
        return phases.get(name) if own is None else own

    def _check_parameters(self) -> None:
        """Refuse parameters that make no sense, whatever the documents."""
        owner = type(self).__name__
        require_count(self.n_components, owner, "n_components")
        find_recipe(self.recipe, owner)
        for name, kind in SETTINGS.items():
            value = getattr(self, name)
            fits = value is None or isinstance(value, kind)
            require(fits, owner, name, f"a docboltz.{kind.__name__} or None", value)
        path = self.checkpoint is None or isinstance(self.checkpoint, str | os.PathLike)
        require(path, owner, "checkpoint", "the path of a folder or None", self.checkpoint)
        self._chosen_inference(None)

    def _chosen_inference(self, choice: Inference | None) -> Inference:
        choice = self.inference if choice is None else choice
        known = isinstance(choice, str) and choice in ("fast", "mean_field")
        require(known, type(self).__name__, "inference", "'fast' or 'mean_field'", choice)
        return choice

    def __sklearn_clone__(self) -> Self:
        if self.checkpoint is not None:
            raise InvalidParameter(
                f"This {type(self).__name__} saves its training to {os.fspath(self.checkpoint)}, "
                "and a clone of it would write to the same folder.",
                hint="Search and cross-validate with {checkpoint=None}; give the model that is "
                "fitted in the end a checkpoint.",
                settings=("checkpoint=None",),
            )
        return super().__sklearn_clone__()  # type: ignore[no-any-return]
