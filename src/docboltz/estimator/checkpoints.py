"""The state of a training run on disk, and whether it belongs to the run at hand."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from docboltz.errors import OtherRun, is_whole
from docboltz.estimator.saving import plain_parameters
from docboltz.estimator.settings import SETTINGS
from docboltz.model.counts import SparseCounts
from docboltz.storage import CHECKPOINT, StrPath, load_model, save_model
from docboltz.training.run import Tensors
from docboltz.training.together import Alone

if TYPE_CHECKING:
    from docboltz.estimator.base import TopicModel

COUNTED = ("seed", "phase", "before", "seen_at", "update")
"""Facts about a run that training computes with."""


class Checkpoint:
    """A folder with the state of one run, replaced as a whole or not at all.

    Of several workers, worker 0 writes and reads it, with the parts of all.
    """

    def __init__(
        self,
        path: StrPath,
        model: TopicModel,
        counts: SparseCounts,
        device: torch.device,
        together: Alone,
    ) -> None:
        together.by_first(lambda: CHECKPOINT.require_writable(path))  # before training, not after
        self.path, self._together = Path(path), together
        settings = plain_parameters(model)
        for name in ("recipe", "verbose", "inference"):
            del settings[name]  # they change nothing in training, beyond the phases below
        for name in SETTINGS:
            part = model._in_force(name)
            settings[name] = part and json.loads(json.dumps(asdict(part)))  # as it is read back
        self._identity = {
            "model": type(model).__name__,
            **settings,
            "device": f"{device.type}:{device.index or 0}",
            "documents": _checksum(counts),
        }
        if together.size > 1:
            documents = together.gather(self._identity["documents"])
            self._identity |= {"documents": documents, "workers": together.size}

    def save(self, tensors: Tensors, facts: dict[str, Any]) -> None:
        """Write the state; one that is there stays whole until this one is."""
        arrays = {name: t.detach().cpu().numpy() for name, t in tensors.items()}
        save_model(self.path, arrays, {"run": self._identity, "facts": facts}, CHECKPOINT)

    def load(self) -> tuple[Tensors, dict[str, Any]] | None:
        """The state on disk, if there is one; an error if it is another run's or damaged."""
        return self._together.by_first(self._loaded)

    def _loaded(self) -> tuple[Tensors, dict[str, Any]] | None:
        if not CHECKPOINT.exists(self.path):
            return None
        arrays, settings = load_model(self.path, CHECKPOINT)
        with CHECKPOINT.trusting(self.path):
            saved, own = dict(settings["run"]), self._identity
            changed = sorted(name for name in own if own[name] != saved.get(name))
            facts = dict(settings["facts"])
            if not all(is_whole(facts[name]) and 0 <= facts[name] < 2**62 for name in COUNTED):
                raise ValueError(f"{', '.join(COUNTED)} are whole numbers")
        if changed:
            error = OtherRun(
                f"The checkpoint in {self.path} is of another run: {', '.join(changed)} "
                f"{'is' if len(changed) == 1 else 'are'} not the same.",
                hint="Go on with the settings and documents it was begun with, name another "
                "folder, or remove this one to start anew.",
            )
            error.changed = tuple(changed)
            raise error
        return {name: torch.from_numpy(a.copy()) for name, a in arrays.items()}, facts

    def remove(self) -> None:
        """The run is over."""
        if self._together.rank == 0:
            CHECKPOINT.remove(self.path)


def _checksum(counts: SparseCounts) -> str:
    sha = hashlib.sha256(str((len(counts), counts.n_words)).encode())
    for tensor in (counts.starts, counts.words, counts.counts):
        sha.update(tensor.numpy().data)  # not a copy: counts may be on disk
    return sha.hexdigest()
