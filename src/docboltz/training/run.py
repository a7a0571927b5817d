"""A training run: phases one after the other, watched, and saved on the way.

Nothing here knows an equation. What a run is made of can be taken apart into tensors and plain
values and put together again: a run taken up in the middle ends in the same bits.
"""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NoReturn

import torch
from torch import Tensor

from docboltz.errors import CheckpointWarning, DocboltzError, TrainingDiverged, warn_user
from docboltz.model.parameters import Parameters
from docboltz.progress import Update
from docboltz.training.documents import Documents
from docboltz.training.plans import CHUNK
from docboltz.training.trainer import OWN, Phase, Trainer
from docboltz.training.validation import HeldOut

LOOK = 100
"""Updates between looks: at what was learnt, and for numbers that are none."""
SAVE_SECONDS = 60.0
"""Time between saves of the state."""
MOST_NATS = 30.0
"""Perplexities beyond exp of this are shown as exp of this, which a line has room for."""
SHOW_SECONDS = 0.5
"""Time after which progress is shown in the middle of a chunk of updates."""

Tensors = dict[str, Tensor]
History = list[dict[str, Any]]
Save = Callable[[Tensors, dict[str, Any]], None]


class Run:
    """Phases on their way. `parameters` are improved in place, by so many `updates`.

    `saved` tells whether the state was ever saved.
    """

    def __init__(
        self,
        parameters: Parameters,
        documents: Documents,
        phases: list[Phase],
        *,
        seed: int,
        first: int = 0,
        held_out: HeldOut | None = None,
        save: Save | None = None,
    ) -> None:
        self.parameters, self.history = parameters, History()
        self._documents, self._phases, self._seed, self._first = documents, phases, seed, first
        self._held_out, self._save, self._together = held_out, save, documents.together
        self._number, self._trainer = 0, self._begin(0)
        self.saved, self._stopped = False, False
        self._last_write = self._last_shown = time.monotonic()
        self.updates, self._before = first, 0
        self._good, self._seen_at = parameters.copy(), first

    # ---- the loop ----

    def go(self, show: Callable[[str], Any]) -> None:
        """Go through what is left of the phases. `show` opens a progress bar for a phase.

        Ctrl-C finishes the update, saves and raises KeyboardInterrupt; of several workers it stops
        all, at the end of a chunk of updates. Training that diverges ends in TrainingDiverged, with
        the parameters of the last look.
        """
        with _asked_to_stop() as asked, fast_products(self.parameters.W.device):
            try:
                for number in range(self._number, len(self._phases)):
                    with show(self._phases[number].name) as progress:
                        if number > self._number:
                            progress(0, self._phases[number].updates, "preparing")
                            self._next_phase()
                        with self._trainer.ahead():
                            self._finish_phase(progress, asked)
                self._write()
            except KeyboardInterrupt:
                if not self._stopped:  # in the middle of an update, or of a look
                    self._keep(self._good, self._seen_at)
                raise

    def _next_phase(self) -> None:
        """Go on to the next phase from what this one has left."""
        self._number, self._before = self._number + 1, self.updates
        self._trainer = self._begin(self._number)
        self._good, self._seen_at = self.parameters.copy(), 0

    def _finish_phase(self, progress: Update, asked: Callable[[], bool]) -> None:
        trainer, end = self._trainer, self._end
        while trainer.update < end:
            to_look = LOOK - (trainer.update - self._start) % LOOK
            updates = min(CHUNK, to_look, end - trainer.update)
            stop = partial(self._between, trainer.update + updates, progress, asked)
            trainer.advance(updates, stop)
            if (trainer.update - self._start) % LOOK == 0 or trainer.update == end:
                self._look()
            late = time.monotonic() - self._last_write > SAVE_SECONDS
            stopping, saving = self._together.any([asked(), late], self.parameters.W.device)
            if stopping and not is_finite(trainer.learnt):
                self._give_up()
            if stopping or saving:
                self._write()
            self._show(progress)
            if stopping:
                self._keep(trainer.learnt, trainer.update)
                self._stopped = True
                raise KeyboardInterrupt
        self._keep(trainer.learnt, trainer.update)

    def _between(self, until: int, progress: Update, asked: Callable[[], bool]) -> bool:
        """Show progress before a slow chunk ends; tell whether to stop, which workers do only
        together."""
        slow = time.monotonic() - self._last_shown > SHOW_SECONDS
        if slow and self._trainer.update < until:
            self._show(progress)
        return self._together.size == 1 and asked()

    def _show(self, progress: Update) -> None:
        self._last_shown = time.monotonic()
        total = self._end - self._start
        progress(self._trainer.update - self._start, total, note_of(self.history))

    def _give_up(self) -> NoReturn:
        """Put the model back to the last look, and say what happened."""
        trainer = self._trainer
        self._keep(self._good, self._seen_at)
        put_back = "Nothing was learnt until then."
        if self.updates:
            before = f"after update {self._seen_at}" if self._seen_at else "before this phase"
            put_back = f"The model has been put back to what it was {before}."
        raise TrainingDiverged(
            f"Training diverged ({trainer.phase.name}, between updates {self._seen_at} and "
            f"{trainer.update}): some weights are no longer finite. {put_back}",
            hint="Lower the learning rate (a third of it is a good first try) or raise the weight "
            "decay.",
        )

    def _look(self) -> None:
        """See that all is well, and how well."""
        self._trainer.agree()
        trainer, learnt = self._trainer, self._trainer.learnt
        if not is_finite(learnt):
            self._give_up()
        self._seen_at = trainer.update
        self._good = learnt.copy()
        entry: dict[str, Any] = {"phase": trainer.phase.name, "update": trainer.update}
        entry |= trainer.watch()
        if self._held_out is not None:
            entry |= self._held_out.measure(learnt)
        self.history.append(entry)

    @property
    def _start(self) -> int:
        return self._first if self._number == 0 else 0

    @property
    def _end(self) -> int:
        return self._start + self._trainer.phase.updates

    def _begin(self, number: int) -> Trainer:
        start = self._first if number == 0 else 0
        return Trainer(
            self._phases[number],
            self.parameters,
            self._documents,
            seed=self._seed + number,
            first=start,
        )

    def _keep(self, learnt: Parameters, update: int) -> None:
        """Make what was learnt up to this update of the phase the result."""
        self.updates = self._before + update
        self.parameters.W.copy_(learnt.W)
        self.parameters.b.copy_(learnt.b)

    # ---- taken apart and put together ----

    def _write(self) -> None:
        """Let worker 0 save the state of all. A disk that is full, or the like, is no reason to
        stop."""
        if self._save is None:
            return
        self._last_write = time.monotonic()
        state = self.snapshot()
        if self._together.rank > 0:
            return
        try:
            self._save(*state)
            self.saved = True
        except (OSError, DocboltzError) as error:
            warn_user(f"The state of training could not be saved: {error}", CheckpointWarning)

    def snapshot(self) -> tuple[Tensors, dict[str, Any]]:
        """All that all workers need to go on: tensors, and values that JSON can hold."""
        tensors = self._trainer.tensors() | {"good.W": self._good.W.T, "good.b": self._good.b}
        own = {name: t for name, t in tensors.items() if name.startswith(OWN)}
        own["generator"] = self._trainer.generator.get_state()
        on_host = {name: t.cpu() for name, t in own.items()}
        for rank, each in enumerate(self._together.gather(on_host)):
            tensors |= {_name(name, rank): t for name, t in each.items()}
        facts = {
            "phase": self._number,
            "update": self._trainer.update,
            "before": self._before,
            "seed": self._seed,
            "history": self.history,
            "seen_at": self._seen_at,
        }
        return tensors, facts

    def restore(self, tensors: Tensors, facts: dict[str, Any]) -> None:
        """Become the run the snapshot was taken of; all else must be as it was there."""
        self._seed, self._number = facts["seed"], facts["phase"]
        self._before = facts["before"]
        self.updates = self._before + facts["seen_at"]
        self._trainer = trainer = self._begin(self._number)
        trainer.update = facts["update"]
        for name, tensor in trainer.tensors().items():
            saved = tensors[_name(name, self._together.rank) if name.startswith(OWN) else name]
            tensor.copy_(saved.view(tensor.shape))  # files hold no tensors without axes
        trainer.generator.set_state(tensors[_name("generator", self._together.rank)])
        self.history, self._seen_at = facts["history"], facts["seen_at"]
        p = self.parameters
        W, b = (tensors[f"good.{part}"].to(p.W.device) for part in ("W", "b"))
        self._good = Parameters(W.T, p.a, b)

    @property
    def begun(self) -> list[Phase]:
        """The phases gone through so far, with the one under way."""
        return self._phases[: self._number + 1]

    @property
    def velocity(self) -> Tensors:
        """What the optimiser of the phase under way carries on."""
        return self._trainer.carried


def _name(tensor: str, rank: int) -> str:
    """What a worker's own tensor is called where those of all are kept."""
    return tensor if rank == 0 else f"worker{rank}.{tensor}"


def note_of(history: History) -> str:
    """The last look in a few words, with the last estimate of the held-out perplexity.

    >>> note_of([{"phase": "Trial", "data_activity": 0.423, "halves_found": 0.512}])
    'units on 42%, held-out halves found 51%'
    >>> looks = [{"phase": "Fine-tuning"}, {"phase": "Fine-tuning"}]
    >>> looks[0]["held_out_log_likelihood"] = -6.42
    >>> note_of(looks)
    'held-out perplexity 614'
    """
    if not history:
        return ""
    last = history[-1]
    estimate = "held_out_log_likelihood"  # which not every look has
    known = [e[estimate] for e in history if e["phase"] == last["phase"] and estimate in e]
    phrases = {
        "held_out_perplexity": "held-out perplexity {:,.0f}",
        "data_activity": "units on {:.0%}",
        "model_activity": "in chains {:.0%}",
        "travelled": "states travel {:.0%}",
        "halves_found": "held-out halves found {:.0%}",
    }
    seen = {"held_out_perplexity": perplexity_of(known[-1]), **last} if known else last
    return ", ".join(phrase.format(seen[name]) for name, phrase in phrases.items() if name in seen)


def perplexity_of(log_likelihood: float) -> float:
    """The perplexity for a mean of log p(v)/N, at most exp(MOST_NATS)."""
    return math.exp(min(-log_likelihood, MOST_NATS))


def is_finite(p: Parameters) -> bool:
    """Tell whether every parameter is a number."""
    return all(bool(t.isfinite().all()) for t in (p.W, p.a, p.b))


@contextmanager
def fast_products(device: torch.device) -> Iterator[None]:
    """Let a CUDA device multiply in TF32: statistics of a few samples need no more."""
    before = torch.get_float32_matmul_precision()
    if device.type == "cuda":
        torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


@contextmanager
def _asked_to_stop() -> Iterator[Callable[[], bool]]:
    """Note Ctrl-C instead of raising it; a second one raises at once."""
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked.is_set  # signals come to the main thread only
        return

    def note(number: int, frame: Any) -> None:
        signal.signal(signal.SIGINT, before)
        asked.set()

    before = signal.getsignal(signal.SIGINT)
    if before is None or before == signal.SIG_IGN:  # somebody else's business
        yield asked.is_set
        return
    signal.signal(signal.SIGINT, note)
    try:
        yield asked.is_set
    finally:
        signal.signal(signal.SIGINT, before)
