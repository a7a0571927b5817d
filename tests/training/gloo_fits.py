"""What each of two processes does in `test_together`: fits that must end alike."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import numpy as np
import torch

from docboltz import Finetuning, OverReplicatedSoftmax, Pretraining, Validation
from docboltz.training.together import Together
from docboltz.training.trainer import Trainer
from tests.training.test_validation import of_many_kinds
from tests.training.workers import process_group

SHARDS = [slice(0, 70), slice(70, 200)]
STOP_AT = 57


def model(checkpoint: Path | None, seed: int | None = 0) -> OverReplicatedSoftmax:
    return OverReplicatedSoftmax(
        4,
        pretraining=Pretraining(updates=50, more_steps_every=20, sparsity=0.5),
        finetuning=Finetuning(updates=30, rungs=8, bridge=4, batch_size=32, sweeps=1),
        validation=Validation(share=0.2, strengths=(1, 2)),
        random_state=seed,
        device="cpu",
        checkpoint=checkpoint,
    )


def interrupt(rank: int) -> None:
    """Ctrl-C comes to one worker alone, in the middle of a chunk of the first trial."""
    real, made = Trainer._step, []

    def step(self: Trainer, *arguments: object) -> None:
        real(self, *arguments)  # type: ignore[arg-type]
        made.append(1)
        if len(made) == STOP_AT and rank == 1:
            signal.raise_signal(signal.SIGINT)

    Trainer._step = step  # type: ignore[method-assign]


def assert_same(one: OverReplicatedSoftmax, other: OverReplicatedSoftmax) -> None:
    assert np.array_equal(one.components_, other.components_)
    assert np.array_equal(one.intercept_visible_, other.intercept_visible_)
    assert np.array_equal(one.word_frequency_, other.word_frequency_)
    assert one.history_ == other.history_
    assert one.looks_ == other.looks_
    assert one.n_updates_ == other.n_updates_
    assert one.pretraining_ == other.pretraining_
    assert one.finetuning_ == other.finetuning_
    assert one.latent_words_ == other.latent_words_


def main(rank: int, size: int, folder: Path) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    torch.set_num_threads(1)
    X = of_many_kinds(200, 30, seed=0).numpy()[SHARDS[rank]]
    with process_group(rank, size, folder):
        together = Together()
        assert (together.rank, together.size) == (rank, size)
        whole = model(None)
        whole.fit_keeping_checkpoint(X, together)
        for other in together.gather(whole):
            assert_same(whole, other)
        assert whole.finetuning_ is not None
        assert np.isfinite(whole.components_).all()

        interrupt(rank)
        stopped = model(folder / "state")
        try:
            stopped.fit_keeping_checkpoint(X, together)
        except KeyboardInterrupt:
            pass
        else:
            raise AssertionError("it went on")
        assert stopped.n_updates_ == 50 + 20, "not the end of a chunk of fine-tuning"
        resumed = model(folder / "state")
        checkpoint = resumed.fit_keeping_checkpoint(X, together)
        assert_same(whole, resumed)
        assert checkpoint is not None
        checkpoint.remove()
        together.gather(None)
        assert not (folder / "state").exists()

        fresh = model(None, seed=None)
        fresh.set_params(pretraining__updates=3, finetuning=None, validation=None)
        fresh.set_params(recipe="quick")
        fresh.fit_keeping_checkpoint(X, together)
        for other in together.gather(fresh.components_):
            assert np.array_equal(fresh.components_, other), "a seed that nobody gave is one seed"


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
    os._exit(0)  # threads of gloo are at times still there when the interpreter ends, which aborts
