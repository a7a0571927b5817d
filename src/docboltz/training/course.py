"""A course of training: trials that held-out documents choose by, then a run on all documents."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from docboltz.errors import TrainingDiverged
from docboltz.model.counts import SparseCounts
from docboltz.model.latent_words import LatentWords
from docboltz.model.parameters import Parameters
from docboltz.training.documents import Documents
from docboltz.training.finetune import Finetuning, MaximumLikelihood
from docboltz.training.matching import HalvesMatching, Matching
from docboltz.training.pretrain import MOST_DECAY, ContrastiveDivergence, Pretraining
from docboltz.training.run import History, Run, Save, Tensors
from docboltz.training.together import ALONE, Alone
from docboltz.training.trainer import Phase
from docboltz.training.validation import (
    HeldOut,
    Validation,
    WatchedDocuments,
    hold_out,
    number_watched,
)


@dataclass(frozen=True)
class Look:
    """What held-out documents say of a model on its way."""

    strength: float
    """What its weight decay was multiplied by."""
    finetuning: int
    """Updates of fine-tuning so far; 0 is the pretrained model."""
    halves_found: float
    """Share of halves of held-out documents that find the other half."""
    perplexity: float
    """Of one half of a held-out document given the other, per word."""
    matching: int = 0
    """Updates of matching so far."""


ENOUGH = 0.9
"""Share of halves that need no matching: where so many are found before it, it can only push
documents apart that belong together. Chosen on validation documents of twenty collections:
docs/lab/defaults.md."""


def looks_of(history: History, strength: float) -> list[Look]:
    """The looks of a trial that count: at the end of pretraining, and all that come after it."""
    made = {MaximumLikelihood.name: 0, HalvesMatching.name: 0}
    looks: list[Look] = []
    for entry in history:
        if entry["phase"] in made:
            made[entry["phase"]] = entry["update"]
        else:
            looks = []  # all of pretraining but the last
        looks.append(
            Look(
                strength,
                made[MaximumLikelihood.name],
                entry["halves_found"],
                entry["validation_perplexity"],
                made[HalvesMatching.name],
            )
        )
    return looks


def choose(looks: Sequence[Look], validation: Validation) -> Look:
    """The model held back most, then trained longest, of those that find nearly as much as the
    best; without matching, where nine in ten halves are found before it. Or, by perplexity, the
    model with the lowest.

    Where none finds anything, held-out documents have nothing to say, and the first look is taken.

    >>> looks = [Look(1, 0, 0.50, 900), Look(1, 100, 0.52, 800), Look(2, 0, 0.50, 950)]
    >>> choose(looks, Validation()) == looks[2]
    True
    >>> choose(looks, Validation(by="perplexity")) == looks[1]
    True
    """
    if validation.by == "perplexity":
        return min(looks, key=lambda look: look.perplexity)
    best = max(look.halves_found for look in looks)
    if best == 0:
        return looks[0]
    good = [look for look in looks if look.halves_found >= (1 - validation.tolerance) * best]
    chosen = max(good, key=lambda look: (look.strength, look.finetuning, look.matching))
    same = [look for look in looks if look.strength == chosen.strength]
    before = [look for look in same if not look.matching][-1]
    return before if before.halves_found >= ENOUGH and chosen.matching else chosen


def report(looks: Sequence[Look], chosen: Look) -> str:
    """What held-out documents chose, to a person.

    >>> looks = [Look(1, 0, 0.50, 900), Look(1, 100, 0.52, 800)]
    >>> report(looks, looks[0])
    'Held-out documents chose no fine-tuning, which does not help here.'
    """
    parts = []
    for name, phase in (("finetuning", "fine-tuning"), ("matching", "matching")):
        if updates := getattr(chosen, name):
            parts.append(f"{updates:,} updates of {phase}")
        elif any(getattr(look, name) for look in looks):
            why = "which is not needed" if chosen.halves_found >= ENOUGH else "which does not help"
            parts.append(f"no {phase}, {why} here")
    if len({look.strength for look in looks}) > 1 or not parts:
        times = "" if chosen.strength == 1 else f"{chosen.strength:g} times "
        parts.insert(0, f"{times}the usual weight decay")
    return f"Held-out documents chose {' and '.join(parts)}."


class Course:
    """All the runs a model is trained by. `run` is the one under way, and at last the one that
    counts; `looks` is what held-out documents have said so far."""

    def __init__(
        self,
        parameters: Parameters,
        counts: SparseCounts,
        latent_words: LatentWords,
        device: torch.device,
        *,
        pretraining: Pretraining,
        finetuning: Finetuning | None,
        matching: Matching | None,
        validation: Validation | None,
        seed: int,
        save: Save | None = None,
        together: Alone = ALONE,
    ) -> None:
        self._first, self._latent_words, self._device = parameters, latent_words, device
        self._together = together
        self._pretraining, self._finetuning, self._matching = pretraining, finetuning, matching
        if validation is not None and not validation.applies_to(counts, together):
            validation = self._matching = None  # nothing could say how far it may go
        self._validation, self._seed, self._save = validation, seed, save
        self._counts, self._held_out = counts, None
        self._part: Tensor | None = None
        self._watched: WatchedDocuments | None = None
        wanted = 0
        if finetuning is not None and finetuning.chains == "pool" and together.size == 1:
            wanted = finetuning.watched
        n, g = len(counts), torch.Generator().manual_seed(together.seed(seed))
        if validation is None and (number := number_watched(n, wanted)):
            self._part, held = hold_out(n, number / n, generator=g)
            self._watched = WatchedDocuments(counts.rows(held), latent_words, device)
        if validation is not None:
            self._part, held = hold_out(n, validation.share, generator=g, together=together)
            if wanted:
                followed = counts.rows(held[:wanted])
                self._watched = WatchedDocuments(followed, latent_words, device)
            some = self._part[: len(held)]  # as many are looked at, to compare
            self._held_out = HeldOut(
                counts.rows(held),
                counts.rows(some),
                latent_words,
                device,
                generator=g,
                together=together,
            )
        self.looks: list[Look] = []
        self.run = self._next_run()

    @property
    def trial(self) -> float | None:
        """The strength that is tried next, or None if the rest is for all documents."""
        v = self._validation
        if v is None:
            return None
        tried = sorted({look.strength for look in self.looks})
        if len(tried) == len(v.strengths):
            return None
        good = not tried or choose(self.looks, v).strength == tried[-1]
        return v.strengths[len(tried)] if good else None

    @property
    def chosen(self) -> Look | None:
        """What held-out documents chose, once they have."""
        v = self._validation
        return None if v is None or self.trial is not None else choose(self.looks, v)

    def go(self, show: Callable[[str], Any]) -> None:
        """Go through what is left. `show` opens a progress bar for a phase."""
        while (trial := self.trial) is not None:
            title = f"Trial with weight decay × {trial:g}, "
            try:
                self.run.go(partial(_titled, show, title))
            except TrainingDiverged:
                if len(self.run.begun) == 1:  # not even pretrained
                    raise
            self.looks += looks_of(self.run.history, trial)
            self.run = self._next_run()
        self.run.go(show)

    def restore(self, tensors: Tensors, facts: dict[str, Any]) -> None:
        """Become the course that was saved; all else must be as it was there."""
        self.looks, self._seed = [Look(**look) for look in facts["looks"]], facts["seed"]
        self.run = self._next_run()
        self.run.restore(tensors, facts)

    def _next_run(self) -> Run:
        trial, chosen = self.trial, self.chosen
        holds_out = trial is not None or self._validation is None
        rows = self._part if holds_out else None
        documents = Documents.of(
            self._counts, self._latent_words, self._device, self._together, rows=rows
        )
        pretraining, finetuning = self._pretraining, self._finetuning
        matching = self._matching
        strength = trial if chosen is None else chosen.strength
        if strength is not None:
            most = MOST_DECAY if pretraining.weight_decay is None else math.inf
            pretraining = pretraining.completed(self._first.n_topics, documents)
            decay = min(strength * (pretraining.weight_decay or 0), most)
            pretraining = replace(pretraining, weight_decay=decay)
        if chosen is not None:
            length = chosen.finetuning
            finetuning = (
                replace(finetuning, updates=length, watched=0) if finetuning and length else None
            )
            length = chosen.matching
            matching = replace(matching, updates=length) if matching and length else None
        phases: list[Phase] = [ContrastiveDivergence(pretraining)]
        if finetuning is not None:
            watched = self._watched if holds_out else None
            phases.append(MaximumLikelihood(finetuning, watched))
        if matching is not None:
            n = documents.facts.n
            phases.append(HalvesMatching(matching, self._latent_words, n))
        return Run(
            self._first.copy(),
            documents,
            phases,
            seed=self._seed,
            held_out=None if trial is None else self._held_out,
            save=None if self._save is None else self._keep,
        )

    def _keep(self, tensors: Tensors, facts: dict[str, Any]) -> None:
        assert self._save is not None
        self._save(tensors, {**facts, "looks": [asdict(look) for look in self.looks]})


def _titled(show: Callable[[str], Any], title: str, phase: str) -> Any:
    return show(title + phase.lower())
